package harness

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/loop-daemon/loop/internal/loop"
)

// Trust writes what Claude Code itself keeps once a person has answered: that it was set up, that the folder is trusted, that
// the key of its environment may be used, and that the offer of a laxer permission mode was seen, which would come up some
// seconds after the start, in the middle of typing. That questions are to be bypassed is only confirmed where the configured
// arguments ask for it.
func (c *claude) Trust(dir string) (changed bool, err error) {
	home, err := c.home()
	if err != nil {
		return false, err
	}
	dirs, err := c.trustable(dir)
	if err != nil {
		return false, fmt.Errorf("trust %s: %w", dir, err)
	}
	state := filepath.Join(home, ".claude.json")
	if c.env.vars["CLAUDE_CONFIG_DIR"] == "" {
		state = filepath.Join(c.env.vars["HOME"], ".claude.json")
	}
	changed, err = editJSON(state, func(o object) ([]assignment, error) { return c.answers(o, dirs) })
	if err != nil || !c.bypasses() {
		return changed, err
	}
	confirmed, err := editJSON(filepath.Join(home, "settings.json"), func(object) ([]assignment, error) {
		return []assignment{{true, []string{"skipDangerousModePermissionPrompt"}}}, nil
	})
	return changed || confirmed, err
}

// answers returns what Claude Code's own state is to say.
func (c *claude) answers(state object, dirs []string) ([]assignment, error) {
	all := []assignment{{true, []string{"hasCompletedOnboarding"}}, {true, []string{"hasSeenAutoDefaultNudge"}}}
	for _, dir := range dirs {
		all = append(all, assignment{true, []string{"projects", dir, "hasTrustDialogAccepted"}})
	}
	key := c.env.vars["ANTHROPIC_API_KEY"]
	if key == "" {
		return all, nil
	}
	const answered = "customApiKeyResponses"
	key = key[max(0, len(key)-20):]
	var keys struct {
		Approved []string `json:"approved"`
		Rejected []string `json:"rejected"`
	}
	if raw, ok := state[answered]; ok {
		if err := json.Unmarshal(raw, &keys); err != nil {
			return nil, fmt.Errorf("%s: %w", answered, err)
		}
	}
	// One that the user has refused stays refused.
	if !slices.Contains(keys.Approved, key) && !slices.Contains(keys.Rejected, key) {
		all = append(all, assignment{append(keys.Approved, key), []string{answered, "approved"}})
	}
	return all, nil
}

// trustable returns the folder's names: as it is called and as it really is. Neither may be one that Claude Code never keeps
// trust for, or that holds everything.
func (c *claude) trustable(dir string) ([]string, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("it is not an absolute path: %w", loop.ErrInvalid)
	}
	truly, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, loop.ErrUnavailable)
	}
	dirs := slices.Compact([]string{filepath.Clean(dir), truly})
	home := c.env.vars["HOME"]
	atHome, err := filepath.EvalSymlinks(home)
	if err != nil {
		atHome = home
	}
	for _, d := range dirs {
		if d == "/" || d == filepath.Clean(home) || d == atHome {
			return nil, fmt.Errorf("%s is no place for an agent to be trusted in; choose a folder below it: %w", d, loop.ErrDenied)
		}
	}
	return dirs, nil
}
