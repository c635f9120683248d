package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/codextest"
	"github.com/loop-daemon/loop/internal/loop"
)

// coder is a world in which somebody has the real Codex in a terminal of their own, with Loop's hooks, on the branch of an issue.
type coder struct {
	*world
	command string
	model   *codextest.API
}

// newCoder makes such a world and starts loopd. The hooks are trusted without a question.
func newCoder(t *testing.T) coder {
	t.Helper()
	command := os.Getenv("LOOP_CODEX")
	if command == "" {
		t.Skip("LOOP_CODEX is not the path of a real codex; make e2e-codex installs one and sets it")
	}
	c := coder{newWorld(t, ""), command, codextest.NewAPI()}
	t.Cleanup(func() {
		c.stop()
		c.sweep()
		c.model.Close()
	})
	var b strings.Builder
	fmt.Fprintf(&b, "[harness.codex]\ncommand = %q\nargs = [", command)
	for _, arg := range c.args() {
		fmt.Fprintf(&b, "%q, ", arg)
	}
	b.WriteString("]\n[harness.codex.env]\n")
	for name, value := range c.model.Env() {
		fmt.Fprintf(&b, "%s = %q\n", name, value)
	}
	c.configure(b.String())
	c.clone()
	c.must("hooks", "install", "codex")
	trusted := fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"\n", c.work)
	if err := os.WriteFile(filepath.Join(c.home, ".codex", "config.toml"), []byte(trusted), 0o600); err != nil {
		t.Fatal(err)
	}
	c.start()
	return c
}

func (c coder) args() []string { return append(c.model.Args(), "--dangerously-bypass-hook-trust") }

// sits opens a terminal with Codex in it.
func (c coder) sits(args ...string) *tty {
	c.t.Helper()
	s := c.opensTTY(c.work, c.model.Env(), c.command, append(args, c.args()...)...)
	s.shows("? for shortcuts")
	return s
}

// says types something and Enter.
func (c coder) says(s *tty, text string) {
	c.t.Helper()
	s.keys(text)
	s.shows("› " + text)
	s.keys("\r")
}

// count says how often the model was asked something with a word in it.
func (c coder) count(word string) (n int) {
	for _, r := range c.model.Requests() {
		if strings.Contains(r.Prompt, word) && !strings.Contains(r.Prompt, "task title") {
			n++
		}
	}
	return n
}

// rests waits until a turn with a word in it has ended.
func (c coder) rests(word string) {
	c.t.Helper()
	c.await("the turn to end", func() bool {
		here := c.presence()
		return c.count(word) == 1 && here != nil && here.Turn == "idle"
	})
}

// Given that a person has the real Codex open on the branch of an issue, with Loop's hooks,
// When comments arrive while it is open, and after it was left and killed,
// Then its first prompt registers it, what comes waits, visibly and beside no other process, and is told to the same conversation once
// that is open nowhere.
func TestRealCodexOfAPerson(t *testing.T) {
	t.Parallel()
	c := newCoder(t)
	s := c.sits()
	c.says(s, "good-morning")
	c.rests("good-morning")
	id := c.session(shop15).HarnessSessionID
	comment := c.comment(15, "told-when-left")
	c.waits(comment, loop.WaitElsewhere)
	c.says(s, "still-working")
	c.await("the turn", func() bool { return c.count("still-working") == 1 })
	c.waits(comment, loop.WaitElsewhere)
	s.keys("/quit")
	s.shows("› /quit")
	s.keys("\r")
	s.ended()
	c.ends(comment, "done", "")

	s = c.sits("resume", id)
	c.says(s, "back-again")
	c.rests("back-again")
	comment = c.comment(15, "told-when-killed")
	c.waits(comment, loop.WaitElsewhere)
	kill(t, c.presence().PID)
	s.ended()
	c.ends(comment, "done", "")
	if now := c.session(shop15); now.Status != "active" || now.HarnessSessionID != id {
		t.Errorf("in the end the session of %s is %+v", id, now)
	}
	for _, word := range []string{"good-morning", "still-working", "told-when-left", "back-again", "told-when-killed"} {
		if n := c.count(word); n != 1 {
			t.Errorf("the model was told %q %d times", word, n)
		}
	}
}
