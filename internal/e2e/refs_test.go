package e2e_test

import (
	"strings"
	"testing"
)

// Given loopd,
// When loopctl is given what is no work item, a conversation's id that would be an option, or a harness and a folder that
// are not there,
// Then it says in a sentence what is wrong and how it is written, ends with 2, and nothing is registered.
func TestRefsThatAreNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	register := func(ref string) []string {
		return []string{"sessions", "register", "--work-item", ref, "--harness", "claude", "--harness-session-id", conversation, "--cwd", w.work}
	}
	other := func(at int, value string) []string {
		args := register("acme/shop#15")
		args[at] = value
		return args
	}
	cases := []struct {
		name string
		args []string
		says string
	}{
		{"no number", register("github:a/b"), "github:a/b"},
		{"number zero", register("a/b#0"), "a/b#0"},
		{"a way out of the folder", register("../..#1"), "../..#1"},
		{"a number without end", register("github:a/b#99999999999999999999"), "99999999999999999999"},
		{"nothing", register(""), "work item"},
		{"another provider", register("jira:SHOP-1"), "jira"},
		{"a host that is none", register("github:octo/repo/sub#15"), "octo"},
		{"a NUL", register("a/b\x00#1"), "repository"},
		{"a line end", register("a/b#1\nx"), "github:OWNER/REPO#N"},
		{"a page of something else", register("https://github.com/a/b/commit/1234567"), "https://github.com/a/b/commit/1234567"},
		{"an id that is an option", other(7, "--dangerously-skip-permissions"), "harness-session-id"},
		{"an id with a way in it", other(7, "../../etc/passwd"), "../../etc/passwd"},
		{"a harness that there is not", other(5, "copilot"), "claude"},
		{"a folder that there is not", other(9, "/nonexistent"), "/nonexistent"},
		{"a runner that the harness has no terminal for", append(other(5, "codex"), "--runner", "tmux"), "headless"},
		{"show", []string{"sessions", "show", "a/b#0"}, "a/b#0"},
		{"close", []string{"sessions", "close", "../..#1"}, "../..#1"},
		{"explain", []string{"explain", "github:a/b"}, "github:a/b"},
	}
	for _, c := range cases { //nolint:paralleltest // what they leave is looked at below
		t.Run(c.name, func(t *testing.T) {
			r := w.ask(c.args...)
			if r.code != 2 || !strings.Contains(r.stderr, c.says) || r.stdout != "" || strings.Contains(r.stderr, "\x00") {
				t.Errorf("exit %d, stdout %q, stderr:\n%s\nwant 2 and a sentence with %q", r.code, r.stdout, r.stderr, c.says)
			}
		})
	}
	if r := w.loopctl(register("github:a/b#99999999999999999999")...); r.code != 2 {
		t.Errorf("as a program: exit %d, want 2\n%s", r.code, r.stderr)
	}
	if r := w.loopctl("sessions", "show", "a/b#1"); r.code != 1 || !strings.Contains(r.stderr, "a/b#1") {
		t.Errorf("an item that nobody works on: exit %d, %s", r.code, r.stderr)
	}
	if s := w.status().Sessions; len(s) != 0 {
		t.Errorf("sessions %v after all that, want none", s)
	}
}
