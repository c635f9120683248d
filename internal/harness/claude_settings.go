package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

const (
	settingsFlag = "--settings"
	modeFlag     = "--permission-mode"
	bypassFlag   = "--dangerously-skip-permissions"
	bypassMode   = "bypassPermissions"
)

// claudeSettings are the settings that the configured arguments bring, as far as Loop has to do with them.
type claudeSettings map[string]json.RawMessage

// terminalArgs returns the configured arguments for a terminal in dir, with the settings file of ours. Claude Code heeds only
// the last --settings, so those of the configuration and ours are made one. Without a word about permissions it is told the
// mode that it starts in without a terminal: left to itself it lets itself do more in one.
func (c *claude) terminalArgs(dir, ours string) ([]string, error) {
	rest, value := cutFlag(c.args, settingsFlag)
	var args []string
	theirs := claudeSettings{}
	if value != "" {
		if err := theirs.read(dir, value); err != nil {
			return nil, fmt.Errorf("harness.claude.args: %s: %w", settingsFlag, err)
		}
	}
	switch {
	case value == "" && ours != "":
		args = []string{settingsFlag, ours}
	case value != "" && ours == "":
		args = []string{settingsFlag, value}
	case value != "":
		both, err := theirs.with(ours)
		if err != nil {
			return nil, err
		}
		args = []string{settingsFlag, both}
	}
	if !hasFlag(rest, modeFlag) && !hasFlag(rest, bypassFlag) {
		args = append(args, modeFlag, c.usualMode(theirs))
	}
	return append(args, rest...), nil
}

// read adds what an argument holds, a file or the settings themselves.
func (s *claudeSettings) read(dir, value string) error {
	text := []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		if !filepath.IsAbs(value) {
			value = filepath.Join(dir, value)
		}
		var err error
		if text, err = os.ReadFile(value); err != nil {
			return fmt.Errorf("read settings: %w: %w", err, loop.ErrUnavailable)
		}
	}
	if err := json.Unmarshal(text, s); err != nil {
		return fmt.Errorf("settings %.80s: %w: %w", value, err, loop.ErrInvalid)
	}
	return nil
}

// with returns the settings and those of a file as one, in JSON: the hooks of both, and of the rest what stands here.
func (s *claudeSettings) with(file string) (string, error) {
	all := claudeSettings{}
	if err := all.read("/", file); err != nil {
		return "", err
	}
	hooks := map[string][]json.RawMessage{}
	for _, from := range []claudeSettings{all, *s} {
		var some map[string][]json.RawMessage
		if raw, ok := from["hooks"]; ok {
			if err := json.Unmarshal(raw, &some); err != nil {
				return "", fmt.Errorf("hooks in the settings: %w: %w", err, loop.ErrInvalid)
			}
		}
		for event, list := range some {
			hooks[event] = append(hooks[event], list...)
		}
	}
	maps.Copy(all, *s)
	if len(hooks) > 0 {
		raw, err := json.Marshal(hooks)
		if err != nil {
			return "", fmt.Errorf("join the settings: %w", err)
		}
		all["hooks"] = raw
	}
	text, err := json.Marshal(all)
	return string(text), err
}

var modeWord = regexp.MustCompile(`^[A-Za-z]{1,40}$`)

// mode returns the permission mode that the settings name, or "".
func (s *claudeSettings) mode() string {
	var permissions struct {
		Mode string `json:"defaultMode"`
	}
	if json.Unmarshal((*s)["permissions"], &permissions) != nil || !modeWord.MatchString(permissions.Mode) {
		return ""
	}
	return permissions.Mode
}

// usualMode returns the permission mode of a start that says nothing of it and has no terminal: what the user has set, or to
// ask. A project's settings are not heeded, which a stranger's branch may have brought.
func (c *claude) usualMode(given claudeSettings) string {
	if mode := given.mode(); mode != "" {
		return mode
	}
	users := claudeSettings{}
	if dir, err := c.home(); err == nil && users.read(dir, "settings.json") == nil && users.mode() != "" {
		return users.mode()
	}
	return "default"
}

// bypasses reports whether the configured arguments ask for no questions at all.
func (c *claude) bypasses() bool {
	_, mode := cutFlag(c.args, modeFlag)
	return hasFlag(c.args, bypassFlag) || mode == bypassMode
}

// home returns Claude Code's own folder.
func (c *claude) home() (string, error) {
	if dir := c.env.vars["CLAUDE_CONFIG_DIR"]; dir != "" {
		return dir, nil
	}
	if dir := c.env.vars["HOME"]; dir != "" {
		return filepath.Join(dir, ".claude"), nil
	}
	return "", fmt.Errorf("claude's environment has no HOME; set it in harness.claude.env: %w", loop.ErrInvalid)
}

func hasFlag(args []string, flag string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") })
}

// cutFlag returns args without a flag that has a value, and its last value.
func cutFlag(args []string, flag string) (rest []string, value string) {
	for i := 0; i < len(args); i++ {
		switch after, ok := strings.CutPrefix(args[i], flag+"="); {
		case ok:
			value = after
		case args[i] == flag && i+1 < len(args):
			i++
			value = args[i]
		default:
			rest = append(rest, args[i])
		}
	}
	return rest, value
}

// absent reports whether nothing is there, not even a folder for it.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
