package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// changed is an agent whose command line is not its own.
type changed struct {
	harness.Terminal

	change func(*harness.Command)
}

func (c changed) Open(t harness.Turn, fresh bool, settings string) (harness.Command, error) {
	cmd, err := c.Terminal.Open(t, fresh, settings)
	c.change(&cmd)
	return cmd, err
}

func changing(change func(*harness.Command)) func(*house) {
	return func(h *house) { h.agent = func(term harness.Terminal) harness.Agent { return changed{term, change} } }
}

func TestProgramGetsItsArgumentsAsTheyAre(t *testing.T) {
	t.Parallel()
	got := filepath.Join(t.TempDir(), "args")
	odd := []string{
		";", "a;", `a\;`, "'", `"`, "two\nlines", "#{pid}", "$HOME", "`id`", "", "~", "{}", "-t", "é", strings.Repeat("x", 100<<10),
	}
	h := newHouse(t, changing(func(cmd *harness.Command) {
		cmd.Path, cmd.Args = executable(), append([]string{"tell-args", got}, odd...)
	}))
	h.Deliver(t.Context(), h.handover(h.session(15), true, "hello")) // it ends at once
	text, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(odd, strings.Split(string(text), "\x00")); diff != "" {
		t.Error(diff)
	}
}

// tellArgs is a program that writes its arguments to a file.
func tellArgs(file string, args []string) int {
	if err := os.WriteFile(file, []byte(strings.Join(args, "\x00")), 0o600); err != nil {
		return 1
	}
	return 0
}

func TestProgramWorksInItsFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for name, cwd := range map[string]string{
		"as it is": real, "what tmux would expand": filepath.Join(dir, "#{pid} dir"), "a space and a semicolon": filepath.Join(dir, "a b;"), "a link": link,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			s := h.session(15)
			s.Cwd = cwd
			if err := os.MkdirAll(real, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(cwd, 0o700); err != nil {
				t.Fatal(err)
			}
			h.delivers(s, true, "hello")
			runs, err := agenttest.ReadRuns(filepath.Join(h.dir, "record"))
			if err != nil || len(runs) != 1 {
				t.Fatalf("%d runs, %v", len(runs), err)
			}
			want, err := os.Stat(cwd)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.Stat(runs[0].Dir); err != nil || !os.SameFile(got, want) {
				t.Errorf("it works in %s, %v, want %s", runs[0].Dir, err, cwd)
			}
		})
	}
}

func TestProgramThatCannotStartSaysWhyInItsPane(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*harness.Command)
		status int
		why    string
	}{
		"no program":    {func(cmd *harness.Command) { cmd.Path = "/no/such/agent" }, 127, "cannot start /no/such/agent: no such file"},
		"no executable": {func(cmd *harness.Command) { cmd.Path = os.DevNull }, 126, "cannot start " + os.DevNull + ": permission denied"},
		"no folder":     {func(cmd *harness.Command) { cmd.Dir = "/no/such/folder" }, 126, "working directory /no/such/folder"},
		"the end at once": {func(cmd *harness.Command) {
			cmd.Path, cmd.Args = "/bin/sh", []string{"-c", "echo no credit; sleep 0.5; exit 3"}
		}, 3, "no credit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, changing(tt.change))
			s := h.session(15)
			out := h.Deliver(t.Context(), h.handover(s, true, "hello"))
			if out.Kind != loop.RunUnreached || !strings.Contains(out.Detail, tt.why) {
				t.Errorf("%s: %s; want that it says %q", out.Kind, out.Detail, tt.why)
			}
			if p := h.pane(s); !p.Dead || p.Exit.Code != tt.status {
				t.Errorf("the pane is %+v, want it dead with status %d", p, tt.status)
			}
			left, err := os.ReadDir(filepath.Join(h.dir, "panes", "launch"))
			if err != nil || len(left) != 0 {
				t.Errorf("%d launches are left, %v", len(left), err)
			}
		})
	}
}

// A terminal that drops what it has not read at a program's end has read it when it answers.
func TestReasonIsWaitedForUntilItIsShown(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, executable(), "pane-exec", t.TempDir(), "none")
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tty.Close() }()
	asked := "\x1b[5n" // what the status is
	var got strings.Builder
	for b := make([]byte, 256); !strings.HasSuffix(got.String(), asked); {
		n, err := tty.Read(b)
		got.Write(b[:n])
		if err != nil {
			t.Fatalf("it ended unasked: %v, it has shown %q", err, got.String())
		}
	}
	if !strings.HasPrefix(got.String(), "loopd: cannot start") {
		t.Errorf("it has shown %q, want why it can't start first", got.String())
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait for the answer: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if _, err := tty.WriteString("\x1b[0n"); err != nil { // all is well
		t.Error(err)
	}
	if err := <-ended; cmd.ProcessState.ExitCode() != 126 {
		t.Errorf("it ended so: %v, want status 126", err)
	}
}

