package dispatch_test

import (
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

var loggedOut = loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldNotLoggedIn, Detail: "Not logged in"}

func TestAHeldHarnessHoldsAllItsDeliveriesUncounted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.register(shop15.Sibling(16))
		one := h.comment(15, nth(1))
		h.only().ends(loggedOut)
		h.is(one, loop.StateWaiting, loop.WaitHarness)
		two := h.comment(16, nth(2))
		h.is(two, loop.StateWaiting, loop.WaitHarness)
		h.idle()
		if holds := h.d.Holds(); len(holds) != 1 || holds[0].Reason != loop.HeldNotLoggedIn {
			t.Fatalf("holds: %+v", holds)
		}
		for range 10 { // each probe fails: no try is spent
			time.Sleep(20 * time.Minute)
			h.only().ends(loggedOut)
		}
		if d := h.is(one, loop.StateWaiting, loop.WaitHarness); d.Attempts != 0 {
			t.Errorf("%d tries were counted", d.Attempts)
		}
		time.Sleep(20 * time.Minute)
		h.only().done()
		for range h.runner.on() {
			h.only().done()
		}
		h.is(one, loop.StateDone, "")
		h.is(two, loop.StateDone, "")
		if holds := h.d.Holds(); len(holds) != 0 {
			t.Errorf("still held: %+v", holds)
		}
	})
}

func TestAHoldLastsUntilTheTimeThatTheHarnessNamed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		h.only().ends(loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldUsageLimit, Until: time.Now().Add(5 * time.Hour)})
		time.Sleep(5*time.Hour - time.Second)
		h.idle()
		time.Sleep(2 * time.Second)
		h.only().done()
	})
}

func TestChangedSettingsHaveAHeldHarnessProbedAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.comment(15, nth(1))
		h.only().ends(loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldUsageLimit, Until: time.Now().Add(5 * time.Hour)})
		h.idle()
		h.d.Refresh()
		h.only().ends(loggedOut) // no better
		h.idle()
		h.d.Refresh()
		h.only().done()
		h.is(id, loop.StateDone, "")
	})
}

func TestAHoldSurvivesNoRestartButItsDeliveriesDo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.comment(15, nth(1))
		h.only().ends(loggedOut)
		h.restart()
		h.only().done()
		h.is(id, loop.StateDone, "")
	})
}

func TestAPersonHasAHeldHarnessTriedAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.comment(15, nth(1))
		h.only().ends(loggedOut)
		h.idle()
		_, err := h.d.Redeliver(t.Context(), id, false)
		h.must(err)
		h.only().done()
		h.is(id, loop.StateDone, "")
	})
}
