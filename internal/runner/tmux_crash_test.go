package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// typist is a loopd that hands one prompt to a terminal by typing.
type typist struct {
	Dir, Home, Tmux string
	Run             loop.RunID
	Fresh           bool
	Session         loop.Session
	Title, Prompt   string
}

// typing is the life of a typist, which is to be killed before its end.
func typing(spec string) error {
	var y typist
	if err := json.Unmarshal([]byte(spec), &y); err != nil {
		return err
	}
	server, err := tmux.New(context.Background(), tmux.Options{
		Dir: filepath.Join(y.Home, "t"), Binary: y.Tmux, Environ: []string{"HOME=" + y.Home, "PATH=" + os.Getenv("PATH")},
	})
	if err != nil {
		return err
	}
	deaf := func(term harness.Terminal) harness.Agent { return unheard{term} }
	o, err := hosting(y.Dir, server, deaf)
	if err != nil {
		return err
	}
	o.Settings = func(string) runner.TerminalSettings { return runner.TerminalSettings{MaxLive: 1, Trust: true} }
	o.Live, o.Log, o.Queued = session.NewLive(), func(context.Context, loop.LogEvent) {}, func(loop.WorkItem) bool { return false }
	o.Logger = slog.New(slog.DiscardHandler)
	host, err := runner.NewTmux(o)
	if err != nil {
		return err
	}
	out := host.Deliver(context.Background(), loop.Handover{Run: y.Run, Fresh: y.Fresh, Session: y.Session, Title: y.Title, Prompt: y.Prompt})
	return fmt.Errorf("it lived to see that the prompt is %s (%s): %s", out.Kind, out.Reason, out.Detail)
}

// unheard is an agent that never says what it took.
type unheard struct{ harness.Terminal }

func (unheard) Heard(loop.SessionID, string) (bool, error) { return false, nil }

func TestLoopdKilledWhileItTypes(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]string{
		"before the first line": `case $n in 1) kill -9 $PPID; exit;; esac; exec %s "$@"`,
		"before the rest":       `case $n in 2) kill -9 $PPID; exit;; esac; exec %s "$@"`,
		"before the return":     `case $n in 3) kill -9 $PPID; exit;; esac; exec %s "$@"`,
		"after the return":      `%s "$@"; r=$?; case $n in 3) kill -9 $PPID;; esac; exit $r`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, tmuxtest.Composer{})
			s := st.session(15)
			st.delivers(s, true, "the first")
			st.reads(s, "")
			ho := st.handover(s, false, "the second\nwhole")
			st.killed(ho, `case "$*" in *load-buffer*) echo >> "$dir/n";; esac
n=0; [ -e "$dir/n" ] && n=$(wc -l < "$dir/n")
`+fmt.Sprintf(kill, st.server.Binary()))

			st.stop()
			st.open()
			switch out := st.Settle(t.Context(), loop.Handover{Run: ho.Run, Session: s}); out.Kind {
			case loop.RunDone:
			case loop.RunNever, loop.RunDeferred, loop.RunUnreached:
				if err := st.insists(st.Tmux, s, false, ho.Prompt); err != nil {
					t.Error(err)
				}
			default:
				t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
			}
			st.wantPrompts(s, "the first", "the second\nwhole")
		})
	}
}

// killed is a life of another loopd, which hands a prompt over and is killed by its tmux, of whose script dir is a folder.
func (h *house) killed(ho loop.Handover, script string) {
	h.t.Helper()
	dir := h.t.TempDir()
	y := typist{
		Dir: h.dir, Home: tmuxtest.Home(h.server), Tmux: filepath.Join(dir, "tmux"),
		Run: ho.Run, Fresh: ho.Fresh, Session: ho.Session, Title: ho.Title, Prompt: ho.Prompt,
	}
	tmuxtest.Command(h.t, y.Tmux, "dir='"+dir+"'\n"+script)
	spec, err := json.Marshal(y)
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.CommandContext(h.t.Context(), executable(), "typist", string(spec))
	said, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		h.t.Fatalf("loopd was not killed: %v, %s", err, said)
	}
}

// A dead pane that was to be used again is one of those that are kept so long.
func TestPaneThatWasToBeUsedAgainIsPruned(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	if err := syscall.Kill(h.pane(s).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the death", func() bool { return h.pane(s).Dead })
	h.stop()
	h.killed(h.handover(s, false, "the second"), `case "$*" in *respawn-pane*) kill -9 $PPID; exit;; esac; exec `+h.server.Binary()+` "$@"`)
	h.open()
	if n, err := h.PruneTerminals(t.Context(), 0, time.Hour); n != 1 || err != nil {
		t.Errorf("%d were pruned, %v, want the pane alone", n, err)
	}
}

func TestLoopdKilledWhileItOpensATerminal(t *testing.T) {
	t.Parallel()
	before, after := `case "$*" in *%[2]s*) kill -9 $PPID; exit;; esac; exec %[1]s "$@"`, `%[1]s "$@"; r=$?; case "$*" in *%[2]s*) kill -9 $PPID;; esac; exit $r`
	for name, c := range map[string]struct {
		kill, by string
		dead     bool // there is one whose agent has ended
	}{
		"before its session is made": {before, "new-session", false},
		"after its session is made":  {after, "new-session", false},
		"before it is used again":    {before, "respawn-pane", true},
		"after it is used again":     {after, "respawn-pane", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			s := h.session(15)
			want := []string{"the second"}
			if c.dead {
				h.delivers(s, true, "the first")
				h.reads(s, "")
				if err := syscall.Kill(h.pane(s).PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				tmuxtest.Eventually(t, "the death", func() bool { return h.pane(s).Dead })
				want = []string{"the first", "the second"}
			}
			h.stop()
			ho := h.handover(s, !c.dead, "the second")
			h.killed(ho, fmt.Sprintf(c.kill, h.server.Binary(), c.by))

			h.open()
			if out := h.Settle(t.Context(), loop.Handover{Run: ho.Run, Session: s}); out.Kind != loop.RunNever {
				t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
			}
			h.delivers(s, !c.dead, ho.Prompt)
			got := h.prompts()
			if len(got) != len(want) || !strings.HasSuffix(got[0], want[0]) || !strings.HasSuffix(got[len(got)-1], "the second") {
				t.Errorf("agents took %q, want prompts that end in %q", got, want)
			}
			if panes, err := h.server.Probe(t.Context()); err != nil || len(panes) != 1 || panes[0].Dead {
				t.Errorf("panes %+v, %v, want one that lives", panes, err)
			}
			if left, err := os.ReadDir(filepath.Join(h.dir, "panes", "launch")); err != nil || len(left) > 0 {
				t.Errorf("%d launches are left, %v", len(left), err)
			}
			if saved, err := filepath.Glob(filepath.Join(h.dir, "transcripts", "*", "*.txt")); err != nil || len(saved) != len(want)-1 {
				t.Errorf("transcripts %v, %v, want one of each launch that has ended", saved, err)
			}
		})
	}
}
