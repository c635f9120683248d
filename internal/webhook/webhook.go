// Package webhook is the door for GitHub: POST /gh-webhook takes signed deliveries, GET /healthz says whether the door is
// open, and nothing else is served.
//
// A delivery is answered with 202 only after inbox has it on disk, and nothing else is done with it before the answer: what
// it means is found out later, by others. Whoever knows no secret learns nothing: the signature over the raw body is
// checked before anything in it is looked at, and every refusal before that depends on the request's frame alone. A body
// has a cap, a connection has deadlines, and both are bounded in number, so no client can hold up another for long.
package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// Paths of the receiver. Nothing is served beside them.
const (
	Path       = "/gh-webhook"
	HealthPath = "/healthz"
)

// DefaultMaxBody is the size of the largest delivery that GitHub sends.
const DefaultMaxBody = 25 << 20

// StepStored is what Options.Step is called with once a delivery is on disk and before it is answered.
const StepStored = "stored"

// Options are what a Receiver needs.
type Options struct {
	// Secrets returns the secrets that a signature may be made with; asked anew for each delivery, so that a secret can be
	// rotated without a restart. Required.
	Secrets func() [][]byte

	// AllowUnsigned says whether a delivery without a signature is taken as well; nil is never. Even then it must have been
	// sent to a loopback name or address, so that no web page can be made to send one by way of a name of its own.
	AllowUnsigned func() bool

	// MaxBody returns the largest body in bytes, which is asked anew for each delivery; nil is DefaultMaxBody.
	MaxBody func() int64

	// Put stores a delivery and returns once it is on disk, as inbox.Inbox.Put does. What it decides of one at once is its own
	// affair, but it must not keep the body: the next delivery is read into it. Required.
	Put func(ctx context.Context, d loop.Delivery) (inbox.PutResult, error)

	// Report writes an entry to the event log, which tells of signatures that keep being wrong; nil is fine.
	Report func(ctx context.Context, e loop.LogEvent)

	// Logger is required.
	Logger *slog.Logger

	// Step is called between two steps of a delivery, so that a test can stop the program there; nil is fine.
	Step func(name string)
}

// Receiver is the http.Handler of the door, and the server that runs it.
type Receiver struct {
	handler  http.Handler
	service  *service
	log      *slog.Logger
	draining atomic.Bool
}

// New returns a Receiver. It serves nothing until Run, or until ServeHTTP is called by another server.
func New(o Options) (*Receiver, error) {
	if o.MaxBody == nil {
		o.MaxBody = func() int64 { return DefaultMaxBody }
	}
	log := o.Logger.With("component", "webhook")
	svc := &service{Options: o, log: log}
	gateway := newGateway()
	if err := loopv1.RegisterWebhooksHandlerServer(context.Background(), gateway, svc); err != nil {
		return nil, err
	}
	r := &Receiver{service: svc, log: log}
	r.handler = r.routes(newDoor(gateway, o.MaxBody))
	return r, nil
}

// ServeHTTP answers one request.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.handler.ServeHTTP(w, req) }

// BadSignatures returns how many requests were refused for their signature since the start.
func (r *Receiver) BadSignatures() int64 { return r.service.badTotal.Load() }
