package hooks_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/hooks"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

type command struct {
	Type, Command string
	Timeout       int
	AsyncRewake   bool
}

// commands returns what a harness runs, by event.
func commands(t *testing.T, f hooks.Fragment) map[string][]command {
	t.Helper()
	var settings struct {
		Hooks map[string][]struct {
			command
			Hooks []command
		}
	}
	if err := json.Unmarshal(f.Text(), &settings); err != nil {
		t.Fatal(err)
	}
	all := map[string][]command{}
	for event, entries := range settings.Hooks {
		for _, entry := range entries {
			if entry.Command != "" {
				entry.Hooks = append(entry.Hooks, entry.command)
			}
			all[event] = append(all[event], entry.Hooks...)
		}
	}
	return all
}

// TestCommands holds that each harness calls loopctl as it is to be called, by the shell that it uses, wherever loopctl is.
func TestCommands(t *testing.T) {
	t.Parallel()
	loopctl := filepath.Join(t.TempDir(), "it's a $(folder) \"LOOPCTL\" \\n", "loopctl")
	if err := os.Mkdir(filepath.Dir(loopctl), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, loopctl, "#!/bin/sh\necho \"$@\"\n", 0o700)
	for _, tt := range []struct {
		harness string
		events  string
		waits   string // the events at which something waits too
	}{
		{"claude", "SessionStart UserPromptSubmit Stop StopFailure PermissionRequest Notification SessionEnd", "SessionStart Stop"},
		{"codex", "SessionStart UserPromptSubmit Stop PermissionRequest Interrupt SessionEnd", ""},
		{"cursor", "sessionStart beforeSubmitPrompt stop sessionEnd", ""},
	} {
		for _, flag := range []string{"", " --close-on-end"} {
			want, got := map[string]string{}, map[string]string{}
			for event := range strings.FieldsSeq(tt.events) {
				want[event] = "hook " + tt.harness + flag + "\n"
				if strings.Contains(" "+tt.waits+" ", " "+event+" ") {
					want[event] += "hook " + tt.harness + flag + " wait\n"
				}
			}
			for event, list := range commands(t, fragment(t, tt.harness, loopctl, flag != "")) {
				for _, c := range list {
					got[event] += shell(t, c.Command)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s%s calls (-want +got):\n%s", tt.harness, flag, diff)
			}
		}
	}
}

func shell(t *testing.T, line string) string {
	t.Helper()
	res, err := proc.Run(t.Context(), proc.Cmd{Path: "/bin/sh", Args: []string{"-c", line}})
	if err != nil || len(res.Stderr) > 0 {
		t.Errorf("%s: %v %s", line, err, res.Stderr)
	}
	return string(res.Stdout)
}

// TestHooksOfALoopctlThatIsGone holds that an agent does not notice when Loop was removed and its hooks were not.
func TestHooksOfALoopctlThatIsGone(t *testing.T) {
	t.Parallel()
	for _, harness := range []string{"claude", "codex"} {
		for event, list := range commands(t, fragment(t, harness, filepath.Join(t.TempDir(), "loopctl"), false)) {
			for _, c := range list {
				if said := shell(t, c.Command); said != "" {
					t.Errorf("%s, %s: it says %q", harness, event, said)
				}
			}
		}
	}
}

// TestOnlyWaitingTakesLong holds what Claude Code lets each hook take: one that waits does so beside the conversation.
func TestOnlyWaitingTakesLong(t *testing.T) {
	t.Parallel()
	for event, list := range commands(t, fragment(t, "claude", bin, false)) {
		for _, c := range list {
			waits := strings.HasSuffix(c.Command, " wait")
			if c.Type != "command" || c.AsyncRewake != waits || c.Timeout > 5 != waits || c.Timeout == 0 {
				t.Errorf("%s: %+v", event, c)
			}
		}
	}
}

func TestWhereHooksAre(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ harness, env, user, project string }{
		{"claude", "HOME=/home/o", "/home/o/.claude/settings.json", "/shop/.claude/settings.local.json"},
		{"claude", "HOME=/home/o CLAUDE_CONFIG_DIR=/cfg/", "/cfg/settings.json", "/shop/.claude/settings.local.json"},
		{"codex", "HOME=/home/o", "/home/o/.codex/hooks.json", "/shop/.codex/hooks.json"},
		{"codex", "CODEX_HOME=/cfg", "/cfg/hooks.json", "/shop/.codex/hooks.json"},
		{"cursor", "HOME=/home/o", "/home/o/.cursor/hooks.json", "/shop/.cursor/hooks.json"},
		{"cursor", "HOME=/home/o XDG_CONFIG_HOME=/xdg", "/xdg/cursor/hooks.json", "/shop/.cursor/hooks.json"},
		{"cursor", "CURSOR_CONFIG_DIR=/cfg XDG_CONFIG_HOME=/xdg", "/cfg/hooks.json", "/shop/.cursor/hooks.json"},
	} {
		user, err := hooks.User(tt.harness, environment(tt.env))
		if user != tt.user || err != nil {
			t.Errorf("%s with %s: %s, %v; want %s", tt.harness, tt.env, user, err, tt.user)
		}
		if project, err := hooks.Project(tt.harness, "/shop"); project != tt.project || err != nil {
			t.Errorf("%s in /shop: %s, %v; want %s", tt.harness, project, err, tt.project)
		}
	}
	_, noHome := hooks.User("claude", environment(""))
	_, noUser := hooks.User("vim", environment("HOME=/"))
	_, noProject := hooks.Project("vim", "/")
	_, noFragment := hooks.For("vim", bin, false)
	for _, err := range []error{noHome, noUser, noProject, noFragment} {
		if !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("%v, want ErrInvalid", err)
		}
	}
}

// environment looks variables up in NAME=VALUE words.
func environment(words string) func(string) string {
	return func(name string) string {
		for word := range strings.FieldsSeq(words) {
			if value, ok := strings.CutPrefix(word, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
