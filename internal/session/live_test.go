package session_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
)

var told = time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)

func shop(number int) loop.WorkItem {
	w, err := loop.NewWorkItem("", "acme", "shop", number)
	if err != nil {
		panic(err)
	}
	return w
}

// machine is a process table for tests: whoever calls descends from the process that it claims, if that lives.
type machine struct {
	mu   sync.Mutex
	dead map[int]bool
}

func (m *machine) options(dir string) session.LiveOptions {
	return session.LiveOptions{
		Dir: dir, Logger: slog.New(slog.DiscardHandler), Alive: m.alive,
		Prove: func(claimed, caller int) (loop.Process, bool) {
			p := loop.Process{PID: claimed, Start: uint64(claimed) * 10, Boot: "this"}
			return p, claimed == caller && m.alive(p)
		},
	}
}

func (m *machine) alive(p loop.Process) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.dead[p.PID]
}

// kill ends a process without a word.
func (m *machine) kill(pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead == nil {
		m.dead = map[int]bool{}
	}
	m.dead[pid] = true
}

func (m *machine) live(t interface {
	Helper()
	Fatal(args ...any)
}, dir string,
) *session.Live {
	t.Helper()
	l, err := session.OpenLive(m.options(dir))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// person is a report of a person's own terminal, whose process is proven.
func person(event loop.HookEvent, pid int, id loop.SessionID) loop.Report {
	return loop.Report{Event: event, Item: shop(15), Harness: "claude", SessionID: id, PID: pid, Caller: pid, Where: "pts/3", At: told}
}

// from is a report of the pane of shop#15.
func from(event loop.HookEvent, change ...func(*loop.Report)) loop.Report {
	r := loop.Report{Event: event, Item: shop(15), Harness: "claude", SessionID: "s-1", Launch: "l-1", PID: 100, At: told}
	for _, c := range change {
		c(&r)
	}
	return r
}

// shows is a prompt of a headless run that the tokens of runs stand in.
func shows(runs ...loop.RunID) loop.Report {
	return from(loop.HookPrompt, func(r *loop.Report) { r.Run, r.Runs = "r-headless", runs })
}

func TestPresenceFollowsWhatHooksTell(t *testing.T) {
	t.Parallel()
	source := func(s string) func(*loop.Report) { return func(r *loop.Report) { r.Source = s } }
	detail := func(s string) func(*loop.Report) { return func(r *loop.Report) { r.Detail = s } }
	elsewhere := func(r *loop.Report) { r.Launch, r.PID, r.Caller, r.SessionID = "", 200, 200, "s-2" }
	unproven := func(r *loop.Report) { r.Launch, r.PID, r.Caller = "", 200, 300 }
	again := func(r *loop.Report) { r.Launch, r.PID = "l-2", 0 }
	later := func(r *loop.Report) { r.At = told.Add(6 * time.Second) }
	hours := func(r *loop.Report) { r.At = told.Add(3 * time.Hour) }
	start := from(loop.HookStart, source("startup"))
	is := func(turn loop.Turn, detail string) *loop.Presence {
		return &loop.Presence{Harness: "claude", SessionID: "s-1", Launch: "l-1", Process: loop.Process{PID: 100}, Turn: turn, Since: told, Detail: detail}
	}
	busyLater := is(loop.TurnBusy, "")
	busyLater.Since = told.Add(6 * time.Second)
	other := &loop.Presence{
		Harness: "claude", SessionID: "s-2", Process: loop.Process{PID: 200, Start: 2000, Boot: "this"}, Turn: loop.TurnIdle, Since: told,
	}
	respawned := is(loop.TurnIdle, "")
	respawned.Launch, respawned.Process = "l-2", loop.Process{}
	cleared := is(loop.TurnIdle, "")
	cleared.SessionID = "s-9"
	for _, tt := range []struct {
		name    string
		reports []loop.Report
		want    *loop.Presence // nil: nobody is present
	}{
		{"start", []loop.Report{start}, is(loop.TurnIdle, "")},
		{"prompt", []loop.Report{start, from(loop.HookPrompt)}, is(loop.TurnBusy, "")},
		{"stop", []loop.Report{start, from(loop.HookPrompt), from(loop.HookStop)}, is(loop.TurnIdle, "")},
		{"a stop that the next prompt overtook", []loop.Report{start, from(loop.HookPrompt, later), from(loop.HookStop)}, busyLater},
		{"a clock that was put back", []loop.Report{from(loop.HookPrompt, hours), from(loop.HookStop)}, is(loop.TurnIdle, "")},
		{"failure", []loop.Report{start, from(loop.HookPrompt), from(loop.HookFailure)}, is(loop.TurnIdle, "")},
		{"waiting", []loop.Report{start, from(loop.HookWaiting, detail("Bash"))}, is(loop.TurnWaiting, "Bash")},
		{"waiting still", []loop.Report{start, from(loop.HookWaiting, detail("Bash")), from(loop.HookWaiting, later)}, is(loop.TurnWaiting, "Bash")},
		{"waiting no more", []loop.Report{start, from(loop.HookWaiting, detail("Bash")), from(loop.HookStop)}, is(loop.TurnIdle, "")},
		{"compact within a turn", []loop.Report{start, from(loop.HookPrompt), from(loop.HookStart, source("compact"))}, is(loop.TurnBusy, "")},
		{"end", []loop.Report{start, from(loop.HookEnd, source("prompt_input_exit"))}, nil},
		{"end of another", []loop.Report{start, from(loop.HookEnd, elsewhere)}, is(loop.TurnIdle, "")},
		{"end of another process", []loop.Report{start, from(loop.HookEnd, func(r *loop.Report) { r.PID = 101 })}, is(loop.TurnIdle, "")},
		{"clear", []loop.Report{start, from(loop.HookEnd, source("clear"))}, is(loop.TurnIdle, "")},
		{
			"after clear",
			[]loop.Report{start, from(loop.HookEnd, source("clear")), from(loop.HookStart, source("clear"), func(r *loop.Report) { r.SessionID = "s-9" })},
			cleared,
		},
		{"another starts", []loop.Report{start, from(loop.HookStart, elsewhere)}, is(loop.TurnIdle, "")},
		{"another is left", []loop.Report{start, from(loop.HookStart, elsewhere), from(loop.HookEnd)}, other},
		{"another alone", []loop.Report{from(loop.HookStart, elsewhere)}, other},
		{"one that nobody could watch", []loop.Report{from(loop.HookStart, unproven)}, nil},
		{"the pane starts anew", []loop.Report{start, from(loop.HookStart, again)}, respawned},
		{"another works", []loop.Report{start, from(loop.HookPrompt, elsewhere)}, is(loop.TurnIdle, "")},
		{"first heard of within a turn", []loop.Report{from(loop.HookPrompt)}, is(loop.TurnBusy, "")},
		{"first heard of at its end", []loop.Report{from(loop.HookEnd)}, nil},
		{"a headless run of ours", []loop.Report{start, from(loop.HookEnd, func(r *loop.Report) { r.Run = "r" })}, is(loop.TurnIdle, "")},
		{"a headless run alone", []loop.Report{from(loop.HookStart, func(r *loop.Report) { r.Run = "r" })}, nil},
		{"no item", []loop.Report{from(loop.HookStart, func(r *loop.Report) { r.Item = loop.WorkItem{} })}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := new(machine).live(t, "")
			for _, r := range tt.reports {
				l.Report(r)
			}
			var got *loop.Presence
			if p, ok := l.Presence(shop(15)); ok {
				got = &p
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("presence (-want +got):\n%s", diff)
			}
			if p, ok := l.Presence(shop(16)); ok {
				t.Errorf("another item has %+v", p)
			}
		})
	}
}

func TestAPaneThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := session.NewLive()
		l.Report(from(loop.HookStart))
		answered := wait(t.Context(), l, session.Waiter{Item: shop(15), Launch: "l-1", PID: 100})
		synctest.Wait()
		l.Forget(shop(15), "l-0")
		if p, ok := l.Presence(shop(15)); !ok || !p.Waker {
			t.Errorf("another launch was forgotten with it: %+v, %v", p, ok)
		}
		l.Forget(shop(15), "l-1")
		if got := <-answered; got.ok {
			t.Errorf("its waiter is answered with %+v", got)
		}
		if p, ok := l.Presence(shop(15)); ok {
			t.Errorf("it is still present: %+v", p)
		}
	})
}

// A report that a restarted loopd has not heard may be missing: the waiter is known all the same.
func TestAWaiterIsPresent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := session.NewLive()
		ctx, cancel := context.WithCancel(t.Context())
		wait(ctx, l, session.Waiter{Item: shop(15), Harness: "claude", SessionID: "s-1", Launch: "l-1", PID: 100})
		synctest.Wait()
		want := loop.Presence{Harness: "claude", SessionID: "s-1", Launch: "l-1", Process: loop.Process{PID: 100}, Since: time.Now(), Waker: true}
		if p, ok := l.Presence(shop(15)); !ok || p != want {
			t.Errorf("presence = %+v, %v; want %+v", p, ok, want)
		}
		cancel()
		synctest.Wait()
		if p, _ := l.Presence(shop(15)); p.Waker {
			t.Error("a waiter that is gone still counts")
		}
		if l.Hand(shop(15), "", loop.Wake{Text: "news"}) {
			t.Error("a text was handed to nobody")
		}
	})
}

func TestWatchersLearnOfEachChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := session.NewLive()
		ctx, cancel := context.WithCancel(t.Context())
		var answered <-chan outcome
		for _, step := range []struct {
			name string
			do   func()
		}{
			{"presence", func() { l.Report(from(loop.HookStart)) }},
			{"receipt", func() { l.Report(shows("r-1")) }},
			{"waiter", func() { answered = wait(ctx, l, session.Waiter{Item: shop(15), Launch: "l-1"}) }},
			{"hand", func() { l.Hand(shop(15), "l-1", loop.Wake{Text: "news"}); <-answered }},
			{"waiter again", func() { wait(ctx, l, session.Waiter{Item: shop(15), Launch: "l-1"}) }},
			{"waiter gone", cancel},
			{"forgotten", func() { l.Forget(shop(15), "l-1") }},
		} {
			changed, same := l.Watch(shop(15)), l.Watch(shop(16))
			step.do()
			synctest.Wait()
			select {
			case <-changed:
			case <-same:
				t.Errorf("%s: told to another item", step.name)
			default:
				t.Errorf("%s: nobody was told", step.name)
			}
		}
	})
}

func TestShownRunsAreRememberedWithABound(t *testing.T) {
	t.Parallel()
	l := session.NewLive()
	run := func(i int) loop.RunID { return loop.RunID(fmt.Sprintf("r-%d", i)) }
	for i := range 5000 {
		l.Report(shows(run(i), run(i)))
	}
	if !l.Shown(run(4999)) || !l.Shown(run(1000)) {
		t.Error("a run of late is forgotten")
	}
	if l.Shown(run(0)) || l.Shown("r-never") {
		t.Error("a run is remembered for ever, or was never shown")
	}
}

// outcome is what a Wait returned.
type outcome struct {
	wake loop.Wake
	ok   bool
}

func wait(ctx context.Context, l *session.Live, w session.Waiter) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		wake, ok := l.Wait(ctx, w)
		done <- outcome{wake, ok}
	}()
	return done
}
