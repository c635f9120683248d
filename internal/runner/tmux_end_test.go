package runner_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

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
		"is given no time":                    {func(s *runner.TerminalSettings) { s.Grace = 0 }, loop.Wish{}, "[[agent deaf delay=60000]]", loop.Termination{Found: true, Killed: true, Retained: "x"}, tmux.Dead},
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

// A person may have switched off that panes stay: the record of a close stays all the same.
func TestThePaneStaysWhateverAPersonHasSet(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"-w", "-p"} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			s := h.session(15)
			h.delivers(s, true, "hello")
			pane := h.pane(s)
			h.person("set-option", scope, "-t", pane.ID, "remain-on-exit", "off")
			if got, err := h.End(t.Context(), s, loop.Wish{}); err != nil || got.Retained == "" {
				t.Errorf("it is told as %+v, %v", got, err)
			}
			if state, err := h.server.State(t.Context(), pane.Session, pane.Launch); err != nil || state != tmux.Dead {
				t.Errorf("the pane is %s (%v), want it to stay", state, err)
			}
		})
	}
}

func TestRunningTurnMayGoOnForSoLong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string
		settle time.Duration
		want   string // how its turn ended
	}{
		"long enough": {"[[agent delay=8000]] slowly", 3 * time.Minute, "done"},
		"not at all":  {"[[agent delay=60000]] slowly", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			s := h.session(15)
			h.delivers(s, true, c.prompt)
			h.reads(s, loop.WaitBusy)
			if got, err := h.End(t.Context(), s, loop.Wish{Settle: c.settle}); err != nil || !got.Found {
				t.Fatalf("%+v, %v", got, err)
			}
			runs, err := agenttest.ReadRuns(filepath.Join(h.dir, "record"))
			if err != nil {
				t.Fatal(err)
			}
			last := runs[len(runs)-1]
			var got strings.Builder
			for _, act := range last.Did(agenttest.ActAnswer) {
				got.WriteString(act.How)
			}
			if got.String() != c.want {
				t.Errorf("its turn ended %q, want %q: %+v", got.String(), c.want, last.Acts)
			}
		})
	}
}

func TestEndOfOneSessionLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one, two := h.session(1), h.session(2)
	for _, s := range []loop.Session{one, two} {
		h.delivers(s, true, "[[agent brood]]")
		h.reads(s, "")
	}
	before := h.family(h.Launched(two.WorkItem))
	if len(before) < 2 {
		t.Fatalf("an agent with children is %v: this test tests nothing", before)
	}
	if _, err := h.End(t.Context(), one, loop.Wish{}); err != nil {
		t.Fatal(err)
	}
	if left := h.family(h.Launched(one.WorkItem)); len(left) > 0 {
		t.Errorf("%v are left of the first", left)
	}
	if diff := cmp.Diff(before, h.family(h.Launched(two.WorkItem)), cmpopts.SortSlices(func(a, b proc.Identity) bool { return a.PID < b.PID })); diff != "" {
		t.Errorf("the second's family has changed: %s", diff)
	}
}

// What has no parent any more, and is in a session of its own, is known by its mark alone.
func TestEndOfASessionReachesADaemonOfItsAgent(t *testing.T) {
	t.Parallel()
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Skip("nothing here starts a program in a session of its own: ", err)
	}
	h := newHouse(t, changing(func(cmd *harness.Command) {
		cmd.Args = append([]string{"-c", `(trap "" TERM HUP; ` + setsid + ` sleep 600 &); exec "$0" "$@"`, cmd.Path}, cmd.Args...)
		cmd.Path = "/bin/sh"
	}))
	s := h.session(15)
	h.delivers(s, true, "hello")
	mark := h.Launched(s.WorkItem)
	if got := h.family(mark); len(got) != 2 {
		t.Fatalf("the agent and its daemon are %v: this test tests nothing", got)
	}
	if got, err := h.End(t.Context(), s, loop.Wish{}); err != nil || !got.Found || !got.Killed {
		t.Errorf("its end told %+v, %v", got, err)
	}
	if left := h.family(mark); len(left) > 0 {
		t.Errorf("%v are left", left)
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

func TestAgentIsNotForgottenWhileTmuxIsMissing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "hello")
	missing := errors.New("tmux 3.2 or newer is required")
	hosts := runner.NewHosts(runner.HostsOptions{
		Panes: filepath.Join(h.dir, "panes"), Live: h.live, Agents: noAgent, Terminals: func() (*runner.Tmux, error) { return nil, missing },
	})
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