// A busy server hears of a program's end before it has read its last words, and drops them then: of so many it is a few.
func TestReasonIsShownByABusyServerToo(t *testing.T) {
	t.Parallel()
	server := tmuxtest.New(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 12 {
				shown, err := refusedIn(t, server, fmt.Sprintf("item-%d-%d", i, j))
				if err != nil || !strings.Contains(shown, "cannot start") {
					t.Errorf("start %d of %d: %v, it shows %q", j, i, err, strings.TrimSpace(shown))
				}
			}
		})
	}
	wg.Wait()
}

// refusedIn is what a pane shows in which nothing could be started.
func refusedIn(t *testing.T, server *tmux.Server, name string) (string, error) {
	t.Helper()
	p, err := server.Spawn(t.Context(), tmux.Launch{
		Session: tmux.Name(name), Mark: tmuxtest.Mark(), Key: name, Argv: []string{executable(), "pane-exec", t.TempDir(), "none"},
	})
	if err != nil {
		return "", err
	}
	for !p.Dead {
		panes, err := server.Probe(t.Context())
		at := slices.IndexFunc(panes, func(q tmux.Pane) bool { return q.ID == p.ID })
		if err != nil || at < 0 {
			return "", fmt.Errorf("pane %s of %d, %w", p.ID, len(panes), err)
		}
		p = panes[at]
	}
	var shown strings.Builder
	err = errors.Join(server.Transcript(t.Context(), p.Target(), &shown, 1<<10), server.RemoveSession(t.Context(), p.Target()))
	return shown.String(), err
}

func TestFolderThatIsGoneStartsNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	s.Cwd = filepath.Join(h.dir, "gone")
	if out := h.Deliver(t.Context(), h.handover(s, true, "hello")); out.Kind != loop.RunUnreached || !strings.Contains(out.Detail, "gone") {
		t.Errorf("%s: %s", out.Kind, out.Detail)
	}
	if panes, err := h.server.Probe(t.Context()); err != nil || len(panes) != 0 {
		t.Errorf("panes %+v, %v, want none", panes, err)
	}
}

// An agent can use tmux, but does not know of the server that it is in.
func TestAgentCannotEndTheServerThatItIsIn(t *testing.T) {
	t.Parallel()
	own := t.TempDir()
	h := newHouse(t, changing(func(cmd *harness.Command) {
		cmd.Path, cmd.Args = "/bin/sh", []string{"-c", `env; TMUX_TMPDIR=` + own + ` tmux kill-server; echo "it says $?"; exec cat`}
	}))
	s := h.session(15)
	ho := h.handover(s, true, "hello")
	ended := make(chan loop.Outcome, 1)
	go func() { ended <- h.Deliver(t.Context(), ho) }() // it never shows an input line
	var screen string
	tmuxtest.Eventually(t, "the agent's try", func() bool {
		panes, err := h.server.Probe(t.Context())
		if err != nil || len(panes) == 0 {
			return false
		}
		screen, err = h.server.Screen(t.Context(), panes[0].Target())
		return err == nil && strings.Contains(screen, "it says 1")
	})
	if state, err := h.server.State(t.Context(), tmux.Name(s.WorkItem.Slug()), h.Launched(s.WorkItem)); state != tmux.Live {
		t.Errorf("the agent is %s, %v", state, err)
	}
	lines := strings.Split(screen, "\n")
	if slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "TMUX=") || strings.HasPrefix(l, "TMUX_PANE=") }) {
		t.Errorf("it is told where it is:\n%s", screen)
	}
	if !strings.Contains(screen, "TERM=") || !strings.Contains(screen, "LOOP_LAUNCH="+h.Launched(s.WorkItem)) {
		t.Errorf("its environment is\n%s", screen)
	}
	if _, err := h.Terminate(t.Context(), ho.Run); err != nil {
		t.Error(err)
	}
	if _, err := h.End(t.Context(), s, loop.Wish{}); err != nil {
		t.Error(err)
	}
	<-ended
}
