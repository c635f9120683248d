package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// good is a registration with nothing wrong.
func good() *loopv1.RegisterRequest {
	return &loopv1.RegisterRequest{
		WorkItem: "acme/shop#15", Harness: "claude", HarnessSessionId: "3f9a", Cwd: "/home/user/shop",
	}
}

func TestEveryFieldIsChecked(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	register := func(change func(*loopv1.RegisterRequest)) func() error {
		return func() error {
			r := good()
			change(r)
			_, err := h.sessions.Register(ctx, r)
			return err
		}
	}
	list := func(r *loopv1.ListDeliveriesRequest) func() error {
		return func() error { _, err := h.deliveries.List(ctx, r); return err }
	}
	events := func(r *loopv1.EventsRequest) func() error {
		return func() error {
			s, err := h.daemon.Events(ctx, r)
			if err == nil {
				_, err = s.Recv()
			}
			return err
		}
	}
	report := func(change func(*loopv1.ReportRequest)) func() error {
		return func() error {
			r := &loopv1.ReportRequest{Event: "stop", Harness: "claude", HarnessSessionId: "s-1"}
			change(r)
			_, err := h.sessions.Report(ctx, r)
			return err
		}
	}
	wait := func(r *loopv1.WaitRequest) func() error {
		return func() error { _, err := h.sessions.Wait(ctx, r); return err }
	}
	send := func(r *loopv1.SendRequest) func() error {
		return func() error { _, err := h.sessions.Send(ctx, r); return err }
	}
	for _, c := range []struct {
		name  string
		call  func() error
		field string
	}{
		{"report of nothing", report(func(r *loopv1.ReportRequest) { r.Event = "" }), "event"},
		{"report of what is none", report(func(r *loopv1.ReportRequest) { r.Event = "PreToolUse" }), "event"},
		{"report of no item", report(func(r *loopv1.ReportRequest) { r.WorkItem = "x" }), "work_item"},
		{"report of no harness", report(func(r *loopv1.ReportRequest) { r.Harness = "" }), "harness"},
		{"report of no conversation", report(func(r *loopv1.ReportRequest) { r.HarnessSessionId = "-rf" }), "harness_session_id"},
		{"report of a strange launch", report(func(r *loopv1.ReportRequest) { r.Launch = "a b" }), "launch"},
		{"report of a strange run", report(func(r *loopv1.ReportRequest) { r.Run = "../x" }), "run"},
		{"report of an empty run", report(func(r *loopv1.ReportRequest) { r.Runs = []string{""} }), "runs"},
		{"report of many runs", report(func(r *loopv1.ReportRequest) { r.Runs = make([]string, 1000) }), "runs"},
		{"wait for no harness", wait(&loopv1.WaitRequest{WorkItem: "a/b#1", HarnessSessionId: "s-1"}), "harness"},
		{"wait for no conversation", wait(&loopv1.WaitRequest{WorkItem: "a/b#1", Harness: "claude"}), "harness_session_id"},
		{"wait in a strange launch", wait(&loopv1.WaitRequest{WorkItem: "a/b#1", Harness: "claude", HarnessSessionId: "s-1", Launch: "a b"}), "launch"},
		{"send to no item", send(&loopv1.SendRequest{Text: "x"}), "work_item"},
		{"send nothing", send(&loopv1.SendRequest{WorkItem: "a/b#1", Text: " \n"}), "text"},
		{"send too much", send(&loopv1.SendRequest{WorkItem: "a/b#1", Text: strings.Repeat("x", 200_000)}), "text"},
		{"send by a long name", send(&loopv1.SendRequest{WorkItem: "a/b#1", Text: "x", By: strings.Repeat("x", 300)}), "by"},
		{"no item", register(func(r *loopv1.RegisterRequest) { r.WorkItem = "" }), "work_item"},
		{"item without a number", register(func(r *loopv1.RegisterRequest) { r.WorkItem = "github:a/b" }), "work_item"},
		{"item number 0", register(func(r *loopv1.RegisterRequest) { r.WorkItem = "a/b#0" }), "work_item"},
		{"item that is a path", register(func(r *loopv1.RegisterRequest) { r.WorkItem = "../..#1" }), "work_item"},
		{"huge item number", register(func(r *loopv1.RegisterRequest) { r.WorkItem = "github:a/b#99999999999999999999" }), "work_item"},
		{"no harness", register(func(r *loopv1.RegisterRequest) { r.Harness = "" }), "harness"},
		{"harness that is a flag", register(func(r *loopv1.RegisterRequest) { r.Harness = "--help" }), "harness"},
		{"no session id", register(func(r *loopv1.RegisterRequest) { r.HarnessSessionId = "" }), "harness_session_id"},
		{"session id that is a flag", register(func(r *loopv1.RegisterRequest) { r.HarnessSessionId = "-p" }), "harness_session_id"},
		{"no folder", register(func(r *loopv1.RegisterRequest) { r.Cwd = "" }), "cwd"},
		{"relative folder", register(func(r *loopv1.RegisterRequest) { r.Cwd = "shop" }), "cwd"},
		{"folder with a NUL", register(func(r *loopv1.RegisterRequest) { r.Cwd = "/a\x00b" }), "cwd"},
		{"unknown runner", register(func(r *loopv1.RegisterRequest) { r.Runner = "docker" }), "runner"},
		{"get", func() error { _, err := h.sessions.Get(ctx, &loopv1.GetSessionRequest{}); return err }, "work_item"},
		{"close", func() error { _, err := h.sessions.Close(ctx, &loopv1.CloseRequest{WorkItem: "x"}); return err }, "work_item"},
		{"pause", func() error { _, err := h.sessions.Pause(ctx, &loopv1.PauseRequest{}); return err }, "work_item"},
		{"resume", func() error { _, err := h.sessions.Resume(ctx, &loopv1.ResumeRequest{}); return err }, "work_item"},
		{"unknown status", func() error {
			_, err := h.sessions.List(ctx, &loopv1.ListSessionsRequest{Status: "open"})
			return err
		}, "status"},
		{"transcript", func() error {
			s, err := h.sessions.Transcript(ctx, &loopv1.TranscriptRequest{})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		}, "work_item"},
		{"unknown state", list(&loopv1.ListDeliveriesRequest{State: "lost"}), "state"},
		{"deliveries of no item", list(&loopv1.ListDeliveriesRequest{WorkItem: "x"}), "work_item"},
		{"negative limit", list(&loopv1.ListDeliveriesRequest{Limit: -1}), "limit"},
		{"large limit", list(&loopv1.ListDeliveriesRequest{Limit: 1001}), "limit"},
		{"negative sequence", list(&loopv1.ListDeliveriesRequest{BeforeSeq: -1}), "before_seq"},
		{"no delivery", func() error { _, err := h.deliveries.Get(ctx, &loopv1.GetDeliveryRequest{Id: " "}); return err }, "id"},
		{"long delivery", func() error {
			_, err := h.deliveries.Get(ctx, &loopv1.GetDeliveryRequest{Id: strings.Repeat("x", 1000)})
			return err
		}, "id"},
		{"redeliver nothing", func() error { _, err := h.deliveries.Redeliver(ctx, &loopv1.RedeliverRequest{}); return err }, "id"},
		{"explain nothing", func() error { _, err := h.deliveries.Explain(ctx, &loopv1.ExplainRequest{}); return err }, "subject"},
		{"explain what is no item", func() error {
			_, err := h.deliveries.Explain(ctx, &loopv1.ExplainRequest{Subject: "a/b#x"})
			return err
		}, "subject"},
		{"events of no item", events(&loopv1.EventsRequest{WorkItem: "x"}), "work_item"},
		{"events of no type", events(&loopv1.EventsRequest{Type: "Run Started"}), "type"},
		{"events after -2", events(&loopv1.EventsRequest{AfterSeq: -2}), "after_seq"},
		{"simulate without an event", func() error {
			_, err := h.daemon.Simulate(ctx, &loopv1.SimulateRequest{Body: []byte("{}")})
			return err
		}, "event"},
		{"simulate without a body", func() error {
			_, err := h.daemon.Simulate(ctx, &loopv1.SimulateRequest{Event: "ping"})
			return err
		}, "body"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.call()
			if status.Code(err) != codes.InvalidArgument || !strings.HasPrefix(status.Convert(err).Message(), c.field+": ") {
				t.Errorf("error = %v, want InvalidArgument that begins with %q", err, c.field+": ")
			}
		})
	}
	if got := len(h.orders.sent); got != 0 {
		t.Errorf("%d messages reached the dispatcher", got)
	}
	if got := len(h.orders.registered); got != 0 {
		t.Errorf("%d registrations reached the dispatcher", got)
	}
}

