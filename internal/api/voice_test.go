package api_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

func TestCommentAndAskAnswerWithThePage(t *testing.T) {
	t.Parallel()
	h := open(t)
	c, err := h.sessions.Comment(t.Context(), &loopv1.CommentRequest{WorkItem: "acme/shop#15", Text: "done"})
	if err != nil || c.GetUrl() != "https://github.com/acme/shop/issues/15#done" {
		t.Errorf("the comment is at %q: %v", c.GetUrl(), err)
	}
	a, err := h.sessions.Ask(t.Context(), &loopv1.AskRequest{WorkItem: "acme/shop#15", Text: "why"})
	if err != nil || a.GetUrl() != "https://github.com/acme/shop/issues/15#why" {
		t.Errorf("the question is at %q: %v", a.GetUrl(), err)
	}
	if _, err := h.sessions.Ask(t.Context(), &loopv1.AskRequest{WorkItem: "what"}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an item that is none: %v", err)
	}
	h.orders.err = loop.ErrConflict
	if _, err := h.sessions.Comment(t.Context(), &loopv1.CommentRequest{WorkItem: "acme/shop#15", Text: "done"}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a comment that may be there: %v", err)
	}
}

// A session that has nothing to do but to wait for an answer is shown as waiting, and where the question is.
func TestASessionThatAskedIsShownAsWaiting(t *testing.T) {
	t.Parallel()
	h := open(t)
	w := register(t, h, "acme/shop#15").WorkItem
	h.put(t, loop.Delivery{ID: "d"}, inbox.Transition{State: loop.StateDone, Item: w, Decision: loop.Deliver})
	s, _ := h.Sessions.Find(w)
	now := time.Now()
	err := h.Sessions.Update(w, s.CreatedAt, func(s *loop.Session) error {
		s.AskedAt, s.AskedURL = &now, w.URL()+"#issuecomment-1"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		now          dispatch.Activity
		state, waits string
	}{
		{dispatch.Activity{State: dispatch.ActivityIdle}, "waiting", "answer"},
		{dispatch.Activity{State: dispatch.ActivityRunning}, "running", ""},
	} {
		h.orders.activity = tc.now
		res, err := h.sessions.List(t.Context(), &loopv1.ListSessionsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		got := res.GetSessions()[0]
		if got.GetActivity() != tc.state || got.GetWaitsFor() != tc.waits || got.GetAskedUrl() != w.URL()+"#issuecomment-1" || got.GetAskedAt() == nil {
			t.Errorf("%+v is shown as %s (%s), asked %v at %q", tc.now, got.GetActivity(), got.GetWaitsFor(), got.GetAskedAt(), got.GetAskedUrl())
		}
		said := strings.Join(h.explain(t, "d"), "\n")
		if want := "It is waiting now for an answer on the ticket (" + w.URL() + "#issuecomment-1)."; strings.Contains(said, want) != (tc.waits != "") {
			t.Errorf("explained:\n%s", said)
		}
	}
}
