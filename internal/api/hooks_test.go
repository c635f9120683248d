package api_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

func TestReportsArePassedOnWhole(t *testing.T) {
	t.Parallel()
	got := make(chan loop.Report, 1)
	h := open(t, func(o *api.Options) {
		o.Report = func(_ context.Context, r loop.Report) (loop.HookAnswer, error) {
			got <- r
			return loop.HookAnswer{Note: "for you", Context: "for the agent"}, nil
		}
	})
	answer, err := h.sessions.Report(t.Context(), &loopv1.ReportRequest{
		Event: "waiting", WorkItem: "acme/shop#15", Harness: "claude", HarnessSessionId: "s-1", Launch: "l-1", Run: "r-1", Pid: 7,
		Source: "startup", Detail: "Bash:\nrm \xe2\x80\xae -rf", Runs: []string{"r-2", "r-3"}, Cwd: "/home/user", At: timestamppb.New(born),
		StartedAt: 99, Where: "tmux\n%3", CloseOnEnd: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := loop.Report{
		Event: loop.HookWaiting, Item: item(t, "acme/shop#15"), Harness: "claude", SessionID: "s-1", Launch: "l-1", Run: "r-1", PID: 7,
		Source: "startup", Detail: "Bash: rm \u202e -rf", Runs: []loop.RunID{"r-2", "r-3"}, Cwd: "/home/user", At: born,
		Started: 99, Where: "tmux %3", CloseOnEnd: true, Caller: os.Getpid(),
	}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	says := &loopv1.ReportResponse{Note: "for you", Context: "for the agent"}
	if diff := cmp.Diff(says, answer, protocmp.Transform()); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestASessionIsShownWithItsPresence(t *testing.T) {
	t.Parallel()
	h := open(t)
	register(t, h, "acme/shop#15")
	register(t, h, "acme/shop#16")
	h.live.Report(loop.Report{
		Event: loop.HookWaiting, Item: item(t, "acme/shop#15"), Harness: "claude", SessionID: "s-1", Launch: "l-1", PID: 7, Detail: "Bash", At: born,
	})
	res, err := h.sessions.List(t.Context(), &loopv1.ListSessionsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []*loopv1.Presence
	for _, s := range res.GetSessions() {
		got = append(got, s.GetPresence())
	}
	want := []*loopv1.Presence{{
		Harness: "claude", HarnessSessionId: "s-1", Launch: "l-1", Pid: 7, Turn: "waiting", Since: timestamppb.New(born), Detail: "Bash",
	}, nil}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("presences (-want +got):\n%s", diff)
	}
}

// waiting calls Wait, and returns once the waiter is there.
func waiting(t *testing.T, h *house, launch string) <-chan error {
	t.Helper()
	w := item(t, "acme/shop#15")
	changed := h.live.Watch(w)
	done := make(chan error, 1)
	go func() {
		res, err := h.sessions.Wait(t.Context(), &loopv1.WaitRequest{WorkItem: w.Ref(), Harness: "claude", HarnessSessionId: "s-1", Launch: launch})
		if err == nil && res.GetWoken() {
			err = fmt.Errorf("woken: %s %s %s", res.GetRun(), res.GetTitle(), res.GetText())
		}
		done <- err
	}()
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody waits")
	}
	return done
}

func TestAHookWaitsUntilItIsWoken(t *testing.T) {
	t.Parallel()
	h := open(t)
	older := waiting(t, h, "l-1")
	newer := waiting(t, h, "l-1")
	if err := <-older; err != nil {
		t.Errorf("the older waiter: %v, want an answer with nothing", err)
	}
	if !h.live.Hand(item(t, "acme/shop#15"), "l-1", loop.Wake{Run: "r-1", Title: "news", Text: "the text"}) {
		t.Error("nobody waits")
	}
	if err := <-newer; err == nil || err.Error() != "woken: r-1 news the text" {
		t.Errorf("the newer waiter: %v", err)
	}
}

// A stop must not wait for the hooks that wait, and they must learn that it is one.
func TestAStopEndsWaiters(t *testing.T) {
	t.Parallel()
	h := open(t)
	done := waiting(t, h, "l-1")
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "loopd is stopping" {
		t.Errorf("the waiter: %v, want Unavailable, at once and by us", err)
	}
}

func TestHowToAttachIsAnsweredWhereItIsAsked(t *testing.T) {
	t.Parallel()
	var asked []string
	h := open(t, func(o *api.Options) {
		o.Attach = func(_ context.Context, s loop.Session, write bool, tmux string) (api.Attach, error) {
			asked = append(asked, fmt.Sprintf("%s %v %s", s.WorkItem, write, tmux))
			if tmux == "bad" {
				return api.Attach{}, fmt.Errorf("it has no terminal: %w", loop.ErrConflict)
			}
			return api.Attach{Argv: []string{"/usr/bin/tmux", "attach"}, Note: "press the prefix twice"}, nil
		}
	})
	register(t, h, "acme/shop#15")
	get := func(how *loopv1.AttachTo) (*loopv1.Attach, error) {
		res, err := h.sessions.Get(t.Context(), &loopv1.GetSessionRequest{WorkItem: "acme/shop#15", Attach: how})
		return res.GetAttach(), err
	}
	if a, err := get(nil); a != nil || err != nil || len(asked) != 0 {
		t.Errorf("not asked for: %v, %v, asked %v", a, err, asked)
	}
	a, err := get(&loopv1.AttachTo{Write: true, Tmux: "/tmp/tmux-0/default,1,0"})
	want := &loopv1.Attach{Argv: []string{"/usr/bin/tmux", "attach"}, Note: "press the prefix twice"}
	if diff := cmp.Diff(want, a, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("attach: %v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"github:acme/shop#15 true /tmp/tmux-0/default,1,0"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if _, err := get(&loopv1.AttachTo{Tmux: "bad"}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a session without a terminal: %v", err)
	}
	if _, err := get(&loopv1.AttachTo{Tmux: strings.Repeat("x", 10_000)}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a long TMUX: %v", err)
	}
}

func TestMessagesAreHandedOn(t *testing.T) {
	t.Parallel()
	h := open(t)
	res, err := h.sessions.Send(t.Context(), &loopv1.SendRequest{WorkItem: "acme/shop#15", Text: "go on\n", By: "alice"})
	if err != nil || res.GetDeliveryId() != "send-1" || res.GetSession().GetWorkItem().GetRef() != "github:acme/shop#15" {
		t.Errorf("Send = %v, %v", res, err)
	}
	want := []dispatch.Message{{Item: item(t, "acme/shop#15"), Text: "go on\n", By: "alice"}}
	if diff := cmp.Diff(want, h.orders.sent); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// Nothing is promised about a terminal that is not there.
func TestCloseWithAWishForTheTerminal(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.orders.close.Retained = "loop-x"
	set(t, h, register(t, h, "acme/shop#15"), func(s *loop.Session) { s.TmuxTarget = "loop-x" })
	register(t, h, "acme/shop#16")
	shut := func(ref string, fate loopv1.TmuxFate) error {
		res, err := h.sessions.Close(t.Context(), &loopv1.CloseRequest{WorkItem: ref, Tmux: fate})
		if err == nil && res.GetRetained() != "loop-x" {
			t.Errorf("it does not say what is retained: %v", res)
		}
		return err
	}
	for i, code := range []codes.Code{codes.OK, codes.OK, codes.OK, codes.InvalidArgument} {
		if err := shut("acme/shop#15", loopv1.TmuxFate(i)); status.Code(err) != code {
			t.Errorf("fate %d: %v, want %v", i, err, code)
		}
	}
	if err := shut("acme/shop#16", loopv1.TmuxFate_TMUX_FATE_KILL); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("without a terminal: %v", err)
	}
	if diff := cmp.Diff([]loop.TerminalWish{loop.TerminalAsConfigured, loop.TerminalKeep, loop.TerminalKill}, h.orders.wishes); diff != "" {
		t.Errorf("wishes (-want +got):\n%s", diff)
	}
}
