// Package tmuxtest is what tests of panes need: a private tmux server that is gone with all its programs when the test ends, and
// programs to put into its panes.
//
// The programs are the test binary itself: its TestMain calls Play first, and Argv of a Recorder or a Composer starts it again
// in that part. Both write down what they get as it arrives, so a test can read the log at any moment; both end with their
// terminal.
package tmuxtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"
)

const part = "tmuxtest="

// Play plays the part that this process was started for, and then exits; in the test's own process it does nothing.
func Play() {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], part) {
		return
	}
	var err error
	switch kind, args := strings.TrimPrefix(os.Args[1], part), os.Args[2]; kind {
	case "recorder":
		err = play(args, Recorder.play)
	case "composer":
		err = play(args, Composer.play)
	default:
		err = fmt.Errorf("no part %q", kind)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// play reads how the part is to be played and puts the terminal into raw mode.
func play[P any](file string, play func(P) error) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var p P
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	if _, err := term.MakeRaw(int(os.Stdin.Fd())); err != nil {
		return err
	}
	return play(p)
}

// argv writes down how the part is to be played beside its log, and returns the command that plays it.
func argv(kind, log string, p any) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	file := log + ".part"
	if err := os.WriteFile(file, text, 0o600); err != nil {
		panic(err)
	}
	return []string{self, part + kind, file}
}

// Recorder is a program that writes every byte that it reads from its terminal, in raw mode, to its log.
type Recorder struct {
	Log        string // the log's absolute path
	Bracketed  bool   // it asks for bracketed paste
	Alternate  bool   // it draws on the alternate screen
	IgnoreTerm bool   // it does not end by TERM
	Deaf       bool   // it never reads
}

// Argv is the command that plays it.
func (r Recorder) Argv() []string { return argv("recorder", r.Log, r) }

// Ready is what a recorder shows when it listens.
const Ready = "recorder listens"

func (r Recorder) play() error {
	if r.IgnoreTerm {
		signal.Ignore(syscall.SIGTERM)
	}
	log, err := os.OpenFile(r.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if r.Alternate {
		fmt.Print("before the alternate screen\r\n\x1b[?1049h\x1b[H")
	}
	if r.Bracketed {
		fmt.Print("\x1b[?2004h")
	}
	fmt.Print(Ready + "\r\n")
	if r.Deaf {
		select {}
	}
	chunk := make([]byte, 64<<10)
	for err == nil { // until its terminal is gone
		var n int
		n, err = os.Stdin.Read(chunk)
		_, _ = log.Write(chunk[:n])
	}
	return nil
}

// What a terminal puts around a paste.
const (
	PasteBegins = "\x1b[200~"
	PasteEnds   = "\x1b[201~"
)

// Recorded reads a recorder's log; it is empty before the first byte.
func Recorded(log string) string {
	text, _ := os.ReadFile(log)
	return string(text)
}
