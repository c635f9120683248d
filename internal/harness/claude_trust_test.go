package harness_test

import (
	encoding "encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
)

func read(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := encoding.Unmarshal(text, &o); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

type object = map[string]any

func trusted(dirs ...string) object {
	projects := object{}
	for _, dir := range dirs {
		projects[dir] = object{"hasTrustDialogAccepted": true}
	}
	return object{"hasCompletedOnboarding": true, "hasSeenAutoDefaultNudge": true, "projects": projects}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	c, home := at(t, nil)
	dir := t.TempDir()
	state := filepath.Join(home, ".claude.json")
	if changed, err := c.Trust(dir); !changed || err != nil {
		t.Fatalf("got %v, %v", changed, err)
	}
	if diff := cmp.Diff(trusted(dir), read(t, state)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if info, err := os.Stat(state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("made as %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(home, ".claude", "settings.json")); err == nil {
		t.Error("settings were written, and nobody asked for a bypass")
	}
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(state, old, old); err != nil {
		t.Fatal(err)
	}
	if changed, err := c.Trust(dir); changed || err != nil {
		t.Errorf("again: got %v, %v", changed, err)
	}
	if info, err := os.Stat(state); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("written though it was right: %v, %v", info.ModTime(), err)
	}
}

func TestTrustUnderBothNames(t *testing.T) {
	t.Parallel()
	c, home := at(t, nil)
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	truly, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Trust(link + "/"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(trusted(link, truly), read(t, filepath.Join(home, ".claude.json"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What else stands in the file is the user's and Claude Code's: it stays to the letter, as do a link and the permissions.
func TestTrustKeepsTheRest(t *testing.T) {
	t.Parallel()
	c, home := at(t, nil)
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "kept.json")
	write(t, kept, `{"big":12345678901234567890,"exact":1.50,"html":"a<b>&","new":{"deep":[1,{"x":null}]},
		"hasCompletedOnboarding":false,"projects":{"`+dir+`":{"allowedTools":["Bash"],"cost":0.10},"/other":{"hasTrustDialogAccepted":false}}}`)
	if err := os.Chmod(kept, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(home, ".claude.json")
	if err := os.Symlink(kept, link); err != nil {
		t.Fatal(err)
	}
	if changed, err := c.Trust(dir); !changed || err != nil {
		t.Fatalf("got %v, %v", changed, err)
	}
	if to, err := os.Readlink(link); err != nil || to != kept {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12345678901234567890", "1.50", `"a<b>&"`, "0.10"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is gone:\n%s", want, text)
		}
	}
	got := read(t, kept)
	want := trusted(dir)
	want["projects"].(object)[dir].(object)["allowedTools"] = []any{"Bash"}
	want["projects"].(object)[dir].(object)["cost"] = 0.1
	want["projects"].(object)["/other"] = object{"hasTrustDialogAccepted": false}
	want["big"], want["exact"], want["html"] = 12345678901234567890.0, 1.5, "a<b>&"
	want["new"] = object{"deep": []any{1.0, object{"x": nil}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTrustTouchesNothingItCannotRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"projects":`, `[]`, `null`, `{"projects":7}`, `{"customApiKeyResponses":[]}`, "{} {}"} {
		c, home := at(t, map[string]string{"ANTHROPIC_API_KEY": "k"})
		state := filepath.Join(home, ".claude.json")
		write(t, state, text)
		if changed, err := c.Trust(t.TempDir()); changed || !errors.Is(err, loop.ErrConflict) || !strings.Contains(err.Error(), state) {
			t.Errorf("%s: got %v, %v", text, changed, err)
		}
		if now, err := os.ReadFile(state); err != nil || string(now) != text {
			t.Errorf("%s became %s, %v", text, now, err)
		}
	}
	c, home := at(t, nil)
	state := filepath.Join(home, ".claude.json")
	write(t, state, " \n")
	if changed, err := c.Trust(t.TempDir()); !changed || err != nil {
		t.Errorf("empty: got %v, %v", changed, err)
	}
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", state); err != nil {
		t.Fatal(err)
	}
	if changed, err := c.Trust(t.TempDir()); changed || err == nil {
		t.Errorf("a link to nowhere: got %v, %v", changed, err)
	}
}

func TestTrustRefuses(t *testing.T) {
	t.Parallel()
	c, home := at(t, nil)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]error{
		"/": loop.ErrDenied, home: loop.ErrDenied, home + "/": loop.ErrDenied, link: loop.ErrDenied,
		"relative": loop.ErrInvalid, filepath.Join(home, "none"): loop.ErrUnavailable,
	} {
		if changed, err := c.Trust(dir); changed || !errors.Is(err, want) {
			t.Errorf("%s: got %v, %v, want %v", dir, changed, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".claude.json")); err == nil {
		t.Error("a refusal wrote")
	}
}

func TestTrustApprovesTheKey(t *testing.T) {
	t.Parallel()
	const key, end = "sk-ant-0123456789abcdefghij", "0123456789abcdefghij"
	tests := map[string]struct {
		key, before string
		want        any
	}{
		"none":     {"", `{}`, nil},
		"new":      {key, `{}`, object{"approved": []any{end}}},
		"short":    {"k", `{}`, object{"approved": []any{"k"}}},
		"another":  {key, `{"customApiKeyResponses":{"approved":["x"],"rejected":["y"]}}`, object{"approved": []any{"x", end}, "rejected": []any{"y"}}},
		"approved": {key, `{"customApiKeyResponses":{"approved":["` + end + `"]}}`, object{"approved": []any{end}}},
		"rejected": {key, `{"customApiKeyResponses":{"rejected":["` + end + `"]}}`, object{"rejected": []any{end}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, home := at(t, map[string]string{"ANTHROPIC_API_KEY": tt.key})
			state := filepath.Join(home, ".claude.json")
			write(t, state, tt.before)
			if _, err := c.Trust(t.TempDir()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, read(t, state)["customApiKeyResponses"]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTrustConfirmsOnlyABypassThatIsAskedFor(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]bool{
		"--dangerously-skip-permissions": true, "--permission-mode bypassPermissions": true, "--permission-mode=bypassPermissions": true,
		"--permission-mode acceptEdits": false, "--allow-dangerously-skip-permissions": false, "--model bypassPermissions": false,
	} {
		config := filepath.Join(t.TempDir(), "config")
		c, home := at(t, map[string]string{"CLAUDE_CONFIG_DIR": config}, strings.Fields(arg)...)
		dir := t.TempDir()
		if changed, err := c.Trust(dir); !changed || err != nil {
			t.Fatalf("%s: got %v, %v", arg, changed, err)
		}
		if diff := cmp.Diff(trusted(dir), read(t, filepath.Join(config, ".claude.json"))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", arg, diff)
		}
		if _, err := os.Stat(filepath.Join(home, ".claude.json")); err == nil {
			t.Errorf("%s: written in the home", arg)
		}
		_, err := os.Stat(filepath.Join(config, "settings.json"))
		if got := err == nil; got != want {
			t.Errorf("%s: confirmed: %v, want %v", arg, got, want)
		}
		if want {
			if diff := cmp.Diff(object{"skipDangerousModePermissionPrompt": true}, read(t, filepath.Join(config, "settings.json"))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", arg, diff)
			}
		}
		if changed, err := c.Trust(dir); changed || err != nil {
			t.Errorf("%s, again: got %v, %v", arg, changed, err)
		}
	}
}
