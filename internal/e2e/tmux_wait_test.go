package e2e_test

import (
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// Given an agent in a terminal in the middle of a turn,
// When two comments arrive,
// Then both are answered afterwards, in order and once each.
func TestTerminalAtWork(t *testing.T) {
	t.Parallel()
	bothWays(t, "", func(t *testing.T, w terminals) {
		w.begun(15)
		w.ends(w.comment(15, "[[agent delay=4000]] slowly"), "done", "")
		w.hears("slowly")
		two, three := w.comment(15, "the second one"), w.comment(15, "the third one")
		w.ends(two, "done", "")
		w.ends(three, "done", "")
		w.hears("the second one")
		w.hears("the third one")
		w.once("slowly", "the second one", "the third one")
	})
}

// Given an agent in a terminal that asks whether a tool may run,
// When a comment arrives,
// Then it waits and says so, nothing is typed or confirmed, and it is delivered when a person has answered.
func TestTerminalWithADialog(t *testing.T) {
	t.Parallel()
	bothWays(t, "", func(t *testing.T, w terminals) {
		w.begun(15)
		w.ends(w.comment(15, "[[agent ask=Bash]] dangerous"), "done", "")
		w.await("the dialog", func() bool { return strings.Contains(w.screen(15), "❯ 1. Yes") })
		held := w.comment(15, "the held one")
		w.waits(held, "dialog")
		if out := w.must("sessions", "list"); !strings.Contains(out, "dialog") {
			t.Errorf("the list of sessions does not say that a person is waited for:\n%s", out)
		}
		if n := len(w.acts(agenttest.ActChoice)) + len(w.acts(agenttest.ActDropped)); n > 0 {
			t.Fatalf("the dialog was typed into: %+v", w.acts(""))
		}
		w.keys(15, "Escape")
		w.ends(held, "done", "")
		w.hears("the held one")
		w.once("dangerous", "the held one")
		choices := w.acts(agenttest.ActChoice)
		if len(choices) != 1 || choices[0].Text != "No" || len(w.acts(agenttest.ActDropped)) > 0 {
			t.Errorf("got choices %+v, and dropped: %+v", choices, w.acts(agenttest.ActDropped))
		}
	})
}

// Given somebody who has typed half a thought into the terminal of an agent,
// When a comment arrives,
// Then the thought stays as it is: a hook brings the comment beside it, and nothing is typed until the input line is free.
func TestTerminalWithADraft(t *testing.T) {
	t.Parallel()
	bothWays(t, "", func(t *testing.T, w terminals) {
		w.begun(15)
		const thought = "half a thought"
		w.keys(15, "-l", thought)
		w.await("the draft", func() bool { return strings.Contains(w.screen(15), "❯\u00a0"+thought) })
		comment := w.comment(15, "by the way")
		if !w.hooked {
			w.waits(comment, "draft")
			if n := len(w.acts(agenttest.ActPrompt)); n != 1 {
				t.Fatalf("%d prompts beside a draft, want that of the label alone", n)
			}
			if !strings.Contains(w.screen(15), "❯\u00a0"+thought) {
				t.Errorf("the draft has changed:\n%s", w.screen(15))
			}
			w.keys(15, "C-u")
		}
		w.ends(comment, "done", "")
		w.hears("by the way")
		w.once("by the way")
		if w.hooked && !strings.Contains(w.screen(15), "❯\u00a0"+thought) {
			t.Errorf("the draft has changed:\n%s", w.screen(15))
		}
		for _, act := range w.acts(agenttest.ActPrompt) {
			if strings.Contains(act.Text, thought) {
				t.Errorf("the draft was submitted: %q", act.Text)
			}
		}
	})
}

// Given events whose text would be a command, a shell, a key or a file to a terminal,
// When they are delivered,
// Then each is what a turn is told, and nothing else.
func TestTerminalTextIsOnlyText(t *testing.T) {
	t.Parallel()
	bothWays(t, "", func(t *testing.T, w terminals) {
		w.begun(15)
		for _, text := range []string{
			"!touch owned-by-a-comment", "/exit-by-a-comment", "out \x1b[201~\r!of the paste", "ends in a backslash \\",
			strings.Repeat("a very long line ", 200) + "and its end", strings.Repeat("many\nlines\n", 100) + "and the last",
		} {
			w.ends(w.comment(15, text), "done", "")
			w.hears(text[len(text)-9 : len(text)-2])
		}
		if n := len(w.acts(agenttest.ActShell)) + len(w.acts(agenttest.ActCommand)); n > 0 {
			t.Errorf("text was run: %+v, %+v", w.acts(agenttest.ActShell), w.acts(agenttest.ActCommand))
		}
	})
}
