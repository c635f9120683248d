package dispatch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

func TestALabelStartsOneSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		at := time.Now()
		id := h.arrive("issues", label(15, "go", at))
		run := h.only()
		if !run.Fresh {
			t.Error("the run resumes a conversation that was never begun")
		}
		s := h.session(shop15)
		if !s.Spawned || s.HarnessSessionID == "" || s.ConversationAt != nil {
			t.Errorf("the record while the start runs: %+v", s)
		}
		h.comment(15, "one more thing") // queues behind the start
		run.done()
		h.is(id, loop.StateDone, "")
		next := h.only()
		if next.Fresh || next.Session.HarnessSessionID != run.Session.HarnessSessionID {
			t.Error("the second run is not of the same conversation")
		}
		next.done()
		again := h.arrive("issues", label(15, "go", at.Add(time.Minute)))
		h.is(again, loop.StateDropped, loop.DropNotDelivered)
	})
}

func TestTwoDeliveriesAtOnceMakeOneSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		at := time.Now()
		h.put("33333333-3333-4333-8333-333333333333", "issues", label(15, "go", at))
		h.put("44444444-4444-4444-8444-444444444444", "issue_comment", githubtest.IssueComment("created", "octocat",
			githubtest.Item{Number: 15, Labels: []string{"go"}}, githubtest.Comment{ID: 77, Body: "and this"}))
		run := h.only()
		if all := h.sessions.List(); len(all) != 1 {
			t.Fatalf("%d sessions", len(all))
		}
		run.done()
		for range h.runner.on() {
			h.only().done()
		}
		h.idle()
	})
}

func TestOneSpawnPerLabelling(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		at := time.Now()
		h.arrive("issues", label(15, "go", at))
		h.only().done()
		_, err := h.d.Close(t.Context(), shop15, loop.TerminalAsConfigured, true)
		h.must(err)
		id := h.arrive("issue_comment", githubtest.IssueComment("created", "octocat",
			githubtest.Item{Number: 15, Labels: []string{"go"}}, githubtest.Comment{ID: 78, Body: "still there?"}))
		h.is(id, loop.StateDropped, loop.DropSpawnedBefore)
		h.arrive("issues", label(15, "go", at.Add(time.Hour)))
		h.only().done()
	})
}

func TestAReopenedItemStartsOver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		at := time.Now()
		h.arrive("issues", label(15, "go", at))
		h.only().done()
		h.arrive("issues", closed(15, at.Add(time.Hour)))
		id := h.arrive("issues", githubtest.Issues("reopened", "octocat", githubtest.Item{
			Number: 15, Labels: []string{"go"}, At: at.Add(2 * time.Hour),
		}))
		h.only().done()
		h.is(id, loop.StateDone, "")
		end := h.arrive("issues", closed(15, at.Add(3*time.Hour)))
		h.is(end, loop.StateDone, "")
		if s := h.session(shop15); s.Status != loop.StatusClosed {
			t.Errorf("session is %s", s.Status)
		}
	})
}

func TestNeverMeansNever(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		id := h.arrive("issues", label(15, "go", time.Now()))
		h.is(id, loop.StateDropped, loop.DropUnmatched)
		h.idle()
	}, func(s *dispatch.Settings) { s.Route.SpawnOnUnmatched = route.SpawnNever })
}

func TestASpawnWithoutAFolderFailsAndSaysSo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		id := h.arrive("issues", label(15, "go", time.Now()))
		h.is(id, loop.StateWaiting, loop.WaitBackoff)
		time.Sleep(time.Hour)
		d := h.is(id, loop.StateFailed, loop.FailAttempts)
		if d.Error == "" || len(h.sessions.List()) != 0 {
			t.Errorf("error %q, %d sessions", d.Error, len(h.sessions.List()))
		}
		h.settings.SpawnWorkdir = "/"
		_, err := h.d.Redeliver(t.Context(), id, false)
		h.must(err)
		h.only().done()
		h.is(id, loop.StateDone, "")
	}, func(s *dispatch.Settings) { s.SpawnWorkdir = "" })
}

