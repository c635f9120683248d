package main_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/app"
	"github.com/loop-daemon/loop/internal/cli"
	demo "github.com/loop-daemon/loop/internal/demo"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// patience is how long a test waits for something that is to happen. It is long because machines are shared.
const patience = 8 * time.Minute

// TestMain lets this binary be each of the programs, by the name that it is started under, so that nothing has to be built.
func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); {
	case claudetest.IsClaude(os.Args):
		os.Exit(claudetest.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	case name == "loopd":
		os.Exit(app.Main(context.Background(), app.Process()))
	case name == "loopctl":
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	case name == "demo":
		os.Exit(demo.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// machine is where a demonstration runs: programs, a home, a folder for what is temporary.
type machine struct {
	t    *testing.T
	dir  string
	path string // an entry of the environment that no other process has, and that everything inherits
	env  []string
}

// systemPath has what scripts need, and no claude.
const systemPath = "/usr/bin:/bin"

func newMachine(t *testing.T, path string) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "loop-d-") //nolint:usetesting // a short path: there will be a socket in it
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: dir}
	t.Cleanup(func() {
		if _, err := m.tree().Kill(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	for _, name := range []string{"bin", "home", "tmp"} {
		if err := os.Mkdir(m.in(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"demo", "loopd", "loopctl"} {
		if err := linkOrCopy(self, m.in("bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	m.path = "PATH=" + m.in("bin") + ":" + path
	m.env = []string{"HOME=" + m.in("home"), "TMPDIR=" + m.in("tmp"), m.path}
	return m
}

// linkOrCopy makes a program of another name, which a symbolic link would not be: loopd starts itself.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o700)
}

func (m *machine) in(names ...string) string {
	return filepath.Join(append([]string{m.dir}, names...)...)
}

// tree is all that was started here.
func (m *machine) tree() proc.Tree { return proc.Tree{Cookie: m.path} }

// program makes a program a shell script.
func (m *machine) program(name, script string) {
	m.t.Helper()
	if err := os.Remove(m.in("bin", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.in("bin", name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		m.t.Fatal(err)
	}
}

// demo runs a demonstration to its end, wants an exit status, and nothing left behind.
func (m *machine) demo(status int, args ...string) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	out, err := proc.Run(ctx, proc.Cmd{Path: m.in("bin", "demo"), Args: append([]string{"--bin", m.in("bin")}, args...), Env: m.env, Dir: m.dir})
	code := 0
	if failed, ok := errors.AsType[*proc.ExitError](err); ok {
		code = failed.Code
	} else if err != nil {
		m.t.Fatal(err)
	}
	text := string(out.Stdout) + string(out.Stderr)
	if code != status {
		m.t.Errorf("exit status %d, want %d:\n%s", code, status, text)
	}
	m.clean()
	return text
}

// clean wants no process and no file of the demonstration to be left.
func (m *machine) clean() {
	m.t.Helper()
	if living, err := m.tree().Living(); err != nil || len(living) > 0 {
		m.t.Errorf("processes are left: %v %v", living, err)
	}
	for _, name := range []string{"tmp", "home"} {
		files, err := os.ReadDir(m.in(name))
		if err != nil || len(files) > 0 {
			m.t.Errorf("files are left in %s: %v %v", name, files, err)
		}
	}
}

func wantIn(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func needTmux(t *testing.T) {
	t.Helper()
	if _, err := proc.LookPath("tmux", []string{"PATH=" + systemPath}); err != nil {
		t.Skip("needs tmux: ", err)
	}
}

func TestEveryPromiseIsKept(t *testing.T) {
	t.Parallel()
	needTmux(t)
	out := newMachine(t, systemPath).demo(0)
	wantIn(t, out,
		"claude -p --resume ", "claude -p --session-id ", "<<<github-data", "Fake answer to turn 5",
		"202 done duplicate", "dropped, unauthorized-actor", "401 X-Hub-Signature-256", "kill -9 ", "loopctl deliveries list",
		"=== terminal, live", "● Fake answer to turn 1", "$ loopctl attach acme/shop#17\n", "✓ the very process that the label started",
		"✓ it was told once, and no key was typed for it", "● Fake answer to turn 2", "✓ what its terminal showed",
		"loopctl sessions list --status all", "33 promises were kept",
	)
	if strings.Contains(out, "\x1b") || strings.Contains(out, "✗") {
		t.Errorf("there is colour without a terminal, or a broken promise, in:\n%s", out)
	}
}

func TestWithoutTmuxTheRestIsShown(t *testing.T) {
	t.Parallel()
	m := newMachine(t, systemPath)
	m.program("tmux", "echo tmux 3.1")
	out := m.demo(0)
	wantIn(t, out, "Agents in terminals are left out: tmux 3.2 or newer is required (found: 3.1)", "24 promises were kept")
	if strings.Contains(out, "loopctl attach") {
		t.Errorf("a terminal is shown that cannot be:\n%s", out)
	}
}

func TestABrokenPromiseFails(t *testing.T) {
	t.Parallel()
	m := newMachine(t, systemPath)
	if err := linkOrCopy(m.in("bin", "loopd"), m.in("loopd")); err != nil {
		t.Fatal(err)
	}
	m.program("loopd", `sed 's/"ana"/"ana", "mallory"/' "$LOOP_CONFIG" >"$LOOP_CONFIG.new" && mv "$LOOP_CONFIG.new" "$LOOP_CONFIG"
exec `+m.in("loopd"))
	wantIn(t, m.demo(1), "✗ mallory is not in authorized_users", "The demonstration failed: in step 4")
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		script string // in the place of loopd
		args   []string
		status int
		want   string
	}{
		{"loopd that ends at once", "echo out of luck >&2; exit 3", nil, 1, "out of luck"},
		{"programs", "", []string{"--bin", "/nonexistent"}, 1, "make build"},
		{"claude", "", []string{"--harness", "claude"}, 1, "npm install -g @anthropic-ai/claude-code"},
		{"another harness", "", []string{"--harness", "codex"}, 2, "HARNESS=claude"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, systemPath)
			if c.script != "" {
				m.program("loopd", c.script)
			}
			wantIn(t, m.demo(c.status, c.args...), c.want)
		})
	}
}

// A person who has seen enough presses Ctrl-C: at the worst moments, when loopd is gone and the harness works on, and when an agent
// lives in a terminal.
func TestAnInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, moment := range map[string]string{"while loopd is dead": "kill -9 ", "in a terminal": "=== terminal, live"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needTmux(t)
			interrupt(t, moment)
		})
	}
}

// interrupt ends a demonstration when it has come to say something.
func interrupt(t *testing.T, moment string) {
	t.Helper()
	m := newMachine(t, systemPath)
	out, err := os.Create(m.in("out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	child, err := proc.Start(proc.Program{Path: m.in("bin", "demo"), Args: []string{"--bin", m.in("bin")}, Env: m.env, Dir: m.dir, Stdout: out, Stderr: out})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for said := ""; !strings.Contains(said, moment); said = m.read("out") {
		if ctx.Err() != nil || !proc.Alive(child.ID()) {
			t.Fatalf("it came to no %q:\n%s", moment, said)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := proc.Signal(child.ID(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	exit, err := child.Wait(ctx)
	if err != nil || exit != (proc.Exit{Code: 1}) {
		t.Errorf("it ended with %+v, %v", exit, err)
	}
	wantIn(t, m.read("out"), "it was ended: interrupt")
	m.clean()
}

func (m *machine) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.in(name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

// The real Claude Code shows the same, as far as it is asked to.
func TestRealClaudeShowsIt(t *testing.T) {
	t.Parallel()
	command := os.Getenv("LOOP_CLAUDE")
	if command == "" {
		t.Skip("LOOP_CLAUDE is not the path of a real claude; make e2e-claude installs one and sets it")
	}
	m := newMachine(t, os.Getenv("PATH"))
	if err := os.Symlink(command, m.in("bin", "claude")); err != nil {
		t.Fatal(err)
	}
	api := claudetest.NewAPI(claudetest.Behavior{})
	t.Cleanup(api.Close)
	for name, value := range api.Env() {
		m.env = append(m.env, name+"="+value)
	}
	m.env = append(m.env, "CLAUDE_CONFIG_DIR="+m.in("login"))
	out := m.demo(0, "--harness", "claude")
	wantIn(t, out, "three short turns", "Agents in terminals are left out", "Fake side answer", "promises were kept")
	var turns []int
	for _, r := range api.Requests() {
		turns = append(turns, r.Turns)
		if !r.Side { // it has tools, then
			t.Errorf("it was given tools for %q", r.Prompt)
		}
	}
	if diff := cmp.Diff([]int{1, 2, 1}, turns); diff != "" {
		t.Errorf("turns of the two conversations (-want +got):\n%s", diff)
	}
}
