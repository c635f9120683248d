package api_test

import (
	"context"
	"log/slog"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/journal"
	"github.com/loop-daemon/loop/internal/sys/unixsock"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ api.Dispatcher = (*dispatch.Dispatcher)(nil)

// orders is a dispatcher that notes what it is asked and answers what it is told to.
type orders struct {
	mu         sync.Mutex
	registered []dispatch.Registration
	closed     []bool // whether it was asked to wait
	wishes     []loop.TerminalWish

	err      error
	panics   bool
	warnings []string
	close    dispatch.CloseResult
	pause    dispatch.PauseResult
	resume   dispatch.ResumeResult
	sent     []dispatch.Message
	again    loop.Delivery
	holds    []dispatch.Hold
	activity dispatch.Activity
}

func (o *orders) Register(_ context.Context, r dispatch.Registration) (loop.Session, []string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.panics {
		panic("out of cheese")
	}
	o.registered = append(o.registered, r)
	return loop.Session{WorkItem: r.Item, Harness: r.Harness, Status: loop.StatusActive}, o.warnings, o.err
}

func (o *orders) Close(_ context.Context, _ loop.WorkItem, wish loop.TerminalWish, wait bool) (dispatch.CloseResult, error) {
	o.wishes = append(o.wishes, wish)
	o.closed = append(o.closed, wait)
	return o.close, o.err
}

func (o *orders) Start(_ context.Context, m dispatch.Message) (dispatch.StartResult, error) {
	o.sent = append(o.sent, m)
	return dispatch.StartResult{Delivery: "start-1", Lifted: true}, o.err
}

func (o *orders) Stop(context.Context, loop.WorkItem, bool) (dispatch.CloseResult, error) {
	return o.close, o.err
}

func (o *orders) LinkPullRequest(_ context.Context, w, pull loop.WorkItem) (loop.Session, bool, error) {
	return loop.Session{WorkItem: w, PullRequests: []string{pull.Ref()}}, true, o.err
}

func (o *orders) Pause(context.Context, loop.WorkItem) (dispatch.PauseResult, error) {
	return o.pause, o.err
}

func (o *orders) Resume(context.Context, loop.WorkItem) (dispatch.ResumeResult, error) {
	return o.resume, o.err
}

func (o *orders) Comment(_ context.Context, w loop.WorkItem, text string) (outbox.Entry, error) {
	return outbox.Entry{URL: w.URL() + "#" + text}, o.err
}

func (o *orders) Ask(_ context.Context, w loop.WorkItem, text string) (outbox.Entry, error) {
	return outbox.Entry{URL: w.URL() + "#" + text}, o.err
}

func (o *orders) Send(_ context.Context, m dispatch.Message) (loop.Session, loop.DeliveryID, error) {
	o.sent = append(o.sent, m)
	return loop.Session{WorkItem: m.Item}, "send-1", o.err
}

func (o *orders) Redeliver(context.Context, loop.DeliveryID, bool) (loop.Delivery, error) {
	return o.again, o.err
}

func (o *orders) Holds() []dispatch.Hold { return o.holds }

func (o *orders) Activity(loop.WorkItem) dispatch.Activity { return o.activity }

// house is a served socket and what stands behind it.
type house struct {
	api.Options

	orders *orders
	live   *session.Live
	db     *journal.DB
	socket string
	conn   *grpc.ClientConn
	stop   func() error // ends Run and returns what it returned

	sessions   loopv1.SessionsClient
	deliveries loopv1.DeliveriesClient
	daemon     loopv1.DaemonClient
}

// open serves a socket in a folder of the test.
func open(t *testing.T, change ...func(*api.Options)) *house {
	t.Helper()
	h := &house{orders: &orders{}, live: session.NewLive(), socket: filepath.Join(t.TempDir(), "s", "loopd.sock")}
	h.Options = api.Options{
		Dispatcher: h.orders,
		Logger:     slog.New(slog.DiscardHandler),
		Transcript: func(context.Context, loop.Session, bool, func(string) error) error { return nil },
		Status:     func(context.Context) api.Status { return api.Status{} },
		Poll:       func(context.Context) ([]api.Polled, error) { return nil, nil },
		Reload:     func(context.Context) (api.Reloaded, error) { return api.Reloaded{}, nil },
		Simulate:   func(context.Context, string, []byte) (api.Simulated, error) { return api.Simulated{}, nil },
		Attach:     func(context.Context, loop.Session, bool, string) (api.Attach, error) { return api.Attach{}, nil },
		Report: func(_ context.Context, r loop.Report) (loop.HookAnswer, error) {
			h.live.Report(r)
			return loop.HookAnswer{}, nil
		},
		Wait:     h.live.Wait,
		Presence: h.live.Presence,
	}
	h.db = stores(t, &h.Options)
	for _, c := range change {
		c(&h.Options)
	}
	lis, err := unixsock.Listen(t.Context(), h.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- api.New(h.Options).Run(ctx, lis) }()
	h.stop = sync.OnceValue(func() error { cancel(); return <-done })
	if h.conn, err = grpc.NewClient((&url.URL{Scheme: "unix", Path: h.socket}).String(), grpc.WithTransportCredentials(unixsock.ClientCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.conn.Close()
		if err := h.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	h.sessions, h.deliveries, h.daemon = loopv1.NewSessionsClient(h.conn), loopv1.NewDeliveriesClient(h.conn), loopv1.NewDaemonClient(h.conn)
	return h
}

func item(t *testing.T, ref string) loop.WorkItem {
	t.Helper()
	w, err := loop.ParseAny(ref)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
