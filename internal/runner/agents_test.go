package runner_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
)

// hosted is a runner with one agent, played by a stand-in.
type hosted struct {
	*bench
	*runner.Headless
	name   string
	record string
}

func host(t *testing.T, name, program string, declared *harness.Declared) hosted {
	t.Helper()
	b := newBench(t, "")
	command, err := agenttest.Install(t.TempDir(), program)
	if err != nil {
		t.Fatal(err)
	}
	h := hosted{bench: b, name: name, record: filepath.Join(t.TempDir(), "runs")}
	agents, err := harness.New(harness.Options{Agents: map[string]harness.Program{name: {
		Command: command, Declared: declared,
		Env: map[string]string{"HOME": t.TempDir(), agenttest.EnvRecord: h.record, agenttest.EnvState: t.TempDir()},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	h.Headless, err = runner.New(runner.Options{
		Dir: b.Dir, Exec: []string{executable(), "exec"}, Agents: agents.Agent, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Grace: b.Grace, AnswerGrace: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// handover is a prompt for the agent's conversation.
func (h hosted) handover(run loop.RunID, id loop.SessionID, fresh bool, prompt string) loop.Handover {
	ho := h.bench.handover(run)
	ho.Session.Harness, ho.Session.HarnessSessionID, ho.Fresh, ho.Prompt = h.name, id, fresh, prompt
	return ho
}

var lines = &harness.Declared{
	Start: []string{"opencode", "run", "--format", "json"}, Resume: []string{"opencode", "run", "--format", "json", "--session", "{id}"},
	Prompt: harness.PromptStdin, Format: harness.Format{Output: harness.OutputJSONL, ID: "sessionID", OK: "part.reason=stop"},
}

var text = &harness.Declared{
	Start: []string{"scribe", "begin", "{id}", "--"}, Resume: []string{"scribe", "again", "{id}", "--"},
	Prompt: harness.PromptArg, Format: harness.Format{Output: harness.OutputText},
}

// Whichever the agent, an answer counts although the program stays, a lost conversation is told, and what it was told and said
// can be read.
func TestOtherAgents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, program string
		declared      *harness.Declared
		id            loop.SessionID // "" where the agent names it
		argument      bool           // the prompt is one
		linger        string
	}{
		{"codex", "codex", nil, "", false, "[[agent linger]]"},
		{"cursor", "cursor-agent", nil, conversation, true, "[[agent linger]]"},
		{"own", "opencode", lines, "", false, "[[agent linger]]"},
		{"own", "scribe", text, conversation, true, ""}, // only its end tells that text was all
	}
	for _, tt := range tests {
		t.Run(tt.program, func(t *testing.T) {
			t.Parallel()
			h := host(t, tt.name, tt.program, tt.declared)
			prompt := "look at -this " + tt.linger
			got := h.Deliver(within(t, time.Minute), h.handover("run-1", tt.id, true, prompt))
			if got.Kind != loop.RunDone || !strings.Contains(got.Detail, "Fake answer to turn 1: look at -this") {
				t.Fatalf("outcome %+v", got)
			}
			h.wantGone(t, "run-1")
			runs, err := agenttest.ReadRuns(h.record)
			if err != nil || len(runs) != 1 || runs[0].Prompt != prompt {
				t.Fatalf("the program saw %+v, %v", runs, err)
			}
			kept, err := os.ReadFile(h.file("run-1", "prompt.txt"))
			if err != nil || string(kept) != prompt || strings.Contains(strings.Join(runs[0].Args, " "), prompt) != tt.argument {
				t.Errorf("prompt.txt holds %q, %v; the arguments are %q", kept, err, runs[0].Args)
			}
			lost := h.Deliver(within(t, time.Minute), h.handover("run-2", "01a22bd8-ae4e-7182-b902-987de70ebe06", false, "hello"))
			if lost.Kind != loop.RunLost {
				t.Errorf("a conversation that there is not: %+v", lost)
			}
			var told strings.Builder
			session := h.handover("run-3", tt.id, false, "x").Session
			err = h.Transcript(t.Context(), session, false, func(s string) error { told.WriteString(s); return nil })
			if err != nil || !strings.Contains(told.String(), prompt) || !strings.Contains(told.String(), "Fake answer to turn 1") {
				t.Errorf("transcript, %v:\n%s", err, told.String())
			}
		})
	}
}

// A run of a session of before, whose conversation was yet to be named, is not one of the next session of the item.
func TestTranscriptOfAnUnnamedConversation(t *testing.T) {
	t.Parallel()
	h := host(t, "codex", "codex", nil)
	got := h.Deliver(within(t, time.Minute), h.handover("run-1", "", true, "hello [[agent silent exit=1]]"))
	want := loop.Outcome{Kind: loop.RunFailed, Detail: "codex ended with exit status 1 and printed nothing"}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(loop.Outcome{}, "Duration")); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	session := h.handover("run-2", "", true, "x").Session
	session.CreatedAt = time.Now().Add(time.Minute)
	err := h.Transcript(t.Context(), session, false, func(s string) error { t.Errorf("shown: %s", s); return nil })
	if err != nil {
		t.Error(err)
	}
}
