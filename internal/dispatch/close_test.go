package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

func TestClosingTheIssueEndsItsSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		run := h.only()
		queued := h.comment(15, nth(2))
		id := h.arrive("issues", closed(15, time.Now()))
		h.is(queued, loop.StateDropped, loop.DropItemClosed)
		if s := h.session(shop15); s.Status != loop.StatusClosed || s.CloseReason != loop.CloseIssue || s.Ending != loop.EndingHarness {
			t.Fatalf("session is %s (%s), ending %q", s.Status, s.CloseReason, s.Ending)
		}
		time.Sleep(29 * time.Second)
		if run.terminated.Load() {
			t.Fatal("the running turn was not given its time")
		}
		time.Sleep(2 * time.Second)
		h.idle()
		h.is(id, loop.StateDone, "")
		if s := h.session(shop15); s.Ending != loop.EndingNone {
			t.Errorf("ending is %q after the harness ended", s.Ending)
		}
		late := h.comment(15, "too late")
		h.is(late, loop.StateDropped, loop.DropNotLabeled)
	})
}

func TestATurnThatEndsInTimeIsDone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		turn := h.comment(15, nth(1))
		run := h.only()
		id := h.arrive("issues", closed(15, time.Now()))
		run.done()
		h.is(turn, loop.StateDone, "")
		h.is(id, loop.StateDone, "")
	})
}

func TestAMergedPullRequestEndsTheSessionOfItsIssue(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.arrive("pull_request", githubtest.PullRequest("closed", "mallory", githubtest.Item{
			Number: 20, PR: true, Body: "Closes #15", Closed: true, Merged: true, Fork: "mallory", At: time.Now(),
		}))
		h.is(id, loop.StateDone, "")
		if s := h.session(shop15); s.CloseReason != loop.ClosePRMerged {
			t.Errorf("session is %s (%s)", s.Status, s.CloseReason)
		}
	})
}

// TestTheFirstOfTwoClosesSaysWhy puts what the merge of a pull request and the close of its issue tell, which come at once.
func TestTheFirstOfTwoClosesSaysWhy(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		for n := 100; n < 130; n++ {
			w := mustItem("acme", "shop", n)
			h.register(w)
			merge := loop.DeliveryID(uuid.NewString())
			h.put(merge, "pull_request", githubtest.PullRequest("closed", "octocat", githubtest.Item{
				Number: n + 100, PR: true, Body: fmt.Sprintf("Closes #%d", n), Closed: true, Merged: true, At: time.Now(),
			}))
			second := h.arrive("issues", closed(n, time.Now()))
			h.is(merge, loop.StateDone, "")
			h.is(second, loop.StateDropped, loop.DropNoSession)
			if s := h.session(w); s.CloseReason != loop.ClosePRMerged {
				t.Errorf("the session of %s is %s (%s), want it closed for the merge", w.Ref(), s.Status, s.CloseReason)
			}
		}
	})
}

func TestAStrangersClosedForkEndsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.arrive("pull_request", githubtest.PullRequest("closed", "mallory", githubtest.Item{
			Number: 20, PR: true, Body: "Closes #15", Closed: true, Fork: "mallory", At: time.Now(),
		}))
		if s := h.session(shop15); !s.Open() {
			t.Errorf("session is %s (%s)", s.Status, s.CloseReason)
		}
	})
}

func TestAPausedSessionIsClosedToo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		_, err := h.d.Pause(t.Context(), shop15)
		h.must(err)
		h.arrive("issues", closed(15, time.Now()))
		if s := h.session(shop15); s.Status != loop.StatusClosed {
			t.Errorf("session is %s", s.Status)
		}
	})
}

func TestCloseByHandWaitsForTheHarness(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		h.only()
		h.comment(15, nth(2))
		res, err := h.d.Close(t.Context(), shop15, loop.TerminalAsConfigured, true)
		h.must(err)
		if !res.HarnessEnded || res.Dropped != 2 || res.Session.CloseReason != loop.CloseManual {
			t.Errorf("close says %+v", res)
		}
		h.idle()
		_, err = h.d.Close(t.Context(), shop15, loop.TerminalAsConfigured, true)
		h.fails(err, loop.ErrNotFound)
	})
}

func TestAnAgentThatClosesItsOwnSessionIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		turn := h.comment(15, nth(1))
		run := h.only()
		_, err := h.d.Close(t.Context(), shop15, loop.TerminalAsConfigured, false)
		h.must(err)
		synctest.Wait()
		if run.terminated.Load() {
			t.Fatal("the agent was ended while it said goodbye")
		}
		run.done()
		h.is(turn, loop.StateDone, "")
		if s := h.session(shop15); s.Status != loop.StatusClosed || s.Ending != loop.EndingNone {
			t.Errorf("session is %s, ending %q", s.Status, s.Ending)
		}
	})
}

func TestACloseGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		h.only()
		id := h.arrive("issues", closed(15, time.Now()))
		h.is(id, loop.StateQueued, "")
		h.restart()
		time.Sleep(time.Minute)
		h.idle()
		h.is(id, loop.StateDone, "")
		if s := h.session(shop15); s.Status != loop.StatusClosed || s.Ending != loop.EndingNone {
			t.Errorf("session is %s, ending %q", s.Status, s.Ending)
		}
	})
}

func TestReplacingLeavesTheQueueToTheNewSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		running := h.comment(15, nth(1))
		h.only()
		queued := h.comment(15, nth(2))
		_, _, err := h.d.Register(t.Context(), dispatch.Registration{Item: shop15, Harness: "claude", SessionID: "second", Cwd: "/"})
		h.fails(err, loop.ErrExists)
		_, _, err = h.d.Register(t.Context(), dispatch.Registration{Item: shop15, Harness: "claude", SessionID: "second", Cwd: "/", Force: true})
		h.must(err)
		run := h.only()
		if run.Session.HarnessSessionID != "second" {
			t.Errorf("run is of %s, want the new session", run.Session.HarnessSessionID)
		}
		h.told(run, nth(1), nth(2))
		run.done()
		h.is(running, loop.StateDone, "")
		h.is(queued, loop.StateDone, "")
	})
}

func TestPauseEndsTheTurnAndResumeSaysWhatWasMissed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		turn := h.comment(15, nth(1))
		h.only()
		queued := h.comment(15, nth(2))
		res, err := h.d.Pause(t.Context(), shop15)
		h.must(err)
		if !res.RunEnded || res.Dropped != 2 {
			t.Errorf("pause says %+v", res)
		}
		h.is(turn, loop.StateDropped, loop.DropSessionPaused)
		h.is(queued, loop.StateDropped, loop.DropSessionPaused)
		later := h.comment(15, nth(3))
		h.is(later, loop.StateDropped, loop.DropSessionPaused)
		back, err := h.d.Resume(t.Context(), shop15)
		h.must(err)
		if back.Missed != 3 {
			t.Errorf("%d missed, want 3", back.Missed)
		}
		h.comment(15, nth(4))
		h.told(h.only(), "3 events were")
		h.only().done()
		h.comment(15, nth(5))
		if run := h.only(); strings.Contains(run.Prompt, "events were") {
			t.Error("the agent is told twice of what it missed")
		}
		h.only().done()
	})
}

func TestACloseThatCannotWaitSaysThatItGoesOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		h.only()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := h.d.Close(ctx, shop15, loop.TerminalAsConfigured, true)
		h.fails(err, loop.ErrUnavailable)
		time.Sleep(time.Minute)
		h.idle()
	})
}
