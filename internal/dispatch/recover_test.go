package dispatch_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
)

func TestARunThatLivesOnIsAdoptedAndItsAnswerCounts(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.comment(15, nth(1))
		run := h.only()
		queued := h.comment(15, nth(2))
		h.restart()
		h.is(id, loop.StateRunning, "")
		h.is(queued, loop.StateQueued, "") // nothing starts beside it
		run.done()
		if d := h.is(id, loop.StateDone, ""); d.Attempts != 1 {
			t.Errorf("%d tries were counted, want 1", d.Attempts)
		}
		h.told(h.only(), nth(2))
		h.only().done()
		if n := len(h.runner.handovers); n != 2 {
			t.Errorf("%d runs, want 2", n)
		}
	})
}

func TestARunThatNeverBeganIsBegunUncounted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.comment(15, nth(1))
		h.only()
		h.runner.forget() // as if loopd had died before the harness was started
		h.restart()
		h.only().done()
		if d := h.is(id, loop.StateDone, ""); d.Attempts != 1 {
			t.Errorf("%d tries were counted, want 1", d.Attempts)
		}
	})
}

func TestARunThatWasCutOffIsCountedAndTheRetrySaysSo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.comment(15, nth(1))
		h.only()
		h.runner.lost = true
		h.restart()
		h.is(id, loop.StateWaiting, loop.WaitBackoff)
		h.runner.forget()
		time.Sleep(5 * time.Minute)
		h.told(h.only(), "cut off", nth(1))
		h.only().done()
		if d := h.is(id, loop.StateDone, ""); d.Attempts != 2 {
			t.Errorf("%d tries were counted, want 2", d.Attempts)
		}
	})
}

func TestQueuedDeliveriesKeepTheirOrderAndTriesOverARestart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		one, two := h.comment(15, nth(1)), h.comment(15, nth(2))
		h.restart()
		if d := h.is(one, loop.StateQueued, ""); d.Attempts != 0 {
			t.Errorf("%d tries were counted", d.Attempts)
		}
		time.Sleep(time.Hour)
		run := h.only()
		h.told(run, nth(1), nth(2))
		run.done()
		h.is(two, loop.StateDone, "")
	}, func(s *dispatch.Settings) { s.Join = time.Hour })
}

// Whatever fails, is held, is cut short by a restart or ends well: every accepted delivery is handed over until it is done
// or has had all its tries, a session never has two runs, and first tries keep the order of arrival.
func TestNothingIsLostAndOrderIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 5, 40).Draw(rt, "steps")
		bubble(t, func(_ *testing.T, h *house) { law(rt, h, steps) })
	})
}

func law(rt *rapid.T, h *house, steps []int) {
	items := []loop.WorkItem{shop15, shop15.Sibling(16)}
	for _, w := range items {
		h.register(w)
	}
	var ids []loop.DeliveryID
	for i, step := range steps {
		on := h.runner.on()
		seen := map[loop.ItemKey]bool{}
		for _, sc := range on {
			if key := sc.Session.WorkItem.Key(); seen[key] {
				rt.Fatalf("two runs of %s go on", key)
			} else {
				seen[key] = true
			}
		}
		switch {
		case step < 5:
			ids = append(ids, h.comment(15+step%2, fmt.Sprintf("<%d>", i)))
		case step == 5:
			h.restart()
		case step == 6:
			time.Sleep(2 * time.Minute)
		case len(on) == 0:
		case step == 7:
			on[0].ends(loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldOverloaded})
		case step == 8:
			on[0].fails()
		default:
			on[0].done()
		}
	}
	for range 500 {
		on := h.runner.on()
		if len(on) == 0 {
			time.Sleep(30 * time.Minute)
			synctest.Wait()
			if len(h.runner.on()) == 0 {
				break
			}
			continue
		}
		on[0].done()
	}
	for _, id := range ids {
		d, err := h.inbox.Get(h.t.Context(), id)
		h.must(err)
		if d.State != loop.StateDone && (d.State != loop.StateFailed || d.Attempts < h.settings.MaxAttempts) {
			rt.Fatalf("delivery %s is left %s (%s) after %d tries", id, d.State, d.Reason, d.Attempts)
		}
	}
}
