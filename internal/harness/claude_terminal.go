package harness

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

// With these Claude Code goes elsewhere than into the pane, or shows a screen that can't be read.
var claudeNoTerminal = []string{
	"--bg", "--background", "--cloud", "--desktop", "--teleport", "--environment", "--tmux", "-w", "--worktree", "--ax-screen-reader",
}

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
	if settings != "" {
		args = append(args, "--settings", settings)
	}
	return c.open(t, append(args, c.args...))
}
