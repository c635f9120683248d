package e2e_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// nobody is a user that root can become.
const nobody = 65534

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
}

// asNobody does something with the credentials of nobody, which the kernel notes for good when a socket listens or connects.
func asNobody[T any](do func() (T, error)) (T, error) {
	type result struct {
		got T
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, and its user with it
		var r result
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), nobody, ^uintptr(0)); errno != 0 {
			r.err = errno
		} else {
			r.got, r.err = do()
		}
		done <- r
	}()
	r := <-done
	return r.got, r.err
}

// Given a socket in loopd's place that another user listens on,
// When loopctl is called, and when loopd starts,
// Then loopctl does not talk to it, says whose it is and ends with 3, a hook is silent, and loopd says so and leaves it alone.
func TestAnotherUsersSocket(t *testing.T) {
	t.Parallel()
	needRoot(t)
	w := newWorld(t, "")
	if err := os.Chmod(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(w.dir, "theirs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "loopd.sock")
	lis, err := asNobody(func() (net.Listener, error) { return net.Listen("unix", socket) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	talked := make(chan []byte, 16)
	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 1000)
			n, _ := conn.Read(b)
			talked <- b[:n]
			_ = conn.Close()
		}
	}()
	if r := w.loopctl("--socket", socket, "status"); r.code != 3 || !strings.Contains(r.stderr, socket) || !strings.Contains(r.stderr, "65534") {
		t.Errorf("loopctl: exit %d, %s", r.code, r.stderr)
	}
	quiet := []string{"--socket", socket, "sessions", "register", "acme/shop#15", "--harness", "claude", "--harness-session-id", conversation, "--quiet"}
	if r := w.loopctl(quiet...); r != (result{}) {
		t.Errorf("a hook: %+v", r)
	}
	for range 2 {
		if b := <-talked; len(b) > 0 {
			t.Errorf("loopctl told a stranger: %q", b)
		}
	}
	d := w.launch("LOOP_SOCKET=" + socket)
	if code := w.code(d); code != 1 || !strings.Contains(lastLine(d), "65534") {
		t.Errorf("loopd: exit %d, %s", code, lastLine(d))
	}
	if _, err := os.Stat(socket); err != nil {
		t.Errorf("loopd took the stranger's socket away: %v", err)
	}
}

// Given loopd's socket, which by some mishap everybody can reach,
// When another user calls,
// Then every call is refused, the other user's loopctl does not talk to us either, and we are still answered.
func TestAnotherUserIsNotAnswered(t *testing.T) {
	t.Parallel()
	needRoot(t)
	w := newWorld(t, "")
	w.start()
	socket := filepath.Join(w.dir, "s", "loopd.sock")
	for name, mode := range map[string]os.FileMode{w.dir: 0o755, filepath.Dir(socket): 0o755, socket: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return asNobody(func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", socket) })
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = loopv1.NewSessionsClient(conn).Register(t.Context(), &loopv1.RegisterRequest{
		WorkItem: "acme/shop#15", Harness: "claude", HarnessSessionId: conversation, Cwd: w.work,
	})
	if grpcstatus.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "65534") {
		t.Errorf("a registration of another user: %v", err)
	}
	stream, err := loopv1.NewDaemonClient(conn).Events(t.Context(), &loopv1.EventsRequest{Follow: true})
	if err == nil {
		_, err = stream.Recv()
	}
	if grpcstatus.Code(err) != codes.PermissionDenied {
		t.Errorf("the events for another user: %v", err)
	}

	theirs := filepath.Join(w.dir, "loopctl") // in a folder that is theirs to enter
	if err := linkOrCopy(filepath.Join(w.dir, "bin", "loopctl"), theirs); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), theirs, "--socket", socket, "status")
	cmd.Env, cmd.Dir = []string{"HOME=/nonexistent"}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "served by user 0") {
		t.Errorf("the loopctl of another user: %v\n%s", err, out)
	}
	if n := len(w.status().Sessions); n != 0 {
		t.Errorf("%d sessions, want none", n)
	}
}
