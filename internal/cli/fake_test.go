package cli_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// fake is loopd's services with made-up answers, on a real Unix socket.
type fake struct {
	socket string
	server *grpc.Server
	now    time.Time // what the times in answers are counted from

	fail error // what every call answers instead, where set
	hang bool  // whether calls with one answer last until the caller gives up

	logged []string // what a transcript has behind its first run

	live *session.Live // what hooks wait at

	mu    sync.Mutex
	calls []proto.Message // guarded by mu

	streams chan *loopv1.EventsRequest // each stream of events that was opened
	more    chan *loopv1.EventsResponse
}

func newFake() *fake {
	return &fake{
		now:     time.Now(),
		live:    session.NewLive(),
		streams: make(chan *loopv1.EventsRequest, 10),
		more:    make(chan *loopv1.EventsResponse, 10),
	}
}

// start serves until the test ends, on a socket of its own unless one is named.
func (f *fake) start(t *testing.T) *fake {
	t.Helper()
	if f.socket == "" {
		f.socket = filepath.Join(shortDir(t), "loopd.sock")
	}
	listener, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	f.server = grpc.NewServer()
	loopv1.RegisterSessionsServer(f.server, fakeSessions{fake: f})
	loopv1.RegisterDeliveriesServer(f.server, fakeDeliveries{fake: f})
	loopv1.RegisterDaemonServer(f.server, fakeDaemon{fake: f})
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(listener) }()
	t.Cleanup(func() {
		f.server.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("serve: %v", err)
		}
	})
	return f
}

// shortDir is a temporary folder whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cli") //nolint:usetesting // t.TempDir holds the test's name, which may be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// called returns the calls so far.
func (f *fake) called() []proto.Message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// answer notes a call and answers it.
func answer[T any](ctx context.Context, f *fake, req proto.Message, resp *T) (*T, error) {
	f.mu.Lock()
	f.calls = append(f.calls, req)
	f.mu.Unlock()
	if f.hang {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if f.fail != nil {
		return nil, f.fail
	}
	return resp, nil
}

func (f *fake) ago(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(f.now.Add(-d)) }

func shopItem() *loopv1.WorkItem {
	return &loopv1.WorkItem{
		Ref: "github:acme/shop#15", Provider: "github", Owner: "acme", Repo: "shop", Number: 15,
	}
}

func (f *fake) session() *loopv1.Session {
	return &loopv1.Session{
		WorkItem: shopItem(), Harness: "claude", HarnessSessionId: "3f9a0c1e-6d0b-4d0a-9a53-5d4c1f6b8a11", Cwd: "/home/user/shop",
		Runner: "headless", Status: "active", CreatedAt: f.ago(26 * time.Hour), LastEventAt: f.ago(210 * time.Second),
		RecentDeliveries: []string{"72d3162e-cc78-11e3-81ab-4c9367dc0958"}, PullRequests: []string{"github:acme/shop#19"},
		Queued: 2, Activity: "running", PreviousSessionIds: []string{"11111111-6d0b-4d0a-9a53-5d4c1f6b8a11"},
		Presence: &loopv1.Presence{
			Harness: "claude", HarnessSessionId: "3f9a0c1e-6d0b-4d0a-9a53-5d4c1f6b8a11", Launch: "l-1", Pid: 4711, Turn: "waiting",
			Since: f.ago(5 * time.Minute), Detail: "permission to use \x1b[31mmcp__a_server__with_a_long_name", Waker: true,
		},
	}
}

func (f *fake) paused() *loopv1.Session {
	return &loopv1.Session{
		WorkItem: &loopv1.WorkItem{
			Ref: "github:ghe.example.com/acme/web-shop#7", Provider: "github", Host: "ghe.example.com",
			Owner: "acme", Repo: "web-shop", Number: 7,
		},
		Harness: "claude", HarnessSessionId: "b", Cwd: "/home/user/web\x1b]0;gotcha\a\nshop", Runner: "headless", Status: "paused",
		PauseReason: "runaway", CreatedAt: f.ago(time.Hour), Activity: "idle", Spawned: true,
	}
}

func (f *fake) closed(ending string) *loopv1.Session {
	s := f.session()
	s.Status, s.ClosedAt, s.CloseReason, s.Ending, s.Activity, s.Queued = "closed", f.ago(0), "manual", ending, "", 0
	return s
}

func (f *fake) deliveries() []*loopv1.Delivery {
	return []*loopv1.Delivery{
		{
			Id: "0b989ba4-242f-11e5-81e1-c7b6966d2516", Seq: 42, Source: "webhook", Kind: "issue_comment", ReceivedAt: f.ago(90 * time.Second),
			State: "waiting", Reason: "backoff", Error: "claude: exit status 1", WorkItem: "github:acme/shop#15", Decision: "deliver",
			Fact: "comment:1234", Attempts: 1, DueAt: f.ago(-90 * time.Second), Run: "r-42",
			Summary: "comment by octocat: " + "\u202e\x1b[2J" + "a very long one that does not fit into a column of a table, but into JSON",
		},
		{
			Id: "72d3162e-cc78-11e3-81ab-4c9367dc0958", Seq: 41, Source: "webhook", Kind: "issues", ReceivedAt: f.ago(50 * time.Hour),
			State: "dropped", Reason: "unauthorized-actor", WorkItem: "github:acme/shop#15", Decision: "drop", Summary: "labeled by mallory",
			EndedAt: f.ago(50 * time.Hour),
		},
	}
}

type fakeSessions struct {
	loopv1.UnimplementedSessionsServer
	*fake
}

func (f fakeSessions) Register(ctx context.Context, req *loopv1.RegisterRequest) (*loopv1.RegisterResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.RegisterResponse{
		Session: f.session(), Warnings: []string{"claude is not on loopd's PATH: \x1b[31minstall it"},
	})
}

