package agenttest

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// screen shows a history, which scrolls away, and below it what changes.
type screen struct {
	tty     tty
	out     io.Writer
	history []string
	shown   int    // lines of the history that are on the screen or have scrolled away
	below   string // what is under it
	alt     bool
}

// kept is how much of the history is drawn again when the terminal changes its size.
const kept = 500

// enter takes the screen: the alternate one, or what there is.
func (s *screen) enter(alternate bool) {
	if s.alt = alternate; alternate {
		s.print("\x1b[?1049h\x1b[2J\x1b[H")
	}
	s.show(" ▐▛███▛█   Claude Code v" + version)
	s.show("▝▜██████▀  the stand-in\n")
}

// ready lets pastes be told from typing.
func (s *screen) ready() { s.print("\x1b]0;✳ Claude Code\x07\x1b[?2004h") }

// leave gives the screen back.
func (s *screen) leave() {
	s.print("\x1b[?2004l")
	if s.alt {
		s.print("\x1b[?1049l")
	}
}

func (s *screen) print(text string) { _, _ = io.WriteString(s.out, text) }

// show adds to the history.
func (s *screen) show(text string) {
	s.history = append(s.history, strings.Split(strings.TrimSuffix(text, "\n")+"\n", "\n")...)
	if over := len(s.history) - kept; over > 0 && s.shown >= over {
		s.history, s.shown = slices.Delete(s.history, 0, over), s.shown-over
	}
}

// again draws all of it anew.
func (s *screen) again() {
	s.print("\x1b[2J\x1b[H")
	s.shown, s.below = 0, ""
}

// draw shows what is new in the history, and what is below it.
func (s *screen) draw(below []string) {
	width, height := s.tty.size()
	text := strings.Join(wrap(below, width, height-1), "\r\n")
	if text == s.below && s.shown == len(s.history) {
		return
	}
	var b strings.Builder
	if up := strings.Count(s.below, "\n"); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r\x1b[J")
	for _, line := range wrap(s.history[s.shown:], width, kept) {
		b.WriteString(line + "\r\n")
	}
	b.WriteString(text)
	s.print(b.String())
	s.shown, s.below = len(s.history), text
}

// wrap breaks lines where the terminal ends, and keeps the last of them.
func wrap(lines []string, width, most int) (rows []string) {
	for _, line := range lines {
		row, used := "", 0
		for _, r := range line {
			cells := 1
			if r >= 0x1100 && !strings.ContainsRune("─✳✻✽●❯⎿⏸⏵", r) {
				cells = 2
			}
			if used+cells > width {
				rows = append(rows, row)
				row, used = "", 0
			}
			row, used = row+string(r), used+cells
		}
		rows = append(rows, row)
	}
	return rows[max(len(rows)-most, 0):]
}

// draw shows how things stand.
func (t *tui) draw() {
	width, height := t.screen.tty.size()
	rule := strings.Repeat("─", width)
	var below []string
	for _, p := range slices.Concat(t.queue, t.asked) {
		below = append(below, p.shown)
	}
	switch {
	case t.dialog != nil:
		below = append(append(below, rule), t.dialog.view()...)
	case t.open:
		if t.busy() {
			below = append(below, "✽ Transfiguring…", "")
		}
		if strings.HasPrefix(t.composer.draft, "/") {
			below = append(below, "  ❯ /clear                      Start a new session with empty context")
		}
		box := wrap(t.composerView(), width, height-8)
		below = slices.Concat(below, []string{rule}, box, []string{rule, t.footer()})
	}
	t.screen.draw(below)
}

func (t *tui) busy() bool { return t.turn != nil || len(t.asked) > 0 }

// What stands before the input line has a space that does not break behind it, as nothing else has.
const inputMark, shellMark = "❯\u00a0", "!\u00a0"

func (t *tui) composerView() []string {
	draft := strings.ReplaceAll(t.composer.draft, "\n", "\n  ")
	switch {
	case draft == "" && len(t.queue) > 0:
		return []string{inputMark + "Press up to edit queued messages"}
	case strings.HasPrefix(draft, "!"):
		return strings.Split(shellMark+draft[1:], "\n")
	}
	return strings.Split(inputMark+draft, "\n")
}

// footer is the last line. A draft hides whether a turn runs.
func (t *tui) footer() string {
	mode := "  ⏸ manual mode on"
	if t.mode != "" && t.mode != "default" && t.mode != "manual" {
		mode = "  ⏵⏵ " + t.mode + " on"
	}
	switch c := &t.composer; {
	case len(c.folded) > 0:
		return "  paste again to expand"
	case strings.HasPrefix(c.draft, "!"):
		return "  ! for shell mode"
	case c.draft != "":
		return mode
	case t.busy():
		return mode + " · esc to interrupt"
	}
	return mode + " · ? for shortcuts"
}
