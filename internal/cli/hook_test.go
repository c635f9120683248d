package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loop-daemon/loop/internal/cli"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

const hookInput = `{"session_id":"3f9a","cwd":"/home/user/shop","hook_event_name":"SessionStart","source":"startup"}`

// inPane is what a harness in a pane of loopd's has in its environment.
func (f *fake) inPane(more ...string) map[string]string {
	return f.env(append([]string{"LOOP_WORK_ITEM=github:acme/shop#15", "LOOP_LAUNCH=l-1"}, more...)...)
}

func TestHookTells(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	self, err := proc.Self()
	must(t, err)
	env := f.inPane("CLAUDE_PID="+strconv.Itoa(self.PID), "TMUX=/tmp/tmux-1000/default,1,0", "TMUX_PANE=%3")
	if r := loopctl(t.Context(), env, hookInput, "hook", "claude", "--close-on-end"); r != (result{}) {
		t.Errorf("the hook left %+v, want nothing", r)
	}
	want := []proto.Message{&loopv1.ReportRequest{
		Event: "start", WorkItem: "github:acme/shop#15", Harness: "claude", HarnessSessionId: "3f9a", Launch: "l-1", Pid: int32(self.PID),
		StartedAt: self.Start, Where: "tmux %3", Source: "startup", Cwd: "/home/user/shop", CloseOnEnd: true,
	}}
	if diff := cmp.Diff(want, f.called(), protocmp.Transform(), protocmp.IgnoreFields(&loopv1.ReportRequest{}, "at")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestHookIsSilent holds that nothing that can go wrong is seen by the agent, or holds it up: each ends within a second or so,
// where the test would otherwise wait for ever.
func TestHookIsSilent(t *testing.T) {
	t.Parallel()
	up, hung, refusing := newFake().start(t), newFake(), newFake()
	hung.hang, refusing.fail = true, status.Error(codes.Internal, "no")
	hung.start(t)
	refusing.start(t)
	down := &fake{socket: filepath.Join(shortDir(t), "loopd.sock")}
	never, _ := io.Pipe()
	for _, tt := range []struct {
		name  string
		env   map[string]string
		stdin io.Reader
		args  string
	}{
		{"no daemon", down.inPane(), strings.NewReader(hookInput), "hook claude"},
		{"a daemon that hangs", hung.inPane(), strings.NewReader(hookInput), "hook claude"},
		{"a daemon that refuses", refusing.inPane(), strings.NewReader(hookInput), "hook claude"},
		{"no JSON", up.inPane(), strings.NewReader("prompt"), "hook claude"},
		{"nothing on stdin", up.inPane(), strings.NewReader(""), "hook claude"},
		{"stdin stays open", up.inPane(), never, "hook claude stop"},
		{"stdin cannot be read", up.inPane(), failing{}, "hook claude stop"},
		{"no work item", up.env(), strings.NewReader(hookInput), "hook claude"},
		{"another harness", up.inPane(), strings.NewReader(hookInput), "hook vim"},
		{"another event", up.inPane(), strings.NewReader(hookInput), "hook claude nonsense"},
		{"wrong usage", up.inPane(), strings.NewReader(hookInput), "hook --nonsense"},
		{"wrong usage before it", up.inPane(), strings.NewReader(hookInput), "--bogus hook claude"},
		{"a wrong format", up.inPane(), strings.NewReader(hookInput), "-o yaml hook claude"},
		{"a flag without its value", up.inPane(), strings.NewReader(hookInput), "--socket hook claude"},
		{"a socket that is not there", up.inPane(), strings.NewReader(hookInput), "-ojson --socket /nonexistent hook claude"},
		{"a configuration that is not there", up.inPane("LOOP_SOCKET="), strings.NewReader(hookInput), "--config=/nonexistent hook claude"},
		{"no configuration", up.inPane("LOOP_SOCKET=", "LOOP_CONFIG=/nonexistent"), strings.NewReader(hookInput), "hook claude"},
		{"a disk that hangs", up.env(), strings.NewReader(`{"session_id":"1","cwd":"` + hangingFolder(t) + `","hook_event_name":"Stop"}`), "hook claude"},
		{"a wait of nobody", up.env(), strings.NewReader(hookInput), "hook claude wait"},
		{"a wait with stdin open", up.inPane(), never, "hook claude wait"},
		{"a wait of a headless run", up.inPane("LOOP_RUN=20260702-100000-123-abc234"), strings.NewReader(hookInput), "hook claude wait"},
		{"a wait that is refused", refusing.inPane(), strings.NewReader(hookInput), "hook claude wait"},
		{"a wait of one who is gone", up.inPane("CLAUDE_PID=1073741823"), strings.NewReader(hookInput), "hook claude wait"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := cli.Main(t.Context(), strings.Fields(tt.args), tt.stdin, &out, &errs, func(name string) string { return tt.env[name] })
			if got := (result{code, out.String(), errs.String()}); got != (result{}) {
				t.Errorf("the hook left %+v, want nothing", got)
			}
		})
	}
}

// TestOthersAreNoHooks holds that the word alone makes no command silent.
func TestOthersAreNoHooks(t *testing.T) {
	t.Parallel()
	down := &fake{socket: filepath.Join(shortDir(t), "loopd.sock")}
	for _, args := range []string{"send acme/shop#15 hook", "-ojson logs hook", "-o json logs hook", "--timeout=1s send hook hook", "--timeout 1s send hook hook"} {
		if r := loopctl(t.Context(), down.env(), "", strings.Fields(args)...); r.Code == 0 || r.Stderr == "" {
			t.Errorf("loopctl %s: %+v, want a complaint", args, r)
		}
	}
}

// hangingFolder is a folder that git would be asked about, where reading does not end.
func hangingFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(dir, ".git"), 0o600))
	return dir
}

