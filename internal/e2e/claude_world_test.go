package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/claudetest"
)

// realWorld is a world whose harness is the real Claude Code, in the world's own home and with a model of ours.
type realWorld struct {
	*world
	command string
	model   *claudetest.API
}

// newRealWorld makes such a world and writes its configuration, which config completes. It starts nothing.
func newRealWorld(t *testing.T, config string) realWorld {
	t.Helper()
	w := realWorld{newWorld(t, ""), realCommand(t), claudetest.NewAPI(claudetest.Behavior{})}
	t.Cleanup(func() {
		w.stop()
		w.sweep()
		w.model.Close()
	})
	w.configure(config)
	return w
}

// realCommand is the path of the real Claude Code, without which the test is skipped.
func realCommand(t *testing.T) string {
	t.Helper()
	command := os.Getenv("LOOP_CLAUDE")
	if command == "" {
		t.Skip("LOOP_CLAUDE is not the path of a real claude; make e2e-claude installs one and sets it")
	}
	return command
}

// configure writes loop.toml anew, as somebody would who lets the agent edit files.
func (w realWorld) configure(more string) {
	w.t.Helper()
	w.world.configure(realConfig(w.command, w.model, "--permission-mode", "acceptEdits") + more)
}

// realConfig is the configuration of a real Claude Code with a model of ours. What follows it belongs to [routing].
func realConfig(command string, model *claudetest.API, args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[harness.claude]\ncommand = %q\nargs = [", command)
	for _, arg := range args {
		fmt.Fprintf(&b, "%q, ", arg)
	}
	b.WriteString("]\n[harness.claude.env]\n")
	for name, value := range model.Env() {
		fmt.Fprintf(&b, "%s = %q\n", name, value)
	}
	b.WriteString("[routing]\n")
	return b.String()
}

// turns returns what the model was asked so far, without what is asked beside a conversation.
func (w realWorld) turns() []claudetest.Request {
	return slices.DeleteFunc(w.model.Requests(), func(r claudetest.Request) bool { return r.Side })
}

// asked waits until the model was asked so many questions of a conversation, and returns them.
func (w realWorld) asked(n int) []claudetest.Request {
	w.t.Helper()
	var turns []claudetest.Request
	w.await(strconv.Itoa(n)+" questions to the model", func() bool {
		turns = w.turns()
		return len(turns) >= n
	})
	if len(turns) > n {
		w.t.Fatalf("the model was asked %d questions, want %d: %+v", len(turns), n, turns)
	}
	return turns
}

// count says how often a word stands in the newest question to the model, which holds the whole conversation.
func (w realWorld) count(word string) int {
	turns := w.turns()
	if len(turns) == 0 {
		return 0
	}
	return strings.Count(turns[len(turns)-1].Body, word)
}

// answered waits until the model has answered a question with a word in it, and wants it so often in the conversation, which is
// that of the session.
func (w realWorld) answered(word string, times int) claudetest.Request {
	w.t.Helper()
	var last claudetest.Request
	w.await("an answer to "+word, func() bool {
		turns := w.turns()
		if len(turns) == 0 {
			return false
		}
		last = turns[len(turns)-1]
		return last.Status == 200 && strings.Contains(last.Body, word)
	})
	if n := strings.Count(last.Body, word); n != times {
		w.t.Errorf("%q stands in the conversation %d times, want %d:\n%s", word, n, times, last.Body)
	}
	if id := w.session(shop15).HarnessSessionID; last.Session != id {
		w.t.Errorf("conversation %s was told %q, want %s", last.Session, word, id)
	}
	return last
}

// order wants words in the conversation, once each and in this order.
func (w realWorld) order(words ...string) {
	w.t.Helper()
	turns := w.turns()
	body, before := turns[len(turns)-1].Body, -1
	for _, word := range words {
		at := strings.Index(body, word)
		if n := strings.Count(body, word); n != 1 || at < before {
			w.t.Errorf("%q stands in the conversation %d times, at %d and after %d", word, n, at, before)
		}
		before = at
	}
}

// hold makes the model think until the returned function is called, or the test ends.
func (w realWorld) hold() (answer func()) {
	gate := make(chan struct{})
	w.model.Behave(claudetest.Behavior{Gate: gate})
	return func() {
		w.model.Behave(claudetest.Behavior{})
		close(gate)
	}
}
