package dispatch_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestARunIsStillTheSessionsAfterItsConversationWasCleared(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.comment(15, nth(1))
		run := h.only()
		next := loop.SessionID(uuid.NewString())
		h.launch = "l-1"
		_, err := h.d.Heard(t.Context(), loop.Report{Event: loop.HookStart, Item: shop15, Harness: "claude", SessionID: next, Launch: "l-1"})
		h.must(err)
		h.restart()
		run.ends(loop.Outcome{Kind: loop.RunDone})
		h.is(id, loop.StateDone, "")
		if s := h.session(shop15); s.HarnessSessionID != next || len(s.RecentDeliveries) != 1 {
			t.Errorf("the session is %+v, want it in the new conversation with its delivery", s)
		}
	}, terminals)
}
