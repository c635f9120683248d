package loop_test

import (
	"testing"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestBranchIssue(t *testing.T) {
	t.Parallel()
	for branch, want := range map[string]int{
		"issue-15":               15,
		"issue/15":               15,
		"fix/issue-15-login":     15,
		"octocat/Issue-15":       15,
		"my_issue-15_again":      15,
		"issue-15/issue-16":      15,
		"refs/heads/issue-7":     7,
		"":                       0,
		"main":                   0,
		"issue":                  0,
		"issue-":                 0,
		"issue-0":                0,
		"issue-015":              0,
		"issue_15":               0,
		"issues-15":              0,
		"tissue-7":               0,
		"tissue/2024-cleanup":    0,
		"reissue-7":              0,
		"2issue-7":               0,
		"issue-7b":               0,
		"issue-2147483648":       0,
		"issue-9999999999999999": 0,
	} {
		if got := loop.BranchIssue(branch); got != want {
			t.Errorf("BranchIssue(%q) = %d, want %d", branch, got, want)
		}
	}
}
