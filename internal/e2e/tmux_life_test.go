package e2e_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// Given that a label starts sessions in terminals,
// When the label is set, somebody comments while the agent is idle, and the issue is closed,
// Then the agent's own screen is there without a question, one conversation has both turns, and afterwards nothing of the agent
// lives, its last screen can be read, and who attaches can only look.
func TestTerminalFromLabelToClose(t *testing.T) {
	t.Parallel()
	bothWays(t, "", func(t *testing.T, w terminals) {
		w.ends(w.post("issues", labeled(15)), "done", "")
		first := w.hears("Shop is closed")
		w.idles(15, 1)
		w.ends(w.comment(15, "Look next door."), "done", "")
		second := w.hears("Look next door.")
		w.idles(15, 2)
		runs := w.runs()
		if len(runs) != 1 || slices.Contains(runs[0].Args, "-p") || runs[0].Dir != w.session(slug(15)).Cwd {
			t.Fatalf("got runs %+v", runs)
		}
		if id := w.session(slug(15)).HarnessSessionID; first.Session != id || second.Session != id {
			t.Errorf("the turns were of %s and %s, the session's conversation is %s", first.Session, second.Session, id)
		}
		if asked := w.acts(agenttest.ActDialog); len(asked) > 0 {
			t.Errorf("the agent asked: %+v", asked)
		}
		ways := []string{"typed", map[bool]string{true: "woken", false: "typed"}[w.hooked]} // the first is always the user's own word
		for i, act := range w.acts(agenttest.ActPrompt) {
			if act.How != ways[i] {
				t.Errorf("a prompt came %s, want it %s:\n%s", act.How, ways[i], act.Text)
			}
		}

		w.ends(w.post("issues", closed(15)), "done", "")
		w.await("the session to be closed", func() bool { return w.session(slug(15)).Status == "closed" })
		w.await("the agent to be gone", func() bool { return !w.alive(15) })
		w.gone()
		if code := w.runs()[0].Code; code != 143 {
			t.Errorf("the agent ended with %d, want 143", code)
		}
		if out := w.must("logs", "acme/shop#15"); !strings.Contains(out, "● Fake answer to turn 2") {
			t.Errorf("what the terminal showed was not kept:\n%s", out)
		}
		w.looksOnly(15, "")
		w.looksOnly(15, "--write")
		w.endsFor(w.comment(15, "anybody?"), "not-labeled")
	})
}

// looksOnly attaches to the terminal of an item from another one, and wants that to be read-only.
func (w terminals) looksOnly(n int, flag string) {
	w.t.Helper()
	outer := filepath.Join(w.dir, "t", "outer"+flag)
	command := strings.TrimSpace("exec loopctl attach " + ref(n) + " " + flag)
	if _, err := w.try(outer, "", "new-session", "-d", "-x", "200", "-y", "50", "-s", "o", command); err != nil {
		w.t.Fatal(err)
	}
	defer func() { _, _ = w.try(outer, "", "kill-server") }()
	w.await("somebody to look, and nobody to type", func() bool {
		clients := w.tmux("list-clients", "-t", at(n), "-F", "#{client_readonly}") // one who has gone may still be listed
		return clients != "" && strings.Trim(clients, "1\n") == ""
	})
}

// Given an agent that left children behind which ignore every polite signal, one in a session of its own and without an
// environment, and that ignores SIGTERM itself,
// When the issue is closed,
// Then nothing of it lives on.
func TestTerminalTreesEnd(t *testing.T) {
	t.Parallel()
	bothWays(t, "[routing.tmux]\nharness_kill_grace_seconds = 1\n[routing]", func(t *testing.T, w terminals) {
		w.begun(15)
		w.ends(w.comment(15, "[[agent brood deaf hang]]"), "done", "")
		w.hears("brood")
		w.await("its children", func() bool { return len(w.processes()) > 2 })
		w.ends(w.post("issues", closed(15)), "done", "")
		w.await("the agent to be gone", func() bool { return !w.alive(15) })
		w.gone()
	})
}

// Given an idle agent in a terminal,
// When its program is killed, and then somebody comments,
// Then the same conversation goes on in a new program.
func TestTerminalThatWasKilledResumes(t *testing.T) {
	t.Parallel()
	bothWays(t, "", func(t *testing.T, w terminals) {
		w.begun(15)
		id := w.session(slug(15)).HarnessSessionID
		kill(t, w.runs()[0].PID)
		w.await("the terminal to be dead", func() bool { return !w.alive(15) })
		w.ends(w.comment(15, "Are you there?"), "done", "")
		if turn := w.hears("Are you there?"); turn.Session != id {
			t.Errorf("conversation %s was told, want %s", turn.Session, id)
		}
		runs := w.runs()
		if len(runs) != 2 || !slices.Contains(runs[1].Args, "--resume") {
			t.Errorf("got runs %+v", runs)
		}
		if s := w.session(slug(15)); s.HarnessSessionID != id || s.Status != "active" {
			t.Errorf("session is %+v", s)
		}
		w.once("Are you there?")
	})
}

// Given a session in a terminal that was registered by hand, with a conversation that its harness does not know,
// When somebody comments,
// Then a conversation is begun in its place, and both are known.
func TestTerminalOfALostConversation(t *testing.T) {
	t.Parallel()
	bothWays(t, "", func(t *testing.T, w terminals) {
		w.begun(14) // and so the folder is trusted
		w.register(ref(15), conversation, "--runner", "tmux")
		w.ends(w.comment(15, "Start over."), "done", "")
		turn := w.hears("Start over.")
		s := w.session(slug(15))
		if turn.Session != s.HarnessSessionID || !slices.Equal(s.PreviousHarnessSessionIDs, []string{conversation}) {
			t.Errorf("conversation %s was told; the session is %+v", turn.Session, s)
		}
		w.once("Start over.")
	})
}
