package harness_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// The stand-in shows what the real program shows.
func TestTerminal(t *testing.T) {
	t.Parallel()
	file, err := agenttest.Install(t.TempDir(), "claude")
	if err != nil {
		t.Fatal(err)
	}
	testTerminal(t, file, map[string]string{agenttest.EnvState: t.TempDir(), agenttest.EnvRecord: filepath.Join(t.TempDir(), "record")})
}

func TestRealTerminal(t *testing.T) {
	t.Parallel()
	command := os.Getenv("LOOP_CLAUDE")
	if command == "" {
		t.Skip("LOOP_CLAUDE is not the path of a real claude; make e2e-claude installs one and sets it")
	}
	api := claudetest.NewAPI(claudetest.Behavior{})
	t.Cleanup(api.Close)
	testTerminal(t, command, api.Env())
}

// testTerminal drives a program through what a terminal agent promises, in the order in which a host goes: no dialog at the
// start, an input line, a prompt that is seen, heard and answered, a running turn, and a dialog that is not an input line.
func testTerminal(t *testing.T, command string, env map[string]string) {
	t.Helper()
	server := tmuxtest.New(t)
	home := tmuxtest.Home(server)
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
	p := newPane(t, server, cmd, c)
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

// pane is a terminal of a tmux server of its own.
type pane struct {
	t      *testing.T
	server *tmux.Server
	agent  harness.Terminal
}

func newPane(t *testing.T, server *tmux.Server, cmd harness.Command, agent harness.Terminal) *pane {
	t.Helper()
	p := &pane{t: t, server: server, agent: agent}
	if err := server.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.tmux("", slices.Concat([]string{"new-session", "-d", "-x", "200", "-y", "50", "-c", cmd.Dir, "--", "env", "-i"}, cmd.Env, []string{cmd.Path}, cmd.Args)...)
	return p
}

func (p *pane) tmux(stdin string, args ...string) string {
	p.t.Helper()
	return tmuxtest.Run(p.t, p.server, stdin, args...)
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