func TestRefsInAnyForm(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, ref := range []string{"github:acme/shop#15", "acme/shop#15", "https://github.com/acme/shop/pull/15#issuecomment-1"} {
		r := good()
		r.WorkItem, r.Cwd, r.Runner, r.Force = ref, "/home/user/../user/shop/", "headless", true
		res, err := h.sessions.Register(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.GetSession().GetWorkItem().GetRef(); got != "github:acme/shop#15" {
			t.Errorf("%s: registered for %s", ref, got)
		}
	}
	want := dispatch.Registration{
		Item: item(t, "acme/shop#15"), Harness: "claude", SessionID: "3f9a", Cwd: "/home/user/shop", Runner: loop.RunnerHeadless, Force: true,
	}
	for _, got := range h.orders.registered {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("registration (-want +got):\n%s", diff)
		}
	}
}

func TestErrorsBecomeStatuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		code    codes.Code
		message string
	}{
		{fmt.Errorf("no session works on it: %w", loop.ErrNotFound), codes.NotFound, "no session works on it"},
		{fmt.Errorf("it has a session: close it first: %w", loop.ErrExists), codes.AlreadyExists, "it has a session: close it first"},
		{fmt.Errorf("cwd: %w", fmt.Errorf("not absolute: %w", loop.ErrInvalid)), codes.InvalidArgument, "cwd: not absolute"},
		{fmt.Errorf("it is paused: %w", loop.ErrConflict), codes.FailedPrecondition, "it is paused"},
		{fmt.Errorf("not yours: %w", loop.ErrDenied), codes.PermissionDenied, "not yours"},
		{fmt.Errorf("the disk is full: %w", loop.ErrUnavailable), codes.Unavailable, "the disk is full"},
		{loop.ErrNotFound, codes.NotFound, "not found"},
		{fmt.Errorf("wait for it: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "wait for it: context deadline exceeded"},
		{fmt.Errorf("wait for it: %w", context.Canceled), codes.Canceled, "wait for it: context canceled"},
		{errors.New("read sessions/x.json: permission denied"), codes.Internal, "read sessions/x.json: permission denied"},
		{status.Error(codes.Unimplemented, "not in this release"), codes.Unimplemented, "not in this release"},
	} {
		t.Run(c.code.String(), func(t *testing.T) {
			t.Parallel()
			h := open(t)
			h.orders.err = c.err
			_, err := h.sessions.Register(t.Context(), good())
			got := status.Convert(err)
			if got.Code() != c.code || got.Message() != c.message {
				t.Errorf("%v became %v: %q; want %v: %q", c.err, got.Code(), got.Message(), c.code, c.message)
			}
		})
	}
}

func TestWhatTheDispatcherAnswers(t *testing.T) {
	t.Parallel()
	h := open(t)
	ctx := t.Context()
	w := item(t, "acme/shop#15")
	s := loop.Session{WorkItem: w, Harness: "claude", Status: loop.StatusPaused, PauseReason: loop.PausedRunaway}
	h.orders.warnings = []string{"claude is not on the PATH of loopd"}
	h.orders.close = dispatch.CloseResult{Session: s, Delivery: "close-1", HarnessEnded: true, Killed: true, Dropped: 3}
	h.orders.pause = dispatch.PauseResult{Session: s, Dropped: 2, RunEnded: true}
	h.orders.resume = dispatch.ResumeResult{Session: s, Missed: 4}
	h.orders.again = loop.Delivery{ID: "d", State: loop.StateQueued, Error: "cut \xff off"}
	h.orders.activity = dispatch.Activity{State: dispatch.ActivityHeld, Queued: 7}

	if r, err := h.sessions.Register(ctx, good()); err != nil || len(r.GetWarnings()) != 1 || r.GetSession().GetQueued() != 7 {
		t.Errorf("Register = %v, %v", r, err)
	}
	r, err := h.sessions.Close(ctx, &loopv1.CloseRequest{WorkItem: w.Ref()})
	if err != nil || r.GetDeliveryId() != "close-1" || !r.GetHarnessEnded() || !r.GetKilled() || r.GetDropped() != 3 {
		t.Errorf("Close = %v, %v", r, err)
	}
	if got := r.GetSession(); got.GetActivity() != "held" || got.GetPauseReason() != "runaway" || got.GetCreatedAt() != nil {
		t.Errorf("the session of Close = %v", got)
	}
	if _, err := h.sessions.Close(ctx, &loopv1.CloseRequest{WorkItem: w.Ref(), NoWait: true}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]bool{true, false}, h.orders.closed); diff != "" {
		t.Errorf("waits of the closes (-want +got):\n%s", diff)
	}
	if r, err := h.sessions.Pause(ctx, &loopv1.PauseRequest{WorkItem: w.Ref()}); err != nil || r.GetDropped() != 2 || !r.GetRunEnded() {
		t.Errorf("Pause = %v, %v", r, err)
	}
	if r, err := h.sessions.Resume(ctx, &loopv1.ResumeRequest{WorkItem: w.Ref()}); err != nil || r.GetMissed() != 4 {
		t.Errorf("Resume = %v, %v", r, err)
	}
	again, err := h.deliveries.Redeliver(ctx, &loopv1.RedeliverRequest{Id: "d", Force: true})
	if err != nil || again.GetDelivery().GetState() != "queued" || again.GetDelivery().GetError() != "cut \uFFFD off" {
		t.Errorf("Redeliver = %v, %v", again, err)
	}
}

