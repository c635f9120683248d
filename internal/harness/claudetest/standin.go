package claudetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Environment variables that steer the stand-in. An agent's configuration can set them; they reach it no other way.
const (
	EnvRecord = "CLAUDETEST_RECORD" // a file to which each run is appended, for ReadRuns
	EnvState  = "CLAUDETEST_STATE"  // a folder of conversations; without it any id can be resumed
	EnvDo     = "CLAUDETEST_DO"     // directive words for every run, such as "delay=300 deny=Bash"
)

// longest bounds what hangs: no test leaves a process behind for good.
const longest = 10 * time.Minute

// Main is the stand-in: it takes Claude Code's headless command line, answers as Claude Code does and returns the exit
// status. Words of a directive in the prompt say what else it does:
//
//	delay=MS       think that long              hang           think until it is ended
//	deaf           ignore SIGTERM               linger         answer, but do not exit
//	brood          leave two children behind    flood=BYTES    print that much, and no answer
//	status=N       the API fails with N         limit=TEXT     the usage limit resets at TEXT
//	login          it is not logged in          lost           it does not know the conversation
//	interrupted    it had a SIGINT              blocked        a hook refused the prompt
//	deny=TOOL      a tool was refused           cost=USD       what the conversation has cost so far
//	silent         print nothing                nonsense       print something else
//	half           print half an answer         warn           print a warning before the answer
//	fork=ID        answer under another id      exit=N         end with this status
//
// It reads its environment and working folder from the process and catches signals: it is for a program's main function, or
// for TestMain where IsClaude.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == childArg {
		return idle()
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer signal.Stop(signals)
	s := standIn{stdout: stdout, stderr: stderr, signals: signals}
	self, err := s.begin(args, stdin)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "Error:", err)
		return 1
	}
	self.Code = s.run(args)
	self.Ended = time.Now()
	if err := self.write(); err != nil {
		_, _ = fmt.Fprintln(stderr, "Error:", err)
		return 1
	}
	return self.Code
}

// standIn is one run.
type standIn struct {
	stdout  io.Writer
	stderr  io.Writer
	signals chan os.Signal

	id     string // of the conversation
	resume bool
	prompt string
	do     directives
	turn   int // prompts in the conversation, this one included
}

// begin reads the prompt, and writes down how the run was started before anything can go wrong.
func (s *standIn) begin(args []string, stdin io.Reader) (Run, error) {
	prompt, err := io.ReadAll(stdin)
	if err != nil {
		return Run{}, fmt.Errorf("read the prompt: %w", err)
	}
	s.prompt = string(prompt)
	s.do = findDirectives(s.prompt)
	s.do.read(os.Getenv(EnvDo))
	dir, err := os.Getwd()
	if err != nil {
		return Run{}, err
	}
	self := Run{PID: os.Getpid(), Args: args, Dir: dir, Env: os.Environ(), Prompt: s.prompt, Began: time.Now()}
	return self, self.write()
}

// parse takes the command line that Loop writes. It returns what is wrong with it.
func (s *standIn) parse(args []string) string {
	headless, format := false, ""
	for i, arg := range args {
		value := ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch arg {
		case "-p", "--print":
			headless = true
		case "--resume":
			s.id, s.resume = value, true
		case "--session-id":
			s.id = value
		case "--output-format":
			format = value
		}
	}
	switch {
	case !headless || format != "json" || s.id == "":
		return fmt.Sprintf("Error: the stand-in takes -p, --output-format json and --resume or --session-id, got %q", args)
	case strings.TrimSpace(s.prompt) == "":
		return "Error: Input must be provided either through stdin or as a prompt argument when using --print"
	}
	return ""
}

