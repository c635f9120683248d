package session_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
)

func TestPresenceOutlivesLoopdAsLongAsItsProcess(t *testing.T) {
	t.Parallel()
	m, dir := &machine{}, t.TempDir()
	l := m.live(t, dir)
	l.Report(person(loop.HookStart, 21, "s-1"))
	l.Report(person(loop.HookStart, 22, "s-1"))
	l.Report(person(loop.HookPrompt, 21, "s-1"))
	l.Report(from(loop.HookStart, func(r *loop.Report) { r.Item = shop(16) })) // a pane whose process nobody has proven
	l = m.live(t, dir)
	want := loop.Presence{
		Harness: "claude", SessionID: "s-1", Process: loop.Process{PID: 21, Start: 210, Boot: "this"}, Turn: loop.TurnBusy, Since: told,
		Where: "pts/3",
	}
	got, _ := l.Presence(shop(15))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("presence after a restart (-want +got):\n%s", diff)
	}
	if p, ok := l.Presence(shop(16)); ok {
		t.Errorf("believed without a process: %+v", p)
	}
	m.kill(21)
	if p, _ := m.live(t, dir).Presence(shop(15)); p.Process.PID != 22 {
		t.Errorf("presence once the first is dead: %+v, want the second's", p)
	}
	m.kill(22)
	if p, ok := m.live(t, dir).Presence(shop(15)); ok {
		t.Errorf("presence of the dead: %+v", p)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("files that are left: %v", left)
	}
}

// What is not ours, or broken, keeps nobody from starting.
func TestBrokenPresenceIsForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"github-acme-shop-15.json": "{", "github-acme-shop-16.json": `{"workItem":"nonsense"}`,
		"github-acme-shop-17.json": `{"workItem":"github:acme/shop#17","programs":[{"harnessSessionId":"--resume"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := new(machine).live(t, dir)
	l.Report(person(loop.HookStart, 21, "s-1"))
	for n := 15; n < 18; n++ {
		if _, ok := l.Presence(shop(n)); ok != (n == 15) {
			t.Errorf("presence of shop#%d: %v", n, ok)
		}
	}
}

func TestAProgramWorksOnOneItem(t *testing.T) {
	t.Parallel()
	l := new(machine).live(t, "")
	l.Report(person(loop.HookStart, 21, "s-1"))
	moved := person(loop.HookStart, 21, "s-2")
	moved.Item = shop(16)
	l.Report(moved)
	if p, ok := l.Presence(shop(15)); ok {
		t.Errorf("it is still on the first item: %+v", p)
	}
	if w, p, ok := l.Known("", 21, 21); !ok || w != shop(16) || p.SessionID != "s-2" {
		t.Errorf("Known = %v, %+v, %v", w, p, ok)
	}
	if _, p, ok := l.Known("", 21, 99); ok {
		t.Errorf("known by a claim: %+v", p)
	}
	l.Keep(shop(16), "claude", "s-2")
	if _, ok := l.Presence(shop(16)); !ok {
		t.Error("Keep forgot the conversation that it was to keep")
	}
	l.Keep(shop(16), "claude", "s-3")
	if p, ok := l.Presence(shop(16)); ok {
		t.Errorf("another conversation is kept: %+v", p)
	}
}

// While hooks are switched off, those that wait already are handed nothing.
func TestWakeHooksCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := false
		o := new(machine).options("")
		o.Wakes = func() bool { return on }
		l, err := session.OpenLive(o)
		if err != nil {
			t.Fatal(err)
		}
		l.Report(person(loop.HookStart, 21, "s-1"))
		answer := wait(t.Context(), l, session.Waiter{Item: shop(15), PID: 21, Caller: 21})
		synctest.Wait()
		if p, _ := l.Presence(shop(15)); p.Waker || l.Hand(shop(15), "", loop.Wake{Text: "news"}) {
			t.Errorf("a hook is used: %+v", p)
		}
		on = true
		if p, _ := l.Presence(shop(15)); !p.Waker || !l.Hand(shop(15), "", loop.Wake{Text: "news"}) {
			t.Errorf("a hook is not used: %+v", p)
		}
		<-answer
	})
}
