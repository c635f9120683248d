package agenttest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// Environment variables that steer a stand-in. An agent's configuration can set them; they reach it no other way.
const (
	EnvRecord = "AGENTTEST_RECORD" // a file to which each run is appended, for ReadRuns
	EnvState  = "AGENTTEST_STATE"  // a folder of conversations; without it any id can be resumed
	EnvDo     = "AGENTTEST_DO"     // directive words for every run, such as "delay=300 deny=Bash"
)

// longest bounds what hangs: no test leaves a process behind for good.
const longest = 10 * time.Minute

// program is what one agent's program looks like from outside.
type program interface {
	// parse reads the command line that Loop writes. The complaint is "" where the program takes it.
	parse(args []string, stdin string) (c call, complaint string)
	// lost says how the program ends when it does not know the conversation that it is to go on with, and used when it has
	// the one that it is to begin; ok is false for a program that does not mind.
	lost(id string) (e ending, ok bool)
	used(id string) (e ending, ok bool)
	// name makes the id of a conversation that it is to name.
	name() string
	// opening is what it prints before it thinks.
	opening(s *standIn) string
	// answer is how it ends with an answer.
	answer(s *standIn, text string) ending
	// refusal is how it ends when the API answers with an error status.
	refusal(s *standIn, status int) ending
	// limit is how it ends when the plan is used up, until a time in its own words.
	limit(s *standIn, resets string) ending
	// special is how it ends when the directives hold a word that only this program knows.
	special(s *standIn) (e ending, ok bool)
	// interrupted is how it ends on SIGINT; ok is false for a program that dies of it.
	interrupted(s *standIn) (e ending, ok bool)
}

// plain is what most programs do.
type plain struct{}

func (plain) used(string) (ending, bool)          { return ending{}, false }
func (plain) special(*standIn) (ending, bool)     { return ending{}, false }
func (plain) interrupted(*standIn) (ending, bool) { return ending{}, false }
func (plain) opening(*standIn) string             { return "" }
func (plain) name() string                        { return uuid.NewString() }

// programs are the stand-ins by the names of their programs.
func programs() map[string]program {
	return map[string]program{
		"claude": claude{}, "cursor-agent": cursor{}, "codex": codex{},
		"gemini": gemini{}, "opencode": opencode{}, "copilot": copilot{}, "scribe": scribe{},
	}
}

// call is what a command line asks for.
type call struct {
	id     string // of the conversation; "" for one that the program is to name
	resume bool
	prompt string
}

// ending is what a program prints at its end, and its exit status.
type ending struct {
	stdout, stderr string
	code           int
}

// Main is a stand-in: args[0] says which. It answers as the program does and returns the exit status. Words of a directive in
// the prompt say what else it does:
//
//	delay=MS       think that long              hang           think until it is ended
//	deaf           ignore SIGTERM               linger         answer, but do not exit
//	brood          leave two children behind    flood=BYTES    print that much, and no answer
//	split=MS       print the answer in pieces   noise=BYTES    print that much, and then the answer
//	status=N       the API fails with N         limit=TEXT     the plan is used up until TEXT
//	login          it is not logged in          lost           it does not know the conversation
//	silent         print nothing                nonsense       print something else
//	half           print half an answer         warn           print a warning before the answer
//	fork=ID        answer under another id      exit=N         end with this status
//
// Claude Code knows four more:
//
//	interrupted    it had a SIGINT              blocked        a hook refused the prompt
//	deny=TOOL      a tool was refused           cost=USD       what the conversation has cost so far
//
// Without -p, in a terminal, Claude Code is the program that a person types into: its composer, queue and dialogs, hooks that are
// run as settings say, and hooks that wake it. What is done there is recorded as acts. There a prompt may also hold
//
//	ask=TOOL       a dialog asks whether a tool may run, before the answer
//	tool           a tool runs as long as the turn
//	crash=N        end with this status in place of an answer
//
// exit=N ends it after the answer, and the environment may also hold
//
//	starts=MS      it can be typed into after that long
//	crash=N        end with this status at once
//	blind          never read what is typed
//	onboard        ask what a new person is asked, unless that is known
//	classic        draw on the main screen, not on the alternate one
//
// It reads its environment and working folder from the process and catches signals: it is for a program's main function, or
// for TestMain where Is.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if IsChild(args) {
		return idle()
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	if tty, ok := inTerminal(filepath.Base(args[0]), args[1:], stdin); ok {
		return runTUI(args[1:], tty, stdout, stderr, signals)
	}
	s := standIn{as: programs()[filepath.Base(args[0])], stdout: stdout, stderr: stderr, signals: signals}
	self, complaint, err := s.begin(args[1:], stdin)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "Error:", err)
		return 1
	}
	if self.Code = 1; complaint != "" {
		_, _ = fmt.Fprintln(stderr, complaint)
	} else {
		self.Code = s.run()
	}
	self.Ended = time.Now()
	if err := self.write(); err != nil {
		_, _ = fmt.Fprintln(stderr, "Error:", err)
		return 1
	}
	return self.Code
}

// standIn is one run.
type standIn struct {
	as      program
	stdout  io.Writer
	stderr  io.Writer
	signals chan os.Signal

	call
	do   Directives
	turn int // prompts in the conversation, this one included
}

