package tmux

import (
	"errors"
	"fmt"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// ErrUnknown is the class of errors that say that tmux did not answer in words that we know: what was asked for may have happened
// or not, and the state of every session is unknown. It is an ErrUnavailable too.
var ErrUnknown = fmt.Errorf("tmux session state unknown: %w", loop.ErrUnavailable)

var (
	errNoServer = errors.New("no tmux server")
	errNoBuffer = fmt.Errorf("paste buffer is gone: %w", loop.ErrUnavailable)
	errAbsent   = fmt.Errorf("no such tmux session: %w", loop.ErrNotFound)
)

// RefusedError says that nothing was done, because the pane was not as the act needs it. It is an ErrConflict.
type RefusedError struct {
	Target   Target
	State    State // Live: the launch lives, and that or InputOff is the reason
	InputOff bool  // somebody disabled the input to the pane
	Shared   bool  // the session has panes that are not ours
}

// Error names the pane and what was found there.
func (e *RefusedError) Error() string {
	reason := "it is " + e.State.String()
	switch {
	case e.State == Foreign:
		reason = "it does not run launch " + e.Target.Launch
	case e.InputOff:
		reason = "its input is disabled (select-pane -d); enable it with select-pane -e"
	case e.Shared:
		reason = "its session has other panes too; close those first"
	}
	return fmt.Sprintf("tmux pane %s was left alone: %s", e.Target.Pane, reason)
}

// Is makes it a loop.ErrConflict.
func (e *RefusedError) Is(target error) bool { return target == loop.ErrConflict }

// unknown describes what tmux said, or that it said nothing.
func unknown(said string, cause error) error {
	if said = strings.Join(strings.Fields(said), " "); said == "" {
		return fmt.Errorf("tmux did not answer: %w: %w", cause, ErrUnknown)
	}
	return fmt.Errorf("tmux did not answer (%s): %w", said, ErrUnknown)
}

// classify finds what tmux said on stderr in the closed table of what is sure: errNoServer, errAbsent, or loop.ErrExists; nil for
// everything else, which tells nothing.
func classify(said string) error {
	said = strings.TrimSpace(said)
	if strings.Contains(said, "\n") {
		return nil
	}
	for _, row := range answers {
		if strings.HasPrefix(said, row.prefix) && strings.HasSuffix(said, row.suffix) {
			return fmt.Errorf("%s: %w", said, row.means)
		}
	}
	return nil
}

var answers = []struct {
	prefix, suffix string
	means          error
}{
	{"no server running on ", "", errNoServer},
	{"error connecting to ", " (No such file or directory)", errNoServer},
	{"error connecting to ", " (Connection refused)", errNoServer},
	{"no current target", "", errAbsent},
	{"can't find session: ", "", errAbsent},
	{"can't find window: ", "", errAbsent},
	{"can't find pane: ", "", errAbsent},
	{"no such session: ", "", errAbsent},
	{"no such window: ", "", errAbsent},
	{"no buffer ", "", errNoBuffer},
	{"unknown buffer: ", "", errNoBuffer},
	{"duplicate session: ", "", loop.ErrExists},
}
