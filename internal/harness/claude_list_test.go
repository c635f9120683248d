package harness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// Claude Code's own list tells which conversations are open, as far as the very processes live that it names.
func TestOpenedIsBelievedOnlyOfTheVeryProcess(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	agents, err := harness.New(harness.Options{Agents: map[string]harness.Program{"claude": {Env: map[string]string{"CLAUDE_CONFIG_DIR": home}}}})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := agents.Agent("claude")
	if err != nil {
		t.Fatal(err)
	}
	list, ok := agent.(harness.Lister)
	if !ok {
		t.Fatal("claude keeps no list")
	}
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	if open, err := list.Opened("s-1"); err != nil || open != nil {
		t.Errorf("without a list: %v, %v", open, err)
	}
	if err := os.Mkdir(filepath.Join(home, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	entry := func(pid int, start uint64, id string) string {
		return fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":"/","startedAt":1796050953327,"procStart":"%d","kind":"interactive"}`, pid, id, start)
	}
	for name, text := range map[string]string{
		"1": entry(self.PID, self.Start, "s-1"), "2": entry(self.PID, self.Start+1, "s-2"), "3": entry(1<<29, self.Start, "s-3"),
		"4": entry(1, 0, "s-4"), "5": `{"pid":`, "6": entry(-1, 0, "s-6"),
	} {
		if err := os.WriteFile(filepath.Join(home, "sessions", name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string][]proc.Identity{"s-1": {self}, "s-2": nil, "s-3": nil, "s-4": nil, "s-6": nil, "s-9": nil} {
		got, err := list.Opened(loop.SessionID(id))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", id, err, diff)
		}
	}
}