// run thinks and answers.
func (s *standIn) run(args []string) int {
	if complaint := s.enter(args); complaint != "" {
		_, _ = fmt.Fprintln(s.stderr, complaint)
		return 1
	}
	if s.do.has("brood") {
		if err := brood(); err != nil {
			_, _ = fmt.Fprintln(s.stderr, "Error:", err)
			return 1
		}
	}
	think := time.Duration(s.do.number("delay", 0)) * time.Millisecond
	if s.do.has("hang") {
		think = longest
	}
	if code, ended := s.wait(think); ended {
		return code
	}
	code := s.speak()
	if s.do.has("linger") {
		if code, ended := s.wait(longest); ended {
			return code
		}
	}
	return s.do.number("exit", code)
}

// enter opens the conversation that the arguments name. It returns what the real program complains of when it cannot.
func (s *standIn) enter(args []string) string {
	if complaint := s.parse(args); complaint != "" {
		return complaint
	}
	s.turn = 1
	if s.do.has("lost") {
		return "No conversation found with session ID: " + s.id
	}
	dir := os.Getenv(EnvState)
	if dir == "" {
		return ""
	}
	complaint, err := s.remember(dir)
	if err != nil {
		return "Error: " + err.Error()
	}
	return complaint
}

// remember adds the prompt to the conversation's file.
func (s *standIn) remember(dir string) (complaint string, err error) {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer folder.Close() //nolint:errcheck // a folder that was only looked into
	said, err := folder.ReadFile(s.id)
	switch known := err == nil; {
	case known && !s.resume:
		return "Error: Session ID " + s.id + " is already in use.", nil
	case !known && s.resume:
		return "No conversation found with session ID: " + s.id, nil
	}
	s.turn += strings.Count(string(said), "\n")
	return "", folder.WriteFile(s.id, append(said, strconv.Quote(s.prompt)+"\n"...), 0o600)
}

// wait returns the exit status when a signal ends the run before d is over.
func (s *standIn) wait(d time.Duration) (code int, ended bool) {
	over := time.After(d)
	for {
		select {
		case <-over:
			return 0, false
		case sig := <-s.signals:
			switch {
			case sig == syscall.SIGINT:
				s.print(s.result(interruptedAnswer))
				return 0, true
			case sig == syscall.SIGHUP:
				return 128 + int(syscall.SIGHUP), true
			case !s.do.has("deaf"):
				return 128 + int(syscall.SIGTERM), true
			}
		}
	}
}

func (s *standIn) print(v any) {
	line, _ := json.Marshal(v) // maps of strings and numbers
	_, _ = fmt.Fprintf(s.stdout, "%s\n", line)
}

// speak prints what there is to be printed and returns the exit status that goes with it.
func (s *standIn) speak() int {
	switch do := s.do; {
	case do.has("silent"):
		return 0
	case do.has("nonsense"):
		_, _ = fmt.Fprintln(s.stdout, "Segmentation fault (just joking)")
		return 0
	case do.has("flood"):
		s.flood(do.number("flood", 1<<20))
		return 0
	case do.has("half"):
		_, _ = fmt.Fprint(s.stdout, `{"type":"result","subtype":"success","is_error":false,"num_`)
		return 0
	case do.has("warn"):
		_, _ = fmt.Fprintln(s.stdout, "warn: something is old")
	}
	answer, code := s.answer()
	s.print(s.result(answer))
	return code
}

func (s *standIn) flood(n int) {
	line := []byte(strings.Repeat("nothing but noise ", 57) + "\n")
	for ; n > 0; n -= len(line) {
		if _, err := s.stdout.Write(line[:min(n, len(line))]); err != nil {
			return
		}
	}
}

// result adds to an answer what every one has.
func (s *standIn) result(answer map[string]any) map[string]any {
	whole := map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "session_id": cmp.Or(s.do["fork"], s.id),
		"total_cost_usd": 0.01 * float64(s.turn), "duration_ms": 1, "permission_denials": []any{},
	}
	if cost, err := strconv.ParseFloat(s.do["cost"], 64); err == nil {
		whole["total_cost_usd"] = cost
	}
	maps.Copy(whole, answer)
	return whole
}
