package harness

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

const claudeName = "claude"

// Claude Code's own part of the allow-list. Its CLAUDE_CODE_ variables are not in it: those of a session that loopd was
// started from would make the new one believe that it is a part of the old.
var claudeEnv = []string{"ANTHROPIC_*", "CLAUDE_CONFIG_DIR"}

// What Loop decides at every start, or what would keep a conversation from being found again.
var claudeOwnFlags = []string{
	"-p", "--print", "-r", "--resume", "-c", "--continue", "--session-id", "--fork-session", "--from-pr",
	"--output-format", "--input-format", "--no-session-persistence", "--",
}

// claude is Claude Code without a terminal: one process for each prompt. It is safe for concurrent use: nothing in it
// changes.
type claude struct {
	program
}

func newClaude(p Program, o Options) (*claude, error) {
	base, err := newProgram(program{
		name: claudeName, env: newEnviron(o, p.Env, claudeEnv),
		install: `install it with "npm install -g @anthropic-ai/claude-code", or set harness.claude.command to where it is`,
	}, claudeName, p, claudeOwnFlags)
	return &claude{base}, err
}

func (c *claude) MintID() loop.SessionID { return loop.SessionID(uuid.NewString()) }

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
	if err := t.checkAll(); err != nil {
		return Command{}, err
	}
	return c.run(t, append([]string{"-p", conversation, string(t.ID), "--output-format", "json"}, c.args...))
}
