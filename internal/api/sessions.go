package api

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"google.golang.org/grpc"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// recentShown is how many deliveries that have ended are shown with a session.
const recentShown = 10

// maxPiece bounds one piece of a transcript, in bytes.
const maxPiece = 256 << 10

// sessions is loop.v1.Sessions.
type sessions struct {
	loopv1.UnimplementedSessionsServer

	o Options
}

// Register links a conversation to a work item.
func (s *sessions) Register(ctx context.Context, req *loopv1.RegisterRequest) (*loopv1.RegisterResponse, error) {
	r, err := registration(req)
	if err != nil {
		return nil, err
	}
	made, warnings, err := s.o.Dispatcher.Register(ctx, r)
	if err != nil {
		return nil, err
	}
	return &loopv1.RegisterResponse{Session: s.message(made), Warnings: warnings}, nil
}

func registration(req *loopv1.RegisterRequest) (r dispatch.Registration, err error) {
	r.Force = req.GetForce()
	if r.Item, err = workItem("work_item", req.GetWorkItem()); err != nil {
		return r, err
	}
	if r.Harness, err = name("harness", req.GetHarness(), "claude"); err != nil {
		return r, err
	}
	r.SessionID = loop.SessionID(req.GetHarnessSessionId())
	if err = r.SessionID.Check(); err != nil {
		return r, fmt.Errorf("harness_session_id: %w", err)
	}
	if r.Cwd, err = folder("cwd", req.GetCwd()); err != nil {
		return r, err
	}
	r.Runner, err = oneOf("runner", req.GetRunner(), loop.RunnerHeadless, loop.RunnerTmux)
	return r, err
}

// Get returns the session of a work item, and its queue.
func (s *sessions) Get(ctx context.Context, req *loopv1.GetSessionRequest) (*loopv1.GetSessionResponse, error) {
	found, err := s.find(req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	all, err := s.o.Inbox.List(ctx, inbox.Filter{Item: found.WorkItem, Limit: maxListed})
	if err != nil {
		return nil, err
	}
	res := &loopv1.GetSessionResponse{Session: s.message(found)}
	for _, d := range all {
		switch {
		case !d.State.Final():
			res.Queue = append(res.Queue, deliveryMessage(d))
		case len(res.Recent) < recentShown:
			res.Recent = append(res.Recent, deliveryMessage(d))
		}
	}
	slices.Reverse(res.Queue)
	if how := req.GetAttach(); how != nil {
		res.Attach, err = s.attach(ctx, found, how)
	}
	return res, err
}

// List returns the sessions, the oldest first.
func (s *sessions) List(_ context.Context, req *loopv1.ListSessionsRequest) (*loopv1.ListSessionsResponse, error) {
	const all = loop.SessionStatus("all")
	want, err := oneOf("status", req.GetStatus(), loop.StatusActive, loop.StatusPaused, loop.StatusClosed, all)
	if err != nil {
		return nil, err
	}
	res := &loopv1.ListSessionsResponse{Problems: s.o.Sessions.Problems()}
	for _, one := range s.o.Sessions.List() {
		if want == all || one.Status == want || want == "" && one.Open() {
			res.Sessions = append(res.Sessions, s.message(one))
		}
	}
	return res, nil
}

// Close ends the session of a work item for good.
func (s *sessions) Close(ctx context.Context, req *loopv1.CloseRequest) (*loopv1.CloseResponse, error) {
	w, err := workItem("work_item", req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	wish, err := s.wish(w, req.GetTmux())
	if err != nil {
		return nil, err
	}
	res, err := s.o.Dispatcher.Close(ctx, w, wish, !req.GetNoWait())
	if err != nil {
		return nil, err
	}
	return &loopv1.CloseResponse{
		Session:      s.message(res.Session),
		DeliveryId:   string(res.Delivery),
		HarnessEnded: res.HarnessEnded,
		Killed:       res.Killed,
		Dropped:      int32(res.Dropped),
		Retained:     res.Retained,
		Removed:      res.Removed,
	}, nil
}

// Pause ends the running turn, and drops what is queued and what comes.
func (s *sessions) Pause(ctx context.Context, req *loopv1.PauseRequest) (*loopv1.PauseResponse, error) {
	w, err := workItem("work_item", req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	res, err := s.o.Dispatcher.Pause(ctx, w)
	if err != nil {
		return nil, err
	}
	return &loopv1.PauseResponse{
		Session: s.message(res.Session), Dropped: int32(res.Dropped), RunEnded: res.RunEnded,
	}, nil
}

// Resume lets events reach a paused session again.
func (s *sessions) Resume(ctx context.Context, req *loopv1.ResumeRequest) (*loopv1.ResumeResponse, error) {
	w, err := workItem("work_item", req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	res, err := s.o.Dispatcher.Resume(ctx, w)
	if err != nil {
		return nil, err
	}
	return &loopv1.ResumeResponse{Session: s.message(res.Session), Missed: int32(res.Missed)}, nil
}

// Transcript streams what went into and came out of the session's runs.
func (s *sessions) Transcript(req *loopv1.TranscriptRequest, stream grpc.ServerStreamingServer[loopv1.TranscriptResponse]) error {
	found, err := s.find(req.GetWorkItem())
	if err != nil {
		return err
	}
	return s.o.Transcript(stream.Context(), found, req.GetFollow(), func(piece string) error {
		for part := range pieces(text(piece), maxPiece) {
			if err := stream.Send(&loopv1.TranscriptResponse{Text: part}); err != nil {
				return err
			}
		}
		return nil
	})
}

// pieces cuts valid UTF-8 between runes, so that no part is longer than limit.
func pieces(s string, limit int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s != "" {
			n := min(limit, len(s))
			for n < len(s) && !utf8.RuneStart(s[n]) {
				n--
			}
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// find returns the session that a request names.
func (s *sessions) find(ref string) (loop.Session, error) {
	w, err := workItem("work_item", ref)
	if err != nil {
		return loop.Session{}, err
	}
	found, ok := s.o.Sessions.Find(w)
	if !ok {
		return found, fmt.Errorf("no session works on %s, now or before (loopctl sessions list --status all shows them all): %w",
			w, loop.ErrNotFound)
	}
	return found, nil
}

// message returns a session as callers see it, with what it does now.
func (s *sessions) message(one loop.Session) *loopv1.Session {
	now := s.o.Dispatcher.Activity(one.WorkItem)
	p, live := s.o.Presence(one.WorkItem)
	m := sessionMessage(one, seen(now, p, one.AskedAt != nil))
	if live {
		m.Presence = presenceMessage(p)
	}
	return m
}

// seen is what a session does now, as a person sees it: what was handed over and waits behind a dialog waits for that person, and so
// does one that has asked something on the ticket and has nothing else to do.
func seen(now dispatch.Activity, p loop.Presence, asked bool) dispatch.Activity {
	switch {
	case now.State == dispatch.ActivityRunning && p.Turn == loop.TurnWaiting:
		now.State, now.Reason = dispatch.ActivityWaiting, loop.WaitDialog
	case now.State == dispatch.ActivityIdle && asked:
		now.State, now.Reason = dispatch.ActivityWaiting, loop.WaitAnswer
	}
	return now
}
