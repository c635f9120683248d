package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// house is a Tmux on a real tmux server, with stand-ins for Claude Code in its panes. A test plays their hooks.
type house struct {
	*runner.Tmux

	t        *testing.T
	dir      string
	server   *tmux.Server
	live     *session.Live
	settings runner.TerminalSettings
	queued   func(loop.WorkItem) bool
	agent    func(harness.Terminal) harness.Agent // what the agent is, if not the stand-in
	tmux     []func(*tmux.Options)
	options  runner.TmuxOptions
	stop     func()

	mu  sync.Mutex
	log []loop.LogEvent
}

func newHouse(t *testing.T, change ...func(*house)) *house {
	t.Helper()
	h := &house{
		t: t, dir: t.TempDir(), live: session.NewLive(), queued: func(loop.WorkItem) bool { return false },
		settings: runner.TerminalSettings{KeepOnClose: true, RemainOnExit: true, EndOnClose: true, Grace: time.Second, MaxLive: 8, Trust: true},
	}
	for _, c := range change {
		c(h)
	}
	h.server = tmuxtest.New(t, h.tmux...)
	h.open()
	t.Cleanup(func() { h.stop() })
	return h
}

// open makes the Tmux and runs it, as each loopd does.
func (h *house) open() {
	h.t.Helper()
	o, err := hosting(h.dir, h.server, h.agent)
	if err != nil {
		h.t.Fatal(err)
	}
	o.Settings, o.Live, o.Log = func(string) runner.TerminalSettings { return h.settings }, h.live, h.logged
	o.Queued, o.Logger = func(w loop.WorkItem) bool { return h.queued(w) }, slog.New(slog.NewTextHandler(h.t.Output(), nil))
	h.options = o
	if h.Tmux, err = runner.NewTmux(o); err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	h.stop = func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("Run: %v", err)
		}
		h.stop = func() {}
	}
}

// hosting is what every loopd on a folder is told: where all is, and that the agent is a stand-in for Claude Code, or another that
// is made of it.
func hosting(dir string, server *tmux.Server, agent func(harness.Terminal) harness.Agent) (runner.TmuxOptions, error) {
	bin, state := filepath.Join(dir, "bin"), filepath.Join(dir, "state")
	command := filepath.Join(bin, "claude")
	if err := errors.Join(os.MkdirAll(bin, 0o700), os.MkdirAll(state, 0o700)); err != nil {
		return runner.TmuxOptions{}, err
	}
	if _, err := os.Lstat(command); err != nil {
		if _, err := agenttest.Install(bin, "claude"); err != nil {
			return runner.TmuxOptions{}, err
		}
	}
	agents, err := harness.New(harness.Options{
		Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")},
		Agents: map[string]harness.Program{"claude": {Command: command, Env: map[string]string{
			agenttest.EnvRecord: filepath.Join(dir, "record"), agenttest.EnvState: state,
		}}},
	})
	if err != nil {
		return runner.TmuxOptions{}, err
	}
	return runner.TmuxOptions{
		Server: server, Dir: filepath.Join(dir, "panes"), Runs: filepath.Join(dir, "runs"), Transcripts: filepath.Join(dir, "transcripts"),
		Exec: []string{executable(), "pane-exec"},
		Agents: func(name string) (harness.Agent, error) {
			found, err := agents.Agent(name)
			if term, ok := found.(harness.Terminal); ok && agent != nil {
				return agent(term), nil
			}
			return found, err
		},
	}, nil
}

func (h *house) logged(_ context.Context, ev loop.LogEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, ev)
}

// told counts the entries of a type.
func (h *house) told(kind loop.LogType) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ev := range h.log {
		if ev.Type == kind {
			n++
		}
	}
	return n
}

