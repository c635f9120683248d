package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// actor is who plays the harness.
type actor struct {
	real    bool
	version string // what the real one says that it is
}

// findActor returns the demo harness, which needs nothing, or the Claude Code that is on the PATH.
func findActor(ctx context.Context, real bool) (actor, error) {
	if !real {
		return actor{version: "a small program of the demonstration's own that answers as Claude Code does"}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := proc.Run(ctx, proc.Cmd{Path: "claude", Args: []string{"--version"}, Env: theirs()})
	switch {
	case errors.Is(err, proc.ErrNoProgram):
		return actor{}, errors.New("claude, the command of Claude Code, is not on your PATH\n" +
			"get it with:    npm install -g @anthropic-ai/claude-code\n" +
			"log in with:    claude\n" +
			"or see all of it without an account, with: make demo")
	case err != nil:
		return actor{}, fmt.Errorf("ask claude for its version: %w", err)
	}
	version, _, _ := strings.Cut(string(out.Stdout), " ")
	return actor{real: true, version: "Claude Code " + version + ", with your login"}, nil
}

// theirs is the person's environment without what would lead to a loopd of their own.
func theirs() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "LOOP_") })
}

// What a login may rest on beside what Loop hands to Claude Code anyway: docs/harnesses.md has such a line in harness.claude.env.
var loginEnv = []string{
	"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
	"AWS_*", "GOOGLE_*", "CLOUD_ML_REGION", "DISABLE_*",
}

// program is how the harness is started on a stage.
func (a actor) program(dir string) (harness.Program, error) {
	if a.real {
		env := map[string]string{}
		for _, kv := range theirs() {
			name, value, _ := strings.Cut(kv, "=")
			if slices.ContainsFunc(loginEnv, func(p string) bool { ok, _ := path.Match(p, name); return ok }) {
				env[name] = value
			}
		}
		// Whatever the person allows it elsewhere, here it only talks.
		return harness.Program{Command: "claude", Args: []string{"--strict-mcp-config", "--tools", ""}, Env: env}, nil
	}
	conversations := filepath.Join(dir, "conversations")
	if err := os.Mkdir(conversations, 0o700); err != nil {
		return harness.Program{}, err
	}
	command, err := claudetest.Install(dir)
	if err != nil {
		return harness.Program{}, err
	}
	return harness.Program{Command: command, Env: map[string]string{
		claudetest.EnvRecord: filepath.Join(dir, recordFile), claudetest.EnvState: conversations,
	}}, nil
}

// recordFile is where the demo harness writes down what it was given.
const recordFile = "given.jsonl"

// turn is what the harness was given for one prompt, and what it answered.
type turn struct {
	Args   []string `json:"args"`
	Dir    string   `json:"cwd"`
	Prompt string   `json:"-"`
	Answer string   `json:"-"`
}

// begin has a person's own conversation with the harness begin, as in a terminal.
func (s *stage) begin(ctx context.Context, item loop.WorkItem, prompt string) (loop.SessionID, turn, error) {
	id := s.agent.MintID()
	cmd, err := s.agent.Start(harness.Turn{Item: item, ID: id, Cwd: s.work, Prompt: prompt})
	if err != nil {
		return "", turn{}, err
	}
	out, err := proc.Run(ctx, proc.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: strings.NewReader(cmd.Stdin)})
	exit := harness.Exit{Stdout: out.Stdout, Stderr: out.Stderr, At: time.Now()}
	if failed, ok := errors.AsType[*proc.ExitError](err); ok {
		exit.Code, exit.Signal = failed.Code, failed.Signal
	} else if err != nil {
		return "", turn{}, err
	}
	switch o := s.agent.Read(exit); {
	case o.Reason == loop.HeldNotLoggedIn:
		return "", turn{}, fmt.Errorf("claude is not logged in (%s)\nstart claude in a terminal and log in, then try again; "+
			"or see all of it without an account, with: make demo", o.Detail)
	case o.Kind != loop.RunDone:
		return "", turn{}, fmt.Errorf("claude did not answer: %s %s", o.Reason, o.Detail)
	}
	return id, turn{Args: cmd.Args, Dir: cmd.Dir, Prompt: prompt, Answer: s.agent.Text(out.Stdout)}, nil
}

// turnOf reads a run from its folder, and from what the demo harness wrote down itself.
func (s *stage) turnOf(run string) (turn, error) {
	dir := filepath.Join(s.state, "runs", run)
	var t turn
	launch, err := os.ReadFile(filepath.Join(dir, "launch.json"))
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(launch, &t); err != nil {
		return t, fmt.Errorf("read the run %s: %w", run, err)
	}
	prompt, err := os.ReadFile(filepath.Join(dir, "prompt.txt"))
	if err != nil {
		return t, err
	}
	stdout, err := os.ReadFile(filepath.Join(dir, "stdout"))
	if err != nil {
		return t, err
	}
	t.Prompt, t.Answer = string(prompt), s.agent.Text(stdout)
	if s.actor.real {
		return t, nil
	}
	given, err := s.given()
	if err != nil {
		return t, err
	}
	last := given[len(given)-1]
	t.Args, t.Dir, t.Prompt = last.Args, last.Dir, last.Prompt
	return t, nil
}

// given is what the demo harness was given so far.
func (s *stage) given() ([]claudetest.Run, error) {
	return claudetest.ReadRuns(filepath.Join(s.dir, recordFile))
}
