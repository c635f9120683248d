package api

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/unixsock"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

const (
	maxName   = 200     // bytes of a name or an id that a hook tells
	maxDetail = 4 << 10 // bytes of a line or a path that it tells
	maxRuns   = 100     // runs that one prompt may show
)

var markPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// Report takes in what a hook told.
func (s *sessions) Report(ctx context.Context, req *loopv1.ReportRequest) (*loopv1.ReportResponse, error) {
	r, err := report(req)
	if err != nil {
		return nil, err
	}
	r.Caller = caller(ctx)
	a, err := s.o.Report(ctx, r)
	if err != nil {
		return nil, err
	}
	return &loopv1.ReportResponse{Note: text(a.Note), Context: text(a.Context)}, nil
}

// caller is the process at the other end of the socket; 0 where that cannot be seen.
func caller(ctx context.Context) int {
	peer, _ := unixsock.FromContext(ctx)
	return peer.PID
}

// report checks every field: whoever calls a hook may have set what it passes on.
func report(req *loopv1.ReportRequest) (r loop.Report, err error) {
	if r.Event, err = oneOf("event", req.GetEvent(),
		loop.HookStart, loop.HookPrompt, loop.HookStop, loop.HookFailure, loop.HookWaiting, loop.HookEnd); err != nil {
		return r, err
	}
	if r.Event == "" {
		return r, invalid("event", "is required, such as start")
	}
	if r.Item, err = optionalItem(req.GetWorkItem()); err != nil {
		return r, err
	}
	if r.Harness, err = name("harness", req.GetHarness(), "claude"); err != nil {
		return r, err
	}
	if r.SessionID, err = conversation(req.GetHarnessSessionId()); err != nil {
		return r, err
	}
	if r.Launch, err = mark("launch", req.GetLaunch()); err != nil {
		return r, err
	}
	run, err := mark("run", req.GetRun())
	if err != nil {
		return r, err
	}
	r.Run, r.PID = loop.RunID(run), max(int(req.GetPid()), 0)
	if r.PID != 0 {
		r.Started = req.GetStartedAt()
	}
	r.Where, r.CloseOnEnd = line(req.GetWhere(), maxName), req.GetCloseOnEnd()
	if r.Runs, err = shownRuns(req.GetRuns()); err != nil {
		return r, err
	}
	if at := req.GetAt(); at.IsValid() {
		r.At = at.AsTime()
	}
	r.Source, r.Detail, r.Cwd = line(req.GetSource(), maxName), line(req.GetDetail(), maxDetail), line(req.GetCwd(), maxDetail)
	return r, nil
}

func shownRuns(texts []string) ([]loop.RunID, error) {
	if len(texts) > maxRuns {
		return nil, invalid("runs", fmt.Sprintf("are %d, %d are taken", len(texts), maxRuns))
	}
	var runs []loop.RunID
	for _, one := range texts {
		id, err := mark("runs", cmp.Or(one, " "))
		if err != nil {
			return nil, err
		}
		runs = append(runs, loop.RunID(id))
	}
	return runs, nil
}

// Wait answers when there is something to wake the conversation with.
func (s *sessions) Wait(ctx context.Context, req *loopv1.WaitRequest) (*loopv1.WaitResponse, error) {
	w, err := waiter(req)
	if err != nil {
		return nil, err
	}
	w.Caller = caller(ctx)
	wake, ok := s.o.Wait(ctx, w)
	if !ok {
		return &loopv1.WaitResponse{}, context.Cause(ctx)
	}
	return &loopv1.WaitResponse{Woken: true, Run: string(wake.Run), Title: text(wake.Title), Text: text(wake.Text)}, nil
}

func waiter(req *loopv1.WaitRequest) (w session.Waiter, err error) {
	if w.Item, err = optionalItem(req.GetWorkItem()); err != nil {
		return w, err
	}
	if w.Harness, err = name("harness", req.GetHarness(), "claude"); err != nil {
		return w, err
	}
	if w.SessionID, err = conversation(req.GetHarnessSessionId()); err != nil {
		return w, err
	}
	w.Launch, err = mark("launch", req.GetLaunch())
	w.Cwd = line(req.GetCwd(), maxDetail)
	w.PID = max(int(req.GetPid()), 0)
	return w, err
}

func conversation(id string) (loop.SessionID, error) {
	if err := loop.SessionID(id).Check(); err != nil {
		return "", fmt.Errorf("harness_session_id: %w", err)
	}
	return loop.SessionID(id), nil
}

// mark reads an id of ours that may be empty.
func mark(field, id string) (string, error) {
	if id != "" && !markPattern.MatchString(id) {
		return "", invalid(field, fmt.Sprintf("%q is none that loopd gives", id))
	}
	return id, nil
}

// line makes what a harness says one line of bounded length.
func line(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	return text(s[:min(len(s), limit)])
}
