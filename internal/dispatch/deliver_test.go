package dispatch_test

import (
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/prompt"
)

func TestACommentResumesTheSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		s := h.register(shop15)
		id := h.comment(15, "please fix the door")
		run := h.only()
		if run.Fresh || run.Session.HarnessSessionID != s.HarnessSessionID {
			t.Errorf("run is fresh=%v of %s, want the registered conversation", run.Fresh, run.Session.HarnessSessionID)
		}
		h.told(run, "please fix the door")
		h.is(id, loop.StateRunning, "")
		run.done()
		h.is(id, loop.StateDone, "")
		s = h.session(shop15)
		if s.LastEventAt == nil || len(s.RecentDeliveries) != 1 || s.RecentDeliveries[0] != id {
			t.Errorf("the session file was not brought up to date: %+v", s)
		}
	})
}

func TestOneRunAtATimePerSessionAndWhatGathersIsJoined(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		first := h.only()
		two, three := h.comment(15, nth(2)), h.comment(15, nth(3))
		h.is(two, loop.StateQueued, "")
		first.done()
		second := h.only()
		h.told(second, "1 of 2", nth(2), "2 of 2", nth(3))
		second.done()
		h.is(two, loop.StateDone, "")
		h.is(three, loop.StateDone, "")
		h.idle()
	})
}

func TestABurstWaitsForCompany(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		time.Sleep(time.Second)
		h.comment(15, nth(2))
		h.idle()
		time.Sleep(time.Second)
		h.told(h.only(), nth(1), nth(2))
		h.only().done()
	}, func(s *dispatch.Settings) { s.Join = 2 * time.Second })
}

func TestSessionsRunBesideEachOtherUpToTheBound(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		for n := 1; n <= 5; n++ {
			h.register(shop15.Sibling(n))
			h.comment(n, nth(n))
		}
		if on := h.runner.on(); len(on) != 2 {
			t.Fatalf("%d runs go on, want 2", len(on))
		}
		for range 5 {
			h.runner.on()[0].done()
		}
		h.idle()
	}, func(s *dispatch.Settings) { s.MaxConcurrent = 2 })
}

func TestARaisedBoundLetsMoreRunAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		for n := 1; n <= 3; n++ {
			h.register(shop15.Sibling(n))
			h.comment(n, nth(n))
		}
		h.only()
		h.settings.MaxConcurrent = 3
		h.d.Refresh()
		on := h.runner.on()
		if len(on) != 3 {
			t.Fatalf("%d runs go on, want 3", len(on))
		}
		for _, run := range on {
			run.done()
		}
	}, func(s *dispatch.Settings) { s.MaxConcurrent = 1 })
}

func TestAFailureIsTriedAgainThenGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.register(shop15.Sibling(16))
		id := h.comment(15, "breaks")
		h.only().fails()
		h.is(id, loop.StateWaiting, loop.WaitBackoff)
		other := h.comment(16, "works") // the neighbour is not disturbed
		h.only().done()
		h.is(other, loop.StateDone, "")
		time.Sleep(70 * time.Second)
		h.only().fails()
		time.Sleep(5 * time.Minute)
		h.only().fails()
		d := h.is(id, loop.StateFailed, loop.FailAttempts)
		if d.Attempts != 3 || d.Error != "exit status 1" {
			t.Errorf("failed after %d tries with %q", d.Attempts, d.Error)
		}
		time.Sleep(24 * time.Hour)
		h.idle()
		if s := h.session(shop15); len(s.RecentDeliveries) != 0 {
			t.Errorf("a failed delivery is recorded as handled: %v", s.RecentDeliveries)
		}
	})
}

