package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/hooks"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// hookSettings is the noun hooks.
type hookSettings struct {
	Install   installHooks   `cmd:"" help:"Have a harness tell loopd of your sessions."`
	Uninstall uninstallHooks `cmd:"" help:"Take Loop's hooks out of a harness's settings."`
	Show      showHooks      `cmd:"" help:"Print Loop's hooks for a harness, and where they are installed."`
}

// hookPlace is a harness and one of the files that it looks for hooks in.
type hookPlace struct {
	Harness string  `arg:"" enum:"claude,codex,cursor" help:"The harness: claude, codex or cursor."`
	User    bool    `xor:"place" help:"In your own settings, for all that you do (the default)."`
	Project *string `xor:"place" placeholder:"DIR" help:"In the settings of the project in this folder."`
}

func (p hookPlace) file(who caller) (string, error) {
	if p.Project == nil {
		return hooks.User(p.Harness, who.getenv)
	}
	dir := *p.Project
	if dir == "" {
		return "", fmt.Errorf("--project names no folder: the variable that it comes from may not be set: %w", loop.ErrInvalid)
	}
	if rest, ok := strings.CutPrefix(dir, "~/"); ok { // after an equals sign a shell leaves it so
		dir = filepath.Join(who.getenv("HOME"), rest)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return "", fmt.Errorf("look for the project: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("the project %s is no folder: %w", dir, loop.ErrInvalid)
	}
	return hooks.Project(p.Harness, dir)
}

type installHooks struct {
	hookPlace

	CloseOnEnd bool `help:"Close the session of a work item when its conversation ends. Without it the next event goes on with the conversation."`
}

// Help is shown below the flags.
func (installHooks) Help() string {
	return `
What is in the file stays as it is, to the last blank, and a copy is kept beside it. Where all is right already nothing is
written. A file that does not parse is left alone. The hooks call this loopctl: install them again when it has moved.

Examples:

  loopctl hooks install claude
  loopctl hooks install codex --project ~/shop
`
}

type changeShape struct {
	Harness string   `json:"harness"`
	File    string   `json:"file"`
	Changed bool     `json:"changed"`
	Made    bool     `json:"made"`
	Removed bool     `json:"removed"`
	Backup  *string  `json:"backup"`
	Next    []string `json:"next"`
}

func changeOf(harness string, c hooks.Change, next []string) changeShape {
	return changeShape{harness, c.File, c.Changed, c.Made, c.Removed, orNull(c.Backup), append([]string{}, next...)}
}

// Run installs the hooks.
func (i installHooks) Run(ctx context.Context, out *printer, who caller) error {
	loopctl, err := who.loopctl()
	if err != nil {
		return err
	}
	fragment, err := hooks.For(i.Harness, loopctl, i.CloseOnEnd)
	if err != nil {
		return err
	}
	file, err := i.file(who)
	if err != nil {
		return err
	}
	if err := takesHooks(ctx, i.Harness, who, out); err != nil {
		return err
	}
	c, err := fragment.Install(file)
	if err != nil {
		return fmt.Errorf("install the hooks: %w", err)
	}
	if state, err := fragment.Look(c.File); err == nil {
		warnOfOff(state, out)
	}
	i.warnOfUsers(fragment, c.File, out, who)
	next := afterInstall[i.Harness]
	if out.json {
		return out.printJSON(changeOf(i.Harness, c, next), "  ")
	}
	return say(out, append(installed(c), next...))
}

// installed says what was done to a file.
func installed(c hooks.Change) []string {
	switch {
	case !c.Changed:
		return []string{"Loop's hooks are in " + c.File + " already: nothing was changed."}
	case c.Made:
		return []string{"Made " + c.File + " with Loop's hooks."}
	}
	return []string{"Put Loop's hooks into " + c.File + ".", "What it was before is in " + c.Backup + "."}
}

// afterInstall says what a person has to know or to do next.
var afterInstall = map[string][]string{
	"claude": {"Sessions of Claude Code that are started from now on have them."},
	"codex":  {"Next, run codex, enter /hooks and trust them: Codex says nothing of hooks that it does not trust, and skips them."},
	"cursor": {"Next, begin a session and see that loopctl sessions list shows it: Cursor says nothing of a file that it cannot use."},
}

func say(out *printer, lines []string) error {
	for _, line := range lines {
		if err := out.line("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// warnOfOff tells when settings keep hooks from running.
func warnOfOff(s hooks.State, out *printer) {
	if s.Off != "" {
		out.warn(fmt.Sprintf("%s has %q: true, so none of these hooks will run until that is removed", s.File, s.Off))
	}
}

// warnOfUsers tells when hooks of a project are in the user's settings too, or are kept from running there.
func (p hookPlace) warnOfUsers(f hooks.Fragment, installed string, out *printer, who caller) {
	if p.Project == nil {
		return
	}
	file, err := hooks.User(p.Harness, who.getenv)
	if err != nil {
		return
	}
	state, err := f.Look(file)
	if err != nil || state.File == installed {
		return
	}
	warnOfOff(state, out)
	if len(state.Loopctl) > 0 {
		out.warn("Loop's hooks are in " + state.File + " too, and would be called twice: uninstall one of them")
	}
}

const versionTimeout = 10 * time.Second

var claudeVersion = regexp.MustCompile(`^(\d+)\.(\d+)\.`)

// takesHooks refuses a harness that is too old: one event that it does not know and it drops the whole file, with all that the
// person has set.
func takesHooks(ctx context.Context, harness string, who caller, out *printer) error {
	if harness != "claude" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	env := append(os.Environ(), "PATH="+who.getenv("PATH"))
	res, err := proc.Run(ctx, proc.Cmd{Path: harness, Args: []string{"--version"}, Env: env})
	m := claudeVersion.FindSubmatch(res.Stdout)
	if err != nil || m == nil {
		out.warn("claude does not say which version it is: these hooks are for 2.1 and newer, an older one would drop the whole file")
		return nil
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	if major < 2 || major == 2 && minor < 1 {
		return fmt.Errorf("claude is of version %d.%d, and would drop all settings for a hook that it does not know; update it to 2.1 or newer: %w",
			major, minor, loop.ErrConflict)
	}
	return nil
}

// loopctl is the path by which hooks are to call this program: as it is found in the PATH, which outlives an update, where
// that is this very program.
func (c caller) loopctl() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find out where this loopctl is: %w", err)
	}
	path, err := proc.LookPath("loopctl", []string{"PATH=" + c.getenv("PATH")})
	if err == nil && sameFile(path, self) {
		return filepath.Abs(path)
	}
	if filepath.Base(self) != "loopctl" {
		return "", fmt.Errorf("this program is %s: hooks know Loop by the name of loopctl, give it that: %w", self, loop.ErrInvalid)
	}
	return self, nil
}

func sameFile(one, other string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}

type uninstallHooks struct{ hookPlace }

// Help is shown below the flags.
func (uninstallHooks) Help() string {
	return `
Loop's own entries are known by what they call: a loopctl, wherever it is. Everything else in the file stays as it is.

Example:

  loopctl hooks uninstall claude
`
}

// Run takes the hooks out.
func (u uninstallHooks) Run(out *printer, who caller) error {
	file, err := u.file(who)
	if err != nil {
		return err
	}
	c, err := hooks.Uninstall(file)
	if err != nil {
		return fmt.Errorf("uninstall the hooks: %w", err)
	}
	if out.json {
		return out.printJSON(changeOf(u.Harness, c, nil), "  ")
	}
	switch {
	case c.Removed:
		return out.line("Removed %s, which held Loop's hooks alone.", c.File)
	case c.Changed:
		return out.line("Took Loop's hooks out of %s. A session that runs may call them until it ends.", c.File)
	}
	return out.line("There are no hooks of Loop's in %s: nothing was changed.", c.File)
}

type showHooks struct{ hookPlace }

// Help is shown below the flags.
func (showHooks) Help() string {
	return `
With --project it shows the project's settings, else your own.

Example:

  loopctl hooks show claude
`
}

type hooksShape struct {
	Harness   string          `json:"harness"`
	File      string          `json:"file"`
	Installed bool            `json:"installed"`
	Current   bool            `json:"current"`
	Loopctl   []loopctlShape  `json:"loopctl"`
	Fragment  json.RawMessage `json:"fragment"`
}

type loopctlShape struct {
	Path   string `json:"path"`
	Exists bool   `json:"exists"`
}

// Run prints the hooks.
func (s showHooks) Run(out *printer, who caller) error {
	loopctl, err := who.loopctl()
	if err != nil {
		return err
	}
	file, err := s.file(who)
	if err != nil {
		return err
	}
	shape := hooksShape{Harness: s.Harness, Loopctl: []loopctlShape{}}
	for _, closes := range []bool{true, false} {
		fragment, err := hooks.For(s.Harness, loopctl, closes)
		if err != nil {
			return err
		}
		state, err := fragment.Look(file)
		if err != nil {
			return fmt.Errorf("look for the hooks: %w", err)
		}
		shape.File, shape.Installed, shape.Current = state.File, len(state.Loopctl) > 0, shape.Current || state.Right
		shape.Fragment = fragment.Text()
		if !closes {
			shape.Loopctl = append(shape.Loopctl, who.look(state.Loopctl)...)
			warnOfOff(state, out)
		}
	}
	return out.print(shape, shape.table)
}

// look says of each loopctl whether it is there.
func (c caller) look(paths []string) (all []loopctlShape) {
	for _, path := range paths {
		_, err := proc.LookPath(path, []string{"PATH=" + c.getenv("PATH")})
		all = append(all, loopctlShape{path, err == nil})
	}
	return all
}

func (h hooksShape) table(t *table) {
	state := "not installed"
	switch {
	case h.Current:
		state = "installed"
	case h.Installed:
		state = "installed, but not as this loopctl would: install them again"
	}
	t.field("file", h.File)
	t.field("state", state)
	for _, l := range h.Loopctl {
		path := l.Path
		if !l.Exists {
			path += ", which is not there: install them again"
		}
		t.field("calls", path)
	}
	t.blank()
	for line := range strings.Lines(string(h.Fragment)) {
		t.row(strings.TrimSuffix(line, "\n"))
	}
}
