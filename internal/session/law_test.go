package session_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
)

// TestLawOfOneWriter holds for programs that start, end and die, for hooks that wait, for hands and for headless runs, in any order:
// a run gets the conversation only where no program lives, nothing is handed over while a run has it, and what is handed over
// reaches the newest waiter of the program that came first of those that live, or nobody. An older waiter of a program, and one
// whose program or time is gone, is answered with nothing; and nothing blocks.
func TestLawOfOneWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubbled{t}, func(t *rapid.T) {
			m := &model{machine: &machine{}, waiting: map[player]*modelWaiter{}, next: 100}
			m.l = m.live(t, "")
			for _, launch := range []string{"l-1", "l-2", "", ""} {
				m.cast = append(m.cast, player{launch, m.newPID()})
			}
			t.Repeat(map[string]func(*rapid.T){
				"start": m.start, "end": m.end, "die": m.die, "wait": m.wait, "give up": m.giveUp, "hand": m.hand, "lease": m.lease,
				"release": m.release, "": m.check,
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

// player is a program that a harness runs as.
type player struct {
	launch string
	pid    int
}

type modelWaiter struct {
	cancel context.CancelFunc
	answer <-chan outcome
}

type model struct {
	*machine

	l       *session.Live
	next    int
	cast    []player // who may come; one that has died is replaced by a new one
	here    []player // who is there, in the order in which they came
	waiting map[player]*modelWaiter
	writer  loop.RunID
}

func (m *model) newPID() int { m.next++; return m.next }

func (m *model) who(t *rapid.T) player { return rapid.SampledFrom(m.cast).Draw(t, "who") }

func (m *model) report(p player, event loop.HookEvent) {
	r := person(event, p.pid, "s-1")
	r.Launch = p.launch
	m.l.Report(r)
}

func (m *model) start(t *rapid.T) {
	p := m.who(t)
	m.report(p, loop.HookStart)
	if slices.Contains(m.here, p) {
		return
	}
	for _, o := range slices.Clone(m.here) {
		if p.launch != "" && o.launch != "" {
			m.leave(t, o)
		}
	}
	m.here = append(m.here, p)
}

func (m *model) end(t *rapid.T) {
	p := m.who(t)
	m.report(p, loop.HookEnd)
	if slices.Contains(m.here, p) {
		m.leave(t, p)
	}
}

// die ends a program without a word.
func (m *model) die(t *rapid.T) {
	p := m.who(t)
	m.kill(p.pid)
	m.l.Presence(shop(15))
	if slices.Contains(m.here, p) {
		m.leave(t, p)
	}
	m.gone(p)
	m.cast[slices.Index(m.cast, p)] = player{p.launch, m.newPID()}
}

// leave takes a program out of the model, whose waiter is to be answered with nothing.
func (m *model) leave(t *rapid.T, p player) {
	m.here = slices.DeleteFunc(m.here, func(o player) bool { return o == p })
	m.answered(t, p, outcome{})
}

// gone takes back what a program waits for that nobody has heard of.
func (m *model) gone(p player) {
	if w := m.waiting[p]; w != nil {
		w.cancel()
		<-w.answer
		delete(m.waiting, p)
	}
}

// answered wants the waiter of a program, if there is one, to have been answered.
func (m *model) answered(t *rapid.T, p player, want outcome) {
	w := m.waiting[p]
	if w == nil {
		return
	}
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
	delete(m.waiting, p)
}

func (m *model) wait(t *rapid.T) {
	p := m.who(t)
	ctx, cancel := context.WithCancel(context.Background())
	now := &modelWaiter{cancel, wait(ctx, m.l, session.Waiter{
		Item: shop(15), Harness: "claude", SessionID: "s-1", Launch: p.launch, PID: p.pid, Caller: p.pid,
	})}
	synctest.Wait()
	m.answered(t, p, outcome{})
	m.waiting[p] = now
	if len(m.here) == 0 && p.launch != "" {
		m.here = append(m.here, p)
	}
}

func (m *model) giveUp(t *rapid.T) {
	p := m.who(t)
	if w := m.waiting[p]; w != nil {
		w.cancel()
		m.answered(t, p, outcome{})
	}
}

func (m *model) hand(t *rapid.T) {
	launch := rapid.SampledFrom([]string{"l-1", "l-2", ""}).Draw(t, "to")
	var to player
	may := len(m.here) > 0 && m.writer == ""
	if may {
		to = m.here[0]
		may = m.waiting[to] != nil && (launch == "" || launch == to.launch)
	}
	wake := loop.Wake{Run: loop.RunID(fmt.Sprint(m.newPID())), Text: "news"}
	if got := m.l.Hand(shop(15), launch, wake); got != may {
		t.Fatalf("Hand to %q = %v with %v there, %d waiting and %q writing", launch, got, m.here, len(m.waiting), m.writer)
	}
	if may {
		m.answered(t, to, outcome{wake, true})
	}
}

func (m *model) lease(t *rapid.T) {
	run := rapid.SampledFrom([]loop.RunID{"r-1", "r-2"}).Draw(t, "run")
	may := len(m.here) == 0 && (m.writer == "" || m.writer == run)
	if got := m.l.Lease(shop(15), run); got != may {
		t.Fatalf("Lease of %s = %v with %v there and %q writing", run, got, m.here, m.writer)
	}
	if may {
		m.writer = run
	}
}

func (m *model) release(t *rapid.T) {
	run := rapid.SampledFrom([]loop.RunID{"r-1", "r-2"}).Draw(t, "run")
	m.l.Release(shop(15), run)
	if m.writer == run {
		m.writer = ""
	}
}

func (m *model) check(t *rapid.T) {
	synctest.Wait()
	for p, w := range m.waiting {
		select {
		case got := <-w.answer:
			t.Fatalf("the waiter of %v was answered %+v and nobody handed it anything", p, got)
		default:
		}
	}
	if got := m.l.Writer(shop(15)); got != m.writer {
		t.Fatalf("%q writes, want %q", got, m.writer)
	}
	p, ok := m.l.Presence(shop(15))
	if ok != (len(m.here) > 0) {
		t.Fatalf("presence %+v, %v with %v there", p, ok, m.here)
	}
	if ok && (p.Launch != m.here[0].launch || p.Process.PID != m.here[0].pid || p.Waker != (m.waiting[m.here[0]] != nil)) {
		t.Fatalf("presence %+v with %v there and waiters of %v", p, m.here, m.waiting)
	}
}