func TestWhatFailedIsRedelivered(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id, body := loop.DeliveryID("11111111-1111-4111-8111-111111111111"), commentBody(15, "again")
		h.put(id, "issue_comment", body)
		h.only().ends(loop.Outcome{Kind: loop.RunTimeout, Detail: "out of time"})
		h.is(id, loop.StateFailed, loop.FailTimeout)
		if res := h.put(id, "issue_comment", body); res.Verdict != inbox.DueAgain {
			t.Fatalf("GitHub's redelivery is %s, want %s", res.Verdict, inbox.DueAgain)
		}
		h.only().done()
		h.is(id, loop.StateDone, "")
		if res := h.put(id, "issue_comment", body); res.Verdict != inbox.Duplicate {
			t.Fatalf("the redelivery of a done one is %s, want %s", res.Verdict, inbox.Duplicate)
		}
		h.idle()
		_, err := h.d.Redeliver(t.Context(), id, false)
		h.fails(err, loop.ErrConflict)
		_, err = h.d.Redeliver(t.Context(), id, true)
		h.must(err)
		h.only().done()
	})
}

func TestGitHubsRedeliveryOfOneInBackoffIsDueNow(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id, body := loop.DeliveryID("22222222-2222-4222-8222-222222222222"), commentBody(15, "again")
		h.put(id, "issue_comment", body)
		h.only().fails()
		h.is(id, loop.StateWaiting, loop.WaitBackoff)
		h.put(id, "issue_comment", body)
		h.only().done()
		h.is(id, loop.StateDone, "")
		time.Sleep(time.Hour)
		h.idle()
	})
}

func TestAJoinedRunThatFailsIsSplit(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		first := h.only()
		two, three := h.comment(15, nth(2)), h.comment(15, nth(3))
		first.done()
		h.only().fails()
		time.Sleep(2 * time.Minute)
		run := h.only()
		h.told(run, nth(2))
		h.is(three, loop.StateWaiting, loop.WaitBackoff)
		run.done()
		h.is(two, loop.StateDone, "")
		h.told(h.only(), nth(3))
		h.only().done()
		h.is(three, loop.StateDone, "")
	})
}

func TestOneInBackoffStepsAsideAndComesBackAtTheHead(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		one := h.comment(15, nth(1))
		h.only().fails()
		two := h.comment(15, nth(2))
		run := h.only()
		h.told(run, nth(2))
		three := h.comment(15, nth(3))
		time.Sleep(2 * time.Minute) // the first is due while the second runs
		run.done()
		h.is(two, loop.StateDone, "")
		h.told(h.only(), nth(1))
		h.only().done()
		h.is(one, loop.StateDone, "")
		h.told(h.only(), nth(3))
		h.only().done()
		h.is(three, loop.StateDone, "")
	})
}

func TestTheSameFactIsActedOnOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		body := commentBody(15, "once")
		one := h.arrive("issue_comment", body)
		two := h.arrive("issue_comment", body)
		h.is(two, loop.StateDropped, loop.DropDuplicate)
		h.only().done()
		h.is(one, loop.StateDone, "")
		h.idle()
	})
}

func TestASessionThatRunsAwayIsPaused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		for n := range 3 {
			h.comment(15, nth(n))
			h.only().done()
		}
		id := h.comment(15, "one too many")
		h.idle()
		h.is(id, loop.StateDropped, loop.DropSessionPaused)
		if s := h.session(shop15); s.Status != loop.StatusPaused || s.PauseReason != loop.PausedRunaway {
			t.Errorf("session is %s (%s), want paused (runaway)", s.Status, s.PauseReason)
		}
	}, func(s *dispatch.Settings) { s.MaxRunsPerHour = 3 })
}

func TestAnActorWhoIsNoLongerListedIsNotHeard(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		run := h.only()
		id := h.comment(15, nth(2))
		h.settings.Route.AuthorizedUsers = nil
		run.done()
		h.is(id, loop.StateDropped, loop.DropUnauthorized)
		h.idle()
	})
}

func TestAPromptIsInTheWordsOfTheTemplates(t *testing.T) {
	t.Parallel()
	parse := func(text string) *prompt.Template {
		parsed, err := prompt.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	bubble(t, func(t *testing.T, h *house) {
		h.arrive("issues", label(15, "go", time.Now()))
		h.told(h.only(), "Begin, please.")
		h.only().done()
		h.settings.Templates.Deliver = parse("More for you.")
		h.comment(15, nth(1))
		h.told(h.only(), "More for you.", nth(1))
		h.only().done()
	}, func(s *dispatch.Settings) { s.Templates.Spawn = parse("Begin, please.") })
}
