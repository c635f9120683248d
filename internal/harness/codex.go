package harness

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

const codexName = "codex"

// Codex's own part of the allow-list. Its other CODEX_ variables tell a program that it runs inside of Codex.
var codexEnv = []string{"CODEX_HOME", "CODEX_API_KEY", "OPENAI_*"}

// What Loop decides at every start, or what would keep a conversation from being found again.
var codexOwnFlags = []string{
	"--json", "--experimental-json", "--last", "--all", "--ephemeral", "-C", "--cd", "--worktree", "--remote", "-", "--",
}

// codex is OpenAI's Codex without a terminal: one process for each prompt. It names its conversations itself, in the first
// line that it prints. It is safe for concurrent use: nothing in it changes.
type codex struct {
	program
}

func newCodex(p Program, o Options) (*codex, error) {
	base, err := newProgram(program{
		name: codexName, env: newEnviron(o, p.Env, codexEnv),
		install: `install it with "npm install -g @openai/codex", or set harness.codex.command to where it is`,
	}, codexName, p, codexOwnFlags)
	return &codex{base}, err
}

func (c *codex) MintID() loop.SessionID { return "" }

func (c *codex) Start(t Turn) (Command, error) {
	if err := t.check(); err != nil {
		return Command{}, err
	}
	return c.turn(t)
}

// Resume wants a UUID: codex takes names too, but for one that it does not know it begins another conversation and says
// nothing.
func (c *codex) Resume(t Turn) (Command, error) {
	if err := t.checkAll(); err != nil {
		return Command{}, err
	}
	if _, err := uuid.Parse(string(t.ID)); err != nil {
		return Command{}, fmt.Errorf("codex can't resume %q for %s: it is no UUID, such as codex prints as thread_id: %w", t.ID, t.Item, loop.ErrInvalid)
	}
	return c.turn(t, "resume", string(t.ID))
}

// turn builds the command line. The configured arguments stand before the subcommand: some of them, such as --sandbox, are
// not taken behind it. The last - makes codex read the prompt from its standard input.
func (c *codex) turn(t Turn, conversation ...string) (Command, error) {
	return c.run(t, slices.Concat([]string{"exec"}, c.args, []string{"--json"}, conversation, []string{"-"}))
}
