package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Given an agent in a terminal that ignores SIGTERM, and something queued for it,
// When its issue is closed, and loopd is killed after any step of that and started again,
// Then the close is done: the agent is gone, its record is closed and can be read, and what was queued is dropped.
func TestKilledAtAnyStepOfAClose(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"decided", "closed", "harness-ended"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newTerminals(t, true, "[routing.tmux]\nharness_kill_grace_seconds = 1\n[routing]")
			w.start()
			w.begun(15)
			w.ends(w.comment(15, "[[agent deaf hang]]"), "done", "")
			w.hears("deaf")
			queued := w.comment(15, "behind it")
			w.await("it to wait", func() bool { return w.delivery(queued).State == "waiting" })
			w.stop()
			d := w.start("LOOP_E2E_KILL_AT=" + step)
			id := uuid.NewString()
			w.postBlind(id, "issues", closed(15))
			<-d.done
			w.start()
			w.ends(id, "done", "")
			w.ends(queued, "dropped", "item-closed")
			w.gone()
			if s := w.session(slug(15)); s.Status != "closed" || s.CloseReason != "issue-closed" || s.Ending != "" {
				t.Errorf("the session is %s (%s), ending %q", s.Status, s.CloseReason, s.Ending)
			}
			if out := w.must("logs", "acme/shop#15"); !strings.Contains(out, "Loop brings news") {
				t.Errorf("its record does not hold its last turn:\n%s", out)
			}
		})
	}
}
