package api

import (
	"context"

	"github.com/loop-daemon/loop/internal/dispatch"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// Start has an item worked on, also one that was stopped.
func (s *sessions) Start(ctx context.Context, req *loopv1.StartRequest) (*loopv1.StartResponse, error) {
	w, err := workItem("work_item", req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	if err := words(req.GetText(), req.GetBy()); err != nil {
		return nil, err
	}
	res, err := s.o.Dispatcher.Start(ctx, dispatch.Message{Item: w, Text: req.GetText(), By: req.GetBy()})
	if err != nil {
		return nil, err
	}
	return &loopv1.StartResponse{DeliveryId: string(res.Delivery), Lifted: res.Lifted, Works: res.Works}, nil
}

// Stop closes the session of an item, and keeps any from being started for it.
func (s *sessions) Stop(ctx context.Context, req *loopv1.StopRequest) (*loopv1.StopResponse, error) {
	w, err := workItem("work_item", req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	res, err := s.o.Dispatcher.Stop(ctx, w, !req.GetNoWait())
	if err != nil {
		return nil, err
	}
	answer := &loopv1.StopResponse{HarnessEnded: res.HarnessEnded, Killed: res.Killed, Dropped: int32(res.Dropped), Retained: res.Retained}
	if res.Session.Status != "" {
		answer.Session = s.message(res.Session)
	}
	return answer, nil
}

// LinkPullRequest declares a pull request as the work of an item's session.
func (s *sessions) LinkPullRequest(ctx context.Context, req *loopv1.LinkPullRequestRequest) (*loopv1.LinkPullRequestResponse, error) {
	w, err := workItem("work_item", req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	pull, err := workItem("pull_request", req.GetPullRequest())
	if err != nil {
		return nil, err
	}
	linked, before, err := s.o.Dispatcher.LinkPullRequest(ctx, w, pull)
	if err != nil {
		return nil, err
	}
	return &loopv1.LinkPullRequestResponse{Session: s.message(linked), LinkedBefore: before}, nil
}
