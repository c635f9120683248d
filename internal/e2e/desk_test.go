package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
)

// desk is a world in which a person sits at terminals of their own, on the branch of acme/shop#15 and with the hooks installed. The
// terminals are those of a tmux of the person's, which loopd knows nothing of; its sessions are headless.
type desk struct{ terminals }

func newDesk(t *testing.T, more string) desk {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("needs tmux: ", err)
	}
	w := desk{terminals{newWorld(t, ""), "", true}}
	w.socket = filepath.Join(w.dir, "t", "s")
	known := filepath.Join(w.dir, "known")
	for _, dir := range []string{known, filepath.Dir(w.socket)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.configure("max_runs_per_hour = 100\n" + more + "\n[harness.claude.env]\n" + agenttest.EnvState + ` = "` + known + "\"\n")
	w.env = append(w.env, agenttest.EnvState+"="+known, claudetest.EnvRecord+"="+filepath.Join(w.dir, "runs.jsonl"))
	w.git("init", "-q", "-b", "issue-15-door")
	w.git("remote", "add", "origin", "git@github.com:acme/shop.git")
	w.file(filepath.Join(w.home, ".claude.json"),
		fmt.Sprintf(`{"hasCompletedOnboarding": true, "projects": {%q: {"hasTrustDialogAccepted": true}}}`, w.work))
	w.must("hooks", "install", "claude")
	t.Cleanup(w.end)
	return w
}

// git runs a command of git in the folder that sessions work in.
func (w desk) git(args ...string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Env, cmd.Dir = w.env, w.work
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (w desk) file(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// opens starts claude in a terminal of a name, and returns once its input line is there.
func (w desk) opens(name string, args ...string) {
	w.t.Helper()
	argv := append([]string{"new-session", "-d", "-x", "120", "-y", "40", "-s", name, "-c", w.work, "--", "claude", "--permission-mode", "manual"}, args...)
	w.tmux(argv...)
	w.tmux("set-option", "-t", name, "remain-on-exit", "on")
	w.await("the input line of "+name, func() bool { return strings.Contains(w.sees(name), "? for shortcuts") })
}

// sees returns what a terminal shows.
func (w desk) sees(name string) string {
	w.t.Helper()
	return w.tmux("capture-pane", "-p", "-t", "="+name+":")
}

// types presses keys in a terminal, then enter.
func (w desk) types(name, text string) {
	w.t.Helper()
	w.tmux("send-keys", "-t", "="+name+":", "-l", text)
	w.await("what was typed", func() bool { return strings.Contains(w.sees(name), text) })
	w.tmux("send-keys", "-t", "="+name+":", "Enter")
}

// kill ends the program in a terminal without a word.
func (w desk) kill(name string) {
	w.t.Helper()
	pid, err := strconv.Atoi(w.tmux("display-message", "-p", "-t", "="+name+":", "#{pane_pid}"))
	if err != nil || pid <= 1 {
		w.t.Fatalf("the program of %s: %d, %v", name, pid, err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// sits waits until the conversation of acme/shop#15 is registered, live and idle with a hook that waits, and returns its id.
func (w desk) sits() string {
	w.t.Helper()
	w.await("a conversation that can be woken", func() bool {
		p := w.presence()
		return p != nil && p.Turn == "idle" && p.WakeHook && p.PID != 0
	})
	return w.session(slug(15)).HarnessSessionID
}

// headless returns the runs that loopd has started.
func (w desk) headless() (runs []claudetest.Run) {
	w.t.Helper()
	for _, run := range w.runs() {
		if strings.Contains(" "+strings.Join(run.Args, " ")+" ", " -p ") {
			runs = append(runs, run)
		}
	}
	return runs
}

// none wants loopd to have started no run.
func (w desk) none() {
	w.t.Helper()
	if runs := w.headless(); len(runs) != 0 {
		w.t.Errorf("loopd ran %+v beside a live conversation", runs)
	}
}

// quiet lets enough time pass for what should not happen. It is no proof, but what is wrong shows now and then.
func quiet() { time.Sleep(300 * time.Millisecond) }
