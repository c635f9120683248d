package dispatch_test

import (
	"context"
	"testing"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

// An issue that only a branch name speaks of is asked for before a session is started for it, and never else.
func TestABranchNameIsProven(t *testing.T) {
	t.Parallel()
	labelled := githubtest.Item{Number: 9, PR: true, Head: "issue-77-shop", Labels: []string{"go"}}
	for name, tc := range map[string]struct {
		answer route.Existence
		body   string
		for9   bool // a session works on the pull request already
		want   string
		asked  int
	}{
		"it is there":                 {answer: route.Proven, want: "github:acme/shop#77", asked: 1},
		"it is not":                   {answer: route.Absent, want: "github:acme/shop#9", asked: 1},
		"nobody answers":              {answer: route.Unanswered, want: "github:acme/shop#77", asked: 1},
		"nobody can be asked":         {answer: route.Unproven, want: "github:acme/shop#9", asked: 1},
		"another issue is named":      {answer: route.Proven, body: "Closes #5", want: "github:acme/shop#5"},
		"a session is there, as ever": {answer: route.Proven, for9: true, want: "github:acme/shop#9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				asked := 0
				h.d.Exists = func(_ context.Context, w loop.WorkItem) route.Existence {
					if asked++; w.Ref() != "github:acme/shop#77" {
						t.Errorf("%s is asked for", w)
					}
					return tc.answer
				}
				if tc.for9 {
					h.register(mustItem("acme", "shop", 9))
				}
				it := labelled
				it.Body = tc.body
				id := h.arrive("pull_request", githubtest.PullRequest("labeled", "octocat", it, githubtest.Label("go")))
				got, err := h.inbox.Get(t.Context(), id)
				h.must(err)
				if got.Item.Ref() != tc.want || asked != tc.asked {
					t.Errorf("it is for %s after %d questions, want %s after %d", got.Item.Ref(), asked, tc.want, tc.asked)
				}
			})
		})
	}
}