func (f fakeSessions) Get(ctx context.Context, req *loopv1.GetSessionRequest) (*loopv1.GetSessionResponse, error) {
	ds := f.deliveries()
	resp := &loopv1.GetSessionResponse{Session: f.session(), Queue: ds[:1], Recent: ds[1:]}
	if req.GetAttach() != nil && req.GetWorkItem() != "github:acme/shop#16" {
		resp.Attach = &loopv1.Attach{Argv: []string{"/bin/echo", "attached", strconv.FormatBool(req.GetAttach().GetWrite())}, Note: "Ctrl-b d\x1b goes back"}
	}
	return answer(ctx, f.fake, req, resp)
}

func (f fakeSessions) List(ctx context.Context, req *loopv1.ListSessionsRequest) (*loopv1.ListSessionsResponse, error) {
	resp := &loopv1.ListSessionsResponse{Sessions: []*loopv1.Session{f.session(), f.paused()}, Problems: []string{"half.json: cut in half"}}
	if req.GetStatus() == "closed" {
		resp = &loopv1.ListSessionsResponse{}
	}
	return answer(ctx, f.fake, req, resp)
}

func (f fakeSessions) Close(ctx context.Context, req *loopv1.CloseRequest) (*loopv1.CloseResponse, error) {
	resp := &loopv1.CloseResponse{Session: f.closed(""), DeliveryId: "close-15", HarnessEnded: true, Killed: true, Dropped: 2}
	switch {
	case req.GetNoWait():
		resp = &loopv1.CloseResponse{Session: f.closed("harness"), DeliveryId: "close-15", Dropped: 1}
	case req.GetWorkItem() == "github:acme/shop#16":
		resp = &loopv1.CloseResponse{Session: f.closed("workspace"), DeliveryId: "close-16"}
	case req.GetWorkItem() == "github:acme/shop#17": // what was closed before
		resp = &loopv1.CloseResponse{Session: f.closed(""), Removed: "loop-github-acme-shop-17"}
	case req.GetWorkItem() == "github:acme/shop#18":
		resp = &loopv1.CloseResponse{Session: f.closed(""), Retained: "loop-github-acme-shop-18"}
	case req.GetWorkItem() == "github:acme/shop#19":
		resp = &loopv1.CloseResponse{Session: f.closed("")}
	case req.GetTmux() == loopv1.TmuxFate_TMUX_FATE_KEEP:
		resp.Retained = "loop-github-acme-shop-15"
	case req.GetTmux() == loopv1.TmuxFate_TMUX_FATE_KILL:
		resp.Removed = "loop-github-acme-shop-15"
	}
	return answer(ctx, f.fake, req, resp)
}

func (f fakeSessions) Start(ctx context.Context, req *loopv1.StartRequest) (*loopv1.StartResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.StartResponse{DeliveryId: "start-1", Lifted: true})
}

func (f fakeSessions) Stop(ctx context.Context, req *loopv1.StopRequest) (*loopv1.StopResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.StopResponse{Session: f.session(), HarnessEnded: true, Dropped: 2})
}

