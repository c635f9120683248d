package e2e_test

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// screen is what a terminal shows, as far as programs draw with the few sequences that Claude Code and Codex use. Every character
// takes one place.
type screen struct {
	mu       sync.Mutex
	rows     [][]rune
	row, col int
	rest     []byte // the beginning of a sequence or character that is to come

	answers io.Writer // where it answers what programs ask a terminal; nil: nowhere
}

func newScreen(rows, cols int) *screen {
	s := &screen{rows: make([][]rune, rows)}
	for i := range s.rows {
		s.rows[i] = slices.Repeat([]rune{' '}, cols)
	}
	return s
}

// String returns the lines, without what is empty at their ends.
func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, row := range s.rows {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return b.String()
}

// sequences are what steers a terminal: CSI, OSC, the choice of a character set, and ESC with one more.
var sequences = regexp.MustCompile(`^(?:\x1b\[([?>=<]?)([0-9;:]*)[ -/]*([@-~])|\x1b[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].|\x1b[^\[\]()P_^])`)

// Write draws.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append(s.rest, p...)
	for len(text) > 0 {
		n := s.draw(text)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	s.rest = slices.Clone(text)
	return len(p), nil
}

// draw takes the first character or sequence of a text, and returns its length; 0 where it is not whole.
func (s *screen) draw(text []byte) int {
	if text[0] == 0x1b {
		m := sequences.FindSubmatch(text)
		if m == nil {
			return 0
		}
		if len(m[3]) > 0 && len(m[1]) == 0 {
			s.control(m[3][0], string(m[2]))
		}
		return len(m[0])
	}
	r := []rune(string(text[:min(len(text), 4)]))[0]
	size := len(string(r))
	switch {
	case r == '\uFFFD':
		if len(text) < 4 {
			return 0
		}
		size = 1
	case r == '\r':
		s.col = 0
	case r == '\n':
		s.down(1)
	case r == '\b':
		s.col = max(0, s.col-1)
	case r >= ' ':
		s.put(r)
	}
	return size
}

func (s *screen) put(r rune) {
	if s.col >= len(s.rows[0]) {
		s.col = 0
		s.down(1)
	}
	s.rows[s.row][s.col] = r
	s.col++
}

// down goes down some lines, at the end of which all others move up.
func (s *screen) down(n int) {
	for s.row += n; s.row >= len(s.rows); s.row-- {
		s.rows = append(s.rows[1:], slices.Repeat([]rune{' '}, len(s.rows[0])))
	}
}

// control carries out a control sequence.
func (s *screen) control(final byte, params string) {
	var n [2]int
	for i, p := range strings.SplitN(params, ";", 2) {
		n[i], _ = strconv.Atoi(p)
	}
	rows, cols, step := len(s.rows), len(s.rows[0]), max(1, n[0])
	switch final {
	case 'A':
		s.row = max(0, s.row-step)
	case 'B':
		s.row = min(rows-1, s.row+step)
	case 'C':
		s.col = min(cols-1, s.col+step)
	case 'D':
		s.col = max(0, s.col-step)
	case 'G':
		s.col = min(cols, step) - 1
	case 'H':
		s.row, s.col = min(rows, step)-1, min(cols, max(1, n[1]))-1
	case 'K':
		s.clear(s.row, s.row+1, n[0])
	case 'J':
		if n[0] == 0 {
			s.clear(s.row, s.row+1, 0)
			s.clear(s.row+1, rows, 2)
		} else {
			s.clear(0, rows, 2)
		}
	case 'n', 'c':
		s.answer(final)
	}
}

// answer says where the cursor is, or what kind of terminal this is.
func (s *screen) answer(asked byte) {
	switch {
	case s.answers == nil:
	case asked == 'n':
		_, _ = fmt.Fprintf(s.answers, "\x1b[%d;%dR", s.row+1, s.col+1)
	default:
		_, _ = io.WriteString(s.answers, "\x1b[?62;c")
	}
}

// clear empties lines: of each what is right of the cursor (0), left of it (1), or all (2).
func (s *screen) clear(from, to, part int) {
	for _, row := range s.rows[from:to] {
		begin, end := 0, len(row)
		switch part {
		case 0:
			begin = min(s.col, end)
		case 1:
			end = min(s.col+1, end)
		}
		for i := begin; i < end; i++ {
			row[i] = ' '
		}
	}
}
