package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
)

const (
	startLimit = 30 * time.Second // for loopd to be ready, and for an answer of loopctl
	stopLimit  = 15 * time.Second // for loopd to stop by itself
	askPause   = 50 * time.Millisecond
)

// stage is a machine of its own within this one: a folder that holds all that there is, and a loopd.
type stage struct {
	actor actor
	agent harness.Agent
	bin   string

	dir    string // short, because a socket is in it
	work   string // where the harness works
	state  string
	socket string
	secret []byte
	env    []string
	mark   string // an entry of env that no other process has, and that all that runs here inherits

	noTerminals error // why there are none here

	loopd *proc.Child // nil while none runs
	url   string      // of its receiver
}

// newStage makes the folder and the configuration. It starts nothing; strike takes it away.
func newStage(ctx context.Context, bin string, a actor) (*stage, error) {
	dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	s := &stage{
		actor: a, dir: dir, work: filepath.Join(dir, "shop"), state: filepath.Join(dir, "state"),
		socket: filepath.Join(dir, "loopd.sock"), secret: []byte(rand.Text()),
	}
	if err := s.build(bin); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.noTerminals = s.lookForTmux(ctx)
	return s, nil
}

// lookForTmux says why no agent can live in a terminal here.
func (s *stage) lookForTmux(ctx context.Context) error {
	if s.actor.real {
		return errors.New("a folder that is gone afterwards would have to be trusted in Claude Code's own configuration")
	}
	_, err := tmux.New(ctx, tmux.Options{Dir: filepath.Join(s.state, "tmux"), Environ: s.env})
	return err
}

// tempDir makes a folder whose path leaves room for a socket, and holds no links: programs report where they work without them.
func tempDir() (string, error) {
	base := os.TempDir()
	if len(base) > 50 {
		base = "/tmp"
	}
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(base, "loop-demo-")
}

func (s *stage) build(bin string) error {
	var err error
	if s.bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	home := filepath.Join(s.dir, "home")
	for _, dir := range []string{s.work, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	s.mark = "HOME=" + home // which is all that tmux hands on
	s.env = []string{s.mark, "PATH=" + os.Getenv("PATH")}
	if s.actor.real {
		s.mark = "LOOP_SOCKET=" + s.socket
		s.env = theirs()
	}
	s.env = append(s.env, "TMPDIR="+s.dir, "LOOP_CONFIG="+s.config(), "LOOP_SOCKET="+s.socket)
	program, err := s.actor.program(s.dir)
	if err != nil {
		return err
	}
	agents, err := harness.New(harness.Options{Socket: s.socket, Environ: s.env, Agents: map[string]harness.Program{"claude": program}})
	if err != nil {
		return err
	}
	if s.agent, err = agents.Agent("claude"); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "secret"), s.secret, 0o600); err != nil {
		return err
	}
	return os.WriteFile(s.config(), s.settings(program), 0o600)
}

// edit replaces a line of the configuration, in one step: loopd reads it whenever it changes.
func (s *stage) edit(line, by string) error {
	text, err := os.ReadFile(s.config())
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return atomicfile.Write(root, filepath.Base(s.config()), bytes.Replace(text, []byte(line), []byte(by), 1), 0o600)
}

func (s *stage) config() string { return filepath.Join(s.dir, "loop.toml") }

// settings is the configuration. JSON's strings are TOML's too.
func (s *stage) settings(p harness.Program) []byte {
	var b bytes.Buffer
	quoted := func(v any) []byte { text, _ := json.Marshal(v); return text } // strings alone
	fmt.Fprintf(&b, `[daemon]
state_dir = %s
[webhook]
listen = "127.0.0.1:0"
secret_file = "secret"
[github]
token_env = "LOOP_NO_TOKEN" # it is never set: the person's own token must not post on a repository of somebody else
[routing]
authorized_users = ["ana"]
runner = "headless"
spawn_on_unmatched = "labeled"
spawn_workdir = %s
join_seconds = 0
close_settle_seconds = 1
dispatch_timeout_seconds = 180
max_attempts = 1
[harness.claude]
command = %s
args = %s
[harness.claude.env]
`, quoted(s.state), quoted(s.work), quoted(p.Command), quoted(append([]string{}, p.Args...)))
	for name, value := range p.Env {
		fmt.Fprintf(&b, "%s = %s\n", quoted(name), quoted(value))
	}
	return b.Bytes()
}

// start starts loopd and waits until it takes deliveries.
func (s *stage) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it was not ready within %s", startLimit))
	defer cancel()
	log, err := os.OpenFile(filepath.Join(s.dir, "loopd.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.loopd, err = proc.Start(proc.Program{Path: filepath.Join(s.bin, "loopd"), Env: s.env, Dir: s.dir, Stdout: log, Stderr: log})
	if err != nil {
		return fmt.Errorf("%w: run make build first", err)
	}
	for {
		var status struct{ WebhookURL string }
		asked := s.ask(ctx, &status, "status")
		switch {
		case asked == nil:
			s.url = status.WebhookURL
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("start loopd: %w: %w%s", context.Cause(ctx), asked, s.logTail())
		case !proc.Alive(s.loopd.ID()):
			return fmt.Errorf("start loopd: it ended at once%s", s.logTail())
		}
		pause(ctx)
	}
}

// kill ends loopd as a crash would. What it has started goes on.
func (s *stage) kill() error {
	if err := proc.Signal(s.loopd.ID(), syscall.SIGKILL); err != nil {
		return err
	}
	s.loopd.Reap()
	s.loopd = nil
	return nil
}

// strike ends whatever runs on the stage, even in the middle of things, and removes the folder.
func (s *stage) strike(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var loopdErr error
	if s.loopd != nil {
		if _, loopdErr = (proc.Tree{Root: s.loopd.ID(), Group: s.loopd.ID().PID}).End(ctx, stopLimit); loopdErr == nil {
			s.loopd.Reap()
			s.loopd = nil
		}
	}
	// Runs and terminals outlive the loopd that they were started by, but they have inherited this.
	_, restErr := proc.Tree{Cookie: s.mark}.End(ctx, stopLimit)
	return errors.Join(loopdErr, restErr, os.RemoveAll(s.dir))
}

// loopctl runs a command of the client and returns what it printed.
func (s *stage) loopctl(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no answer within %s", startLimit))
	defer cancel()
	out, err := proc.Run(ctx, proc.Cmd{Path: filepath.Join(s.bin, "loopctl"), Args: args, Env: s.env, Dir: s.work})
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", shellLine("loopctl", args), err, bytes.TrimSpace(out.Stderr))
	}
	return string(out.Stdout), nil
}

// ask is loopctl for its JSON.
func (s *stage) ask(ctx context.Context, into any, args ...string) error {
	out, err := s.loopctl(ctx, append(args, "-o", "json")...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		return fmt.Errorf("read the JSON of %s: %w", shellLine("loopctl", args), err)
	}
	return nil
}

// logTail is the end of loopd's log, for a failure's account.
func (s *stage) logTail() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "loopd.log"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "\nloopd's log ends with:\n" + strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// pause lets a moment pass between two looks at something that is to happen.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(askPause):
	}
}

// shellLine shows a command as a person would type it.
func shellLine(program string, args []string) string {
	words := []string{program}
	for _, arg := range args {
		if arg == "" || strings.ContainsAny(arg, " '") {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