func (f fakeSessions) LinkPullRequest(ctx context.Context, req *loopv1.LinkPullRequestRequest) (*loopv1.LinkPullRequestResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.LinkPullRequestResponse{Session: f.session()})
}

func (f fakeSessions) Pause(ctx context.Context, req *loopv1.PauseRequest) (*loopv1.PauseResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.PauseResponse{Session: f.paused(), Dropped: 1, RunEnded: true})
}

func (f fakeSessions) Resume(ctx context.Context, req *loopv1.ResumeRequest) (*loopv1.ResumeResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.ResumeResponse{Session: f.session(), Missed: 3})
}

func (f fakeSessions) Comment(ctx context.Context, req *loopv1.CommentRequest) (*loopv1.CommentResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.CommentResponse{Url: "https://github.com/acme/shop/issues/15#issuecomment-1"})
}

func (f fakeSessions) Ask(ctx context.Context, req *loopv1.AskRequest) (*loopv1.AskResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.AskResponse{Url: "https://github.com/acme/shop/issues/15#issuecomment-2"})
}

func (f fakeSessions) Send(ctx context.Context, req *loopv1.SendRequest) (*loopv1.SendResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.SendResponse{DeliveryId: "send-1", Session: f.paused()})
}

func (f fakeSessions) Report(ctx context.Context, req *loopv1.ReportRequest) (*loopv1.ReportResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.ReportResponse{})
}

// Wait waits at what the real one waits at.
func (f fakeSessions) Wait(ctx context.Context, req *loopv1.WaitRequest) (*loopv1.WaitResponse, error) {
	if _, err := answer(ctx, f.fake, req, req); err != nil {
		return nil, err
	}
	item, err := loop.ParseRef(req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	w, ok := f.live.Wait(ctx, session.Waiter{Item: item, Launch: req.GetLaunch(), PID: int(req.GetPid())})
	if ctx.Err() != nil {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &loopv1.WaitResponse{Woken: ok, Run: string(w.Run), Title: w.Title, Text: w.Text}, nil
}

func (f fakeSessions) Transcript(req *loopv1.TranscriptRequest, out grpc.ServerStreamingServer[loopv1.TranscriptResponse]) error {
	if _, err := answer(out.Context(), f.fake, req, req); err != nil {
		return err
	}
	if req.GetWorkItem() == "github:acme/shop#16" {
		return nil // no run yet
	}
	for _, text := range append([]string{"run 1\r\nprompt:\tmend it\n", "answer: \x1b[1mdone\x1b[0m\n"}, f.logged...) {
		if err := out.Send(&loopv1.TranscriptResponse{Text: text}); err != nil {
			return err
		}
	}
	if req.GetFollow() {
		<-out.Context().Done()
		return status.FromContextError(out.Context().Err()).Err()
	}
	return nil
}

type fakeDeliveries struct {
	loopv1.UnimplementedDeliveriesServer
	*fake
}

func (f fakeDeliveries) List(ctx context.Context, req *loopv1.ListDeliveriesRequest) (*loopv1.ListDeliveriesResponse, error) {
	resp := &loopv1.ListDeliveriesResponse{Deliveries: f.deliveries()}
	if req.GetState() == "failed" {
		resp = &loopv1.ListDeliveriesResponse{}
	}
	return answer(ctx, f.fake, req, resp)
}

func (f fakeDeliveries) Get(ctx context.Context, req *loopv1.GetDeliveryRequest) (*loopv1.GetDeliveryResponse, error) {
	resp := &loopv1.GetDeliveryResponse{Delivery: f.deliveries()[0]}
	if req.GetBody() && req.GetId() != "pruned" {
		resp.Body = []byte(`{"action": "created", "comment": {"body": "\u001b <b> é ` + "\u009b" + `31m"}}`)
	}
	return answer(ctx, f.fake, req, resp)
}

func (f fakeDeliveries) Explain(ctx context.Context, req *loopv1.ExplainRequest) (*loopv1.ExplainResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.ExplainResponse{
		Lines: []string{"received from GitHub", "  dropped: mallory\u009b is not in authorized_users"}, Deliveries: f.deliveries(),
	})
}

func (f fakeDeliveries) Redeliver(ctx context.Context, req *loopv1.RedeliverRequest) (*loopv1.RedeliverResponse, error) {
	d := f.deliveries()[0]
	d.State, d.Reason = "queued", ""
	return answer(ctx, f.fake, req, &loopv1.RedeliverResponse{Delivery: d})
}

type fakeDaemon struct {
	loopv1.UnimplementedDaemonServer
	*fake
}

func (f fakeDaemon) Status(ctx context.Context, req *loopv1.StatusRequest) (*loopv1.StatusResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.StatusResponse{
		Version: "v1.2.3", Pid: 4242, StartedAt: f.ago(3*time.Hour + time.Minute), ConfigPath: "/home/user/.config/loop/loop.toml",
		ConfigError: "loop.toml:3:1: routing.runer: unknown key", RestartNeeded: []string{"webhook.listen"},
		Socket: "/run/user/1000/loop/loopd.sock", StateDir: "/home/user/.local/state/loop", WebhookUrl: "http://127.0.0.1:8787/gh-webhook",
		Sessions:   map[string]int32{"paused": 1, "active": 2},
		Deliveries: map[string]int64{"failed": 1, "done": 40, "parked": 3, "received": 0},
		Holds: []*loopv1.HarnessHold{
			{Harness: "claude", Reason: "usage-limit", Detail: "resets at \x1b[5m5pm", Until: f.ago(-150 * time.Minute)},
			{Harness: "codex", Reason: "not-logged-in"},
		},
		Warnings: []string{"nobody is authorized"}, BadSignatures: 3, Polled: f.polled(),
	})
}

