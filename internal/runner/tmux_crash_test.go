package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// typist is a loopd that types one prompt into a terminal that is open already.
type typist struct {
	Dir, Home, Tmux string
	Run             loop.RunID
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
	o.Settings = func(string) runner.TerminalSettings { return runner.TerminalSettings{MaxLive: 1} }
	o.Live, o.Log, o.Queued = session.NewLive(), func(context.Context, loop.LogEvent) {}, func(loop.WorkItem) bool { return false }
	o.Logger = slog.New(slog.DiscardHandler)
	host, err := runner.NewTmux(o)
	if err != nil {
		return err
	}
	out := host.Deliver(context.Background(), loop.Handover{Run: y.Run, Session: y.Session, Title: y.Title, Prompt: y.Prompt})
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
			dir, ho := t.TempDir(), st.handover(s, false, "the second\nwhole")
			y := typist{
				Dir: st.house.dir, Home: tmuxtest.Home(st.server), Tmux: filepath.Join(dir, "tmux"),
				Run: ho.Run, Session: s, Title: ho.Title, Prompt: ho.Prompt,
			}
			tmuxtest.Command(t, y.Tmux, `case "$*" in *load-buffer*) echo >> '`+dir+`/n';; esac
n=0; [ -e '`+dir+`/n' ] && n=$(wc -l < '`+dir+`/n')
`+fmt.Sprintf(kill, st.server.Binary()))
			spec, err := json.Marshal(y)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), executable(), "typist", string(spec))
			said, err := cmd.CombinedOutput()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
				t.Fatalf("loopd was not killed: %v, %s", err, said)
			}

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
