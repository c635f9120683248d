package harness_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
)

// open returns the arguments that Claude Code is opened with, without those that name the conversation.
func open(t *testing.T, cwd, settings, usersSettings string, args ...string) ([]string, error) {
	t.Helper()
	bin := t.TempDir()
	program(t, bin, "claude")
	c, home := at(t, map[string]string{"PATH": bin}, args...)
	if usersSettings != "" {
		write(t, filepath.Join(home, ".claude", "settings.json"), usersSettings)
	}
	cmd, err := c.Open(harness.Turn{Item: item, ID: conversation, Cwd: cwd}, true, settings)
	if err != nil {
		return nil, err
	}
	return cmd.Args[2:], nil
}

// In a terminal Claude Code would start in a laxer mode than without one.
func TestOpenWidensNoPermission(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, users string
		args, want  []string
	}{
		{"nothing said", "", nil, []string{"--permission-mode", "default"}},
		{"by the user's settings", `{"permissions":{"defaultMode":"plan"}}`, nil, []string{"--permission-mode", "plan"}},
		{"no word", `{"permissions":{"defaultMode":"--bad"}}`, nil, []string{"--permission-mode", "default"}},
		{"settings that are none", `{`, nil, []string{"--permission-mode", "default"}},
		{"by argument", `{"permissions":{"defaultMode":"plan"}}`, []string{"--permission-mode", "auto"}, []string{"--permission-mode", "auto"}},
		{"by one argument", "", []string{"--permission-mode=auto"}, []string{"--permission-mode=auto"}},
		{"bypass", "", []string{"--dangerously-skip-permissions"}, []string{"--dangerously-skip-permissions"}},
		{
			"by settings of the configuration", `{"permissions":{"defaultMode":"plan"}}`,
			[]string{`--settings={"permissions":{"defaultMode":"acceptEdits"}}`},
			[]string{"--settings", `{"permissions":{"defaultMode":"acceptEdits"}}`, "--permission-mode", "acceptEdits"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := open(t, t.TempDir(), "", tt.users, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Claude Code heeds only the last of several --settings.
func TestOpenJoinsSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ours, theirs := filepath.Join(dir, "ours.json"), filepath.Join(dir, "theirs.json")
	write(t, ours, `{"hooks":{"Stop":[{"ours":1}],"SessionStart":[{"ours":2}]},"both":"ours","one":1.50}`)
	write(t, theirs, `{"hooks":{"Stop":[{"theirs":1}]},"both":"theirs","model":"x"}`)
	const both = `{"both":"theirs","hooks":{"SessionStart":[{"ours":2}],"Stop":[{"ours":1},{"theirs":1}]},"model":"x","one":1.50}`
	for _, args := range [][]string{
		{"--settings", theirs, "--model", "m"},
		{"--settings=theirs.json", "--model", "m"},
		{"--model", "m", "--settings", `{"hooks":{"Stop":[{"theirs":1}]},"both":"theirs","model":"x"}`},
	} {
		got, err := open(t, dir, ours, "", args...)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"--settings", both, "--permission-mode", "default", "--model", "m"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", args, diff)
		}
	}
	for arg, class := range map[string]error{"none.json": loop.ErrUnavailable, "{": loop.ErrInvalid, `{"hooks":[]}`: loop.ErrInvalid} {
		if _, err := open(t, dir, ours, "", "--settings", arg); !errors.Is(err, class) {
			t.Errorf("%s: got %v, want %v", arg, err, class)
		}
	}
	if got, err := open(t, dir, "", "", "--settings", theirs); err != nil || !slices.Contains(got, theirs) {
		t.Errorf("without ours: got %q, %v", got, err)
	}
}
