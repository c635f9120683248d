package harness_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	bin, cwd := t.TempDir(), t.TempDir()
	file := program(t, bin, "claude")
	a := agent(t, harness.Options{
		Socket:  "/run/loopd.sock",
		Environ: []string{"PATH=" + bin, "LANG=de_DE.UTF-8", "CLAUDECODE=1", "TMUX=x"},
		Agents:  map[string]harness.Program{"claude": {Args: []string{"--allowedTools", "Edit"}}},
	}).(harness.Terminal)
	env := []string{
		"CLAUDE_CODE_DISABLE_AGENT_VIEW=1", "CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN=1", "COLORTERM=truecolor", "LANG=de_DE.UTF-8", "LOOP_SESSION_KEY=github-acme-shop-15", "LOOP_SOCKET=/run/loopd.sock",
		"LOOP_WORK_ITEM=github:acme/shop#15", "PATH=" + bin,
	}
	const mode, usual = "--permission-mode", "default"
	tests := []struct {
		name     string
		fresh    bool
		settings string
		want     []string
	}{
		{"fresh", true, "", []string{"--session-id", conversation, mode, usual, "--allowedTools", "Edit"}},
		{"fresh with hooks", true, "/s.json", []string{"--session-id", conversation, "--settings", "/s.json", mode, usual, "--allowedTools", "Edit"}},
		{"resumed", false, "/s.json", []string{"--resume", conversation, "--settings", "/s.json", mode, usual, "--allowedTools", "Edit"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := a.Open(harness.Turn{Item: item, ID: conversation, Cwd: cwd, Prompt: "not for a terminal"}, tt.fresh, tt.settings)
			if err != nil {
				t.Fatal(err)
			}
			want := harness.Command{Path: file, Args: tt.want, Env: env, Dir: cwd}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Open (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenSaysThatTheTerminalIsUTF8(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	program(t, bin, "claude")
	for given, want := range map[string]bool{"": true, "LANG=": true, "LANG=C": false, "LC_CTYPE=C.UTF-8": false, "LC_TIME=C": true} {
		a := agent(t, harness.Options{Environ: []string{"PATH=" + bin, given}}).(harness.Terminal)
		cmd, err := a.Open(harness.Turn{Item: item, ID: conversation, Cwd: bin}, true, "")
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(cmd.Env, "\n") + "\n"
		if got := strings.Contains(all, "\nLANG=C.UTF-8\n") || strings.Contains(all, "\nLANG=en_US.UTF-8\n"); got != want {
			t.Errorf("%q: said so: %v, want %v: %q", given, got, want, cmd.Env)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	program(t, bin, "claude")
	tests := []struct {
		name  string
		args  []string
		turn  harness.Turn
		fresh bool
		want  error
		says  string
	}{
		{"no id", nil, harness.Turn{Item: item, Cwd: bin}, true, loop.ErrInvalid, ""},
		{"a flag for an id", nil, harness.Turn{Item: item, Cwd: bin, ID: "--help"}, false, loop.ErrInvalid, ""},
		{"a title for a new one", nil, harness.Turn{Item: item, Cwd: bin, ID: "title"}, true, loop.ErrInvalid, "no UUID"},
		{"no folder", nil, harness.Turn{Item: item, Cwd: filepath.Join(bin, "none"), ID: conversation}, true, loop.ErrUnavailable, "working folder"},
		{"another place", []string{"--worktree=x"}, harness.Turn{Item: item, Cwd: bin, ID: conversation}, true, loop.ErrInvalid, "harness.claude.args"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := agent(t, harness.Options{
				Environ: []string{"PATH=" + bin}, Agents: map[string]harness.Program{"claude": {Args: tt.args}},
			}).(harness.Terminal)
			if _, err := a.Open(tt.turn, tt.fresh, ""); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %v with %q in it", err, tt.want, tt.says)
			}
		})
	}
}
