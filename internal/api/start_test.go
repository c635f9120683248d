package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

func TestStartsAndStopsAreHandedOn(t *testing.T) {
	t.Parallel()
	h := open(t)
	started, err := h.sessions.Start(t.Context(), &loopv1.StartRequest{WorkItem: "acme/shop#15", Text: "go", By: "alice"})
	if diff := cmp.Diff(&loopv1.StartResponse{DeliveryId: "start-1", Lifted: true}, started, protocmp.Transform()); diff != "" || err != nil {
		t.Errorf("Start: %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]dispatch.Message{{Item: item(t, "acme/shop#15"), Text: "go", By: "alice"}}, h.orders.sent); diff != "" {
		t.Errorf("it was handed on as (-want +got):\n%s", diff)
	}
	stopped, err := h.sessions.Stop(t.Context(), &loopv1.StopRequest{WorkItem: "acme/shop#15"})
	if err != nil || stopped.GetSession() != nil {
		t.Errorf("Stop without a session = %v, %v", stopped, err)
	}
	h.orders.close = dispatch.CloseResult{Session: loop.Session{WorkItem: item(t, "acme/shop#15"), Status: loop.StatusClosed}, Killed: true, Dropped: 3}
	stopped, err = h.sessions.Stop(t.Context(), &loopv1.StopRequest{WorkItem: "acme/shop#15"})
	if err != nil || stopped.GetSession().GetStatus() != "closed" || !stopped.GetKilled() || stopped.GetDropped() != 3 {
		t.Errorf("Stop = %v, %v", stopped, err)
	}
	linked, err := h.sessions.LinkPullRequest(t.Context(), &loopv1.LinkPullRequestRequest{WorkItem: "acme/shop#15", PullRequest: "acme/web#12"})
	if err != nil || !linked.GetLinkedBefore() || linked.GetSession().GetPullRequests()[0] != "github:acme/web#12" {
		t.Errorf("LinkPullRequest = %v, %v", linked, err)
	}
	for _, call := range []func() error{
		func() error { _, err := h.sessions.Start(t.Context(), &loopv1.StartRequest{}); return err },
		func() error {
			_, err := h.sessions.Stop(t.Context(), &loopv1.StopRequest{WorkItem: "nonsense"})
			return err
		},
		func() error {
			_, err := h.sessions.LinkPullRequest(t.Context(), &loopv1.LinkPullRequestRequest{WorkItem: "acme/shop#15"})
			return err
		},
	} {
		if err := call(); err == nil {
			t.Error("a wrong request is taken")
		}
	}
}
