package dispatch_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

func TestStopHoldsUntilStart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		res, err := h.d.Stop(t.Context(), shop15, true)
		h.must(err)
		if res.Session.CloseReason != loop.CloseStopped {
			t.Errorf("stopped: %+v", res)
		}
		if _, err := h.d.Stop(t.Context(), shop15, true); err != nil {
			t.Errorf("stopped again: %v", err)
		}
		h.restart()
		h.is(h.arrive("issues", label(15, "go", time.Now())), loop.StateDropped, loop.DropStopped)
		started, err := h.d.Start(t.Context(), dispatch.Message{Item: shop15})
		h.must(err)
		if want := (dispatch.StartResult{Delivery: started.Delivery, Lifted: true}); started != want {
			t.Errorf("Start = %+v, want %+v", started, want)
		}
		h.told(h.only(), "github:acme/shop#15", "Read the whole thread")
		h.only().done()
		h.is(started.Delivery, loop.StateDone, "")
	})
}

// Who opens a conversation on a stopped item gets its events there, and lifts nothing by that.
func TestAnOpenedConversationLiftsNoStop(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		_, err := h.d.Stop(t.Context(), shop15, true)
		h.must(err)
		p := h.program(21, "s-1")
		p.tells(loop.HookStart, source("startup"))
		there := h.comment(15, "while they are there")
		h.only().done()
		h.is(there, loop.StateDone, "")
		p.tells(loop.HookEnd)
		h.is(h.comment(15, "when they have left"), loop.StateDropped, loop.DropStopped)
		h.idle()
		_, sent, err := h.d.Send(t.Context(), dispatch.Message{Item: shop15, Text: "by their own word"})
		h.must(err)
		h.told(h.only(), "by their own word")
		h.only().done()
		h.is(sent, loop.StateDone, "")
		started, err := h.d.Start(t.Context(), dispatch.Message{Item: shop15})
		h.must(err)
		if want := (dispatch.StartResult{Lifted: true, Works: true}); started != want {
			t.Errorf("Start = %+v, want %+v", started, want)
		}
		h.comment(15, "after the start")
		h.told(h.only(), "after the start")
	})
}

func TestStartByHand(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		text := dispatch.Message{Item: shop15, Text: "Mind the door.", By: "alice"}
		h.settings.Route.SpawnOnUnmatched = route.SpawnNever
		_, err := h.d.Start(t.Context(), text)
		h.fails(err, loop.ErrConflict)
		h.settings.Route.SpawnOnUnmatched = route.SpawnAlways
		_, err = h.d.Start(t.Context(), text)
		h.must(err)
		synctest.Wait()
		h.told(h.only(), "Read the whole thread", "Mind the door.")
		h.only().done()
		again, err := h.d.Start(t.Context(), dispatch.Message{Item: shop15})
		h.must(err)
		if want := (dispatch.StartResult{Works: true}); again != want {
			t.Errorf("started again: %+v, want %+v", again, want)
		}
		h.idle()
		more, err := h.d.Start(t.Context(), text)
		h.must(err)
		synctest.Wait()
		h.told(h.only(), "Mind the door.")
		if strings.Contains(h.only().Prompt, "Read the whole thread") {
			t.Error("a session that works is told to begin")
		}
		h.only().done()
		h.is(more.Delivery, loop.StateDone, "")
		_, err = h.d.Pause(t.Context(), shop15)
		h.must(err)
		_, err = h.d.Start(t.Context(), text)
		h.fails(err, loop.ErrConflict)
		h.arrive("issues", closed(15, time.Now()))
		_, err = h.d.Start(t.Context(), text)
		h.fails(err, loop.ErrConflict)
	})
}

func TestADeclaredPullRequestReachesItsSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		pull, other := mustItem("acme", "web", 12), mustItem("acme", "shop", 16)
		_, _, err := h.d.LinkPullRequest(t.Context(), shop15, pull)
		h.fails(err, loop.ErrNotFound)
		h.register(shop15)
		h.register(other)
		for i, before := range []bool{false, true} {
			s, was, err := h.d.LinkPullRequest(t.Context(), shop15, pull)
			h.must(err)
			if diff := cmp.Diff([]string{"github:acme/web#12"}, s.PullRequests); diff != "" || was != before {
				t.Errorf("time %d: linked before %v, pull requests (-want +got):\n%s", i+1, was, diff)
			}
		}
		_, _, err = h.d.LinkPullRequest(t.Context(), other, pull)
		h.fails(err, loop.ErrConflict)
		if !strings.Contains(err.Error(), "github:acme/shop#15") {
			t.Errorf("the owner is not named: %v", err)
		}
		_, _, err = h.d.LinkPullRequest(t.Context(), shop15, other)
		h.fails(err, loop.ErrConflict)
		_, _, err = h.d.LinkPullRequest(t.Context(), shop15, shop15)
		h.fails(err, loop.ErrInvalid)
		h.arrive("issue_comment", githubtest.IssueComment("created", "octocat",
			githubtest.Item{Repo: githubtest.Repo{Owner: "acme", Name: "web"}, Number: 12, PR: true}, githubtest.Comment{ID: 990_001, Body: "on the pull request"}))
		if run := h.only(); run.Session.WorkItem != shop15 {
			t.Errorf("it went to %s", run.Session.WorkItem)
		}
		h.only().done()
		_, err = h.d.Close(t.Context(), shop15, "", true)
		h.must(err)
		_, _, err = h.d.LinkPullRequest(t.Context(), other, pull)
		h.must(err)
	})
}
