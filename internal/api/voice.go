package api

import (
	"context"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// Comment posts the words of an agent on a work item.
func (s *sessions) Comment(ctx context.Context, req *loopv1.CommentRequest) (*loopv1.CommentResponse, error) {
	w, err := workItem("work_item", req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	posted, err := s.o.Dispatcher.Comment(ctx, w, text(req.GetText()))
	if err != nil {
		return nil, err
	}
	return &loopv1.CommentResponse{Url: posted.URL}, nil
}

// Ask posts a question of an agent, and marks its session as waiting for the answer.
func (s *sessions) Ask(ctx context.Context, req *loopv1.AskRequest) (*loopv1.AskResponse, error) {
	w, err := workItem("work_item", req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	posted, err := s.o.Dispatcher.Ask(ctx, w, text(req.GetText()))
	if err != nil {
		return nil, err
	}
	return &loopv1.AskResponse{Url: posted.URL}, nil
}
