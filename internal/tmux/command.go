package tmux

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// word is a part of a command that stands in this package's source: a constant becomes one by itself, a variable does not.
type word string

// safeValue is what may come from a variable into a command. Quotes, #, $( and ; mean something to tmux, to a shell or to its formats.
var safeValue = regexp.MustCompile(`^[\pL\pN_%$@=:/.+, -]+$`)

// script is one or more tmux commands that run one behind the other, up to the first that fails. The methods return it, for
// the next call; the first error is kept for argv.
type script struct {
	commands [][]string
	err      error
}

// do starts a script with a command.
func do(words ...word) *script { return new(script).then(words...) }

// then adds a command.
func (s *script) then(words ...word) *script {
	s.commands = append(s.commands, nil)
	return s.lit(words...)
}

// lit adds constants to the last command.
func (s *script) lit(words ...word) *script {
	for _, w := range words {
		s.push(string(w))
	}
	return s
}

// val adds values to the last command. One that is outside the alphabet is the script's error.
func (s *script) val(values ...string) *script {
	for _, v := range values {
		if !safeValue.MatchString(v) && s.err == nil {
			s.err = fmt.Errorf("%q may not stand in a tmux command: %w", v, loop.ErrInvalid)
		}
		s.push(v)
	}
	return s
}

// when adds a command that runs yes if the condition holds for the target, and no if not, in one step of the server.
func (s *script) when(t Target, condition word, yes, no *script) *script {
	for _, err := range []error{t.check(), yes.err, no.err} {
		if s.err == nil {
			s.err = err
		}
	}
	guard := "#{&&:#{==:#{@loop_launch}," + t.Launch + "}," + string(condition) + "}"
	if t.PID != 0 {
		guard = "#{&&:#{==:#{pane_pid}," + strconv.Itoa(t.PID) + "}," + guard + "}"
	}
	s.then("if-shell", "-F", "-t").val(t.Pane)
	s.push(guard, yes.text(), no.text())
	return s
}

func (s *script) push(args ...string) {
	last := &s.commands[len(s.commands)-1]
	*last = append(*last, args...)
}

// text is the script in tmux's own language, where nothing means anything inside single quotes.
func (s *script) text() string {
	var b strings.Builder
	for i, command := range s.commands {
		if i > 0 {
			b.WriteString(" ; ")
		}
		b.WriteString("'" + strings.Join(command, "' '") + "'")
	}
	return b.String()
}

// argv is the script as arguments, a lone semicolon between two commands. tmux takes an argument that ends in one for the same,
// wherever it stands.
func (s *script) argv() ([]string, error) {
	if s.err != nil {
		return nil, s.err
	}
	var args []string
	for i, command := range s.commands {
		if i > 0 {
			args = append(args, ";")
		}
		at := slices.IndexFunc(command, func(arg string) bool { return strings.HasSuffix(arg, ";") })
		if at >= 0 {
			return nil, fmt.Errorf("%q may not stand in a tmux command: %w", command[at], loop.ErrInvalid)
		}
		args = append(args, command...)
	}
	return args, nil
}
