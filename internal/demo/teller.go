package main

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// Colours of a terminal.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

const (
	indent = "   "
	column = 100 // where text is wrapped

	longest = 300 // characters of an answer that are shown
)

// teller writes the story for a person: on a terminal with colour, and cut to its width what would not fit.
type teller struct {
	out    *os.File
	colour bool
	width  int // of the terminal; 0 where there is none
	steps  int
}

func newTeller(out *os.File, getenv func(string) string) *teller {
	t := &teller{out: out}
	if size, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ); err == nil {
		t.width = int(size.Col)
		t.colour = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	}
	return t
}

// title opens the story.
func (t *teller) title(text string) { t.line("\n%s\n", t.paint(bold, text)) }

// step opens the next part of it.
func (t *teller) step(title string) {
	t.steps++
	t.line("\n%s\n", t.paint(bold, fmt.Sprintf("%d. %s", t.steps, title)))
}

// say tells the reader something.
func (t *teller) say(format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), column-len(indent)) {
		t.line("%s%s", indent, line)
	}
}

// command shows what somebody typed.
func (t *teller) command(line string) {
	t.line("%s%s %s", indent, t.paint(dim, "$"), t.paint(cyan, line))
}

// output shows what a program printed, in its own lines.
func (t *teller) output(text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.TrimRight(safe(indent+line), " ")
		if r := []rune(line); t.width > 0 && len(r) > t.width {
			line = string(r[:t.width-1]) + "…"
		}
		t.line("%s", line)
	}
}

// screen shows a terminal that is wider and longer than what stands on it.
func (t *teller) screen(text string) {
	blank := false
	for line := range strings.Lines(strings.TrimRightFunc(text, unicode.IsSpace)) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if blank && line == "" {
			continue
		}
		blank = line == ""
		if r := []rune(line); len(r) > column-len(indent) {
			line = string(r[:column-len(indent)-1]) + "…"
		}
		t.output(line)
	}
}

// passes shows what goes from one to another: a request, a command line, an answer.
func (t *teller) passes(from, to, what string) {
	who := fmt.Sprintf("%6s → %-6s ", from, to)
	for _, line := range wrap(safe(what), column-len(indent)-16) {
		t.line("%s%s %s", indent, t.paint(bold, who), line)
		who = strings.Repeat(" ", 16)
	}
}

// aside adds to what passes.
func (t *teller) aside(format string, args ...any) {
	t.line("%s%17s%s", indent, "", safe(fmt.Sprintf(format, args...)))
}

// quote shows a text as a whole.
func (t *teller) quote(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		for _, part := range wrap(safe(strings.TrimRight(line, "\n")), column-len(indent)-4) {
			t.line("%s", strings.TrimRight(indent+indent+t.paint(dim, "│ "+part), " "))
		}
	}
}

// kept and broken tell of a promise.
func (t *teller) kept(promise string)   { t.line("%s%s %s", indent, t.paint(green, "✓"), promise) }
func (t *teller) broken(promise string) { t.line("%s%s %s", indent, t.paint(red, "✗"), promise) }

// done and failed close the story.
func (t *teller) done(format string, args ...any) {
	t.line("\n%s %s\n", t.paint(green, "✓"), fmt.Sprintf(format, args...))
}

func (t *teller) failed(err error) {
	t.line("\n%s %s\n", t.paint(red, "✗ The demonstration failed:"), strings.ReplaceAll(safe(err.Error()), "\n", "\n  "))
}

// line writes one; a reader who is gone ends the program by a signal.
func (t *teller) line(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format+"\n", args...) }

func (t *teller) paint(colour, text string) string {
	if !t.colour || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// safe takes out what could steer the terminal: the answers of a model are shown too.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) {
			return '�'
		}
		return r
	}, s)
}

// wrap breaks a text between words into lines of a width, where it is wider. A word that is longer has a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for r := []rune(line); len(r) > width; r = []rune(line) {
			at := strings.LastIndexByte(string(r[:width+1]), ' ')
			if at <= 0 {
				if at = strings.IndexByte(line, ' '); at <= 0 {
					break
				}
			}
			lines = append(lines, line[:at])
			line = line[at+1:]
		}
		lines = append(lines, line)
	}
	return lines
}

// brief is a text on one line, cut where it becomes long.
func brief(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > longest {
		r = append(r[:longest-1], '…')
	}
	return string(r)
}