func (f *fake) polled() []*loopv1.PolledRepository {
	return []*loopv1.PolledRepository{
		{Name: "acme/shop", Configured: true, At: f.ago(time.Minute), NextAt: f.ago(-150 * time.Minute), Items: 4, Deliveries: 3, Closures: 1, Errors: 2},
		{Name: "ghe.example.com/acme/shop", NextAt: f.ago(-150 * time.Minute), Trouble: "no \x1b[5mtoken"},
		{Name: "acme/new", Configured: true},
	}
}

func (f fakeDaemon) Poll(ctx context.Context, req *loopv1.PollRequest) (*loopv1.PollResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.PollResponse{Repositories: f.polled()[:1]})
}

func (f fakeDaemon) Reload(ctx context.Context, req *loopv1.ReloadRequest) (*loopv1.ReloadResponse, error) {
	return answer(ctx, f.fake, req, &loopv1.ReloadResponse{
		ConfigPath: "/home/user/.config/loop/loop.toml", Changed: []string{"routing.join_seconds", "webhook.listen"},
		RestartNeeded: []string{"webhook.listen"}, Warnings: []string{"routing.authorized_users: nobody"},
	})
}

func (f fakeDaemon) Simulate(ctx context.Context, req *loopv1.SimulateRequest) (*loopv1.SimulateResponse, error) {
	resp := &loopv1.SimulateResponse{DeliveryId: "sim-1", HttpStatus: 202, Answer: `{"state":"received"}`}
	if req.GetEvent() == "nonsense" {
		resp = &loopv1.SimulateResponse{DeliveryId: "sim-2", HttpStatus: 400, Answer: "no such event"}
	}
	return answer(ctx, f.fake, req, resp)
}

func (f fakeDaemon) Events(req *loopv1.EventsRequest, out grpc.ServerStreamingServer[loopv1.EventsResponse]) error {
	if _, err := answer(out.Context(), f.fake, req, req); err != nil {
		return err
	}
	if !req.GetFollow() {
		for _, e := range f.events() {
			if err := out.Send(e); err != nil {
				return err
			}
		}
		return nil
	}
	f.streams <- req
	for {
		select {
		case <-out.Context().Done():
			return status.FromContextError(out.Context().Err()).Err()
		case e := <-f.more:
			if e == nil {
				return status.Error(codes.Unavailable, "loopd is stopping")
			}
			if err := out.Send(e); err != nil {
				return err
			}
		}
	}
}

func (f fakeDaemon) events() []*loopv1.EventsResponse {
	return []*loopv1.EventsResponse{
		{
			Seq: 7, At: f.ago(time.Minute), Type: "run.started", WorkItem: "github:acme/shop#15", DeliveryId: "d-1", Run: "r-1",
			Message: "claude is \x1b[31mworking", Fields: map[string]string{"attempt": "1", "a": "two words"},
		},
		{Seq: 8, At: f.ago(time.Second), Type: "config.reloaded", Message: "configuration reloaded"},
	}
}
