package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/claudetest"
)

// realTerminals is a world whose sessions are terminals with the real Claude Code in them.
type realTerminals struct {
	terminals

	real realWorld // the same world, by its model
}

// Given the real Claude Code in a terminal, once with hooks that wait for events and once with typing,
// When a label starts it, comments arrive while it is idle, busy, asking for a permission, and beside a person's draft, its
// program is killed, and the issue is closed,
// Then one conversation has each of them once and in order, no dialog and no draft was touched, and in the end nothing of it lives
// but its record.
func TestRealTerminal(t *testing.T) {
	t.Parallel()
	command := realCommand(t)
	for name, hooked := range map[string]bool{"by hook": true, "by typing": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := claudetest.NewAPI(claudetest.Behavior{})
			t.Cleanup(model.Close)
			w := newTerminals(t, hooked, realConfig(command, model))
			r := realTerminals{w, realWorld{w.world, command, model}}
			r.start()
			r.begins()
			r.isTold("told-while-idle")
			r.works("busy", "told-to-work", func() { r.ends(r.comment(15, "told-to-work"), "done", "") })
			r.asks()
			r.isWrittenIn()
			r.isKilled()
			r.closes()
		})
	}
}

// begins sets the label, and has two comments arrive during the turn that it starts, which is typed into the agent's own screen.
func (w realTerminals) begins() {
	w.t.Helper()
	const label = "labels: the-loop"
	w.works("started", label, func() {
		w.ends(w.post("issues", labeled(15)), "done", "")
		w.handed("typing")
	})
	fenced(w.t, w.real.turns()[0].Prompt, label)
	if screen := w.tmux("capture-pane", "-p", "-S", "-", "-t", at(15)); !strings.Contains(screen, "● Fake answer to turn 1") {
		w.t.Errorf("the screen does not show the answer:\n%s", screen)
	}
}

// isTold comments while the agent is idle.
func (w realTerminals) isTold(word string) {
	w.t.Helper()
	w.ends(w.comment(15, word), "done", "")
	w.real.answered(word, 1)
	w.rests()
	w.handed(map[bool]string{true: "hook", false: "typing"}[w.hooked])
}

// works has two comments arrive while the agent is in the turn that begin begins, which is known by a word. They wait, or a hook
// that waits since the start has them.
func (w realTerminals) works(when, word string, begin func()) {
	w.t.Helper()
	answer := w.real.hold()
	begin()
	w.await("the turn", func() bool { return w.real.count(word) == 1 })
	words := []string{word, "told-while-" + when + "-1", "told-while-" + when + "-2"}
	first, second := w.comment(15, words[1]), w.comment(15, words[2])
	w.await("both comments to be taken in", func() bool {
		one, two := w.delivery(first), w.delivery(second)
		return one.Reason == "busy" && two.Reason == "busy" || w.hooked && one.State == "running" && two.State != "received"
	})
	answer()
	w.ends(first, "done", "")
	w.ends(second, "done", "")
	w.real.answered(words[2], 1)
	w.rests()
	w.real.order(words...)
}

// asks has a comment arrive while the agent asks whether a tool may run, which a person then refuses.
func (w realTerminals) asks() {
	w.t.Helper()
	// What a hook brings is told among reminders, where the model of ours looks for no directive.
	w.real.model.Behave(claudetest.Behavior{Tool: "Bash", ToolInput: json.RawMessage(`{"command":"touch confirmed; sleep 1"}`)})
	w.ends(w.comment(15, "told-to-ask"), "done", "")
	w.await("the dialog", func() bool { return strings.Contains(w.screen(15), "❯ 1. Yes") })
	w.real.model.Behave(claudetest.Behavior{})
	before := w.screen(15)
	held := w.comment(15, "told-beside-a-dialog")
	w.waits(held, "dialog")
	if out := w.must("sessions", "list"); !strings.Contains(out, "dialog") {
		w.t.Errorf("the list of sessions does not say that a person is waited for:\n%s", out)
	}
	if now := w.screen(15); now != before {
		w.t.Errorf("the dialog was touched; it was\n%s\nand is\n%s", before, now)
	}
	w.keys(15, "Escape")
	w.ends(held, "done", "")
	w.real.answered("told-beside-a-dialog", 1)
	w.rests()
	if w.has("confirmed") {
		w.t.Error("the tool ran, which nobody has allowed")
	}
}

