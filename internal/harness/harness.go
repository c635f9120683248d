// Package harness drives coding agents by their command lines: how a program is started on a new conversation or resumed
// in an old one, which environment it gets, and what its answers mean.
//
// The package starts nothing and waits for nothing. It answers a Command for a runner to host, and reads the Exit that the
// runner saw. Three promises hold for every agent: what a stranger wrote travels on stdin, or in an argument where the program
// takes it no other way, and is never taken for a flag; ids are checked before they reach an argument vector; and permissions
// are never widened, which only the configured arguments can.
package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// Agent is a coding agent's command line. All its methods may be called at the same time.
type Agent interface {
	// Name returns what configuration and sessions call the agent.
	Name() string

	// Available returns nil when the agent's program is there to be started, else ErrUnavailable with the way to get it.
	Available() error

	// MintID returns an id for a conversation to be started, or "" when the agent names its conversations itself.
	MintID() loop.SessionID

	// Start returns the command that begins conversation t.ID. The error is ErrInvalid for a turn that can never run, and
	// ErrUnavailable for one that cannot run now: the program or the folder is missing.
	Start(t Turn) (Command, error)

	// Resume returns the command that continues conversation t.ID. Its errors are those of Start, and ErrNotFound for a
	// conversation that the agent has lost, where it would not say so itself.
	Resume(t Turn) (Command, error)

	// Read says what became of a run.
	Read(x Exit) loop.Outcome

	// Complete reports whether stdout holds a whole answer, good or bad. A program that goes on after one may be ended:
	// nothing more is to come.
	Complete(stdout []byte) bool

	// Text returns what the agent said at the end of a turn, whole, for people to read; "" where stdout holds no answer.
	Text(stdout []byte) string
}

// Turn is one prompt for one conversation.
type Turn struct {
	Item   loop.WorkItem
	ID     loop.SessionID // "" only for Start, of an agent that names its conversations itself
	Cwd    string         // absolute
	Prompt string
}

// checkAll returns what would be wrong with handing the turn to a program, whichever it is.
func (t Turn) checkAll() error {
	if err := t.ID.Check(); err != nil {
		return err
	}
	return t.check()
}

// check leaves the conversation's id out, for one that is yet to be named.
func (t Turn) check() error {
	if t.Prompt == "" {
		return fmt.Errorf("no prompt for %s: %w", t.Item, loop.ErrInvalid)
	}
	return t.checkPlace()
}

func (t Turn) checkPlace() error {
	if !filepath.IsAbs(t.Cwd) {
		return fmt.Errorf("working folder %q of %s is not an absolute path: %w", t.Cwd, t.Item, loop.ErrInvalid)
	}
	// An agent that is started elsewhere does not complain, it goes to work in the wrong tree.
	const remedy = "make it, or choose another (--cwd of a registration, else routing.spawn_workdir)"
	switch info, err := os.Stat(t.Cwd); {
	case err != nil:
		return fmt.Errorf("working folder of %s: %w; %s: %w", t.Item, err, remedy, loop.ErrUnavailable)
	case !info.IsDir():
		return fmt.Errorf("working folder %s of %s is not a folder; %s: %w", t.Cwd, t.Item, remedy, loop.ErrUnavailable)
	}
	return nil
}

// Command is a process to be started, whole: nothing of the caller's own environment is to be added.
type Command struct {
	Path  string   // absolute
	Args  []string // without the program's own name
	Env   []string // exactly the child's environment; a runner adds LOOP_RUN
	Dir   string
	Stdin string // the prompt, written to the program, which is then closed; "" when it is among the arguments

	// Format is how a declared agent answers, for a host that can't ask the agent: see Complete. Nil for others.
	Format *Format
}

// End says why a process is no longer there.
type End int

// The ways in which a process can end.
const (
	Exited   End = iota // by itself: its status counts
	Answered            // ended by us because it had answered whole and stayed
	TimedOut            // ended by us, its time was up
	Stopped             // ended by us at our own wish: close, pause
	CutOff              // it died with its host; nobody saw its status
)

// Exit is what a runner saw of a process that ended.
type Exit struct {
	End    End
	Code   int            // its exit status; only of Exited
	Signal syscall.Signal // what ended it instead; only of Exited
	Stdout []byte
	Stderr []byte
	Cut    bool          // there was more on stdout than was kept
	At     time.Time     // when it ended
	Took   time.Duration // how long it ran
	Killed bool          // SIGKILL was needed
}
