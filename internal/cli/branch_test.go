package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// TestHookFindsTheWorkItem holds which item a conversation in a folder works on, when nobody has said so.
func TestHookFindsTheWorkItem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		setup []string // arguments of git, in a repository with a commit
		in    string   // where the harness is
		want  string
	}{
		{"https", []string{"remote add origin https://github.com/acme/shop.git", "checkout -q -b issue-15-fix-login"}, "", "github:acme/shop#15"},
		{"ssh", []string{"remote add origin ssh://git@github.com/acme/shop", "checkout -q -b ana/issue-7"}, "", "github:acme/shop#7"},
		{"the short form of ssh", []string{"remote add origin git@github.com:acme/shop.git", "checkout -q -b issue/7"}, "", "github:acme/shop#7"},
		{"an enterprise's host with a port", []string{"remote add origin https://git.corp.example:8443/acme/shop.git", "checkout -q -b issue-7"}, "", "github:git.corp.example:8443/acme/shop#7"},
		{"a remote that git rewrites", []string{"remote add origin gh:acme/shop", "config url.https://github.com/.insteadOf gh:", "checkout -q -b issue-7"}, "", "github:acme/shop#7"},
		{"a folder below", []string{"remote add origin https://github.com/acme/shop.git", "checkout -q -b issue-7"}, "sub", "github:acme/shop#7"},
		{"a worktree", []string{"remote add origin https://github.com/acme/shop.git", "worktree add -q wt -b issue-7"}, "wt", "github:acme/shop#7"},
		{"packed", []string{"remote add origin https://github.com/acme/shop.git", "checkout -q -b issue-7", "pack-refs --all"}, "", "github:acme/shop#7"},
		{"a branch of no issue", []string{"remote add origin https://github.com/acme/shop.git", "checkout -q -b tissue-7"}, "", ""},
		{"a detached HEAD", []string{"remote add origin https://github.com/acme/shop.git", "checkout -q -b issue-7", "checkout -q --detach"}, "", ""},
		{"no origin", []string{"remote add upstream https://github.com/acme/shop.git", "checkout -q -b issue-7"}, "", ""},
		{"an origin elsewhere", []string{"remote add origin /srv/git/shop.git", "checkout -q -b issue-7"}, "", ""},
		{"a folder that is not there", []string{"remote add origin https://github.com/acme/shop.git", "checkout -q -b issue-7"}, "../gone", ""},
		{"no repository", nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake().start(t)
			dir := filepath.Join(t.TempDir(), "shop")
			must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
			if tt.setup != nil {
				for _, line := range append([]string{"init -q -b main", "commit -q --allow-empty -m first"}, tt.setup...) {
					gitIn(t, dir, strings.Fields(line)...)
				}
			}
			told, err := json.Marshal(map[string]string{"session_id": "3f9a", "hook_event_name": "Stop", "cwd": filepath.Join(dir, tt.in)})
			must(t, err)
			if r := loopctl(t.Context(), f.env(), string(told), "hook", "claude"); r != (result{}) {
				t.Errorf("the hook left %+v", r)
			}
			var got string
			if calls := f.called(); len(calls) > 0 {
				got = calls[0].(*loopv1.ReportRequest).GetWorkItem()
			}
			if got != tt.want {
				t.Errorf("it works on %q, want %q", got, tt.want)
			}
		})
	}
}
