package cli

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/stats"

	"github.com/loop-daemon/loop/internal/sys/unixsock"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// How long loopctl waits for an answer unless --timeout says otherwise.
const (
	defaultTimeout = 30 * time.Second
	closeTimeout   = 2 * time.Minute // of a close, where a running turn may end by itself first, and of a poll
	postTimeout    = 2 * time.Minute // other things may be posted first
	waitTimeout    = 24 * time.Hour  // a hook waits until there is something; then it asks again
)

// maxMessage bounds an answer: a delivery's body may have 25 MB, and more if the configuration says so.
const maxMessage = 128 << 20

// redial is how long after a connection that failed the next one is tried: a follow waits for a daemon that is away.
func redial() grpc.ConnectParams {
	return grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, Jitter: 0.2, MaxDelay: time.Second},
		MinConnectTimeout: 20 * time.Second,
	}
}

// client is the services of loopd.
type client struct {
	loopv1.SessionsClient
	loopv1.DeliveriesClient
	loopv1.DaemonClient

	link *link
}

// link is the connection to loopd. It is made at the first call, and again for a call after it was lost.
type link struct {
	getenv func(string) string
	flags  globals
	finder finder
	conn   *grpc.ClientConn

	patience time.Duration // what the last call with one answer was given
	answered atomic.Bool   // whether loopd itself ended the last call, and not gRPC for it
}

// client is what a command calls loopd by. It dials nothing yet.
func (l *link) client() (*client, error) {
	l.finder = finder{flags: l.flags, getenv: l.getenv, wait: restartWait}
	if err := l.finder.locate(); err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///localhost",
		grpc.WithContextDialer(l.finder.dial),
		grpc.WithTransportCredentials(unixsock.ClientCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(redial()),
		grpc.WithStatsHandler(answers{&l.answered}),
		grpc.WithUnaryInterceptor(l.bound),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to loopd: %w", err)
	}
	l.conn = conn
	return &client{
		loopv1.NewSessionsClient(conn), loopv1.NewDeliveriesClient(conn), loopv1.NewDaemonClient(conn), l,
	}, nil
}

// impatient makes the calls of a hook fail at once where no daemon listens.
func (l *link) impatient() { l.finder.wait = 0 }

func (l *link) close() {
	if l.conn != nil {
		_ = l.conn.Close()
	}
}

// bound gives a deadline to each call with one answer.
func (l *link) bound(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	l.patience = cmp.Or(l.flags.Timeout, timeoutOf(method))
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	return invoke(ctx, method, req, reply, cc, opts...)
}

func timeoutOf(method string) time.Duration {
	switch method {
	case loopv1.Sessions_Close_FullMethodName, loopv1.Daemon_Poll_FullMethodName:
		return closeTimeout
	case loopv1.Sessions_Comment_FullMethodName, loopv1.Sessions_Ask_FullMethodName:
		return postTimeout
	case loopv1.Sessions_Wait_FullMethodName:
		return waitTimeout
	}
	return defaultTimeout
}

// answers notes whether a call was ended by the daemon: only its answer has a trailer.
type answers struct{ answered *atomic.Bool }

func (a answers) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (a answers) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s.(type) {
	case *stats.Begin:
		a.answered.Store(false)
	case *stats.InTrailer:
		a.answered.Store(true)
	}
}

func (a answers) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (a answers) HandleConn(context.Context, stats.ConnStats) {}
