package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loop-daemon/loop/internal/cli"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// TestTerminal holds that there is colour on a terminal alone, and none with NO_COLOR, and that a body can't steer it.
func TestTerminal(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	for _, tt := range []struct {
		name, args string
		env        []string
		colour     bool
	}{
		{"terminal", "sessions list", nil, true},
		{"NO_COLOR", "sessions list", []string{"NO_COLOR=1"}, false},
		{"dumb", "sessions list", []string{"TERM=dumb"}, false},
		{"json", "sessions list -o json", nil, false},
		{"body", "deliveries show d-1 --body", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := onTerminal(t, f.env(tt.env...), strings.Fields(tt.args)...)
			if out == "" || strings.Contains(out, "\x1b[") != tt.colour {
				t.Errorf("colour is %v, want %v: %q", !tt.colour, tt.colour, out)
			}
			if colourless := strings.NewReplacer("\x1b[32m", "", "\x1b[33m", "", "\x1b[39m", "").Replace(out); strings.ContainsAny(colourless, "\x1b\u009b") {
				t.Errorf("more than colour: %q", out)
			}
		})
	}
}

// onTerminal runs a command with a terminal as its stdout and returns what the terminal got.
func onTerminal(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	master, terminal := openTerminal(t)

	got := shown(master)
	code := cli.Main(t.Context(), args, strings.NewReader(""), terminal, io.Discard, func(name string) string { return env[name] })
	must(t, terminal.Close())
	if out := <-got; code == 0 {
		return out
	}
	t.Fatalf("exit code %d", code)
	return ""
}

// openTerminal makes a terminal and returns its two ends.
func openTerminal(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = master.Close() })
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	return master, terminal
}

// shown gathers what a terminal gets until all have closed it.
func shown(master *os.File) <-chan string {
	got := make(chan string, 1)
	go func() {
		var b bytes.Buffer
		_, _ = io.Copy(&b, master) // ends with an error when the terminal is closed
		got <- b.String()
	}()
	return got
}

// TestAttach holds that attach becomes the program that loopd names, in the person's terminal, and that it wants one.
func TestAttach(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	self, err := os.Executable()
	must(t, err)
	for _, tt := range []struct {
		name, args, term string
		code             int
		out, stderr      string
	}{
		{"to read", "attach acme/shop#15", "xterm", 0, "attached false\r\n", "Ctrl-b d\\x1b goes back\n"},
		{"to write", "sessions attach acme/shop#15 --write", "xterm", 0, "attached true\r\n", "Ctrl-b d\\x1b goes back\n"},
		{
			"unknown here", "attach acme/shop#15 --write", "nonsense", 0, "attached true\r\n", "Ctrl-b d\\x1b goes back\n" +
				"the terminal \"nonsense\" is not known here; if tmux says so too, set TERM=xterm-256color for this command\n",
		},
		{"an older loopd", "attach acme/shop#16", "xterm", 1, "", "loopctl: this loopd does not know how to attach: it is older than this loopctl; restart it\n"},
		{"dumb", "attach acme/shop#15", "dumb", 2, "", "loopctl: attach needs a terminal of your own to show it in; loopctl logs github:acme/shop#15 prints what it shows\n"},
		{"no TERM", "attach acme/shop#15", "", 2, "", "loopctl: attach needs a terminal of your own to show it in; loopctl logs github:acme/shop#15 prints what it shows\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("tput"); tt.term == "nonsense" && err != nil {
				t.Skip("nothing here knows of terminals: ", err)
			}
			master, terminal := openTerminal(t)
			got := shown(master)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, self, strings.Fields(tt.args)...)
			var errs bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, &errs
			cmd.Env = append(os.Environ(), actAsLoopctl+"=1", "LOOP_SOCKET="+f.socket, "TERM="+tt.term, "TMUX=/tmp/tmux-0/default,1,0")
			err := cmd.Run()
			must(t, terminal.Close())
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code, out := cmd.ProcessState.ExitCode(), <-got; code != tt.code || out != tt.out || errs.String() != tt.stderr {
				t.Errorf("exit code %d, terminal %q, stderr %q; want %d, %q, %q", code, out, errs.String(), tt.code, tt.out, tt.stderr)
			}
		})
	}
	for _, call := range f.called() {
		if tmux := call.(*loopv1.GetSessionRequest).GetAttach().GetTmux(); tmux != "/tmp/tmux-0/default,1,0" {
			t.Errorf("loopd is not told of the caller's TMUX: %q", tmux)
		}
	}
}

// TestForeignServer holds that loopctl does not talk to another user's daemon.
func TestForeignServer(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can listen as another user")
	}
	dir := shortDir(t)
	must(t, os.Chmod(dir, 0o777)) // the other user makes a socket in it
	socket := filepath.Join(dir, "loopd.sock")
	listener := listenAs(t, 65534, socket)
	t.Cleanup(func() { _ = listener.Close() })

	r := loopctl(t.Context(), map[string]string{"LOOP_SOCKET": socket}, "", "status")
	if r.Code != 3 || !strings.HasPrefix(r.Stderr, "loopctl: loopd cannot be reached. Tried:\n  "+socket) || !strings.Contains(r.Stderr, "65534") {
		t.Errorf("exit code %d, want 3: %s", r.Code, r.Stderr)
	}
	if r := loopctl(context.WithoutCancel(t.Context()), map[string]string{"LOOP_SOCKET": socket}, "", quietly...); r != (result{}) {
		t.Errorf("a hook: %+v", r)
	}
}

// listenAs listens with the credentials of another user, which only the listening thread takes on.
func listenAs(t *testing.T, uid uintptr, socket string) net.Listener {
	t.Helper()
	type listened struct {
		net.Listener
		err error
	}
	done := make(chan listened)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and its credentials with it
		const keep = ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(unix.SYS_SETRESUID, keep, uid, keep); errno != 0 {
			done <- listened{nil, errno}
			return
		}
		l, err := net.Listen("unix", socket)
		done <- listened{l, err}
	}()
	l := <-done
	if l.err != nil && !errors.Is(l.err, net.ErrClosed) {
		t.Fatal(l.err)
	}
	return l.Listener
}
