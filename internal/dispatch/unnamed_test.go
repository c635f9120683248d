package dispatch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
)

// unnamed runs a test in a house whose harness names its conversations itself.
func unnamed(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	bubble(t, func(t *testing.T, h *house) {
		h.unnamed = true
		test(t, h)
	})
}

// wantRun wants the only run to be of a conversation, and to begin it or not.
func (h *house) wantRun(id loop.SessionID, fresh bool) *scene {
	h.t.Helper()
	run := h.only()
	if run.Session.HarnessSessionID != id || run.Fresh != fresh {
		h.t.Fatalf("run is fresh=%v of %q, want fresh=%v of %q", run.Fresh, run.Session.HarnessSessionID, fresh, id)
	}
	return run
}

func TestAHarnessNamesItsConversation(t *testing.T) {
	t.Parallel()
	unnamed(t, func(t *testing.T, h *house) {
		h.arrive("issues", label(15, "go", time.Now()))
		run := h.wantRun("", true)
		if s := h.session(shop15); s.HarnessSessionID != "" || s.ConversationAt != nil {
			t.Errorf("before the first answer the session has conversation %q, begun %v", s.HarnessSessionID, s.ConversationAt)
		}
		behind := h.comment(15, nth(1))
		run.ends(loop.Outcome{Kind: loop.RunDone, SessionID: "thread-1", Turns: 1})
		run = h.wantRun("thread-1", false)
		h.told(run, nth(1))
		run.done()
		h.is(behind, loop.StateDone, "")
		if s := h.session(shop15); s.HarnessSessionID != "thread-1" || s.ConversationAt == nil || len(s.PreviousSessionIDs) != 0 {
			t.Errorf("session %+v", s)
		}
	})
}

// A start that failed is made again, or gone on with once the harness had named the conversation; the agent is told of the item
// until it has answered.
func TestAFailedStartOfAnUnnamedConversation(t *testing.T) {
	t.Parallel()
	for _, kind := range []loop.OutcomeKind{loop.RunFailed, loop.RunCutOff, loop.RunHeld} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			unnamed(t, func(t *testing.T, h *house) {
				id := h.arrive("issues", label(15, "go", time.Now()))
				first := h.wantRun("", true)
				first.ends(loop.Outcome{Kind: kind, Reason: reasonOf(kind), Detail: "before it named anything"})
				time.Sleep(time.Hour)
				second := h.wantRun("", true)
				second.ends(loop.Outcome{Kind: kind, Reason: reasonOf(kind), SessionID: "thread-2", Detail: "after it did"})
				time.Sleep(2 * time.Hour)
				third := h.wantRun("thread-2", false)
				h.told(third, "Read the whole thread")
				h.restart()
				third = h.wantRun("thread-2", false)
				third.ends(loop.Outcome{Kind: loop.RunDone, SessionID: "thread-2", Turns: 1})
				h.is(id, loop.StateDone, "")
				h.comment(15, nth(1))
				h.wantRun("thread-2", false).done()
			})
		})
	}
}

func reasonOf(kind loop.OutcomeKind) string {
	if kind == loop.RunHeld {
		return loop.HeldNotLoggedIn
	}
	return ""
}

func TestATimeoutOfAStartLeavesItsConversation(t *testing.T) {
	t.Parallel()
	unnamed(t, func(t *testing.T, h *house) {
		id := h.arrive("issues", label(15, "go", time.Now()))
		h.wantRun("", true).ends(loop.Outcome{Kind: loop.RunTimeout, SessionID: "thread-1"})
		h.is(id, loop.StateFailed, loop.FailTimeout)
		h.comment(15, nth(1))
		h.wantRun("thread-1", false).done()
	})
}

func TestALostConversationThatTheHarnessNamed(t *testing.T) {
	t.Parallel()
	unnamed(t, func(t *testing.T, h *house) {
		h.arrive("issues", label(15, "go", time.Now()))
		h.wantRun("", true).ends(loop.Outcome{Kind: loop.RunDone, SessionID: "thread-1", Turns: 1})
		h.comment(15, nth(1))
		h.wantRun("thread-1", false).ends(loop.Outcome{Kind: loop.RunLost, Detail: "no rollout found"})
		run := h.wantRun("", true)
		h.told(run, nth(1))
		run.ends(loop.Outcome{Kind: loop.RunFailed, Detail: "exit status 1"})
		time.Sleep(time.Hour)
		h.wantRun("", true).ends(loop.Outcome{Kind: loop.RunDone, SessionID: "thread-2", Turns: 1})
		s := h.session(shop15)
		if s.HarnessSessionID != "thread-2" || !slices.Equal(s.PreviousSessionIDs, []loop.SessionID{"thread-1"}) {
			t.Errorf("session has %q, and had %q before", s.HarnessSessionID, s.PreviousSessionIDs)
		}
	})
}

// A harness that answers without ever naming its conversation is not taken to have one.
func TestAnAnswerWithoutAName(t *testing.T) {
	t.Parallel()
	unnamed(t, func(t *testing.T, h *house) {
		id := h.arrive("issues", label(15, "go", time.Now()))
		h.wantRun("", true).ends(loop.Outcome{Kind: loop.RunDone, Turns: 1})
		h.is(id, loop.StateDone, "")
		if s := h.session(shop15); s.LastEventAt == nil || !slices.Equal(s.RecentDeliveries, []loop.DeliveryID{id}) || s.ConversationAt != nil {
			t.Errorf("session %+v", s)
		}
		h.comment(15, nth(1))
		h.wantRun("", true).done()
	})
}

// A run from before a crash tells its session the name, and no other session that came after it.
func TestANameThatIsToldAcrossARestart(t *testing.T) {
	t.Parallel()
	unnamed(t, func(t *testing.T, h *house) {
		id := h.arrive("issues", label(15, "go", time.Now()))
		h.wantRun("", true)
		h.restart()
		h.wantRun("", true).ends(loop.Outcome{Kind: loop.RunDone, SessionID: "thread-1", Turns: 1})
		h.is(id, loop.StateDone, "")
		h.comment(15, nth(1))
		h.wantRun("thread-1", false).done()
	})
}

func TestRegisteringWantsAnID(t *testing.T) {
	t.Parallel()
	unnamed(t, func(t *testing.T, h *house) {
		_, _, err := h.d.Register(t.Context(), dispatch.Registration{Item: shop15, Harness: "codex", Cwd: "/"})
		h.fails(err, loop.ErrInvalid)
		for _, n := range []int{15, 16} { // two that are yet to be named are not the same conversation
			h.arrive("issues", label(n, "go", time.Now()))
		}
		for i, run := range h.runner.on() {
			run.ends(loop.Outcome{Kind: loop.RunDone, SessionID: loop.SessionID("thread-" + uuid.NewString()), Turns: 1})
			if i > 1 {
				t.Error("more than two runs")
			}
		}
		if h.session(shop15).HarnessSessionID == h.session(shop15.Sibling(16)).HarnessSessionID {
			t.Error("two sessions have one conversation")
		}
	})
}
