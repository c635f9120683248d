package route_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

// found spells candidates as "how item", with the pull request behind "via" where it is another item.
func found(candidates []route.Candidate) []string {
	var out []string
	for _, c := range candidates {
		line := string(c.How) + " " + c.Item.Ref()
		if !c.Pull.IsZero() && c.Pull.Key() != c.Item.Key() {
			line += " via " + c.Pull.Ref()
		}
		out = append(out, line)
	}
	return out
}

func TestRefs(t *testing.T) {
	t.Parallel()
	pull := githubtest.Item{Number: 9, PR: true, Body: "Closes #5, closes acme/plan#5", Head: "octocat/issue-7-coupon"}
	all := []string{
		"own number github:acme/shop#9", "closing keyword github:acme/shop#5 via github:acme/shop#9",
		"closing keyword github:acme/plan#5 via github:acme/shop#9", "branch name github:acme/shop#7 via github:acme/shop#9",
	}
	for _, tc := range []struct {
		name string
		kind loop.Kind
		body []byte
		want []string
	}{
		{"issue", loop.KindIssues, githubtest.Issues("opened", "o", githubtest.Item{Number: 5, Body: "Closes #6"}), []string{"own number github:acme/shop#5"}},
		{
			"issue comment", loop.KindIssueComment, githubtest.IssueComment("created", "o", githubtest.Item{Number: 5, Body: "Closes #6"}, githubtest.Comment{Body: "Closes #7"}),
			[]string{"own number github:acme/shop#5"},
		},
		{"comment on a pull request", loop.KindIssueComment, githubtest.IssueComment("created", "o", pull, githubtest.Comment{Body: "Closes #6"}), all[:3]},
		{"pull request", loop.KindPullRequest, githubtest.PullRequest("opened", "o", pull), all},
		{"review", loop.KindPullRequestReview, githubtest.PullRequestReview("submitted", "o", pull, githubtest.Review{}), all},
		{"inline comment", loop.KindPullRequestComment, githubtest.PullRequestComment("created", "o", pull, githubtest.Comment{}), all},
		{
			"the branch and the keyword say the same", loop.KindPullRequest,
			githubtest.PullRequest("opened", "o", githubtest.Item{Number: 9, Body: "fixes #7", Head: "issue-7-x"}),
			[]string{"own number github:acme/shop#9", "closing keyword github:acme/shop#7 via github:acme/shop#9"},
		},
		{
			"it closes itself", loop.KindPullRequest, githubtest.PullRequest("opened", "o", githubtest.Item{Number: 9, Body: "fixes #9", Head: "issue-9"}),
			[]string{"own number github:acme/shop#9"},
		},
		{
			"workflow run with its pull request", loop.KindWorkflowRun,
			githubtest.WorkflowRun("completed", githubtest.Check{Branch: "issue-7-x", Pulls: []githubtest.Pull{{Number: 9}, {Number: 9}}}),
			[]string{"own number github:acme/shop#9", "branch name github:acme/shop#7 via github:acme/shop#9"},
		},
		{"a branch name alone", loop.KindWorkflowRun, githubtest.WorkflowRun("completed", githubtest.Check{Branch: "issue-7-x"}), nil},
		{"a branch name alone", loop.KindStatus, githubtest.Status(githubtest.Check{Branch: "issue-7-x"}), nil},
		{"no number", loop.KindIssues, []byte(`{"action":"opened","repository":{"full_name":"a/b"},"issue":null}`), nil},
		{"no repository", loop.KindIssues, []byte(`{"action":"opened","issue":{"number":5}}`), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, found(route.Refs(event(t, tc.kind, tc.body), route.Links{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBranchNamesThatAreNoLinks(t *testing.T) {
	t.Parallel()
	for _, branch := range []string{"tissue-7", "tissue/2024-cleanup", "reissue-15", "issue-15b", "issues-15", "main"} {
		ev := event(t, loop.KindPullRequest, githubtest.PullRequest("opened", "o", githubtest.Item{Number: 9, Head: branch}))
		if diff := cmp.Diff([]string{"own number github:acme/shop#9"}, found(route.Refs(ev, route.Links{}))); diff != "" {
			t.Errorf("%s: %s", branch, diff)
		}
	}
}

func TestRememberedLinksComeFirstAndOutliveEdits(t *testing.T) {
	t.Parallel()
	w := newWorld().remember(t, "acme/shop#9", "acme/shop#5").declare(t, "Acme/Shop#9", "acme/plan#3").remember(t, "acme/shop#9", "acme/plan#3")
	for _, body := range []string{"", "Closes #5", "Closes #6"} {
		ev := event(t, loop.KindPullRequest, githubtest.PullRequest("edited", "o", githubtest.Item{Number: 9, Body: body}))
		want := []string{
			"declared by its session github:acme/plan#3 via github:acme/shop#9", "remembered github:acme/shop#5 via github:acme/shop#9",
			"own number github:acme/shop#9",
		}
		if body == "Closes #6" {
			want = append(want, "closing keyword github:acme/shop#6 via github:acme/shop#9")
		}
		if diff := cmp.Diff(want, found(route.Refs(ev, w.links))); diff != "" {
			t.Errorf("%q: %s", body, diff)
		}
	}
}

func TestChecksWithoutPullRequestsAreFoundByTheirHead(t *testing.T) {
	t.Parallel()
	nine, ten := item(t, "acme/shop#9"), item(t, "acme/shop#10")
	for kind, body := range map[loop.Kind][]byte{
		loop.KindWorkflowRun: githubtest.WorkflowRun("completed", githubtest.Check{Fork: "mona"}),
		loop.KindCheckRun:    githubtest.CheckRun("completed", githubtest.Check{}),
		loop.KindCheckSuite:  githubtest.CheckSuite("completed", githubtest.Check{}, githubtest.With("check_suite.head_branch", nil)),
		loop.KindStatus:      githubtest.Status(githubtest.Check{}),
	} {
		ev := event(t, kind, body)
		if diff := cmp.Diff([]loop.WorkItem{nine, ten}, route.Pulls(ev, []loop.WorkItem{nine, ten})); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		w := newWorld().remember(t, "acme/shop#10", "acme/shop#5")
		w.links.ByHead = []loop.WorkItem{nine, ten}
		want := []string{"remembered github:acme/shop#5 via github:acme/shop#10", "own number github:acme/shop#9", "own number github:acme/shop#10"}
		if diff := cmp.Diff(want, found(route.Refs(ev, w.links))); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
	attached := event(t, loop.KindCheckRun, githubtest.CheckRun("completed", githubtest.Check{Pulls: []githubtest.Pull{{Number: 10}}}))
	if diff := cmp.Diff([]loop.WorkItem{ten}, route.Pulls(attached, []loop.WorkItem{nine})); diff != "" {
		t.Errorf("attached pull requests come before those found by head: %s", diff)
	}
	issue := event(t, loop.KindIssues, githubtest.Issues("opened", "o", githubtest.Item{}))
	if got := route.Pulls(issue, []loop.WorkItem{nine}); got != nil {
		t.Errorf("an issue is about pull requests %v", got)
	}
}

func TestTheSameNumberOnTwoHosts(t *testing.T) {
	t.Parallel()
	pull := githubtest.Item{Number: 9, PR: true, Body: "Closes #5, closes https://github.com/acme/shop/issues/5", Repo: githubtest.Repo{Host: "ghe.example.com"}}
	w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
	ev := event(t, loop.KindPullRequest, githubtest.PullRequest("reopened", "octocat", pull))
	want := []string{
		"own number github:ghe.example.com/acme/shop#9", "closing keyword github:ghe.example.com/acme/shop#5 via github:ghe.example.com/acme/shop#9",
		"closing keyword github:acme/shop#5 via github:ghe.example.com/acme/shop#9",
	}
	if diff := cmp.Diff(want, found(route.Refs(ev, w.links))); diff != "" {
		t.Error(diff)
	}
	w.want(t, ev, dropped(loop.DropNotLabeled))
}
