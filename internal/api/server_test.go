package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

func TestPanicIsOneFailedCall(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := open(t, func(o *api.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.Status = func(context.Context) api.Status { panic("out of cheese") }
	})
	h.orders.panics = true
	_, err := h.sessions.Register(t.Context(), good())
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "cheese") {
		t.Errorf("Register = %v, want Internal without the panic's text", err)
	}
	h.orders.panics = false
	if _, err := h.sessions.Register(t.Context(), good()); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "out of cheese") || !strings.Contains(log.String(), "api_test.go") {
		t.Errorf("the log does not tell what happened and where: %s", log.String())
	}
}

func TestHealthAndReflection(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, service := range []string{"", "loop.v1.Sessions", "loop.v1.Deliveries", "loop.v1.Daemon"} {
		r, err := healthv1.NewHealthClient(h.conn).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		if err != nil || r.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q = %v, %v", service, r, err)
		}
	}
	stream, err := reflectionv1.NewServerReflectionClient(h.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{ListServices: "*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range r.GetListServicesResponse().GetService() {
		if strings.HasPrefix(s.GetName(), "loop.") {
			got = append(got, s.GetName())
		}
	}
	if want := []string{"loop.v1.Daemon", "loop.v1.Deliveries", "loop.v1.Sessions"}; !slices.Equal(got, want) {
		t.Errorf("services = %v, want %v: the webhook's service must not be on the socket", got, want)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the stream: %v", err)
	}
}

// A stop ends a stream that would never end, with a status that says why, and waits for its handler.
func TestStopEndsStreams(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	h := open(t, func(o *api.Options) {
		o.Transcript = func(ctx context.Context, _ loop.Session, _ bool, write func(string) error) error {
			defer close(ended)
			if err := write("prompt"); err != nil {
				return err
			}
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}
	})
	register(t, h, "acme/shop#15")
	stream, err := h.sessions.Transcript(t.Context(), &loopv1.TranscriptRequest{WorkItem: "acme/shop#15", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := stream.Recv(); err != nil || r.GetText() != "prompt" {
		t.Fatalf("Recv = %v, %v", r, err)
	}
	<-began
	if err := h.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	select {
	case <-ended:
	default:
		t.Error("Run returned while a handler was running")
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("the stream ended with %v, want Unavailable that says that loopd is stopping", err)
	}
}

// A caller that stays in a stream which heeds no context of ours, as reflection's does, holds a stop up for its grace only.
func TestStopDoesNotWaitForASilentCaller(t *testing.T) {
	t.Parallel()
	h := open(t)
	conn, err := net.Dial("unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if n, err := conn.Read(make([]byte, 1)); err != nil || n != 1 { // the server's greeting: it has taken the connection
		t.Fatalf("Read = %d, %v", n, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	select {
	case err := <-stopped:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Run waits for a caller who says nothing")
	}
}

func TestStopDoesNotWaitForCallers(t *testing.T) {
	t.Parallel()
	h := open(t)
	stream, err := reflectionv1.NewServerReflectionClient(h.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{ListServices: "*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	select {
	case err := <-stopped:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Run waits for a caller")
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream goes on after the stop")
	}
}

// The stores are closed after Run, so a handler that is slow to end must have ended by then.
func TestStopWaitsForHandlers(t *testing.T) {
	t.Parallel()
	began, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	h := open(t, func(o *api.Options) {
		o.Transcript = func(context.Context, loop.Session, bool, func(string) error) error {
			defer close(ended)
			close(began)
			<-release
			return nil
		}
	})
	register(t, h, "acme/shop#15")
	stream, err := h.sessions.Transcript(t.Context(), &loopv1.TranscriptRequest{WorkItem: "acme/shop#15"})
	if err != nil {
		t.Fatal(err)
	}
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the caller got %v, want Unavailable when its grace is over", err)
	}
	select {
	case err := <-stopped:
		t.Errorf("Run returned while a handler was running: %v", err)
	case <-time.After(100 * time.Millisecond): // it would have returned by now
	}
	close(release)
	if err := <-stopped; err != nil {
		t.Errorf("Run: %v", err)
	}
	<-ended
}

func TestHealthTellsOfTheStop(t *testing.T) {
	t.Parallel()
	h := open(t)
	watch, err := healthv1.NewHealthClient(h.conn).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := watch.Recv(); err != nil || r.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Fatalf("health = %v, %v", r, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	if r, err := watch.Recv(); err != nil || r.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health at the stop = %v, %v", r, err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestTranscriptInPieces(t *testing.T) {
	t.Parallel()
	long := "x" + strings.Repeat("é", 1<<19) // no piece of a round size ends between two of them
	h := open(t, func(o *api.Options) {
		o.Transcript = func(_ context.Context, s loop.Session, follow bool, write func(string) error) error {
			if err := write(s.WorkItem.Ref() + "\n"); err != nil || follow {
				return err
			}
			if err := write("cut \xff off"); err != nil {
				return err
			}
			return write(long)
		}
	})
	register(t, h, "acme/shop#15")
	stream, err := h.sessions.Transcript(t.Context(), &loopv1.TranscriptRequest{WorkItem: "ACME/Shop#15"})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(r.GetText())
	}
	if want := "github:acme/shop#15\ncut \uFFFD off" + long; got.String() != want {
		t.Errorf("%d bytes arrived, want %d as they were written", got.Len(), len(want))
	}
	if stream, err = h.sessions.Transcript(t.Context(), &loopv1.TranscriptRequest{WorkItem: "acme/shop#16"}); err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "acme/shop#16") {
		t.Errorf("the transcript of nothing: %v, want NotFound that names it", err)
	}
}
