// Package api is loopd's socket: the gRPC services Sessions, Deliveries and Daemon, with health checking and reflection.
//
// It translates and checks; what a call does is in the stores and in dispatch. Only the user that loopd runs as is
// answered. Every refusal is a status whose message a person can act on; a panic in a handler is one failed call. When Run's
// context ends, health says NOT_SERVING, streams and hooks that wait end with Unavailable, calls that have begun get a second, and no handler is
// left running.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/unixsock"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

const (
	// maxRequest bounds one request; the largest is a sample delivery with a body of GitHub's 25 MB.
	maxRequest = 32 << 20

	// maxCalls bounds the calls of one connection that are in progress at a time; more wait.
	maxCalls = 100

	// greetingTimeout is how long a caller may take to begin to speak. A stop waits for one that has connected and is silent.
	greetingTimeout = 3 * time.Second

	// stopGrace is how long a stop waits for calls that have begun.
	stopGrace = time.Second
)

// Dispatcher is what the services ask of dispatch.Dispatcher.
type Dispatcher interface {
	Register(ctx context.Context, r dispatch.Registration) (loop.Session, []string, error)
	Close(ctx context.Context, w loop.WorkItem, terminal loop.TerminalWish, wait bool) (dispatch.CloseResult, error)
	Start(ctx context.Context, m dispatch.Message) (dispatch.StartResult, error)
	Stop(ctx context.Context, w loop.WorkItem, wait bool) (dispatch.CloseResult, error)
	LinkPullRequest(ctx context.Context, w, pull loop.WorkItem) (s loop.Session, before bool, err error)
	Pause(ctx context.Context, w loop.WorkItem) (dispatch.PauseResult, error)
	Resume(ctx context.Context, w loop.WorkItem) (dispatch.ResumeResult, error)
	Send(ctx context.Context, m dispatch.Message) (loop.Session, loop.DeliveryID, error)
	Comment(ctx context.Context, w loop.WorkItem, text string) (outbox.Entry, error)
	Ask(ctx context.Context, w loop.WorkItem, text string) (outbox.Entry, error)
	Redeliver(ctx context.Context, id loop.DeliveryID, force bool) (loop.Delivery, error)
	Holds() []dispatch.Hold
	Activity(w loop.WorkItem) dispatch.Activity
}

// Options are what the services are made of. All are required.
type Options struct {
	Inbox      *inbox.Inbox
	Sessions   *session.Store
	Items      *item.Store
	Log        *eventlog.Log
	Dispatcher Dispatcher
	Logger     *slog.Logger

	// Transcript writes what went into and came out of a session's runs, the oldest first; with follow it goes on with what
	// comes until ctx ends.
	Transcript func(ctx context.Context, s loop.Session, follow bool, write func(text string) error) error

	// Attach says how a person looks into a session's terminal from their own, callerTmux being the TMUX variable there. A
	// session without one is loop.ErrConflict, with what to do instead.
	Attach func(ctx context.Context, s loop.Session, write bool, callerTmux string) (Attach, error)

	// Report takes in what a hook of a harness told, and returns what the hook is to say.
	Report func(ctx context.Context, r loop.Report) (loop.HookAnswer, error)

	// Wait waits until there is something to wake a live conversation with; false when ctx ends or another waits in its place.
	Wait func(ctx context.Context, w session.Waiter) (loop.Wake, bool)

	// Presence returns where the conversation of an item is live; false where nobody told of one.
	Presence func(w loop.WorkItem) (loop.Presence, bool)

	// Status says how the program is, beside what the stores know.
	Status func(ctx context.Context) Status

	// Reload reads the configuration again. A refusal is loop.ErrInvalid with all problems.
	Reload func(ctx context.Context) (Reloaded, error)

	// Poll asks about every repository now and returns how that went; loop.ErrConflict when there is none to ask about.
	Poll func(ctx context.Context) ([]Polled, error)

	// Simulate signs a sample delivery and posts it to loopd's own webhook receiver.
	Simulate func(ctx context.Context, event string, body []byte) (Simulated, error)
}

// Attach is how a session's terminal is looked into from another.
type Attach struct {
	Argv []string // the program as an absolute path, and its arguments
	Note string   // what the person should know; "" is nothing
}

// Status is how loopd is as a program.
type Status struct {
	Version       string
	PID           int
	StartedAt     time.Time
	ConfigPath    string   // "" when there is no file
	ConfigError   string   // why the last edit was refused; "" when it was not
	RestartNeeded []string // keys that changed and need a restart
	Socket        string
	StateDir      string
	WebhookURL    string // "" when the receiver is off
	Warnings      []string
	BadSignatures int64
	Polled        []Polled
}

// Polled is how asking about a repository goes.
type Polled struct {
	Name       string
	Configured bool      // else a session works there
	At, Next   time.Time // of the last complete cycle and the next one; zero: none
	Trouble    string    // of the last cycle; "" is none

	Items, Deliveries, Closures, Errors int // of the last cycle
}

// Reloaded is the verdict of a reload.
type Reloaded struct {
	ConfigPath    string // "" when there is no file
	Changed       []string
	RestartNeeded []string // of these
	Warnings      []string
}

// Simulated is the receiver's answer to a sample delivery.
type Simulated struct {
	Delivery   loop.DeliveryID
	HTTPStatus int
	Answer     string
}

// Server serves the socket.
type Server struct {
	o   Options
	log *slog.Logger
}

// New returns a Server; nothing is served before Run.
func New(o Options) *Server {
	return &Server{o: o, log: o.Logger.With("component", "api")}
}

// Run serves lis, which it closes, until ctx ends. It returns when no handler runs any more, at most about a second later
// if they heed their contexts; nil unless serving itself failed.
func (s *Server) Run(ctx context.Context, lis net.Listener) error {
	streams, endStreams := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endStreams(nil)
	srv := s.grpcServer(streams)
	healthy := health.NewServer()
	healthv1.RegisterHealthServer(srv, healthy)
	for name := range srv.GetServiceInfo() {
		healthy.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING)
	}
	reflection.Register(srv)

	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := srv.Serve(lis); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			return fmt.Errorf("serve the socket %s: %w", lis.Addr(), err)
		}
		return nil
	})
	g.Go(func() error {
		<-gctx.Done()
		healthy.Shutdown()
		endStreams(errStopping)
		stop(srv)
		return nil
	})
	return g.Wait()
}

// grpcServer returns the server with its services. Streams end with the context given, since no stop waits for them.
func (s *Server) grpcServer(streams context.Context) *grpc.Server {
	srv := grpc.NewServer(
		grpc.Creds(unixsock.ServerCredentials()),
		grpc.ChainUnaryInterceptor(s.recoverUnary, unixsock.RequireSameUser, s.statusUnary, endWaits(streams)),
		grpc.ChainStreamInterceptor(s.recoverStream, unixsock.RequireSameUserStream, s.statusStream, endWith(streams)),
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ConnectionTimeout(greetingTimeout),
	)
	loopv1.RegisterSessionsServer(srv, &sessions{o: s.o})
	loopv1.RegisterDeliveriesServer(srv, &deliveries{o: s.o})
	loopv1.RegisterDaemonServer(srv, &daemon{o: s.o})
	return srv
}

// stop lets calls that have begun end, for as long as stopGrace, then ends them. It returns when no handler runs any more:
// GracefulStop waits for them, also when Stop has cut their connections.
func stop(srv *grpc.Server) {
	timer := time.AfterFunc(stopGrace, srv.Stop)
	defer timer.Stop()
	srv.GracefulStop()
}
