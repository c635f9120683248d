package agenttest_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// waiter waits for a file that is the next event, says it, and wakes the conversation.
const waiter = `echo $$ >> waiters; until mv event taken.$$ 2> /dev/null; do sleep 0.05; done; cat taken.$$ >&2; exit 2`

// waking is a pane in which a hook waits.
func waking(t *testing.T) *pane {
	t.Helper()
	p := newPane(t)
	for _, event := range []string{"SessionStart", "Stop"} {
		p.hook(event, waiter, "asyncRewake", true, "rewakeMessage", "An event:", "rewakeSummary", "news")
	}
	return p
}

// happens hands a waiter its event.
func (p *pane) happens(text string) {
	p.t.Helper()
	name := filepath.Join(p.home, "next")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(name, filepath.Join(p.home, "event")); err != nil {
		p.t.Fatal(err)
	}
}

func woken(text string) string {
	return "<task-notification>\n<summary>news</summary>\n</task-notification>\n<system-reminder>\nAn event: " + text + "\n</system-reminder>"
}

func TestWakeLeavesADraft(t *testing.T) {
	t.Parallel()
	p := waking(t).start()
	p.shows("")
	p.types("my half-typed")
	p.shows("my half-typed")
	p.happens("one")
	same(t, "turns", []string{woken("one")}, p.did(1, agenttest.ActTurn))
	p.did(1, agenttest.ActAnswer)
	p.shows("my half-typed")
	if act := p.run().Did(agenttest.ActPrompt)[0]; act.How != "woken" {
		t.Errorf("got %+v", act)
	}
}

func TestWakeWaitsForTheTurn(t *testing.T) {
	t.Parallel()
	p := waking(t).start()
	p.asks("[[agent ask=Bash]]")
	p.did(1, agenttest.ActDialog)
	p.happens("two")
	p.await("the waiter's end", func() bool { return len(p.run().Did(agenttest.ActHook)) == 1 })
	same(t, "choices", 0, len(p.run().Did(agenttest.ActChoice)))
	same(t, "prompts", []string{"[[agent ask=Bash]]"}, p.did(1, agenttest.ActPrompt))
	p.types("3")
	same(t, "turns", []string{"[[agent ask=Bash]]", woken("two")}, p.did(2, agenttest.ActTurn))
	same(t, "choices", []string{"No"}, p.did(1, agenttest.ActChoice))
}

func TestHooksSayNo(t *testing.T) {
	t.Parallel()
	p := newPane(t)
	p.hook("UserPromptSubmit", `grep -q forbidden && { echo never >&2; exit 2; }; exit 0`)
	p.hook("Stop", `grep -q '"stop_hook_active":true' || echo '{"decision":"block","reason":"and one more"}'`)
	p.start()
	p.asks("forbidden")
	same(t, "refused", []string{"forbidden"}, p.did(1, agenttest.ActRefused))
	p.asks("allowed")
	same(t, "turns", []string{"allowed", "Stop hook feedback:\nand one more"}, p.did(2, agenttest.ActTurn))
	p.did(2, agenttest.ActAnswer)
}

func TestHooksAreTold(t *testing.T) {
	t.Parallel()
	p := newPane(t)
	p.hook("SessionStart", "cat > start; env > env")
	p.hook("StopFailure", "cat > failure")
	p.start("[[agent status=529]]")
	p.did(2, agenttest.ActHook)
	for name, want := range map[string][]string{
		"start":   {`"source":"startup"`, `"session_id":"` + p.id + `"`, `"cwd":"` + p.home + `"`, p.id + `.jsonl"`},
		"failure": {`"last_assistant_message":"API Error: 529`},
		"env":     {"CLAUDE_CODE_SESSION_ID=" + p.id, "CLAUDE_CODE_ENTRYPOINT=cli"},
	} {
		text, err := os.ReadFile(filepath.Join(p.home, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s has no %s: %s", name, w, text)
			}
		}
	}
}

func TestWaitersEndWithTheProgram(t *testing.T) {
	t.Parallel()
	p := waking(t).start("hello")
	p.did(1, agenttest.ActAnswer)
	waiters := filepath.Join(p.home, "waiters")
	p.await("two waiters", func() bool {
		text, _ := os.ReadFile(waiters)
		return strings.Count(string(text), "\n") == 2
	})
	self, err := proc.Of(p.run().PID)
	if err != nil {
		t.Fatal(err)
	}
	living, err := proc.Tree{Under: self}.Living()
	if err != nil || len(living) < 2 {
		t.Fatalf("waiters %v, %v", living, err)
	}
	if err := proc.Signal(self, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.dead()
	for _, waiter := range living {
		if proc.Alive(waiter) {
			t.Errorf("waiter %v lives on", waiter)
		}
	}
}

func TestTrustIsAskedFor(t *testing.T) {
	t.Parallel()
	p := newPane(t)
	p.write(".claude.json", map[string]any{"other": 1})
	p.start()
	p.did(1, agenttest.ActDialog)
	p.await("the marked choice", func() bool { return strings.Contains(p.screen(), " ❯ No, exit") })
	p.types("\r")
	same(t, "exit status", "1", p.dead())

	p.tmux("", "kill-session", "-t", "a")
	p.start()
	p.await("the marked choice again", func() bool { return strings.Contains(p.screen(), " ❯ No, exit") })
	p.types("\x1b[B\r")
	p.shows("")
	text, err := os.ReadFile(filepath.Join(p.home, ".claude.json"))
	if err != nil || !strings.Contains(string(text), "hasTrustDialogAccepted") || !strings.Contains(string(text), "other") {
		t.Errorf("it remembers %s, %v", text, err)
	}
}
