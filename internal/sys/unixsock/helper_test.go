package unixsock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/sys/unixsock"
)

// nobody is a user that these tests can become when they run as root.
const nobody = 65534

// TestMain makes the test binary the other side: with a helper's name and a path as arguments it is that program.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && helpers[os.Args[1]] != nil {
		time.AfterFunc(time.Minute, func() { os.Exit(99) }) // whatever a test forgets
		if err := helpers[os.Args[1]](os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var helpers = map[string]func(path string) error{
	// serve is a daemon of this package.
	"serve": func(path string) error {
		l, err := unixsock.Listen(context.Background(), path)
		if err != nil {
			return err
		}
		return serve(l)
	},
	// squat serves a path without any of this package's care.
	"squat": func(path string) error {
		syscall.Umask(0)
		l, err := net.Listen("unix", path)
		if err != nil {
			return err
		}
		return serve(l)
	},
	"lock": func(path string) error {
		if _, err := unixsock.Lock(path); err != nil {
			return err
		}
		fmt.Println("ready")
		select {}
	},
	"call": func(path string) error {
		conn, err := grpc.NewClient((&url.URL{Scheme: "unix", Path: path}).String(), grpc.WithTransportCredentials(unixsock.ClientCredentials()))
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		fmt.Println(call(context.Background(), conn))
		return nil
	},
	// call-anyone does not check who serves.
	"call-anyone": func(path string) error {
		conn, err := grpc.NewClient((&url.URL{Scheme: "unix", Path: path}).String(), grpc.WithTransportCredentials(anyServer{unixsock.ClientCredentials()}))
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		fmt.Println(call(context.Background(), conn))
		fmt.Println(stream(context.Background(), conn))
		return nil
	},
}

func serve(l net.Listener) error {
	fmt.Println("ready")
	return newServer().Serve(l)
}

func newServer() *grpc.Server {
	s := grpc.NewServer(
		grpc.Creds(unixsock.ServerCredentials()),
		grpc.UnaryInterceptor(unixsock.RequireSameUser),
		grpc.StreamInterceptor(unixsock.RequireSameUserStream),
	)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	return s
}

// call and stream ask the health service and return the status as one line.
func call(ctx context.Context, conn *grpc.ClientConn) string {
	_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return line(err)
}

func stream(ctx context.Context, conn *grpc.ClientConn) string {
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err == nil {
		_, err = watch.Recv()
	}
	return line(err)
}

func line(err error) string { return status.Code(err).String() + " " + status.Convert(err).Message() }

// shortDir is a folder whose path leaves room for a socket's name, unlike t.TempDir. Others may enter it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "us") //nolint:usetesting // its path may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// start runs a helper, as another user if uid is not 0, and returns it with its first line of output.
func start(t *testing.T, uid uint32, helper, path string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, helper, path)
	if uid != 0 {
		cmd.Path = copyFor(t, program)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	cmd.Dir = "/"
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

// copyFor puts the program where every user can run it: the test's own folder is closed to others.
func copyFor(t *testing.T, program string) string {
	t.Helper()
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(shortDir(t), "helper")
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

func wantLine(t *testing.T, from *bufio.Reader, want string) {
	t.Helper()
	got, err := from.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) || got != want+"\n" {
		t.Fatalf("helper said %q, %v; want %q", got, err, want)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
}

func dial(t *testing.T, path string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient((&url.URL{Scheme: "unix", Path: path}).String(), grpc.WithTransportCredentials(unixsock.ClientCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