func TestAGivenUpSpawnHasAFreshBudgetForTheNextComment(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		id := h.arrive("issues", label(15, "go", time.Now()))
		for range 3 {
			h.only().fails()
			time.Sleep(10 * time.Minute)
		}
		h.is(id, loop.StateFailed, loop.FailAttempts)
		next := h.comment(15, "try now")
		if run := h.only(); !run.Fresh {
			t.Error("the run resumes a conversation that never began")
		}
		h.only().done()
		h.is(next, loop.StateDone, "")
	})
}

func TestNothingStartsForAnItemThatClosedMeanwhile(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15.Sibling(16))
		h.comment(16, "takes the only slot")
		busy := h.only()
		at := time.Now()
		start := h.arrive("issues", label(15, "go", at))
		h.is(start, loop.StateQueued, "")
		h.arrive("issues", closed(15, at.Add(time.Minute)))
		h.is(start, loop.StateDropped, loop.DropItemClosed)
		busy.done()
		h.idle()
		if s := h.session(shop15); s.Status != loop.StatusClosed || s.Ending != loop.EndingNone {
			t.Errorf("session is %s, ending %q", s.Status, s.Ending)
		}
	}, func(s *dispatch.Settings) { s.MaxConcurrent = 1 })
}

func TestAStartThatIsOnItsWayIsEndedWithTheItem(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"registered", "running"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				h.stop()
				h.step = func(name string) {
					if name == step {
						h.step = nil
						h.put("55555555-5555-4555-8555-555555555555", "issues", closed(15, time.Now()))
						time.Sleep(10 * time.Second) // the close is being carried out
					}
				}
				h.open()
				id := h.arrive("issues", label(15, "go", time.Now()))
				time.Sleep(2 * time.Minute)
				h.idle()
				h.is(id, loop.StateDropped, loop.DropItemClosed)
				h.is("55555555-5555-4555-8555-555555555555", loop.StateDone, "")
				if s := h.session(shop15); s.Status != loop.StatusClosed || s.Ending != loop.EndingNone {
					t.Errorf("session is %s, ending %q", s.Status, s.Ending)
				}
			})
		})
	}
}

func TestAFailedStartIsNotTakenUpForAClosedItem(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		at := time.Now()
		id := h.arrive("issues", label(15, "go", at))
		time.Sleep(2 * time.Hour)
		h.is(id, loop.StateFailed, loop.FailAttempts)
		h.arrive("issues", closed(15, at.Add(time.Minute)))
		h.settings.SpawnWorkdir = "/"
		_, err := h.d.Redeliver(t.Context(), id, false)
		h.must(err)
		h.is(id, loop.StateDropped, loop.DropItemClosed)
		h.idle()
	}, func(s *dispatch.Settings) { s.SpawnWorkdir = "" })
}

func TestALostConversationIsBegunAnewOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		old := h.register(shop15)
		id := h.comment(15, nth(1))
		h.only().ends(loop.Outcome{Kind: loop.RunLost, Detail: "No conversation found"})
		run := h.only()
		if !run.Fresh || run.Session.HarnessSessionID == old.HarnessSessionID {
			t.Fatalf("run is fresh=%v of %s", run.Fresh, run.Session.HarnessSessionID)
		}
		h.told(run, nth(1))
		run.done()
		if d := h.is(id, loop.StateDone, ""); d.Attempts != 1 {
			t.Errorf("%d tries were counted, want 1", d.Attempts)
		}
		s := h.session(shop15)
		if len(s.PreviousSessionIDs) != 1 || s.PreviousSessionIDs[0] != old.HarnessSessionID {
			t.Errorf("the old id is not kept: %v", s.PreviousSessionIDs)
		}
	})
}