// begin reads the command line and the prompt, and writes down how the run was started before anything can go wrong.
func (s *standIn) begin(args []string, stdin io.Reader) (self Run, complaint string, err error) {
	read, err := io.ReadAll(stdin)
	if err != nil {
		return Run{}, "", fmt.Errorf("read the prompt: %w", err)
	}
	s.call, complaint = s.as.parse(args, string(read))
	s.do = FindDirectives(s.prompt)
	s.do.read(os.Getenv(EnvDo))
	dir, err := os.Getwd()
	if err != nil {
		return Run{}, "", err
	}
	self = Run{PID: os.Getpid(), Args: args, Dir: dir, Env: os.Environ(), Prompt: s.prompt, Began: time.Now()}
	return self, complaint, self.write()
}

// run thinks and answers.
func (s *standIn) run() int {
	if e, ended := s.enter(); ended {
		return s.end(e)
	}
	if s.do.Has("brood") {
		if err := brood(); err != nil {
			return s.end(ending{stderr: "Error: " + err.Error(), code: 1})
		}
	}
	think := time.Duration(s.do.Number("delay", 0)) * time.Millisecond
	if s.do.Has("hang") {
		think = longest
	}
	if !s.do.Has("silent") && !s.do.Has("nonsense") && !s.do.Has("flood") {
		s.print(s.as.opening(s))
	}
	if code, ended := s.wait(think); ended {
		return code
	}
	code := s.end(s.speak())
	if s.do.Has("linger") {
		if code, ended := s.wait(longest); ended {
			return code
		}
	}
	return s.do.Number("exit", code)
}

// enter opens the conversation, or ends where the program would.
func (s *standIn) enter() (ending, bool) {
	e, refused, err := s.take(conversations(os.Getenv(EnvState)))
	if err != nil {
		return ending{stderr: "Error: " + err.Error(), code: 1}, true
	}
	if s.do.Has("lost") {
		return s.as.lost(s.id)
	}
	return e, refused
}

// take names a conversation that has no name, and adds the prompt to it.
func (s *standIn) take(kept conversations) (e ending, refused bool, err error) {
	if s.id == "" {
		s.id = s.as.name()
	}
	switch known, err := kept.know(s.id, s.resume); {
	case err != nil:
		return ending{}, false, err
	case s.resume && !known:
		e, refused = s.as.lost(s.id)
	case !s.resume && known:
		e, refused = s.as.used(s.id)
	}
	if refused {
		return e, true, nil
	}
	s.turn, err = kept.add(s.id, s.prompt)
	return e, false, err
}

// wait returns the exit status when a signal ends the run before d is over.
func (s *standIn) wait(d time.Duration) (code int, ended bool) {
	over := time.After(d)
	for {
		select {
		case <-over:
			return 0, false
		case sig := <-s.signals:
			e, survives := s.as.interrupted(s)
			switch {
			case sig == syscall.SIGINT && survives:
				return s.end(e), true
			case sig == syscall.SIGHUP:
				return 128 + int(syscall.SIGHUP), true
			case !s.do.Has("deaf"):
				return 128 + int(syscall.SIGTERM), true
			}
		}
	}
}

// speak says what there is to be printed and the exit status that goes with it.
func (s *standIn) speak() ending {
	switch do := s.do; {
	case do.Has("silent"):
		return ending{}
	case do.Has("nonsense"):
		return ending{stdout: "Segmentation fault (just joking)\n"}
	case do.Has("flood"):
		s.flood(do.Number("flood", 1<<20))
		return ending{}
	case do.Has("noise"):
		s.flood(do.Number("noise", 1<<20))
	case do.Has("warn"):
		s.print("warn: something is old\n")
	}
	e := s.answer()
	if s.do.Has("half") {
		e.stdout = e.stdout[:len(e.stdout)/2]
	}
	return e
}

// answer is what the directive asks for, in the shape and with the exit status that the real program was seen to give.
func (s *standIn) answer() ending {
	switch do := s.do; {
	case do.Has("status"):
		return s.as.refusal(s, do.Number("status", 500))
	case do.Has("limit"):
		return s.as.limit(s, strings.ReplaceAll(do["limit"], "_", " "))
	case do.Has("login"):
		return s.as.refusal(s, notLoggedIn)
	}
	if e, ok := s.as.special(s); ok {
		return e
	}
	return s.as.answer(s, fmt.Sprintf("Fake answer to turn %d: %s", s.turn, clip(s.prompt, 80)))
}

// notLoggedIn stands for an API status when there is no login to ask the API with.
const notLoggedIn = 0

// end prints an ending and returns its exit status.
func (s *standIn) end(e ending) int {
	s.print(e.stdout)
	if e.stderr != "" {
		_, _ = fmt.Fprintln(s.stderr, strings.TrimSuffix(e.stderr, "\n"))
	}
	return e.code
}

// print writes to stdout, in pieces where it is to.
func (s *standIn) print(text string) {
	piece := len(text)
	if s.do.Has("split") {
		piece = len(text)/10 + 1
	}
	for ; text != ""; text = text[piece:] {
		piece = min(piece, len(text))
		if _, err := io.WriteString(s.stdout, text[:piece]); err != nil {
			return
		}
		if s.do.Has("split") {
			time.Sleep(time.Duration(s.do.Number("split", 1)) * time.Millisecond)
		}
	}
}

func (s *standIn) flood(n int) {
	line := strings.Repeat("nothing but noise ", 57) + "\n"
	for ; n > 0; n -= len(line) {
		if _, err := io.WriteString(s.stdout, line); err != nil {
			return
		}
	}
}

// named is the id under which the run answers.
func (s *standIn) named() string {
	if id := s.do["fork"]; id != "" {
		return id
	}
	return s.id
}

// line is a value as one line of JSON.
func line(v any) string {
	text, _ := json.Marshal(v) // maps of strings and numbers
	return string(text) + "\n"
}

func clip(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}
