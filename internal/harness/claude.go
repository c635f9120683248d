package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

const claudeName = "claude"

// Claude Code's own part of the allow-list. Its CLAUDE_CODE_ variables are not in it: those of a session that loopd was
// started from would make the new one believe that it is a part of the old.
var claudeEnv = []string{"ANTHROPIC_*", "CLAUDE_CONFIG_DIR"}

// What Loop decides at every start, or what would keep a conversation from being found again. A configured argument that
// says the same would contradict it.
var claudeOwnFlags = []string{
	"-p", "--print", "-r", "--resume", "-c", "--continue", "--session-id", "--fork-session", "--from-pr",
	"--output-format", "--input-format", "--no-session-persistence", "--",
}

// claude is Claude Code without a terminal: one process for each prompt. It is safe for concurrent use: nothing in it
// changes.
type claude struct {
	command string
	args    []string
	env     environ
}

func newClaude(p Program, env environ) (*claude, error) {
	for _, arg := range p.Args {
		flag, _, _ := strings.Cut(arg, "=")
		if slices.Contains(claudeOwnFlags, flag) {
			return nil, fmt.Errorf("harness.claude.args: %s is what Loop itself decides: %w", arg, loop.ErrInvalid)
		}
	}
	c := &claude{command: p.Command, args: slices.Clone(p.Args), env: env}
	if c.command == "" {
		c.command = claudeName
	}
	return c, nil
}

func (c *claude) Name() string { return claudeName }

func (c *claude) MintID() loop.SessionID { return loop.SessionID(uuid.NewString()) }

func (c *claude) Available() error {
	_, err := c.find()
	return err
}

func (c *claude) find() (string, error) {
	file, err := lookPath(c.command, c.env.path())
	if err != nil {
		return "", fmt.Errorf("claude can't be started: %w; install it with \"npm install -g @anthropic-ai/claude-code\", "+
			"or set harness.claude.command to where it is", err)
	}
	return file, nil
}

func (c *claude) Start(t Turn) (Command, error) {
	if _, err := uuid.Parse(string(t.ID)); err != nil {
		return Command{}, fmt.Errorf("claude can't start %s as %q, which is no UUID: %w", t.Item, t.ID, loop.ErrInvalid)
	}
	return c.turn(t, "--session-id")
}

func (c *claude) Resume(t Turn) (Command, error) { return c.turn(t, "--resume") }

// turn builds the command line. The configured arguments come last, where one that takes several values swallows nothing
// of ours.
func (c *claude) turn(t Turn, conversation string) (Command, error) {
	if err := t.check(); err != nil {
		return Command{}, err
	}
	file, err := c.find()
	if err != nil {
		return Command{}, err
	}
	args := []string{"-p", conversation, string(t.ID), "--output-format", "json"}
	return Command{
		Path:  file,
		Args:  append(args, c.args...),
		Env:   c.env.of(t.Item),
		Dir:   t.Cwd,
		Stdin: t.Prompt,
	}, nil
}