// TestCursorIsAnswered holds that Cursor's hooks get JSON that decides nothing, whatever happens.
func TestCursorIsAnswered(t *testing.T) {
	t.Parallel()
	up, down := newFake().start(t), &fake{socket: filepath.Join(shortDir(t), "loopd.sock")}
	const told = `{"conversation_id":"3f9a","workspace_roots":["/home/user/shop"],"hook_event_name":"beforeSubmitPrompt","prompt":"hi"}`
	for _, tt := range []struct {
		f     *fake
		stdin string
	}{{up, told}, {up, "no JSON"}, {down, told}} {
		if r := loopctl(t.Context(), tt.f.env("LOOP_WORK_ITEM=github:acme/shop#15"), tt.stdin, "hook", "cursor"); r != (result{Stdout: "{}\n"}) {
			t.Errorf("%s: the hook left %+v, want {}", tt.stdin, r)
		}
	}
	want := []proto.Message{&loopv1.ReportRequest{
		Event: "prompt", WorkItem: "github:acme/shop#15", Harness: "cursor", HarnessSessionId: "3f9a", Cwd: "/home/user/shop",
	}}
	if diff := cmp.Diff(want, up.called(), protocmp.Transform(), protocmp.IgnoreFields(&loopv1.ReportRequest{}, "at", "where")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("cannot be read") }

// waitThere runs a waiting hook in this process and returns once it waits.
func waitThere(t *testing.T, f *fake) <-chan result {
	t.Helper()
	changed := f.live.Watch(shop)
	left := make(chan result, 1)
	go func() { left <- loopctl(t.Context(), f.inPane(), hookInput, "hook", "claude", "wait") }()
	arrived(t, changed)
	return left
}

var shop = loop.WorkItem{Provider: loop.ProviderGitHub, Owner: "acme", Repo: "shop", Number: 15}

func arrived[T any](t *testing.T, c <-chan T) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("waited too long")
	}
}

func TestWaitingHookWakes(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	older := waitThere(t, f)
	newer := waitThere(t, f)
	if r := <-older; r != (result{}) {
		t.Errorf("the older hook left %+v, want nothing", r)
	}
	const text = "Loop [loop 20260702-100000-123-abc234]\n\tbrings \u00e9 news"
	if !f.live.Hand(shop, "l-1", loop.Wake{Text: text}) {
		t.Error("nobody waits")
	}
	if diff := cmp.Diff(result{Code: 2, Stderr: text + "\n"}, <-newer); diff != "" {
		t.Errorf("the hook (-want +left):\n%s", diff)
	}
}

// A hook that waits since a turn has ended says so: the one beside it may have run out of its time.
func TestWaitingHookTellsThatTheTurnEnded(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]int{"Stop": 1, "SessionStart": 0} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			f := newFake().start(t)
			changed := f.live.Watch(shop)
			left := make(chan result, 1)
			go func() {
				left <- loopctl(t.Context(), f.inPane(), strings.Replace(hookInput, "SessionStart", event, 1), "hook", "claude", "wait")
			}()
			arrived(t, changed)
			f.live.Hand(shop, "l-1", loop.Wake{Text: "news"})
			<-left
			got := 0
			for _, call := range f.called() {
				if r, ok := call.(*loopv1.ReportRequest); ok && r.GetEvent() == "stop" {
					got++
				}
			}
			if got != want {
				t.Errorf("a stop was told %d times, want %d", got, want)
			}
		})
	}
}

// A hook that waits survives a restart of loopd, and says nothing of it.
func TestWaitingHookOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	first := newFake().start(t)
	left := waitThere(t, first)
	first.server.Stop()
	second := newFake()
	second.socket = first.socket
	changed := second.live.Watch(shop)
	second.start(t)
	arrived(t, changed)
	second.live.Hand(shop, "", loop.Wake{Text: "news"})
	if diff := cmp.Diff(result{Code: 2, Stderr: "news\n"}, <-left); diff != "" {
		t.Errorf("the hook (-want +left):\n%s", diff)
	}
}

// A hook does not wait for a conversation that is gone: it ends with the process that called it.
func TestWaitingHookEndsWithItsParent(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	self, err := os.Executable()
	must(t, err)
	input := filepath.Join(t.TempDir(), "stdin")
	write(t, input, hookInput)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	parent := exec.CommandContext(ctx, "/bin/sh", "-c", `"$0" hook claude wait <"$1" & read line`, self, input)
	parent.Env = append(os.Environ(), actAsLoopctl+"=1", "LOOP_SOCKET="+f.socket, "LOOP_WORK_ITEM=github:acme/shop#15", "LOOP_LAUNCH=l-1")
	stdin, err := parent.StdinPipe()
	must(t, err)
	here := f.live.Watch(shop)
	must(t, parent.Start())
	arrived(t, here)
	gone := f.live.Watch(shop)
	must(t, stdin.Close())
	_ = parent.Wait() // read has found nothing
	arrived(t, gone)
	if p, _ := f.live.Presence(shop); p.Waker {
		t.Error("the hook still waits")
	}
}

func TestSendTellsWho(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	if r := loopctl(t.Context(), f.env("LOGNAME=alice"), "one\r\ntwo\xff\n", "send", "acme/shop#15", "-"); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	want := []proto.Message{&loopv1.SendRequest{WorkItem: "github:acme/shop#15", Text: "one\r\ntwo\ufffd\n", By: "alice"}}
	if diff := cmp.Diff(want, f.called(), protocmp.Transform()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if r := loopctl(t.Context(), f.env(), " \n", "send", "acme/shop#15", "-"); r.Code != 2 || r.Stderr != "loopctl: there is nothing to say\n" {
		t.Errorf("nothing to send: %+v", r)
	}
}
