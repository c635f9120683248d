package dispatch_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/loop"
)

// terminals makes sessions live in terminals.
func terminals(s *dispatch.Settings) { s.Runner = loop.RunnerTmux }

// logged returns the entries of a type.
func (h *house) logged(kind loop.LogType) []loop.LogEvent {
	h.t.Helper()
	all, err := eventlog.New(h.db, slog.New(slog.DiscardHandler)).Query(h.t.Context(), eventlog.Filter{Type: kind})
	h.must(err)
	return all
}

// waits has the sessions of an item wait, until the returned function says that they are ready.
func (h *house) waits(w loop.WorkItem, reason string) (ready func()) {
	changed := make(chan struct{})
	h.runner.mu.Lock()
	defer h.runner.mu.Unlock()
	if h.runner.readiness == nil {
		h.runner.readiness = map[loop.ItemKey]loop.Readiness{}
	}
	h.runner.readiness[w.Key()] = loop.Readiness{Wait: reason, Detail: "its terminal is " + reason, Changed: changed}
	return func() {
		h.runner.mu.Lock()
		delete(h.runner.readiness, w.Key())
		h.runner.mu.Unlock()
		close(changed)
		synctest.Wait()
	}
}

func TestBusyTerminalGetsWhatGatheredAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		ready := h.waits(shop15, loop.WaitBusy)
		first, second := h.comment(15, "one"), h.comment(15, "two")
		for _, id := range []loop.DeliveryID{first, second} {
			if d := h.is(id, loop.StateWaiting, loop.WaitBusy); d.Attempts != 0 {
				t.Errorf("waiting counted as %d tries", d.Attempts)
			}
		}
		if n := len(h.logged(loop.LogSessionWaiting)); n != 1 {
			t.Errorf("%d events tell of the wait, want one for both deliveries", n)
		}
		ready()
		run := h.only()
		h.told(run, "one", "two")
		run.done()
		h.is(first, loop.StateDone, "")
		h.is(second, loop.StateDone, "")
	}, terminals)
}

func TestWaitingForATerminalHoldsNoSlot(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		other := mustItem("acme", "shop", 16)
		h.register(shop15)
		h.register(other)
		ready := h.waits(shop15, loop.WaitDialog)
		held := h.comment(15, "one")
		free := h.comment(16, "two")
		h.is(held, loop.StateWaiting, loop.WaitDialog)
		h.is(free, loop.StateRunning, "")
		h.only().done()
		ready()
		h.is(held, loop.StateRunning, "")
	}, terminals, func(s *dispatch.Settings) { s.MaxConcurrent = 1 })
}

func TestPromptInALiveHarnessHoldsNoSlot(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		other := mustItem("acme", "shop", 16)
		h.register(shop15)
		h.register(other)
		first := h.comment(15, "one")
		second := h.comment(16, "two")
		h.is(second, loop.StateQueued, "")
		h.only().Handed()
		h.is(first, loop.StateRunning, "")
		h.is(second, loop.StateRunning, "")
	}, terminals, func(s *dispatch.Settings) { s.MaxConcurrent = 1 })
}

func TestDeferredHandoverIsTriedAgainUncounted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.comment(15, "one")
		for range 5 {
			h.only().ends(loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitDraft, Detail: "somebody writes"})
			if d := h.is(id, loop.StateWaiting, loop.WaitDraft); d.Attempts != 0 {
				t.Errorf("deferred counted as %d tries", d.Attempts)
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
		}
		h.only().done()
		h.is(id, loop.StateDone, "")
		if n := len(h.logged(loop.LogRunFailed)); n != 0 {
			t.Errorf("%d runs are told as failed", n)
		}
	}, terminals)
}

func TestCloseEndsTheTerminalAndTellsWhatStays(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.runner.hosted = map[loop.ItemKey]loop.Termination{
			shop15.Key(): {Found: true, Killed: true, Retained: "loop-" + shop15.Slug()},
		}
		res, err := h.d.Close(t.Context(), shop15, loop.TerminalKeep, true)
		h.must(err)
		if !res.HarnessEnded || !res.Killed || res.Retained == "" {
			t.Errorf("close told %+v", res)
		}
		want := []loop.Wish{{Settle: 30 * time.Second, Terminal: loop.TerminalKeep}}
		if diff := cmp.Diff(want, h.runner.wishes); diff != "" {
			t.Errorf("wishes (-want +got):\n%s", diff)
		}
		if len(h.logged(loop.LogSessionRetained)) != 1 || len(h.logged(loop.LogHarnessTerminated)) != 1 {
			t.Error("the log does not tell what was ended and what stays")
		}
	}, terminals)
}

func TestPauseLeavesAnIdleTerminalAlone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		_, err := h.d.Pause(t.Context(), shop15)
		h.must(err)
		want := []loop.Wish{{OnlyBusy: true, Terminal: loop.TerminalKeep}}
		if diff := cmp.Diff(want, h.runner.wishes); diff != "" {
			t.Errorf("wishes (-want +got):\n%s", diff)
		}
	}, terminals)
}

func TestClearedConversationMovesTheSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		before := h.register(shop15)
		next := loop.SessionID(uuid.NewString())
		h.launch = "l-2"
		start := loop.Report{Event: loop.HookStart, Item: shop15, Harness: "claude", SessionID: next, Launch: "l-1"}
		_, err := h.d.Heard(t.Context(), start)
		h.must(err)
		if now := h.session(shop15); now.HarnessSessionID != before.HarnessSessionID {
			t.Error("an earlier launch moved it")
		}
		start.Launch = "l-2"
		_, err = h.d.Heard(t.Context(), start)
		h.must(err)
		after, _ := h.sessions.Find(shop15)
		if after.HarnessSessionID != next {
			t.Errorf("the session is still %s", after.HarnessSessionID)
		}
		if diff := cmp.Diff([]loop.SessionID{before.HarnessSessionID}, after.PreviousSessionIDs); diff != "" {
			t.Errorf("previous ids (-want +got):\n%s", diff)
		}
		start.Harness, start.SessionID = "codex", before.HarnessSessionID
		_, err = h.d.Heard(t.Context(), start)
		h.must(err)
		if now, _ := h.sessions.Find(shop15); now.HarnessSessionID != next {
			t.Error("another harness moved it")
		}
	}, terminals)
}
