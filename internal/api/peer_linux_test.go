package api_test

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/api"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

const nobody = 65534

// dialAs connects as another user, which the kernel notes for good when a connection is made.
func dialAs(ctx context.Context, uid int, path string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, and its user with it
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			done <- result{nil, errno}
			return
		}
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

func TestAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can call as another user")
	}
	h := open(t)
	path := "@loop-" + rand.Text() // an abstract name: no folder keeps the other user out
	lis, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- api.New(h.Options).Run(ctx, lis) }()
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dialAs(ctx, nobody, path) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})

	_, unary := loopv1.NewSessionsClient(conn).Register(t.Context(), good())
	_, checked := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	stream, err := loopv1.NewDaemonClient(conn).Events(t.Context(), &loopv1.EventsRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	for call, err := range map[string]error{"Register": unary, "health": checked, "Events": err} {
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "65534") {
			t.Errorf("%s of another user: %v, want PermissionDenied that names the user", call, err)
		}
	}
	if got := len(h.orders.registered); got != 0 {
		t.Errorf("%d registrations of another user", got)
	}
}