func TestAStartOfAConversationThatExistsIsResumed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.arrive("issues", label(15, "go", time.Now()))
		h.only().ends(loop.Outcome{Kind: loop.RunFailed, Reason: loop.FailedIDInUse, Detail: "already in use"})
		run := h.only()
		if run.Fresh {
			t.Error("the conversation that exists is started again")
		}
		run.done()
	})
}

func TestAnIDThatChangesReplacesTheRecordedOne(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		h.only().ends(loop.Outcome{Kind: loop.RunDone, SessionID: "forked", Turns: 1})
		h.comment(15, nth(2))
		if run := h.only(); run.Session.HarnessSessionID != "forked" {
			t.Errorf("the next run is of %s", run.Session.HarnessSessionID)
		}
		h.only().done()
	})
}

func TestStartAndStopFromTheTicket(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.comment(15, "/loop start\nand mind the hinges")
		run := h.only()
		h.told(run, "mind the hinges")
		run.done()
		stop := h.comment(15, "/loop stop")
		h.is(stop, loop.StateDone, "")
		if s := h.session(shop15); s.CloseReason != loop.CloseStopped {
			t.Errorf("session is %s (%s)", s.Status, s.CloseReason)
		}
		h.restart()
		id := h.arrive("issues", label(15, "go", time.Now().Add(time.Hour)))
		h.is(id, loop.StateDropped, loop.DropStopped)
		h.comment(15, "/loop start")
		h.only().done()
	})
}

func TestPauseAndResumeFromTheTicket(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.is(h.comment(15, "/loop pause"), loop.StateDone, "")
		h.is(h.comment(15, nth(1)), loop.StateDropped, loop.DropSessionPaused)
		h.is(h.comment(15, "/loop resume"), loop.StateDone, "")
		h.comment(15, nth(2))
		h.only().done()
		h.is(h.comment(15, "/loop stop\n/loop start"), loop.StateDropped, loop.DropAmbiguous)
	})
}

func TestACommandThatComesLateUndoesNoLaterOne(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		start := time.Now()
		say := func(id int64, after time.Duration, text string) loop.DeliveryID {
			h.t.Helper()
			at := start.Add(after)
			return h.arrive("issue_comment", githubtest.IssueComment("created", "octocat", githubtest.Item{Number: 15, At: at},
				githubtest.Comment{ID: id, Body: text, At: at}))
		}
		h.register(shop15)
		h.is(say(901, 2*time.Minute, "/loop pause"), loop.StateDone, "")
		h.is(say(902, time.Minute, "/loop resume"), loop.StateDropped, loop.DropSuperseded)
		h.is(say(903, 3*time.Minute, "/loop resume"), loop.StateDone, "")
		h.is(say(904, time.Minute, "/loop stop"), loop.StateDropped, loop.DropSuperseded)
		h.is(say(905, 5*time.Minute, "/loop stop"), loop.StateDone, "")
		h.is(say(906, 4*time.Minute, "/loop start"), loop.StateDropped, loop.DropSuperseded)
		h.is(say(907, 4*time.Minute, "/loop status"), loop.StateDone, "")
		h.restart()
		h.is(say(908, 4*time.Minute, "/loop start"), loop.StateDropped, loop.DropSuperseded)
		say(909, 5*time.Minute, "/loop start") // in the same second, as far as GitHub tells
		h.only().done()
	})
}

func TestARenamedRepositoryKeepsItsSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		repo := githubtest.Repo{Owner: "acme", Name: "shop", ID: 4711}
		h.arrive("issues", githubtest.Issues("labeled", "octocat", githubtest.Item{Repo: repo, Number: 15, Labels: []string{"go"}}, githubtest.Label("go")))
		h.only().done()
		repo.Name = "store"
		id := h.arrive("issue_comment", githubtest.IssueComment("created", "octocat", githubtest.Item{Repo: repo, Number: 15}, githubtest.Comment{ID: 79, Body: "moved"}))
		h.only().done()
		h.is(id, loop.StateDone, "")
		synctest.Wait()
		if all := h.sessions.List(); len(all) != 1 {
			t.Errorf("%d sessions, want the one", len(all))
		}
	})
}
