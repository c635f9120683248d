package session_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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
	elsewhere := func(r *loop.Report) { r.Launch, r.PID, r.SessionID = "", 200, "s-2" }
	later := func(r *loop.Report) { r.At = told.Add(6 * time.Second) }
	start := from(loop.HookStart, source("startup"))
	is := func(turn loop.Turn, detail string) *loop.Presence {
		return &loop.Presence{Harness: "claude", SessionID: "s-1", Launch: "l-1", PID: 100, Turn: turn, Since: told, Detail: detail}
	}
	other := &loop.Presence{Harness: "claude", SessionID: "s-2", PID: 200, Turn: loop.TurnIdle, Since: told}
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
		{"another starts", []loop.Report{start, from(loop.HookStart, elsewhere)}, other},
		{"another works", []loop.Report{start, from(loop.HookPrompt, elsewhere)}, is(loop.TurnIdle, "")},
		{"first heard of within a turn", []loop.Report{from(loop.HookPrompt)}, is(loop.TurnBusy, "")},
		{"first heard of at its end", []loop.Report{from(loop.HookEnd)}, nil},
		{"a headless run of ours", []loop.Report{start, from(loop.HookEnd, func(r *loop.Report) { r.Run = "r" })}, is(loop.TurnIdle, "")},
		{"a headless run alone", []loop.Report{from(loop.HookStart, func(r *loop.Report) { r.Run = "r" })}, nil},
		{"no item", []loop.Report{from(loop.HookStart, func(r *loop.Report) { r.Item = loop.WorkItem{} })}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := session.NewLive()
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
		want := loop.Presence{Harness: "claude", SessionID: "s-1", Launch: "l-1", PID: 100, Since: time.Now(), Waker: true}
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

// TestLawOfWaiting holds, for waiters, hands, ends and reports in any order: a text reaches the newest waiter of its launch, or
// nobody where none waits; the older is answered with nothing; one whose time is up gets nothing; and nothing blocks.
func TestLawOfWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubbled{t}, func(t *rapid.T) {
			m := &waitModel{live: session.NewLive(), waiting: map[string]*modelWaiter{}}
			t.Repeat(map[string]func(*rapid.T){
				"wait": m.wait, "hand": m.hand, "end": m.end, "report": m.report, "forget": m.forget, "": m.check,
			})
			for _, w := range m.waiting {
				w.cancel()
				<-w.answer
			}
		})
	})
}

// bubbled is a test without a deadline, for which rapid may not ask within a bubble.
type bubbled struct{ rapid.TB }

type modelWaiter struct {
	cancel context.CancelFunc
	answer <-chan outcome
	age    int
}

type waitModel struct {
	live    *session.Live
	waiting map[string]*modelWaiter // by launch
	count   int
}

func drawLaunch(t *rapid.T) string {
	return rapid.SampledFrom([]string{"l-1", "l-2"}).Draw(t, "launch")
}

func (m *waitModel) wait(t *rapid.T) {
	launch := drawLaunch(t)
	ctx, cancel := context.WithCancel(context.Background())
	m.count++
	now := &modelWaiter{cancel, wait(ctx, m.live, session.Waiter{Item: shop(15), Launch: launch}), m.count}
	synctest.Wait()
	m.nothing(t, launch)
	m.waiting[launch] = now
}

// nothing wants the waiter of a launch, if there is one, to have been answered with nothing.
func (m *waitModel) nothing(t *rapid.T, launch string) {
	w := m.waiting[launch]
	if w == nil {
		return
	}
	w.cancelAfter(t, outcome{})
	delete(m.waiting, launch)
}

func (w *modelWaiter) cancelAfter(t *rapid.T, want outcome) {
	synctest.Wait()
	select {
	case got := <-w.answer:
		if got != want {
			t.Fatalf("a waiter was answered %+v, want %+v", got, want)
		}
	default:
		t.Fatalf("a waiter still waits, want %+v", want)
	}
	w.cancel()
}

func (m *waitModel) hand(t *rapid.T) {
	launch := rapid.SampledFrom([]string{"l-1", "l-2", ""}).Draw(t, "to")
	to := launch
	if to == "" {
		for name, w := range m.waiting {
			if m.waiting[to] == nil || w.age > m.waiting[to].age {
				to = name
			}
		}
	}
	m.count++
	wake := loop.Wake{Run: loop.RunID(fmt.Sprint(m.count)), Text: "news"}
	got, want := m.live.Hand(shop(15), launch, wake), m.waiting[to]
	if got != (want != nil) {
		t.Fatalf("Hand to %q = %v with %d waiting", launch, got, len(m.waiting))
	}
	if want != nil {
		want.cancelAfter(t, outcome{wake, true})
		delete(m.waiting, to)
	}
}

func (m *waitModel) end(t *rapid.T) {
	launch := drawLaunch(t)
	if w := m.waiting[launch]; w != nil {
		w.cancel()
		if rapid.Bool().Draw(t, "at once") && m.live.Hand(shop(15), launch, loop.Wake{Text: "lost"}) {
			t.Fatal("a text was handed to one who is gone")
		}
		m.nothing(t, launch)
	}
}

func (m *waitModel) report(t *rapid.T) {
	r := from(rapid.SampledFrom([]loop.HookEvent{loop.HookStart, loop.HookPrompt, loop.HookStop, loop.HookEnd}).Draw(t, "event"))
	r.Launch, r.PID = drawLaunch(t), 0
	m.live.Report(r)
	if r.Event == loop.HookEnd {
		m.nothing(t, r.Launch)
	}
}

func (m *waitModel) forget(t *rapid.T) {
	launch := drawLaunch(t)
	m.live.Forget(shop(15), launch)
	m.nothing(t, launch)
}

func (m *waitModel) check(t *rapid.T) {
	synctest.Wait()
	for launch, w := range m.waiting {
		select {
		case got := <-w.answer:
			t.Fatalf("the waiter of %s was answered %+v and nobody handed it anything", launch, got)
		default:
		}
	}
	if p, ok := m.live.Presence(shop(15)); ok && p.Waker != (m.waiting[p.Launch] != nil) {
		t.Fatalf("presence %+v with waiters %v", p, m.waiting)
	}
}
