package hooks

import (
	"fmt"
	"path/filepath"

	"github.com/loop-daemon/loop/internal/loop"
)

// User returns the file in which a harness looks for the hooks of its user. The error is ErrInvalid for a harness that there
// are no hooks for, and where the environment has no home.
func User(harness string, getenv func(string) string) (string, error) {
	var dir, file string
	switch harness {
	case "claude":
		dir, file = getenv("CLAUDE_CONFIG_DIR"), "settings.json"
	case "codex":
		dir, file = getenv("CODEX_HOME"), "hooks.json"
	case "cursor":
		dir, file = getenv("CURSOR_CONFIG_DIR"), "hooks.json"
		if shared := getenv("XDG_CONFIG_HOME"); dir == "" && shared != "" {
			dir = filepath.Join(shared, "cursor")
		}
	default:
		return "", unknown(harness)
	}
	if dir == "" {
		home := getenv("HOME")
		if home == "" {
			return "", fmt.Errorf("there is no HOME in the environment to find the settings of %s in: %w", harness, loop.ErrInvalid)
		}
		dir = filepath.Join(home, "."+harness)
	}
	return filepath.Abs(filepath.Join(dir, file))
}

// Project returns the file in which a harness looks for the hooks of a project: of Claude Code's two the one that is not shared
// with others. The error is ErrInvalid for a harness that there are no hooks for.
func Project(harness, dir string) (string, error) {
	file := "hooks.json"
	switch harness {
	case "claude":
		file = "settings.local.json"
	case "codex", "cursor":
	default:
		return "", unknown(harness)
	}
	return filepath.Abs(filepath.Join(dir, "."+harness, file))
}
