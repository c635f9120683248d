package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// worldOf makes a world in which sessions are started with another agent, whose table more completes.
func worldOf(t *testing.T, agent, program, more string) *world {
	t.Helper()
	w := newWorld(t, "")
	command, err := agenttest.Install(filepath.Join(w.dir, "bin"), program)
	if err != nil {
		t.Fatal(err)
	}
	w.configure(fmt.Sprintf(`
spawn_on_unmatched = "labeled"
default_harness = %[1]q
[harness.%[1]s]
command = %[2]q
%[3]s
[harness.%[1]s.env]
%[4]s = %[5]q
%[6]s = %[7]q
`, agent, command, more, agenttest.EnvRecord, filepath.Join(w.dir, "runs.jsonl"), agenttest.EnvState, t.TempDir()))
	return w
}

const ownAgent = `
start = ["opencode", "run", "--format", "json"]
resume = ["opencode", "run", "--format", "json", "--session", "{id}"]
prompt = "stdin"
output = "jsonl"
id = "sessionID"
ok = "part.reason=stop"
`

// Given codex, cursor, or an agent that loop.toml declares,
// When a label starts a session, a comment follows, and then the conversation is gone from the agent's own store,
// Then the conversation is begun and named, resumed by its name with the comment as its prompt, and begun anew once.
func TestOtherAgents(t *testing.T) {
	t.Parallel()
	tests := []struct{ agent, program, more string }{
		{"codex", "codex", ""}, {"cursor", "cursor-agent", ""}, {"own", "opencode", ownAgent},
	}
	for _, tt := range tests {
		t.Run(tt.agent, func(t *testing.T) {
			t.Parallel()
			w := worldOf(t, tt.agent, tt.program, tt.more)
			w.start()
			w.ends(w.post("issues", labeled(15)), "done", "")
			begun := w.session("github-acme-shop-15").HarnessSessionID
			if begun == "" || !strings.Contains(w.runs()[0].Prompt, "Work on github:acme/shop#15") {
				t.Fatalf("conversation %q was begun with:\n%s", begun, w.runs()[0].Prompt)
			}
			w.ends(w.comment(15, "-f The door is stuck."), "done", "")
			second := w.runs()[1]
			if !slices.Contains(second.Args, begun) || second.Dir != w.work {
				t.Errorf("the comment was brought by %q in %s", second.Args, second.Dir)
			}
			fenced(t, second.Prompt, "The door is stuck.")
			if id := w.session("github-acme-shop-15").HarnessSessionID; id != begun {
				t.Errorf("the conversation is called %s now, and was %s", id, begun)
			}
			if logs := w.must("logs", "acme/shop#15"); !strings.Contains(logs, "The door is stuck.") || !strings.Contains(logs, "Fake answer to turn 2") {
				t.Errorf("logs show:\n%s", logs)
			}

			lost := "01a22bd8-ae4e-7182-b902-987de70ebe06"
			w.must("sessions", "register", "--force", "--work-item", "acme/shop#15", "--harness", tt.agent, "--harness-session-id", lost, "--cwd", w.work)
			w.ends(w.comment(15, "still stuck"), "done", "")
			if id := w.session("github-acme-shop-15").HarnessSessionID; id == lost || id == "" {
				t.Errorf("after it was lost the conversation is %q", id)
			}
			if out := w.must("events", "--type", "session.resume_failed"); !strings.Contains(out, lost) && !strings.Contains(out, "the conversation is gone") {
				t.Errorf("the events do not say that it was lost:\n%s", out)
			}
		})
	}
}

// Given an agent that names its conversations itself, and whose first start fails before it has,
// When the start is tried again,
// Then it is a start again, and loopctl knows a session without an id meanwhile.
func TestAStartBeforeTheConversationHasAName(t *testing.T) {
	t.Parallel()
	w := worldOf(t, "codex", "codex", "")
	w.start()
	body := strings.ReplaceAll(string(labeled(15)), "Shop is closed", "[[agent silent exit=1]]")
	id := w.post("issues", []byte(body))
	w.ends(id, "failed", "attempts-used-up")
	if n := len(w.runs()); n != 3 {
		t.Errorf("%d tries, want 3", n)
	}
	for _, run := range w.runs() {
		if slices.Contains(run.Args, "resume") {
			t.Errorf("a start was made as %q", run.Args)
		}
	}
	if s := w.session("github-acme-shop-15"); s.HarnessSessionID != "" || s.Status != "active" {
		t.Errorf("session %+v", s)
	}
	for _, args := range [][]string{{"sessions", "list"}, {"sessions", "show", "acme/shop#15"}, {"explain", "acme/shop#15"}} {
		if out := w.must(args...); !strings.Contains(out, "codex") {
			t.Errorf("loopctl %v shows:\n%s", args, out)
		}
	}
}

// Given an agent that takes its prompt as an argument and prints plain text,
// When it answers and when it fails,
// Then the delivery is done, and failed with what it said.
func TestAnAgentThatPrintsText(t *testing.T) {
	t.Parallel()
	w := worldOf(t, "scribe", "scribe", `
start = ["scribe", "begin", "{id}", "--"]
resume = ["scribe", "again", "{id}", "--", "{prompt}"]
prompt = "arg"
output = "text"
`)
	w.start()
	w.ends(w.post("issues", labeled(15)), "done", "")
	w.ends(w.comment(15, "--help [[agent noise=100]]"), "done", "")
	d := w.ends(w.comment(15, "[[agent status=400]]"), "failed", "attempts-used-up")
	if !strings.Contains(d.Error, "scribe ended with exit status 1: HTTP 400") {
		t.Errorf("it failed because of %q", d.Error)
	}
}

// Given a declaration that cannot work,
// When loopd is started,
// Then it ends with exit code 2 and names the key and what is wrong.
func TestABadDeclarationKeepsLoopdFromStarting(t *testing.T) {
	t.Parallel()
	w := worldOf(t, "own", "opencode", strings.Replace(ownAgent, `"--session", "{id}"`, `"--continue"`, 1))
	d := w.launch()
	if code := w.code(d); code != 2 || !strings.Contains(d.log.String(), "harness.own.resume: must say where the conversation's id goes") {
		t.Errorf("exit code %d:\n%s", code, d.log)
	}
}
