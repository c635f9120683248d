package agenttest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// version is the Claude Code that is imitated.
const version = "2.1.332"

// tui is one run of Claude Code in a terminal. One goroutine does all that is done to it, which is its loop; what takes time is
// done beside it.
type tui struct {
	call
	settings []settings
	mode     string     // of permissions
	do       Directives // of every run
	kept     conversations
	home     memory
	self     Run

	screen   screen
	input    <-chan []byte
	signals  <-chan os.Signal
	done     <-chan func()                                      // what is to be done after something beside the loop
	beside   func(work func(ctx context.Context) (then func())) // does work, hands then to the loop, and drops it at the end
	hurry    func()                                             // ends all that is done beside the loop
	code     int
	over     bool
	keyboard keyboard
	fed      int // pieces of input

	composer composer
	leaving  time.Time // when Ctrl-C was last pressed
	dialog   *dialog
	open     bool // it can be typed into
	log      *transcript
	turns    int
	turn     *turn
	asked    []prompt // submitted, their hooks still run
	queue    []prompt
	wakes    []wake
	firing   []func() // hooks, one event after another
}

// inTerminal reports whether a program is to be a terminal's own: Claude Code without -p.
func inTerminal(name string, args []string, stdin io.Reader) (tty, bool) {
	if name != "claude" || slices.Contains(args, "-p") || slices.Contains(args, "--print") {
		return tty{}, false
	}
	return openTTY(stdin)
}

// runTUI is the whole run, and returns the exit status.
func runTUI(args []string, terminal tty, stdout, stderr io.Writer, signals <-chan os.Signal) int {
	t := tui{
		do: Directives{}, kept: conversations(os.Getenv(EnvState)), signals: signals, screen: screen{tty: terminal, out: stdout},
	}
	t.do.read(os.Getenv(EnvDo))
	complaint, err := t.begin(args)
	if t.code = 1; err == nil && complaint == "" {
		err = t.run()
	}
	if err != nil {
		complaint = "Error: " + err.Error()
	}
	if complaint != "" {
		_, _ = fmt.Fprintln(stderr, complaint)
	}
	t.self.Code, t.self.Ended = t.code, time.Now()
	if err := t.self.write(); err != nil {
		_, _ = fmt.Fprintln(stderr, "Error:", err)
		return 1
	}
	return t.code
}

// begin reads the command line and what was left on disk; the complaint is why it cannot go on.
func (t *tui) begin(args []string) (complaint string, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	o, complaint := parseTUI(args)
	t.call, t.mode = o.call, o.mode
	t.self = Run{PID: os.Getpid(), Args: args, Dir: dir, Env: os.Environ(), Prompt: t.prompt, Began: time.Now()}
	if err := t.self.write(); err != nil || complaint != "" {
		return complaint, err
	}
	if t.settings, err = readSettings(o.settings); err != nil {
		return "", err
	}
	if t.home, err = readMemory(); err != nil {
		return "", err
	}
	if t.id == "" {
		t.id = uuid.NewString()
	}
	t.log = newTranscript(t.id, dir)
	known, err := t.kept.know(t.id, t.resume)
	switch {
	case err != nil:
	case t.resume && (!known || t.do.Has("lost")):
		t.leave("other")
		lost, _ := claude{}.lost(t.id)
		complaint = lost.stderr
	case known && !t.resume:
		used, _ := claude{}.used(t.id)
		complaint = used.stderr
	}
	return complaint, err
}

// run holds the terminal until the end.
func (t *tui) run() error {
	if t.do.Has("crash") {
		t.code = t.do.Number("crash", 1)
		return nil
	}
	if err := t.screen.tty.raw(); err != nil {
		return err
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	ctx, cancel := context.WithCancel(context.Background())
	var works sync.WaitGroup
	done := make(chan func())
	t.done, t.beside = done, func(work func(context.Context) func()) {
		works.Go(func() {
			then := work(ctx)
			select {
			case done <- then:
			case <-ctx.Done():
			}
		})
	}
	t.hurry = func() { cancel(); works.Wait() }
	defer t.hurry()
	if !t.do.Has("blind") {
		t.input = keystrokes(t.screen.tty.file)
	}
	t.screen.enter(!t.do.Has("classic") && os.Getenv("CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN") == "")
	t.welcome()
	t.loop(resized)
	return t.close()
}

// keystrokes reads a terminal for as long as the process lives: a read of one cannot be called off.
func keystrokes(file *os.File) <-chan []byte {
	input := make(chan []byte)
	go func() {
		defer close(input)
		for {
			piece := make([]byte, 1<<16)
			n, err := file.Read(piece)
			if err != nil {
				return
			}
			input <- piece[:n]
		}
	}()
	return input
}

func (t *tui) loop(resized <-chan os.Signal) {
	for !t.over {
		t.draw()
		select {
		case piece, there := <-t.input:
			if !there {
				t.exit(128+int(syscall.SIGHUP), "other")
				break
			}
			t.typed(piece)
		case then := <-t.done:
			then()
		case <-resized:
			t.screen.again()
		case sig := <-t.signals:
			t.signal(sig)
		}
	}
}

func (t *tui) signal(sig os.Signal) {
	switch sig {
	case syscall.SIGINT:
		t.press(key{kind: keyInterrupt})
	case syscall.SIGHUP:
		t.exit(128+int(syscall.SIGHUP), "other")
	default:
		if !t.do.Has("deaf") && (t.turn == nil || !t.turn.do.Has("deaf")) {
			t.exit(128+int(syscall.SIGTERM), "other")
		}
	}
}

// after does something when the time is over.
func (t *tui) after(d time.Duration, then func()) {
	t.beside(func(ctx context.Context) func() {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		return then
	})
}

// exit ends the run: tools and hooks first, and then the hooks that are told of it.
func (t *tui) exit(code int, reason string) {
	if t.over {
		return
	}
	t.code, t.over = code, true
	if t.turn != nil {
		t.turn.end()
	}
	t.hurry()
	if t.composer.draft != "" {
		t.did(ActDraft, t.composer.draft, "")
	}
	t.leave(reason)
}

// close gives the terminal back.
func (t *tui) close() error {
	t.screen.leave()
	flags := slices.DeleteFunc(slices.Clone(t.self.Args), func(arg string) bool { return arg == t.id || arg == "--session-id" || arg == "--resume" })
	t.screen.print(fmt.Sprintf("\r\nResume this session with:\r\nclaude %s\r\n", strings.Join(append(flags, "--resume", t.id), " ")))
	return t.screen.tty.restore()
}

// did writes down what was done.
func (t *tui) did(what What, text, how string) {
	t.check(t.self.add(Act{What: what, Text: text, How: how, Session: t.id}))
}

// check shows an error, which is of the stand-in and not of what it imitates.
func (t *tui) check(err error) {
	if err != nil {
		t.screen.show("stand-in: " + err.Error())
	}
}