func TestReloadAndSimulate(t *testing.T) {
	t.Parallel()
	problems := "loop.toml:3: routing.runer: unknown key, routing.runner is near"
	refuse := true
	h := open(t, func(o *api.Options) {
		o.Reload = func(context.Context) (api.Reloaded, error) {
			if refuse {
				return api.Reloaded{}, fmt.Errorf("%s: %w", problems, loop.ErrInvalid)
			}
			return api.Reloaded{ConfigPath: "/c", Changed: []string{"a", "b"}, RestartNeeded: []string{"b"}, Warnings: []string{"w"}}, nil
		}
		o.Simulate = func(_ context.Context, event string, body []byte) (api.Simulated, error) {
			return api.Simulated{Delivery: "d", HTTPStatus: 202, Answer: event + string(body)}, nil
		}
	})
	ctx := t.Context()
	if _, err := h.daemon.Reload(ctx, &loopv1.ReloadRequest{}); status.Code(err) != codes.InvalidArgument || status.Convert(err).Message() != problems {
		t.Errorf("refused reload: %v", err)
	}
	refuse = false
	r, err := h.daemon.Reload(ctx, &loopv1.ReloadRequest{})
	if err != nil || r.GetConfigPath() != "/c" || len(r.GetChanged()) != 2 || len(r.GetRestartNeeded()) != 1 || len(r.GetWarnings()) != 1 {
		t.Errorf("Reload = %v, %v", r, err)
	}
	s, err := h.daemon.Simulate(ctx, &loopv1.SimulateRequest{Event: "ping", Body: []byte("{}")})
	if err != nil || s.GetDeliveryId() != "d" || s.GetHttpStatus() != 202 || s.GetAnswer() != "ping{}" {
		t.Errorf("Simulate = %v, %v", s, err)
	}
	if _, err := h.daemon.Simulate(ctx, &loopv1.SimulateRequest{Event: "ping", Body: make([]byte, 33<<20)}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a request of 33 MiB: %v", err)
	}
}
