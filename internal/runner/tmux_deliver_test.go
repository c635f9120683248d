package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

func TestTypedPromptStartsAndReachesTheSameAgent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "first things first\nand a second line")
	pid := h.pane(s).PID
	h.delivers(s, false, "then this: !not a command\n/nor this\nat last \\")
	if now := h.pane(s).PID; now != pid {
		t.Errorf("the second prompt went to another process, %d and not %d", now, pid)
	}
	got := h.prompts()
	if len(got) != 2 || !strings.Contains(got[0], "first things first\nand a second line") || !strings.Contains(got[1], "!not a command\n/nor this") {
		t.Errorf("the agent got %q", got)
	}
	if h.told(loop.LogWorkspaceTrusted) != 1 {
		t.Error("the folder of a session that loopd made was not trusted beforehand, or it was not told")
	}
}

func TestDeadAgentComesBackInItsPaneWithItsConversation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	before := h.pane(s)
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the death", func() bool { return h.pane(s).Dead })
	h.delivers(s, false, "the second")
	after := h.pane(s)
	if after.ID != before.ID || after.Dead || after.Launch == before.Launch {
		t.Errorf("it was %+v and is %+v, want the same pane with a new launch", before, after)
	}
	if h.told(loop.LogSessionRespawned) != 1 {
		t.Error("its return was not told")
	}
	saved, _ := filepath.Glob(filepath.Join(h.dir, "transcripts", "*", "*.txt"))
	if len(saved) != 1 {
		t.Fatalf("%d transcripts, want that of the first launch", len(saved))
	}
	if text, _ := os.ReadFile(saved[0]); !strings.Contains(string(text), "the stand-in") {
		t.Errorf("the transcript lacks what was shown:\n%s", text)
	}
}

func TestWakeHookIsHandedThePromptAndItsReceiptCounts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	s = met(s)
	handed := h.waker(s)
	ho := h.handover(s, false, "by hook")
	free := make(chan struct{})
	ho.Handed = func() { close(free) }
	ended := make(chan loop.Outcome, 1)
	go func() { ended <- h.Deliver(t.Context(), ho) }()
	wake := <-handed
	if !strings.HasPrefix(wake.Text, ho.Run.Token()+" ") || !strings.HasSuffix(wake.Text, "by hook") {
		t.Errorf("the hook was handed %q", wake.Text)
	}
	<-free
	select {
	case out := <-ended:
		t.Fatalf("it is %s before the agent has shown it", out.Kind)
	case <-time.After(50 * time.Millisecond):
	}
	h.live.Report(loop.Report{Event: loop.HookPrompt, Item: s.WorkItem, Launch: h.Launched(s.WorkItem), Runs: []loop.RunID{ho.Run}})
	if out := <-ended; out.Kind != loop.RunDone {
		t.Errorf("%s: %s", out.Kind, out.Detail)
	}
}

func TestPromptIsOwedWhenItsAgentGoesBeforeItSawIt(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]bool{"the same loopd": false, "another loopd": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			s := h.session(15)
			h.delivers(s, true, "the first")
			s = met(s)
			handed := h.waker(s)
			ho := h.handover(s, false, "by hook")
			ended := make(chan loop.Outcome, 1)
			go func() { ended <- h.Deliver(t.Context(), ho) }()
			<-handed
			if settle {
				h.stop()
				h.open()
				go func() { ended <- h.Settle(t.Context(), ho) }()
			}
			if err := syscall.Kill(h.pane(s).PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			out := <-ended
			if settle && out.Kind == loop.RunDetached {
				out = <-ended
			}
			if out.Kind != loop.RunUnreached {
				t.Errorf("%s: %s", out.Kind, out.Detail)
			}
		})
	}
}

func TestSettleKnowsWhatTheAgentHasSeen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	ho := h.handover(s, true, "the first")
	if out := h.Settle(t.Context(), ho); out.Kind != loop.RunNever {
		t.Errorf("a run that was not begun is %s", out.Kind)
	}
	if out := h.Deliver(t.Context(), ho); out.Kind != loop.RunDone {
		t.Fatalf("%s: %s", out.Kind, out.Detail)
	}
	h.stop()
	h.open()
	if out := h.Settle(t.Context(), ho); out.Kind != loop.RunDone {
		t.Errorf("a prompt that the agent has on record is %s (%s): it would be handed over twice", out.Kind, out.Detail)
	}
}

func TestSettleKnowsThatAnotherLaunchGotNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	s = met(s)
	handed := h.waker(s)
	ho := h.handover(s, false, "by hook")
	ended := make(chan loop.Outcome, 1)
	go func() { ended <- h.Deliver(t.Context(), ho) }()
	<-handed
	agent := h.pane(s).PID
	h.stop()
	if err := syscall.Kill(agent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ended
	h.open()
	h.delivers(h.session(15), true, "to another conversation in the same pane")
	if out := h.Settle(t.Context(), ho); out.Kind != loop.RunUnreached {
		t.Errorf("%s: %s", out.Kind, out.Detail)
	}
}

func TestNothingIsTypedIntoDialogsDraftsAndTurns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	h.reads(s, "")
	if err := h.server.Paste(t.Context(), h.pane(s).Target(), "a half-typed thought"); err != nil {
		t.Fatal(err)
	}
	h.reads(s, loop.WaitDraft)
	if out := h.Deliver(t.Context(), h.handover(s, false, "beside a draft")); out.Kind != loop.RunDeferred || out.Reason != loop.WaitDraft {
		t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
	time.Sleep(200 * time.Millisecond) // a return right behind text is swallowed
	if err := h.server.Submit(t.Context(), h.pane(s).Target()); err != nil {
		t.Fatal(err)
	}
	h.reads(s, "")
	h.delivers(s, false, `[[agent ask=Bash {"command":"true"}]]`)
	h.reads(s, loop.WaitDialog)
	if out := h.Deliver(t.Context(), h.handover(s, false, "into a dialog")); out.Kind != loop.RunDeferred || out.Reason != loop.WaitDialog {
		t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
	h.person("send-keys", "-t", h.pane(s).ID, "Escape")
	h.reads(s, "")
	h.delivers(s, false, "[[agent delay=10000]] slowly")
	h.reads(s, loop.WaitBusy)
	if out := h.Deliver(t.Context(), h.handover(s, false, "into a turn")); out.Kind != loop.RunDeferred || out.Reason != loop.WaitBusy {
		t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
	for _, p := range h.prompts() {
		if strings.Contains(p, "into a turn") || strings.Contains(p, "beside a draft") || strings.Contains(p, "into a dialog") {
			t.Errorf("the agent got %q", p)
		}
	}
}

// reads waits until the session of a pane waits for a reason; "" is ready.
func (h *house) reads(s loop.Session, wait string) {
	h.t.Helper()
	tmuxtest.Eventually(h.t, "readiness "+wait, func() bool { return h.Ready(h.t.Context(), s).Wait == wait })
}

func TestLostConversationIsToldAndNotRetriedForEver(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	if out := h.Deliver(t.Context(), h.handover(s, false, "go on")); out.Kind != loop.RunLost {
		t.Errorf("resuming what the agent does not know is %s: %s", out.Kind, out.Detail)
	} else if !strings.Contains(out.Detail, "No conversation found") {
		t.Errorf("it does not say why: %s", out.Detail)
	}
}
