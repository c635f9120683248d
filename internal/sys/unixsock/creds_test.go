package unixsock_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/sys/unixsock"
)

// anyServer are client credentials that do not look at the server.
type anyServer struct {
	credentials.TransportCredentials
}

func (a anyServer) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return a.ServerHandshake(conn)
}

func (a anyServer) Clone() credentials.TransportCredentials { return a }

func TestServerKnowsItsCaller(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "d", "s")
	l, err := unixsock.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	callers := make(chan unixsock.AuthInfo, 1)
	server := grpc.NewServer(grpc.Creds(unixsock.ServerCredentials()), grpc.ChainUnaryInterceptor(unixsock.RequireSameUser,
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			info, _ := unixsock.FromContext(ctx)
			callers <- info
			return next(ctx, req)
		}))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	t.Cleanup(server.Stop)
	go func() { _ = server.Serve(l) }()

	caller, out := start(t, 0, "call", path)
	wantLine(t, out, "OK ")
	got := <-callers
	if got.UID != os.Geteuid() || got.PID != caller.Process.Pid || got.SecurityLevel != credentials.PrivacyAndIntegrity {
		t.Errorf("caller is %+v, want user %d, process %d", got, os.Geteuid(), caller.Process.Pid)
	}
}

func TestAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	needRoot(t)
	path := filepath.Join(shortDir(t), "s") // in a folder that it can enter: the credentials must do it
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	server := newServer()
	t.Cleanup(server.Stop)
	go func() { _ = server.Serve(l) }()

	_, out := start(t, nobody, "call-anyone", path)
	wantLine(t, out, "PermissionDenied only user 0 is answered here, and you are user 65534")
	wantLine(t, out, "PermissionDenied only user 0 is answered here, and you are user 65534")
}

func TestClientRefusesASquatter(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := shortDir(t)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	squatter, out := start(t, nobody, "squat", path)
	wantLine(t, out, "ready")
	got := call(t.Context(), dial(t, path))
	want := fmt.Sprintf("socket %s is served by user 65534 (process %d), not by you (0): not talking to it", path, squatter.Process.Pid)
	if !strings.HasPrefix(got, "Unavailable ") || !strings.Contains(got, want) {
		t.Errorf("call: %s\nwant Unavailable and %q", got, want)
	}
}

func TestCallWithoutServerFailsAtOnce(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	stale := filepath.Join(dir, "stale")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	for path, want := range map[string]error{filepath.Join(dir, "none"): syscall.ENOENT, stale: syscall.ECONNREFUSED} {
		_, err := grpc_health_v1.NewHealthClient(dial(t, path)).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want.Error()) {
			t.Errorf("%s: err = %v, want Unavailable and %v", path, err, want)
		}
	}
}

func TestCredentialsNeedAUnixSocket(t *testing.T) {
	t.Parallel()
	a, b := net.Pipe()
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	if _, _, err := unixsock.ServerCredentials().ServerHandshake(a); err == nil {
		t.Error("the server accepts a pipe")
	}
	if _, _, err := unixsock.ClientCredentials().ClientHandshake(t.Context(), "", b); err == nil {
		t.Error("the client accepts a pipe")
	}
}

// A server that forgot the credentials answers nobody.
func TestUnknownCallerIsRefused(t *testing.T) {
	t.Parallel()
	_, err := unixsock.RequireSameUser(t.Context(), nil, nil, func(context.Context, any) (any, error) { return nil, nil })
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("err = %v, want PermissionDenied", err)
	}
}
