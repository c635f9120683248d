package harness_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
)

// at returns Claude Code with a home of its own, and the home.
func at(t *testing.T, env map[string]string, args ...string) (harness.Terminal, string) {
	t.Helper()
	home := t.TempDir()
	all := map[string]string{"HOME": home}
	maps.Copy(all, env)
	return agent(t, harness.Options{
		Agents: map[string]harness.Program{"claude": {Args: args, Env: all}},
	}).(harness.Terminal), home
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The lines are those that Claude Code 2.1.332 writes, without what is not looked at.
func TestHeard(t *testing.T) {
	t.Parallel()
	const token = "[loop 20261130-120000-001-abc234]"
	tests := []struct {
		name, record string
		want         bool
	}{
		{"nothing yet", "", false},
		{"typed", `{"type":"user","promptSource":"typed","message":{"role":"user","content":"` + token + ` GitHub: comment\n\n<pasted_content id=\"1\">x</pasted_content>"}}`, true},
		{"in blocks", `{"type":"user","message":{"role":"user","content":[{"type":"image"},{"type":"text","text":"` + token + ` x"}]}}`, true},
		{"woken", `{"type":"user","promptSource":"system","origin":{"kind":"task-notification"},"message":{"content":"<task-notification>\n</task-notification>\n<system-reminder>\n` + token + `"}}`, true},
		{"by the stop hook", `{"type":"user","isMeta":true,"message":{"content":"Stop hook feedback:\n` + token + `"}}`, true},
		{"taken into a turn that ran", `{"type":"attachment","attachment":{"type":"queued_command","prompt":"` + token + ` x","commandMode":"prompt"}}`, true},
		{"taken in as blocks", `{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"` + token + `"}]}}`, true},
		{"behind other lines", "{\"type\":\"mode\"}\nno JSON\n" + `{"type":"user","message":{"content":"` + token + `"}}`, true},
		{"only queued", `{"type":"queue-operation","operation":"enqueue","content":"` + token + ` x"}`, false},
		{"taken from the queue", `{"type":"queue-operation","operation":"remove","content":"` + token + ` x"}`, false},
		{"remembered", `{"type":"last-prompt","lastPrompt":"` + token + `"}`, false},
		{"said by the agent", `{"type":"assistant","message":{"content":[{"type":"text","text":"` + token + `"}]}}`, false},
		{"brought by a tool", `{"type":"user","message":{"content":[{"type":"tool_result","content":"` + token + `"}]}}`, false},
		{"said to a helper", `{"type":"user","isSidechain":true,"message":{"content":"` + token + `"}}`, false},
		{"another attachment", `{"type":"attachment","attachment":{"type":"hook_success","prompt":"` + token + `"}}`, false},
		{"another run", `{"type":"user","message":{"content":"[loop 20261130-120000-001-abc235]"}}`, false},
		{"half a line", `{"type":"user","message":{"content":"` + token, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, home := at(t, nil)
			write(t, filepath.Join(home, ".claude", "projects", "-home-dev-shop", conversation+".jsonl"), tt.record)
			write(t, filepath.Join(home, ".claude", "projects", "-home-dev-shop", "another.jsonl"),
				`{"type":"user","message":{"content":"`+token+`"}}`)
			if got, err := c.Heard(conversation, token); got != tt.want || err != nil {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestHeardElsewhere(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	c, _ := at(t, map[string]string{"CLAUDE_CONFIG_DIR": config})
	if heard, err := c.Heard(conversation, "[loop x]"); heard || err != nil {
		t.Errorf("without a record: %v, %v", heard, err)
	}
	// A conversation that was resumed in another folder goes on in its old record.
	write(t, filepath.Join(config, "projects", "-a", "other.jsonl"), "")
	write(t, filepath.Join(config, "projects", "-b", conversation+".jsonl"), `{"type":"user","message":{"content":"[loop x]"}}`)
	if heard, err := c.Heard(conversation, "[loop x]"); !heard || err != nil {
		t.Errorf("in another folder: %v, %v", heard, err)
	}
	for _, id := range []loop.SessionID{"", "../x"} {
		if _, err := c.Heard(id, "[loop x]"); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("%q: got %v", id, err)
		}
	}
	if _, err := c.Heard(conversation, ""); !errors.Is(err, loop.ErrInvalid) {
		t.Errorf("no token: got %v", err)
	}
}
