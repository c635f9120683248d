package runner_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
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
	for _, p := range h.prompts() {
		if strings.Contains(p, "beside a draft") || strings.Contains(p, "into a dialog") {
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

func TestOccupiedNameIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	if _, err := h.server.Spawn(t.Context(), tmux.Launch{
		Session: tmux.Name(s.WorkItem.Slug()), Mark: tmuxtest.Mark(), Key: "another", Argv: []string{"/bin/sleep", "600"},
	}); err != nil {
		t.Fatal(err)
	}
	out := h.Deliver(t.Context(), h.handover(s, true, "hello"))
	if out.Kind != loop.RunUnreached || !strings.Contains(out.Detail, "remove it: tmux -S") {
		t.Errorf("%s: %s", out.Kind, out.Detail)
	}
	if _, err := h.End(t.Context(), s, loop.Wish{}); err != nil {
		t.Error(err)
	}
	panes, err := h.server.Probe(t.Context())
	if err != nil || len(panes) != 1 || panes[0].Dead {
		t.Errorf("the occupant did not stay as it was: %+v, %v", panes, err)
	}
}

func TestSilentServerStopsEverything(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	pane := h.pane(s)
	server := parentOf(t, pane.PID)
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(server, syscall.SIGCONT) }()
	if r := h.Ready(t.Context(), s); r.Wait != loop.WaitTerminal {
		t.Errorf("the session is %q: %s", r.Wait, r.Detail)
	}
	if _, err := h.End(t.Context(), s, loop.Wish{}); err == nil {
		t.Error("a session was ended in a terminal that nobody knows anything of")
	}
	if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.reads(s, "")
	if now := h.pane(s); now.PID != pane.PID || now.Dead {
		t.Errorf("the pane was %+v and is %+v", pane, now)
	}
}

func TestEndOfASession(t *testing.T) {
	t.Parallel()
	busy := loop.Wish{OnlyBusy: true}
	for name, c := range map[string]struct {
		change func(*runner.TerminalSettings)
		wish   loop.Wish
		prompt string
		want   loop.Termination
		state  tmux.State
	}{
		"kept":                                {nil, loop.Wish{}, "hello", loop.Termination{Found: true, Retained: "x"}, tmux.Dead},
		"not kept":                            {func(s *runner.TerminalSettings) { s.KeepOnClose = false }, loop.Wish{}, "hello", loop.Termination{Found: true}, tmux.Absent},
		"not kept by wish":                    {nil, loop.Wish{Terminal: loop.TerminalKill}, "hello", loop.Termination{Found: true}, tmux.Absent},
		"kept by wish":                        {func(s *runner.TerminalSettings) { s.KeepOnClose = false }, loop.Wish{Terminal: loop.TerminalKeep}, "hello", loop.Termination{Found: true, Retained: "x"}, tmux.Dead},
		"kept, though ends by itself are not": {func(s *runner.TerminalSettings) { s.RemainOnExit = false }, loop.Wish{}, "hello", loop.Termination{Found: true, Retained: "x"}, tmux.Dead},
		"left running":                        {func(s *runner.TerminalSettings) { s.EndOnClose = false }, loop.Wish{}, "hello", loop.Termination{Retained: "x"}, tmux.Live},
		"ignores TERM":                        {nil, loop.Wish{}, "[[agent deaf delay=60000]]", loop.Termination{Found: true, Killed: true, Retained: "x"}, tmux.Dead},
		"leaves children":                     {nil, loop.Wish{}, "[[agent brood]]", loop.Termination{Found: true, Killed: true, Retained: "x"}, tmux.Dead},
		"idle, and only busy ends":            {nil, busy, "hello", loop.Termination{}, tmux.Live},
		"busy, and only busy ends":            {nil, busy, "[[agent delay=60000]]", loop.Termination{Found: true, Retained: "x"}, tmux.Dead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			if c.change != nil {
				c.change(&h.settings)
			}
			s := h.session(15)
			h.delivers(s, true, c.prompt)
			if !strings.Contains(c.prompt, "delay") {
				h.reads(s, "")
			}
			pane := h.pane(s)
			tree := proc.Tree{Cookie: "LOOP_LAUNCH=" + pane.Launch}
			got, err := h.End(t.Context(), s, c.wish)
			if err != nil {
				t.Fatal(err)
			}
			if want := c.want; (got.Retained == "") != (want.Retained == "") || got.Found != want.Found || got.Killed != want.Killed {
				t.Errorf("it is told as %+v, want %+v", got, want)
			}
			if state, err := h.server.State(t.Context(), pane.Session, pane.Launch); err != nil || state != c.state {
				t.Errorf("the pane is %s (%v), want %s", state, err, c.state)
			}
			left, err := tree.Living()
			if err != nil || (len(left) > 0) != (c.state == tmux.Live) {
				t.Errorf("%d processes are left: %v", len(left), err)
			}
			if c.state != tmux.Live {
				if again, err := h.End(t.Context(), s, c.wish); err != nil || again.Found {
					t.Errorf("a second end found %+v, %v", again, err)
				}
			}
		})
	}
}

