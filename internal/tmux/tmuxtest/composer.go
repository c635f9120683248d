package tmuxtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// Composer is a program with an input line that is drawn as Claude Code draws its own, and the traps of a coding agent: a long paste is folded into a placeholder;
// an Enter close behind a paste is lost; one behind a backslash is a line break; text that begins with ! is run by a shell, and
// with / is a command; a dialog takes any key, and Enter is its yes.
type Composer struct {
	Log        string        // what was submitted: lines that Submitted reads; absolute
	Starts     time.Duration // how long it takes to show its input line and ask for bracketed paste
	Dialog     string        // while this file is there, a dialog is open; Enter removes it
	Asks       bool          // what is submitted opens the dialog
	Deaf       string        // while this file is there, it reads no key
	Swallows   string        // while this file is there, Enter is lost in its input line
	Draft      string        // what somebody has half typed
	IgnoreTerm bool          // it does not end by TERM
}

// InputLine is what a composer's input line begins with. The space does not break; that of a dialog's choices does.
const InputLine = "❯\u00a0"

const (
	foldLines = 12
	foldBytes = 900
	quiet     = 100 * time.Millisecond
	look      = 20 * time.Millisecond
)

// Argv is the command that plays it.
func (c Composer) Argv() []string { return argv("composer", c.Log, c) }

// Submission is what a composer took: Kind is prompt, shell, command, or dialog for a key that went into its dialog.
type Submission struct {
	Kind string
	Text string
}

// Submitted reads a composer's log.
func Submitted(log string) []Submission {
	text, _ := os.ReadFile(log)
	var all []Submission
	for line := range strings.Lines(string(text)) {
		var s Submission
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &s) == nil {
			all = append(all, s)
		}
	}
	return all
}

func (c Composer) play() error {
	if c.IgnoreTerm {
		signal.Ignore(syscall.SIGTERM)
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	e := &editor{dialog: c.Dialog, asks: c.Asks, swallows: c.Swallows, log: log, text: c.Draft, shown: c.Draft}
	input := make(chan string)
	go func() { // for as long as the terminal
		defer close(input)
		chunk := make([]byte, 64<<10)
		for {
			for there(c.Deaf) {
				time.Sleep(look)
			}
			n, err := os.Stdin.Read(chunk)
			if err != nil {
				return
			}
			input <- string(chunk[:n])
		}
	}()
	fmt.Print("starting\r\n")
	time.Sleep(c.Starts)
	fmt.Print("\x1b[?2004h")
	e.draw()
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		select {
		case chunk, ok := <-input:
			if !ok {
				return nil
			}
			e.take(chunk)
		case <-ticks.C:
		}
		e.draw()
	}
}

// editor is the input line and what stands above it.
type editor struct {
	dialog   string
	asks     bool
	swallows string
	log      *os.File
	text     string // what would be submitted
	shown    string // the same as it is shown: long pastes folded
	rest     string // of what was read: the beginning of a paste
	pasted   time.Time
	folds    int
	history  []string
	screen   string // as it was drawn last
}

// take reads keys and pastes. What a read has cut off waits for the next one.
func (e *editor) take(in string) {
	in, e.rest = e.rest+in, ""
	for in != "" {
		if len(in) < len(PasteBegins) && strings.HasPrefix(PasteBegins, in) {
			e.rest = in
			return
		}
		if rest, found := strings.CutPrefix(in, PasteBegins); found {
			text, after, ended := strings.Cut(rest, PasteEnds)
			if !ended {
				e.rest = in
				return
			}
			e.insert(strings.ReplaceAll(text, "\r", "\n"))
			e.pasted = time.Now()
			in = after
			continue
		}
		key, size := utf8.DecodeRuneInString(in)
		e.key(key)
		in = in[size:]
	}
}

func (e *editor) insert(text string) {
	if e.open() {
		e.write("dialog", text)
		return
	}
	e.text += text
	if lines := strings.Count(text, "\n"); lines >= foldLines || len(text) >= foldBytes {
		e.folds++
		text = fmt.Sprintf("[Pasted text #%d +%d lines]", e.folds, lines)
	}
	e.shown += text
}

func (e *editor) key(key rune) {
	switch {
	case e.open():
		e.write("dialog", string(key))
		if key == '\r' {
			_ = os.Remove(e.dialog)
		}
	case key != '\r':
		e.text += string(key)
		e.shown += string(key)
	case time.Since(e.pasted) < quiet || there(e.swallows):
	case strings.HasSuffix(e.text, `\`):
		e.text += "\n"
		e.shown += "\n"
	case e.text != "":
		e.submit()
	}
}

func (e *editor) submit() {
	kind := "prompt"
	switch e.text[0] {
	case '!':
		kind = "shell"
	case '/':
		kind = "command"
	}
	if e.asks { // before the log says that it was submitted, by which others know that it must be open
		_ = os.WriteFile(e.dialog, nil, 0o600)
	}
	e.write(kind, strings.TrimSpace(e.text))
	e.history = append(e.history, e.shown)
	e.text, e.shown = "", ""
}

func (e *editor) write(kind, text string) {
	line, _ := json.Marshal(Submission{Kind: kind, Text: text})
	_, _ = e.log.Write(append(line, '\n'))
}

func (e *editor) open() bool { return there(e.dialog) }

func there(file string) bool {
	_, err := os.Stat(file)
	return file != "" && err == nil
}

// draw shows the history, and below it the input line between two rules, or the dialog, which looks much like it.
func (e *editor) draw() {
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return
	}
	var b strings.Builder
	for _, said := range e.history[max(0, len(e.history)-10):] {
		b.WriteString("❯ " + said + "\n\n")
	}
	if e.open() {
		b.WriteString("Bash command\n\n  make deploy\n\nDo you want to proceed?\n❯ 1. Yes\n  2. No\n\nEsc to cancel\n")
	} else {
		rule := strings.Repeat("─", width)
		b.WriteString(rule + "\n" + InputLine + strings.ReplaceAll(e.shown, "\n", "\n  ") + "\n" + rule + "\n  ? for shortcuts\n")
	}
	if b.String() == e.screen {
		return
	}
	e.screen = b.String()
	fmt.Print("\x1b[H\x1b[2J" + strings.ReplaceAll(e.screen, "\n", "\r\n"))
}
