package runner_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// attach looks into the terminal of a session from one of its own, which is returned with the way to leave it.
func (h *house) attach(s loop.Session, v tmux.Viewer) (tty *os.File, leave func()) {
	h.t.Helper()
	attach, err := h.server.Attach(h.pane(s).Session, v)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	cmd := exec.CommandContext(ctx, attach.Argv[0], attach.Argv[1:]...)
	cmd.Env = []string{"TERM=xterm-256color", "HOME=" + h.dir, "PATH=" + os.Getenv("PATH")}
	tty, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		cancel()
		h.t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, tty); close(read) }()
	viewers := func() int {
		clients, err := h.server.Clients(h.t.Context(), tmux.Name(s.WorkItem.Slug()))
		if err != nil {
			h.t.Fatal(err)
		}
		return len(clients)
	}
	tmuxtest.Eventually(h.t, "the viewer", func() bool { return viewers() == 1 })
	leave = func() {
		cancel()
		_ = cmd.Wait()
		<-read
		_ = tty.Close()
	}
	h.t.Cleanup(leave)
	return tty, func() {
		cancel()
		tmuxtest.Eventually(h.t, "the viewer's end", func() bool { return viewers() == 0 })
	}
}

// idles tells that the agent of a session is idle, and has been for so long.
func (h *house) idles(s loop.Session, since time.Duration) {
	h.live.Report(loop.Report{
		Event: loop.HookStart, Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: h.Launched(s.WorkItem),
		At: time.Now().Add(-since),
	})
}

func TestRoomIsNotMadeByAnAgentThatSomebodyNeeds(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house) { h.settings.MaxLive = 1 })
	s, next := h.session(1), h.session(2)
	h.delivers(s, true, "hello")
	h.reads(s, "")
	h.waits(next, "whose state nobody told")
	h.idles(s, time.Minute)

	_, leave := h.attach(s, tmux.Viewer{})
	h.waits(next, "that somebody watches")
	leave()
	if err := h.server.Paste(t.Context(), h.pane(s).Target(), "half a thought"); err != nil {
		t.Fatal(err)
	}
	h.reads(s, loop.WaitDraft)
	h.waits(next, "with a draft")
	h.submits(s)
	h.delivers(s, false, `[[agent ask=Bash {"command":"true"}]]`)
	h.reads(s, loop.WaitDialog)
	h.waits(next, "with a dialog")
	if out := h.Deliver(t.Context(), h.handover(next, true, "hello")); out.Kind != loop.RunDeferred || out.Reason != loop.WaitRoom {
		t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
	h.person("kill-session", "-t", h.pane(s).SessionID)
	h.reads(next, "")
}

// waits wants a session to wait for room while the one that has it has an agent of this kind.
func (h *house) waits(next loop.Session, agent string) {
	h.t.Helper()
	if r := h.Ready(h.t.Context(), next); r.Wait != loop.WaitRoom {
		h.t.Fatalf("room was made by an agent %s: %q, %s", agent, r.Wait, r.Detail)
	}
}

// submits sends what stands in the input line of a session, as a person does.
func (h *house) submits(s loop.Session) {
	h.t.Helper()
	tmuxtest.Eventually(h.t, "the submission", func() bool {
		if err := h.server.Submit(h.t.Context(), h.pane(s).Target()); err != nil {
			h.t.Fatal(err)
		}
		return h.Ready(h.t.Context(), s).Wait != loop.WaitDraft
	})
	h.reads(s, "")
}

func TestNothingIsTypedBesideAPersonWhoTypes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	h.reads(s, "")
	_, leave := h.attach(s, tmux.Viewer{})
	if r := h.Ready(t.Context(), s); r.Wait != "" {
		t.Errorf("beside somebody who only reads it is %q: %s", r.Wait, r.Detail)
	}
	leave()
	tty, _ := h.attach(s, tmux.Viewer{Write: true})
	if _, err := tty.WriteString("x\x7f"); err != nil {
		t.Fatal(err)
	}
	h.reads(s, loop.WaitDraft)
	if out := h.Deliver(t.Context(), h.handover(s, false, "meanwhile")); out.Kind != loop.RunDeferred || out.Reason != loop.WaitDraft {
		t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
	if got := h.prompts(); len(got) != 1 {
		t.Errorf("the agent got %q", got)
	}
}

func TestPromptThatAHookHasLostIsTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	s = met(s)
	handed := h.waker(s)
	ended := make(chan loop.Outcome, 1)
	go func() { ended <- h.Deliver(t.Context(), h.handover(s, false, "by hook")) }()
	<-handed
	h.live.Report(loop.Report{Event: loop.HookPrompt, Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: h.Launched(s.WorkItem)})
	h.live.Report(loop.Report{
		Event: loop.HookStop, Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: h.Launched(s.WorkItem),
		At: time.Now().Add(-time.Minute),
	})
	select {
	case out := <-ended:
		t.Fatalf("it is %s (%s) while no hook waits: %s", out.Kind, out.Reason, out.Detail)
	case <-time.After(50 * time.Millisecond):
	}
	h.waker(s)
	if out := <-ended; out.Kind != loop.RunDeferred || out.Reason != loop.WaitUnconfirmed {
		t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
}

func TestTerminalOfAnAgentThatEndsByItselfGoesWhenThatIsWished(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house) { h.settings.RemainOnExit = false })
	s := h.session(15)
	h.delivers(s, true, "the first")
	h.reads(s, "")
	pane := h.pane(s)
	if err := syscall.Kill(pane.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "its terminal to go", func() bool {
		state, err := h.server.State(t.Context(), pane.Session, pane.Launch)
		return err == nil && state == tmux.Absent
	})
	h.wantTranscript(s, "the first")
	h.delivers(s, false, "the second")
}

// wantTranscript wants one saved transcript with the words.
func (h *house) wantTranscript(s loop.Session, words ...string) {
	h.t.Helper()
	saved, err := filepath.Glob(filepath.Join(h.dir, "transcripts", s.WorkItem.Slug(), "*.txt"))
	if err != nil || len(saved) != 1 {
		h.t.Fatalf("transcripts %v, %v, want one", saved, err)
	}
	text, err := os.ReadFile(saved[0])
	if err != nil {
		h.t.Fatal(err)
	}
	for _, word := range words {
		if !strings.Contains(string(text), word) {
			h.t.Errorf("the transcript lacks %q:\n%s", word, text)
		}
	}
}

// A loopd that stops, and the next one, keep what was there.
func TestTerminalsAreSavedAndTakenUp(t *testing.T) {
	t.Parallel()
	overhear, calls := tmuxtest.Overhear(t)
	h := newHouse(t, func(h *house) { h.tmux = append(h.tmux, overhear) })
	s, other := h.session(1), h.session(2)
	h.delivers(s, true, "the first")
	h.delivers(other, true, "hello")
	h.reads(s, "")
	h.person("set-buffer", "-b", "loop-0123456789abcdef", "left by a loopd that was killed")
	h.stop()
	h.wantTranscript(s, "the first")
	agent := h.pane(s)
	if agent.Dead {
		t.Fatal("a stop ended the agent")
	}
	before := count(calls(), "list-panes")
	h.open()
	h.live.Report(loop.Report{
		Event: loop.HookPrompt, Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: agent.Launch,
	})
	// It looks at one after the other, so that the first is taken up when the second is looked at.
	tmuxtest.Eventually(t, "a look at both", func() bool { return count(calls(), "list-panes") >= before+2 })
	if left := h.person("list-buffers"); left != "" {
		t.Errorf("buffers are left: %s", left)
	}
	if err := syscall.Kill(agent.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the news of its death", func() bool { return h.told(loop.LogHarnessTerminated) == 1 })
}

// What an agent left behind that ignores its end goes before the next is started.
func TestNextLaunchEndsWhatTheLastOneLeft(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "[[agent brood]]")
	h.reads(s, "")
	mark := h.Launched(s.WorkItem)
	brood := h.family(mark)
	t.Cleanup(func() {
		for _, id := range brood { // one has no parent and no mark any more
			_ = proc.Signal(id, syscall.SIGKILL)
		}
	})
	if err := syscall.Kill(h.pane(s).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the death", func() bool { return h.pane(s).Dead })
	if len(h.family(mark)) == 0 {
		t.Fatal("it left nothing behind: this test tests nothing")
	}
	h.delivers(s, false, "the second")
	if left := h.family(mark); len(left) > 0 {
		t.Errorf("%v are left of the first launch", left)
	}
}

// The next launch takes the last screen of the one before, which must be saved first if nobody saw that end.
func TestDeathThatNobodySawIsSavedBeforeTheNextLaunch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	unwatched, err := runner.NewTmux(h.options) // it does not Run
	if err != nil {
		t.Fatal(err)
	}
	s := h.session(15)
	if err := h.insists(unwatched, s, true, "the first"); err != nil {
		t.Fatal(err)
	}
	h.reads(s, "")
	if err := syscall.Kill(h.pane(s).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the death", func() bool { return h.pane(s).Dead })
	if err := h.insists(unwatched, s, false, "the second"); err != nil {
		t.Fatal(err)
	}
	h.wantTranscript(s, "the first")
}