func TestRoomIsMadeByTheAgentThatIsIdleLongest(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house) { h.settings.MaxLive = 2 })
	first, second, third := h.session(1), h.session(2), h.session(3)
	for i, s := range []loop.Session{first, second} {
		h.delivers(s, true, "hello")
		h.reads(s, "")
		h.live.Report(loop.Report{
			Event: loop.HookStart, Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: h.Launched(s.WorkItem),
			At: time.Now().Add(time.Duration(i-60) * time.Second),
		})
	}
	h.queued = func(loop.WorkItem) bool { return true }
	if r := h.Ready(t.Context(), third); r.Wait != loop.WaitRoom {
		t.Fatalf("the third session is %q while something waits for both others", r.Wait)
	}
	h.queued = func(loop.WorkItem) bool { return false }
	h.reads(third, "")
	if !h.pane(first).Dead || h.pane(second).Dead {
		t.Error("not the agent that was idle longest was ended")
	}
	h.delivers(third, true, "hello")
	if r := h.Ready(t.Context(), first); r.Wait != "" && r.Wait != loop.WaitRoom {
		t.Errorf("the first session is %q: %s", r.Wait, r.Detail)
	}
}

func TestTranscriptOfATerminal(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "say something")
	h.reads(s, "")
	read := func() string {
		var b strings.Builder
		if err := h.Transcript(t.Context(), s, false, func(text string) error { b.WriteString(text); return nil }); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text := read(); !strings.Contains(text, "terminal, live") || !strings.Contains(text, "the stand-in") {
		t.Errorf("of a live terminal:\n%s", text)
	}
	if _, err := h.End(t.Context(), s, loop.Wish{Terminal: loop.TerminalKill}); err != nil {
		t.Fatal(err)
	}
	if text := read(); strings.Contains(text, "terminal, live") || !strings.Contains(text, "the stand-in") {
		t.Errorf("of a closed one:\n%s", text)
	}
	if n, err := h.PruneTerminals(t.Context(), 20, 0); err != nil || n != 1 {
		t.Errorf("%d things pruned, %v; want the transcript", n, err)
	}
}

func TestPaneExecSaysWhyItCannotStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	s.Cwd = filepath.Join(h.dir, "gone")
	if out := h.Deliver(t.Context(), h.handover(s, true, "hello")); out.Kind != loop.RunUnreached || !strings.Contains(out.Detail, "gone") {
		t.Errorf("%s: %s", out.Kind, out.Detail)
	}
	left, err := os.ReadDir(filepath.Join(h.dir, "panes", "launch"))
	if err != nil || len(left) != 0 {
		t.Errorf("%d launches are left, %v", len(left), err)
	}
}

// parentOf returns the parent of a process.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Skip("the parent of a process is only looked up in /proc: ", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

func TestPaneWhoseRecordIsLostIsTakenUpByItsMarks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	pid := h.pane(s).PID
	if err := os.RemoveAll(filepath.Join(h.dir, "panes")); err != nil {
		t.Fatal(err)
	}
	h.delivers(s, false, "the second")
	if now := h.pane(s); now.PID != pid {
		t.Errorf("the second prompt went to process %d, not to %d", now.PID, pid)
	}
	if got, err := h.End(t.Context(), s, loop.Wish{}); err != nil || !got.Found {
		t.Errorf("the end of the session found %+v, %v", got, err)
	}
}

func TestAgentIsNotForgottenWhileTmuxIsMissing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "hello")
	missing := errors.New("tmux 3.2 or newer is required")
	hosts := runner.NewHosts(nil, filepath.Join(h.dir, "panes"), func() (*runner.Tmux, error) { return nil, missing })
	if _, err := hosts.End(t.Context(), s, loop.Wish{}); !errors.Is(err, missing) {
		t.Errorf("a close that can end nothing says %v", err)
	}
	if r := hosts.Ready(t.Context(), s); r.Wait != loop.WaitTerminal {
		t.Errorf("events wait for %q, want for tmux", r.Wait)
	}
	if _, err := h.End(t.Context(), s, loop.Wish{}); err != nil {
		t.Fatal(err)
	}
	if got, err := hosts.End(t.Context(), s, loop.Wish{}); err != nil || got.Found {
		t.Errorf("when the agent is gone: %+v, %v", got, err)
	}
}

func TestDeathInTheMiddleOfATurnIsTold(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "hello")
	h.reads(s, "")
	h.live.Report(loop.Report{
		Event: loop.HookStart, Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: h.Launched(s.WorkItem),
	})
	h.live.Report(loop.Report{
		Event: loop.HookPrompt, Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: h.Launched(s.WorkItem),
	})
	if err := syscall.Kill(h.pane(s).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the entry in the log", func() bool { return h.told(loop.LogHarnessTerminated) == 1 })
}
