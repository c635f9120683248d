package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// stage is a house whose agents are composers: they write down each key that counts, and a test can come between two looks at their
// screens.
type stage struct {
	*house

	dir      string
	composer tmuxtest.Composer
	seen     func(harness.Screen) // is called with each screen that shows a token of ours, before the runner goes on
	records  func() bool          // whether the agents have written down yet what they took
}

func newStage(t *testing.T, c tmuxtest.Composer, change ...func(*house)) *stage {
	t.Helper()
	st := &stage{dir: t.TempDir(), composer: c, seen: func(harness.Screen) {}, records: func() bool { return true }}
	st.house = newHouse(t, append(change, func(h *house) {
		h.agent = func(term harness.Terminal) harness.Agent { return actor{term, st} }
	})...)
	return st
}

// took is what the agent of a session took, in order.
func (st *stage) took(s loop.Session) []tmuxtest.Submission {
	return tmuxtest.Submitted(filepath.Join(st.dir, s.WorkItem.Slug()))
}

// wantPrompts wants prompts that end so, in order, and nothing else to have been taken.
func (st *stage) wantPrompts(s loop.Session, ends ...string) {
	st.t.Helper()
	got := st.took(s)
	ok := len(got) == len(ends)
	for i := 0; ok && i < len(got); i++ {
		ok = got[i].Kind == "prompt" && strings.HasPrefix(got[i].Text, "[loop ") && strings.HasSuffix(got[i].Text, "\n\n"+ends[i])
	}
	if !ok {
		st.t.Errorf("the agent took %.300q, want prompts that end in %.300q", got, ends)
	}
}

// actor is Claude Code with the terminal and the record of a composer.
type actor struct {
	harness.Terminal

	on *stage
}

func (a actor) Open(turn harness.Turn, fresh bool, settings string) (harness.Command, error) {
	cmd, err := a.Terminal.Open(turn, fresh, settings)
	c := a.on.composer
	c.Log = filepath.Join(a.on.dir, turn.Item.Slug())
	argv := c.Argv()
	cmd.Path, cmd.Args = argv[0], argv[1:]
	return cmd, err
}

func (a actor) Screen(text string) harness.Screen {
	s := a.Terminal.Screen(text)
	if len(loop.FindTokens(s.Draft)) > 0 {
		a.on.seen(s)
	}
	return s
}

// Heard looks at what all composers took: a token is only once in the world.
func (a actor) Heard(_ loop.SessionID, token string) (bool, error) {
	if !a.on.records() {
		return false, nil
	}
	logs, err := filepath.Glob(filepath.Join(a.on.dir, "*"))
	for _, log := range logs {
		for _, took := range tmuxtest.Submitted(log) {
			if took.Kind == "prompt" && strings.Contains(took.Text, token) {
				return true, err
			}
		}
	}
	return false, err
}

func (a actor) Trust(string) (bool, error) { return false, nil }

// file is a sign for composers: it is there, or not.
type file string

func (f file) make(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(string(f), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f file) there() bool {
	_, err := os.Stat(string(f))
	return err == nil
}

func (f file) remove(t testing.TB) {
	t.Helper()
	if err := os.Remove(string(f)); err != nil {
		t.Fatal(err)
	}
}
