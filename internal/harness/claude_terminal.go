package harness

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

// Claude Code has a terminal UI.
var _ Terminal = (*claude)(nil)

// With these Claude Code goes elsewhere than into the pane, or shows a screen that can't be read.
var claudeNoTerminal = []string{
	"--bg", "--background", "--cloud", "--desktop", "--teleport", "--environment", "--tmux", "-w", "--worktree", "--ax-screen-reader",
}

// claudeStays keeps a conversation in its pane. Otherwise the arrow key to the left is enough to move it, under another id,
// to a daemon of Claude Code's own, which outlives the pane.
const claudeStays = "CLAUDE_CODE_DISABLE_AGENT_VIEW=1"

// claudeScrolling has it draw on the main screen, so that what it showed can be read when it has ended, whatever ended it.
const claudeScrolling = "CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN=1"

// Open has the configured arguments last, where one that takes several values swallows nothing of ours.
func (c *claude) Open(t Turn, fresh bool, settings string) (Command, error) {
	if err := c.checkTerminal(t, claudeNoTerminal); err != nil {
		return Command{}, err
	}
	args := []string{"--resume", string(t.ID)}
	if fresh {
		if _, err := uuid.Parse(string(t.ID)); err != nil {
			return Command{}, fmt.Errorf("claude can't start %s as %q, which is no UUID: %w", t.Item, t.ID, loop.ErrInvalid)
		}
		args[0] = "--session-id"
	}
	configured, err := c.terminalArgs(t.Cwd, settings)
	if err != nil {
		return Command{}, err
	}
	return c.open(t, append(args, configured...), claudeStays, claudeScrolling)
}
