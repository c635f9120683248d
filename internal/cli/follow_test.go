package cli_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// following is a command that goes on until it is ended.
type following struct {
	t     *testing.T
	end   context.CancelFunc
	lines *bufio.Scanner
	notes notes
	code  chan int
}

// notes gets what goes to stderr, one write at a time.
type notes chan string

func (n notes) Write(p []byte) (int, error) {
	n <- string(p)
	return len(p), nil
}

func follow(t *testing.T, f *fake, args ...string) *following {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	fl := &following{t: t, end: cancel, lines: bufio.NewScanner(out), notes: make(notes, 10), code: make(chan int, 1)}
	env := f.env()
	go func() {
		fl.code <- mainWith(ctx, env, in, fl.notes, args...)
		_ = in.Close()
	}()
	return fl
}

// sees reads the next line and wants the text in it.
func (fl *following) sees(want string) {
	fl.t.Helper()
	if !fl.lines.Scan() || !strings.Contains(fl.lines.Text(), want) {
		fl.t.Fatalf("line %q, want %q (%v)", fl.lines.Text(), want, fl.lines.Err())
	}
}

// told reads the next note and wants it to begin so.
func (fl *following) told(want string) {
	fl.t.Helper()
	select {
	case got := <-fl.notes:
		if !strings.HasPrefix(got, want) {
			fl.t.Fatalf("told %q, want %q", got, want)
		}
	case <-time.After(30 * time.Second):
		fl.t.Fatalf("not told %q", want)
	}
}

// ends wants no further line, and the exit code.
func (fl *following) ends(want int) {
	fl.t.Helper()
	for fl.lines.Scan() {
		fl.t.Errorf("line too many: %q", fl.lines.Text())
	}
	if got := <-fl.code; got != want {
		fl.t.Errorf("exit code %d, want %d", got, want)
	}
}

func event(seq int64, message string) *loopv1.EventsResponse {
	return &loopv1.EventsResponse{Seq: seq, Type: "run.done", Message: message}
}

// TestFollowEvents holds that a follow prints one line an event as it comes, and ends with 0 when the person ends it.
func TestFollowEvents(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	fl := follow(t, f, "events", "-f", "-o", "json")
	f.more <- event(7, "first")
	fl.sees(`"seq":7`)
	f.more <- event(8, "second\nline")
	fl.sees(`"message":"second\nline"`)
	fl.end()
	fl.ends(0)
}

// TestFollowOverRestart holds that a follow goes on behind the last event it printed when loopd stops and comes back, however
// long that takes, and that the person is told once of each.
func TestFollowOverRestart(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	fl := follow(t, f, "events", "-f")
	if got := (<-f.streams).GetAfterSeq(); got != -1 {
		t.Errorf("begins after %d, want -1", got)
	}
	f.more <- event(7, "first")
	fl.sees("first")
	f.more <- nil // as loopd ends its streams when it stops
	if got := (<-f.streams).GetAfterSeq(); got != 7 {
		t.Errorf("goes on after %d, want 7", got)
	}

	f.server.Stop()                // takes the socket away
	write(t, f.socket+".lock", "") // a trace of a daemon: each try waits for it
	fl.told("loopd is away")
	select {
	case code := <-fl.code:
		t.Fatalf("gave up with exit code %d", code)
	case <-time.After(2500 * time.Millisecond): // longer than one try; nothing tells of the tries that follow
	}
	again := newFake()
	again.socket = f.socket
	again.start(t)
	fl.told("loopd is back")
	if got := (<-again.streams).GetAfterSeq(); got != 7 {
		t.Errorf("goes on after %d, want 7", got)
	}
	again.more <- event(8, "second")
	fl.sees("second")
	again.server.Stop()
	fl.told("loopd is away")
	fl.end()
	fl.ends(0)
	if len(fl.notes) > 0 {
		t.Errorf("told too much: %q", <-fl.notes)
	}
}

// TestFollowLogsOverRestart holds that a follow of logs shows nothing twice when loopd stops and comes back.
func TestFollowLogsOverRestart(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	fl := follow(t, f, "logs", "acme/shop#15", "-f")
	fl.sees("run 1")
	fl.sees("prompt:\tmend it")
	fl.sees("answer: ")
	f.server.Stop()
	fl.told("loopd is away")
	again := newFake()
	again.socket, again.logged = f.socket, []string{"run 2\n"}
	again.start(t)
	fl.told("loopd is back")
	fl.sees("run 2")
	fl.end()
	fl.ends(0)
}

// TestFollowNobody holds that a follow does not wait for a daemon that was never there.
func TestFollowNobody(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.socket = shortDir(t) + "/none.sock"
	follow(t, f, "events", "-f").ends(3)
	follow(t, f, "logs", "a/b#1", "-f").ends(3)
}

// TestFollowRefused holds that a refusal ends a follow.
func TestFollowRefused(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.fail = status.Error(codes.NotFound, "no such session")
	f.start(t)
	follow(t, f, "events", "-f").ends(1)
	follow(t, f, "logs", "a/b#1", "-f").ends(1)
}

// TestFollowLogs holds that a follow of logs stays, and ends with 0 when the person ends it.
func TestFollowLogs(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	fl := follow(t, f, "logs", "acme/shop#15", "-f")
	fl.sees("run 1")
	fl.sees("prompt:\tmend it")
	fl.sees("answer: ")
	fl.end()
	fl.ends(0)
}

// TestCtrlC holds that a signal ends a follow with 0 and any other command as it ends every program.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"events -f", "logs acme/shop#15 -f"} {
		for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
			f := newFake().start(t)
			p := startLoopctl(t, []string{"LOOP_SOCKET=" + f.socket}, strings.Fields(command)...)
			if strings.HasPrefix(command, "events") {
				f.more <- event(7, "first")
			}
			p.firstLine()
			p.signal(sig)
			if code := p.wait(); code != 0 {
				t.Errorf("%s ended by %v: exit code %d, want 0", command, sig, code)
			}
		}
	}
}

// process is a loopctl of its own.
type process struct {
	t     *testing.T
	child *os.Process
	out   *bufio.Reader
}

func startLoopctl(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	out, in, err := os.Pipe()
	must(t, err)
	child, err := os.StartProcess(self, append([]string{"loopctl"}, args...), &os.ProcAttr{
		Env: append(append(os.Environ(), actAsLoopctl+"=1"), env...), Files: []*os.File{nil, in, os.Stderr},
	})
	must(t, err)
	must(t, in.Close())
	timeout := time.AfterFunc(30*time.Second, func() { _ = child.Kill() })
	t.Cleanup(func() { timeout.Stop(); _ = child.Kill(); _ = out.Close() })
	return &process{t, child, bufio.NewReader(out)}
}

func (p *process) firstLine() {
	p.t.Helper()
	if _, err := p.out.ReadString('\n'); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) signal(sig os.Signal) { must(p.t, p.child.Signal(sig)) }

func (p *process) wait() int {
	p.t.Helper()
	state, err := p.child.Wait()
	must(p.t, err)
	return state.ExitCode()
}