// isWrittenIn has a comment arrive while somebody has half a thought in the input line.
func (w realTerminals) isWrittenIn() {
	w.t.Helper()
	const thought = "half a thought"
	stands := func() bool { return strings.Contains(w.screen(15), "❯\u00a0"+thought) }
	w.keys(15, "-l", thought)
	w.await("the draft", stands)
	comment := w.comment(15, "told-beside-a-draft")
	if !w.hooked {
		w.waits(comment, "draft")
		if !stands() || w.real.count("told-beside-a-draft") > 0 {
			w.t.Errorf("the draft was touched:\n%s", w.screen(15))
		}
		w.keys(15, "C-u")
	}
	w.ends(comment, "done", "")
	w.real.answered("told-beside-a-draft", 1)
	if w.hooked {
		w.await("the draft, as it was", stands)
		w.keys(15, "C-u")
	}
	w.rests()
	if n := w.real.count(thought); n > 0 {
		w.t.Errorf("the draft was submitted %d times", n)
	}
}

// isKilled has a comment arrive when the agent's program was killed.
func (w realTerminals) isKilled() {
	w.t.Helper()
	pid, err := strconv.Atoi(w.tmux("display-message", "-p", "-t", at(15), "#{pane_pid}"))
	if err != nil {
		w.t.Fatal(err)
	}
	kill(w.t, pid)
	w.await("the terminal to be dead", func() bool { return !w.alive(15) })
	w.ends(w.comment(15, "told-when-killed"), "done", "")
	w.real.answered("told-when-killed", 1)
	w.rests()
	w.isTold("told-when-resumed")
	w.real.order("labels: the-loop", "told-while-started-1", "told-while-started-2", "told-while-idle", "told-to-work", "told-while-busy-1",
		"told-while-busy-2", "told-to-ask", "told-beside-a-dialog", "told-beside-a-draft", "told-when-killed", "told-when-resumed")
}

// closes closes the issue, and wants nothing left but what was shown, to read.
func (w realTerminals) closes() {
	w.t.Helper()
	w.looksOnly(15, "")
	asked := len(w.real.turns())
	w.ends(w.post("issues", closed(15)), "done", "")
	w.await("the session to be closed", func() bool { return w.session(shop15).Status == "closed" })
	w.await("the agent to be gone", func() bool { return !w.alive(15) })
	w.gone()
	news := "told-when-resumed"
	if w.hooked {
		news = "● Loop brings news for this session" // this is all that Claude Code shows of what a hook brings
	}
	logs, dead := w.must("logs", ref(15)), w.tmux("capture-pane", "-p", "-S", "-", "-t", at(15))
	for _, shown := range []string{"● Fake answer to turn 1", "told-beside-a-dialog", news} {
		if !strings.Contains(logs, shown) {
			w.t.Errorf("what the terminals showed was not kept, such as %q:\n%s", shown, logs)
		}
		if !strings.Contains(dead, shown) {
			w.t.Errorf("the dead terminal does not show the conversation, such as %q:\n%s", shown, dead)
		}
	}
	w.looksOnly(15, "")
	w.looksOnly(15, "--write")
	w.endsFor(w.comment(15, "anybody?"), "not-labeled")
	if now := len(w.real.turns()); now != asked {
		w.t.Errorf("the model was asked %d questions after the close", now-asked)
	}
}

// rests waits until the agent is idle and nothing stands in its input line, as its screen says.
func (w realTerminals) rests() {
	w.t.Helper()
	w.await("the agent to be idle", func() bool {
		screen := w.screen(15)
		return strings.Contains(screen, "? for shortcuts") && !strings.Contains(screen, "hooks…")
	})
}

// handed wants the newest prompt to have come in a way.
func (w realTerminals) handed(way string) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.state, "runs", "*", "handed.json"))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("runs handed over: %v, %v", files, err)
	}
	var given struct{ By string }
	w.decode(w.read(slices.Max(files)), &given) // their names rise with time
	if given.By != way {
		w.t.Errorf("the prompt came by %s, want by %s", given.By, way)
	}
}
