package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/cli"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// noGit keeps git's answers free of the machine's own configuration.
var noGit = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := proc.Run(ctx, proc.Cmd{Path: "git", Args: args, Dir: dir, Env: append(os.Environ(), noGit...)}); err != nil {
		t.Fatal(err)
	}
}

// repository makes a repository with one commit on a branch, and origin where one is named.
func repository(t *testing.T, branch, origin string) string {
	t.Helper()
	dir := t.TempDir()
	gitIn(t, dir, "init", "--quiet", "--initial-branch", branch)
	gitIn(t, dir, "commit", "--quiet", "--allow-empty", "--message", "first")
	if origin != "" {
		gitIn(t, dir, "remote", "add", "origin", origin)
	}
	return dir
}

// TestHere holds that . is the work item of the current folder's branch and origin.
func TestHere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ branch, origin, want string }{
		{"issue-15-login", "git@github.com:acme/shop.git", "github:acme/shop#15"},
		{"fix/issue-15", "https://github.com/acme/shop", "github:acme/shop#15"},
		{"issue/7", "https://octocat:secret@ghe.example.com/acme/shop.git", "github:ghe.example.com/acme/shop#7"},
		{"issue-7", "ssh://git@ghe.example.com:2222/acme/shop.git/", "github:ghe.example.com/acme/shop#7"},
		{"issue-7", "git@ghe.example.com:acme/shop", "github:ghe.example.com/acme/shop#7"},
		{"issue-7", "https://ghe.example.com:8443/acme/shop.git", "github:ghe.example.com:8443/acme/shop#7"},
	} {
		t.Run(tt.origin, func(t *testing.T) {
			t.Parallel()
			dir := repository(t, tt.branch, tt.origin)
			deeper := filepath.Join(dir, "a", "b")
			must(t, os.MkdirAll(deeper, 0o700))
			wantHere(t, deeper, tt.want)
		})
	}
}

// TestHereInWorktree holds that a worktree's own branch counts, and origin that is rewritten by configuration.
func TestHereInWorktree(t *testing.T) {
	t.Parallel()
	dir := repository(t, "issue-1", "work:acme/shop.git")
	gitIn(t, dir, "config", "url.git@github.com:.insteadOf", "work:")
	tree := filepath.Join(t.TempDir(), "tree")
	gitIn(t, dir, "worktree", "add", "--quiet", "-b", "issue-2", tree)
	wantHere(t, tree, "github:acme/shop#2", "explain .", "events --work-item .", "deliveries list --work-item .")
	wantHere(t, dir, "github:acme/shop#1")
}

// wantHere asks for . in a command, and in others where they are named.
func wantHere(t *testing.T, dir, want string, commands ...string) {
	t.Helper()
	for _, args := range append(commands, "sessions show .") {
		f := newFake().start(t)
		r := loopctlIn(t, dir, append(noGit, "LOOP_SOCKET="+f.socket), strings.Fields(args)...)
		if r.Code != 0 {
			t.Fatalf("%s: exit code %d: %s", args, r.Code, r.Stderr)
		}
		var got string
		switch call := f.called()[0].(type) {
		case *loopv1.ExplainRequest:
			got = call.GetSubject()
		case interface{ GetWorkItem() string }:
			got = call.GetWorkItem()
		}
		if got != want {
			t.Errorf("%s in %s: %q, want %q", args, dir, got, want)
		}
	}
}

// TestNotHere holds that a folder that is for no work item is wrong usage, said in words and without a secret.
func TestNotHere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		dir        func(t *testing.T) string
	}{
		{"no repository", "not a git repository", func(t *testing.T) string { t.Helper(); return t.TempDir() }},
		{"detached", "HEAD is detached", func(t *testing.T) string {
			t.Helper()
			dir := repository(t, "issue-1", "git@github.com:acme/shop.git")
			gitIn(t, dir, "checkout", "--quiet", "--detach")
			return dir
		}},
		{"no issue", `branch "tissue-7" names no issue`, func(t *testing.T) string {
			t.Helper()
			return repository(t, "tissue-7", "git@github.com:acme/shop.git")
		}},
		{"no origin", "has no remote called origin", func(t *testing.T) string { t.Helper(); return repository(t, "issue-1", "") }},
		{"a folder", "origin, /srv/git/shop.git, is no repository on GitHub", func(t *testing.T) string {
			t.Helper()
			return repository(t, "issue-1", "/srv/git/shop.git")
		}},
		{"a host without a dot", `origin is work:acme/shop: host "work" needs a dot`, func(t *testing.T) string {
			t.Helper()
			return repository(t, "issue-1", "git@work:acme/shop")
		}},
		{"a secret", "origin, https://example.com/a/b/c, is no repository", func(t *testing.T) string {
			t.Helper()
			return repository(t, "issue-1", "https://secret:secret@example.com/a/b/c")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := loopctlIn(t, tt.dir(t), append(noGit, "LOOP_SOCKET=/nonexistent"), "sessions", "show", ".")
			if r.Code != 2 || !strings.Contains(r.Stderr, tt.want) || !strings.Contains(r.Stderr, "OWNER/REPO#15") || strings.Contains(r.Stderr, "secret:") {
				t.Errorf("exit code %d: %s\nwant 2 and %q", r.Code, r.Stderr, tt.want)
			}
		})
	}
}

// TestCwd holds that register takes the current folder, and makes a relative one absolute.
func TestCwd(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	for _, tt := range []struct {
		args []string
		want string
	}{{nil, dir}, {[]string{"--cwd", "sub"}, filepath.Join(dir, "sub")}} {
		f := newFake().start(t)
		args := append(strings.Fields("sessions register a/b#1 --harness claude --harness-session-id x"), tt.args...)
		if r := loopctlIn(t, dir, []string{"LOOP_SOCKET=" + f.socket}, args...); r.Code != 0 {
			t.Fatalf("exit code %d: %s", r.Code, r.Stderr)
		}
		if diff := cmp.Diff(tt.want, f.called()[0].(*loopv1.RegisterRequest).GetCwd()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.args, diff)
		}
	}
}

// FuzzSplitRemote holds that whatever a remote is, it is refused or names one repository.
func FuzzSplitRemote(f *testing.F) {
	for _, seed := range []string{
		"git@github.com:acme/shop.git", "https://x@ghe.example.com:8443/a/b", "ssh://git@ssh.github.com:443/a/b.git", "file:///a/b",
		"git@host:/a/b", "git@host://a/b", "https://github.com/", "C:\\a\\b", "../a/b", "https://github.com/a/b/c", "://", "a:b/.git",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, remote string) {
		host, owner, repo, ok := cli.SplitRemote(remote)
		if !ok {
			return
		}
		if host == "" || owner == "" || repo == "" || strings.Contains(owner+repo, "/") {
			t.Errorf("SplitRemote(%q) = %q, %q, %q", remote, host, owner, repo)
		}
		if item, err := loop.NewWorkItem(host, owner, repo, 1); err == nil {
			if _, err := loop.ParseRef(item.Ref()); err != nil {
				t.Errorf("SplitRemote(%q) leads to %q: %v", remote, item, err)
			}
		}
	})
}
