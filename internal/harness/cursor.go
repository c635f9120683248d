package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

const (
	cursorName    = "cursor"
	cursorProgram = "cursor-agent"
)

// Cursor's own part of the allow-list.
var cursorEnv = []string{"CURSOR_API_KEY", "CURSOR_CONFIG_DIR", "CURSOR_DATA_DIR"}

// What Loop decides at every start, or what would keep a conversation from being found again.
var cursorOwnFlags = []string{
	"-p", "--print", "--resume", "--continue", "--output-format", "--stream-partial-output", "--workspace", "-w", "--worktree",
	"-c", "--cloud", "-b", "--background", "--",
}

// cursor is Cursor's cursor-agent without a terminal: one process for each prompt. It is safe for concurrent use: nothing in
// it changes.
type cursor struct {
	program
}

func newCursor(p Program, o Options) (*cursor, error) {
	base, err := newProgram(program{
		name: cursorName, env: newEnviron(o, p.Env, cursorEnv),
		install: "install it as cursor.com/cli says, or set harness.cursor.command to where it is",
	}, cursorProgram, p, cursorOwnFlags)
	return &cursor{base}, err
}

func (c *cursor) MintID() loop.SessionID { return loop.SessionID(uuid.NewString()) }

// Start resumes an id that there is not yet: cursor-agent begins a chat under it.
func (c *cursor) Start(t Turn) (Command, error) {
	if _, err := uuid.Parse(string(t.ID)); err != nil {
		return Command{}, fmt.Errorf("cursor can't start %s as %q, which is no UUID: %w", t.Item, t.ID, loop.ErrInvalid)
	}
	return c.turn(t)
}

// Resume looks into cursor-agent's store first, which would otherwise begin another chat and say nothing.
func (c *cursor) Resume(t Turn) (Command, error) {
	cmd, err := c.turn(t)
	if err == nil && !c.knows(t.ID) {
		return Command{}, fmt.Errorf("cursor has no chat %s in %q: %w", t.ID, c.stores(), loop.ErrNotFound)
	}
	return cmd, err
}

// turn builds the command line. The prompt is an argument, the only way that every version of the program takes.
func (c *cursor) turn(t Turn) (Command, error) {
	if err := t.checkAll(); err != nil {
		return Command{}, err
	}
	text, err := c.asArgument(t)
	if err != nil {
		return Command{}, err
	}
	cmd, err := c.run(t, slices.Concat([]string{"-p", "--resume", string(t.ID), "--output-format", "json"}, c.args, []string{"--", text}))
	cmd.Stdin = ""
	return cmd, err
}

// stores are the folders in which the program may keep its chats.
func (c *cursor) stores() []string {
	var dirs []string
	vars := c.env.vars
	for _, dir := range []string{vars["CURSOR_DATA_DIR"], vars["CURSOR_CONFIG_DIR"]} {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	if dir := vars["XDG_CONFIG_HOME"]; dir != "" {
		dirs = append(dirs, filepath.Join(dir, "cursor"))
	}
	if dir := vars["HOME"]; dir != "" {
		dirs = append(dirs, filepath.Join(dir, ".cursor"))
	}
	return dirs
}

// knows reports whether there is a chat of that id, which has been checked: as a store or as a transcript, whatever the folder
// that it was begun in.
func (c *cursor) knows(id loop.SessionID) bool {
	for _, dir := range c.stores() {
		if within(filepath.Join(dir, "chats"), string(id), "store.db") ||
			within(filepath.Join(dir, "projects"), "agent-transcripts", string(id)) ||
			within(filepath.Join(dir, "projects"), "agent-transcripts", string(id)+".jsonl") {
			return true
		}
	}
	return false
}

// within reports whether one of the folders in dir holds the path.
func within(dir string, path ...string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		_, err := os.Stat(filepath.Join(append([]string{dir, e.Name()}, path...)...))
		return err == nil
	})
}
