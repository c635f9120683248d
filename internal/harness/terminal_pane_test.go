package harness_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// The stand-in shows what the real program shows.
func TestTerminal(t *testing.T) {
	t.Parallel()
	home := shortDir(t)
	file, err := agenttest.Install(t.TempDir(), "claude")
	if err != nil {
		t.Fatal(err)
	}
	testTerminal(t, file, home, map[string]string{
		agenttest.EnvState: t.TempDir(), agenttest.EnvRecord: filepath.Join(home, "record"),
	})
}

func TestRealTerminal(t *testing.T) {
	t.Parallel()
	command := os.Getenv("LOOP_CLAUDE")
	if command == "" {
		t.Skip("LOOP_CLAUDE is not the path of a real claude; make e2e-claude installs one and sets it")
	}
	api := claudetest.NewAPI(claudetest.Behavior{})
	t.Cleanup(api.Close)
	testTerminal(t, command, shortDir(t), api.Env())
}

// testTerminal drives a program through what a terminal agent promises, in the order in which a host goes: no dialog at the
// start, an input line, a prompt that is seen, heard and answered, a running turn, and a dialog that is not an input line.
func testTerminal(t *testing.T, command, home string, env map[string]string) {
	t.Helper()
	maps.Copy(env, map[string]string{"HOME": home, "TMPDIR": home, "TERM": "tmux-256color", "PATH": os.Getenv("PATH")})
	c := agent(t, harness.Options{Agents: map[string]harness.Program{"claude": {Command: command, Env: env}}}).(harness.Terminal)
	dir := filepath.Join(home, "shop")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if changed, err := c.Trust(dir); !changed || err != nil {
		t.Fatalf("trust: %v, %v", changed, err)
	}
	id := c.MintID()
	cmd, err := c.Open(harness.Turn{Item: item, ID: id, Cwd: dir}, true, "")
	if err != nil {
		t.Fatal(err)
	}
	p := newPane(t, home, cmd, c)
	p.await("an input line", func(s harness.Screen) bool { return s == composer })

	const token = "[loop 20261130-120000-001-abc234]"
	p.enter(token + " GitHub: comment on acme/shop#15")
	p.await("an answer", func(s harness.Screen) bool {
		heard, err := c.Heard(id, token)
		return heard && err == nil && s == composer
	})
	p.enter("slow [[claude delay=1500]]")
	p.await("a running turn", func(s harness.Screen) bool { return s.Composer && s.Busy })
	p.await("its end", func(s harness.Screen) bool { return s == composer })
	p.enter(`make it [[claude ask=Bash tool=Bash {"command":"touch made"}]]`) // the stand-in asks where it is told to
	p.await("a dialog", func(s harness.Screen) bool { return strings.Contains(s.Dialog, "Do you want to proceed?") })
	p.paste("\x1b")
	p.await("an input line", func(s harness.Screen) bool { return s.Composer })
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the command was run")
	}
}

// shortDir is short enough to hold a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pane") //nolint:usetesting // t.TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pane is a terminal of a tmux server of its own.
type pane struct {
	t      *testing.T
	socket string
	agent  harness.Terminal
}

func newPane(t *testing.T, home string, cmd harness.Command, agent harness.Terminal) *pane {
	t.Helper()
	if _, err := proc.Run(t.Context(), proc.Cmd{Path: "tmux", Args: []string{"-V"}}); err != nil {
		t.Skip("needs tmux: ", err)
	}
	p := &pane{t: t, socket: filepath.Join(home, "tmux"), agent: agent}
	cookie := "LOOP_LAUNCH=" + filepath.Base(home)
	p.tmux("", slices.Concat([]string{
		"new-session", "-d", "-x", "200", "-y", "50", "-c", cmd.Dir, "--", "env", "-i", cookie,
	}, cmd.Env, []string{cmd.Path}, cmd.Args)...)
	pid, err := strconv.Atoi(strings.TrimSpace(p.tmux("", "display-message", "-p", "#{pid}")))
	if err != nil {
		t.Fatal(err)
	}
	server, err := proc.Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = proc.Tree{Cookie: cookie}.Kill()
		_ = proc.Signal(server, syscall.SIGKILL)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		_ = proc.Wait(ctx, server)
	})
	return p
}

func (p *pane) tmux(stdin string, args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), 20*time.Second)
	defer cancel()
	out, err := proc.Run(ctx, proc.Cmd{
		Path: "tmux", Args: append([]string{"-u", "-S", p.socket, "-f", os.DevNull}, args...),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(p.socket)}, Stdin: strings.NewReader(stdin),
	})
	if err != nil {
		p.t.Fatalf("tmux %q: %v: %s", args[0], err, out.Stderr)
	}
	return string(out.Stdout)
}

// await waits for a screen.
func (p *pane) await(what string, came func(harness.Screen) bool) {
	p.t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		text := p.tmux("", "capture-pane", "-p", "-J")
		if s := p.agent.Screen(text); came(s) {
			return
		} else if time.Now().After(end) {
			p.t.Fatalf("waited for %s, and saw %+v:\n%s", what, s, text)
		}
	}
}

// paste puts text into the terminal: more than one key as a paste, one key as it is.
func (p *pane) paste(text string) {
	p.t.Helper()
	args := []string{"load-buffer", "-b", "p", "-", ";", "paste-buffer", "-r", "-d", "-b", "p"}
	if len(text) > 1 {
		args = append(args, "-p")
	}
	p.tmux(text, args...)
}

// settle is how long the program wants to hear nothing after a paste: it drops an Enter that comes sooner.
const settle = 200 * time.Millisecond

// enter pastes a prompt of one line, sees it, and submits it.
func (p *pane) enter(prompt string) {
	p.t.Helper()
	p.paste(prompt)
	p.await("the prompt", func(s harness.Screen) bool { return s.Draft == prompt })
	time.Sleep(settle)
	p.paste("\r")
	p.await("the prompt to be taken", func(s harness.Screen) bool { return s.Draft != prompt })
}