// session is one of an item of acme/shop, which loopd made.
func (h *house) session(n int) loop.Session {
	h.t.Helper()
	w, err := loop.NewWorkItem("", "acme", "shop", n)
	if err != nil {
		h.t.Fatal(err)
	}
	cwd := filepath.Join(h.dir, "work")
	if err := os.MkdirAll(cwd, 0o700); err != nil {
		h.t.Fatal(err)
	}
	return loop.Session{
		WorkItem: w, Harness: "claude", HarnessSessionID: loop.SessionID(uuid.NewString()), Cwd: cwd, Runner: loop.RunnerTmux,
		Status: loop.StatusActive, CreatedAt: time.Now().Add(-time.Minute), Spawned: true,
	}
}

// met is a session that has had a prompt already, so that the next may come by its hook.
func met(s loop.Session) loop.Session {
	now := time.Now()
	s.LastEventAt = &now
	return s
}

// handover is a prompt for a session; fresh begins its conversation.
func (h *house) handover(s loop.Session, fresh bool, prompt string) loop.Handover {
	id := loop.RunID(time.Now().UTC().Format("20060102-150405") + "-000-" + strings.ToLower(tmuxtest.Mark()[:6]))
	return loop.Handover{Run: id, Session: s, Fresh: fresh, Title: "a test", Prompt: prompt, Timeout: time.Minute}
}

// delivers hands a prompt over and wants it done.
func (h *house) delivers(s loop.Session, fresh bool, prompt string) {
	h.t.Helper()
	if err := h.insists(h.Tmux, s, fresh, prompt); err != nil {
		h.t.Fatal(err)
	}
}

// insists delivers a prompt by one of several hosts as dispatch does, again when it was deferred.
func (h *house) insists(host *runner.Tmux, s loop.Session, fresh bool, prompt string) error {
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out := host.Deliver(h.t.Context(), h.handover(s, fresh, prompt))
		switch {
		case out.Kind == loop.RunDone:
			return nil
		case out.Kind != loop.RunDeferred || time.Now().After(end):
			return fmt.Errorf("%.100q is %s (%s): %s", prompt, out.Kind, out.Reason, out.Detail)
		}
	}
}

// pane is the pane of a session as tmux has it.
func (h *house) pane(s loop.Session) tmux.Pane {
	h.t.Helper()
	panes, err := h.server.Probe(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	p, ok := panes.Find(h.Launched(s.WorkItem))
	if !ok {
		h.t.Fatalf("no pane of %s among %+v", s.WorkItem, panes)
	}
	return p
}

// person runs tmux as a person would.
func (h *house) person(args ...string) string {
	h.t.Helper()
	return tmuxtest.Run(h.t, h.server, "", args...)
}

// family is what lives of a launch.
func (h *house) family(mark string) []proc.Identity {
	h.t.Helper()
	living, err := proc.Tree{Cookie: "LOOP_LAUNCH=" + mark}.Living()
	if err != nil {
		h.t.Fatal(err)
	}
	return living
}

// prompts are what the agents took, in order.
func (h *house) prompts() (texts []string) {
	runs, err := agenttest.ReadRuns(filepath.Join(h.dir, "record"))
	if err != nil {
		return nil
	}
	for _, r := range runs {
		for _, act := range r.Acts {
			if act.What == agenttest.ActTurn {
				texts = append(texts, act.Text)
			}
		}
	}
	return texts
}

// waker waits in a session's pane as its wake hook does, and returns what it is handed.
func (h *house) waker(s loop.Session) <-chan loop.Wake {
	handed := make(chan loop.Wake, 1)
	h.live.Report(loop.Report{Event: loop.HookStart, Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: h.Launched(s.WorkItem)})
	go func() {
		wake, ok := h.live.Wait(h.t.Context(), session.Waiter{
			Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: h.Launched(s.WorkItem),
		})
		if ok {
			handed <- wake
		}
		close(handed)
	}()
	tmuxtest.Eventually(h.t, "the waker", func() bool { p, _ := h.live.Presence(s.WorkItem); return p.Waker })
	return handed
}
