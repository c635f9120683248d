package githubtest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gogithub "github.com/google/go-github/v89/github"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// TestGoGitHub holds that a client that was made for the real one reads what we say, without telling the difference.
func TestGoGitHub(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := dial(t, s)
	ctx := t.Context()
	shop := s.Repo("acme", "shop")
	sha := strings.Repeat("c", 40)
	shop.Open("ann", githubtest.Item{Labels: []string{"loop"}})
	pr := shop.Open("bob", githubtest.Item{PR: true, Fork: "bob", HeadSHA: sha})
	pr.Review("ann", githubtest.Review{State: "approved", Body: "good"}, githubtest.Comment{Body: "here", Line: 3})
	shop.CheckRun(githubtest.Check{SHA: sha, Name: "lint", App: "linter"})
	shop.Workflow(githubtest.Check{SHA: sha, Attempt: 2, Fork: "bob"})
	shop.Status(githubtest.Check{SHA: sha, Name: "ci/x", Conclusion: "error"})

	items, res, err := client.Issues.ListByRepo(ctx, "acme", "shop", &gogithub.IssueListByRepoOptions{
		State: "all", Sort: "updated", Direction: "asc", Since: githubtest.Epoch, ListOptions: gogithub.ListOptions{PerPage: 1},
	})
	if err != nil || len(items) != 1 || items[0].GetNumber() != 1 || items[0].Labels[0].GetName() != "loop" || res.NextPage != 2 || res.Rate.Remaining != 4999 {
		t.Errorf("issues: %v %+v, next page %d, %v", err, items, res.NextPage, res.Rate)
	}
	pull, _, err := client.PullRequests.Get(ctx, "acme", "shop", 2)
	if err != nil || pull.GetHead().GetSHA() != sha || pull.GetHead().GetRepo().GetFullName() != "bob/shop" || !pull.GetMergeable() {
		t.Errorf("pull request: %v %+v", err, pull)
	}
	reviews, _, err := client.PullRequests.ListReviews(ctx, "acme", "shop", 2, nil)
	if err != nil || len(reviews) != 1 || reviews[0].GetState() != "APPROVED" || !reviews[0].GetSubmittedAt().Equal(gogithub.Timestamp{Time: githubtest.Epoch}) {
		t.Errorf("reviews: %v %+v", err, reviews)
	}
	inline, _, err := client.PullRequests.ListComments(ctx, "acme", "shop", 0, nil)
	if err != nil || len(inline) != 1 || inline[0].GetLine() != 3 || inline[0].GetPullRequestReviewID() != reviews[0].GetID() {
		t.Errorf("inline comments: %v %+v", err, inline)
	}
	events, _, err := client.Issues.ListIssueEvents(ctx, "acme", "shop", 1, nil)
	if err != nil || len(events) != 1 || events[0].GetEvent() != "labeled" || events[0].GetLabel().GetName() != "loop" || events[0].GetActor().GetLogin() != "ann" {
		t.Errorf("events: %v %+v", err, events)
	}
	checks, _, err := client.Checks.ListCheckRunsForRef(ctx, "acme", "shop", sha, nil)
	if err != nil || checks.GetTotal() != 1 || checks.CheckRuns[0].GetApp().GetSlug() != "linter" || checks.CheckRuns[0].GetConclusion() != "failure" {
		t.Errorf("check runs: %v %+v", err, checks)
	}
	runs, _, err := client.Actions.ListRepositoryWorkflowRuns(ctx, "acme", "shop", &gogithub.ListWorkflowRunsOptions{HeadSHA: sha})
	if err != nil || runs.GetTotalCount() != 1 || runs.WorkflowRuns[0].GetRunAttempt() != 2 || len(runs.WorkflowRuns[0].PullRequests) != 0 {
		t.Errorf("workflow runs: %v %+v", err, runs)
	}
	combined, _, err := client.Repositories.GetCombinedStatus(ctx, "acme", "shop", sha, nil)
	if err != nil || combined.GetState() != "failure" || combined.Statuses[0].GetContext() != "ci/x" {
		t.Errorf("status: %v %+v", err, combined)
	}
}

// TestGoGitHubWrites holds the same for what is written, and for what is refused.
func TestGoGitHubWrites(t *testing.T) {
	t.Parallel()
	s := start(t)
	client := dial(t, s)
	ctx := t.Context()
	one := s.Repo("acme", "shop").Open("ann", githubtest.Item{})
	if _, _, err := client.Issues.AddLabelsToIssue(ctx, "acme", "shop", 1, []string{"loop"}); err != nil {
		t.Errorf("label: %v", err)
	}
	if _, _, err := client.Reactions.CreateIssueReaction(ctx, "acme", "shop", 1, "rocket"); err != nil {
		t.Errorf("react: %v", err)
	}
	if diff := cmp.Diff([]string{"loop"}, one.Now().Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"operator rocket"}, one.Reactions(0)); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	s.Fail("GET *", githubtest.SecondaryLimit(time.Minute), 1)
	_, _, err := client.Issues.Get(ctx, "acme", "shop", 1)
	if abuse := new(gogithub.AbuseRateLimitError); !errors.As(err, &abuse) || abuse.GetRetryAfter() != time.Minute {
		t.Errorf("secondary limit: %v", err)
	}
	s.SetClock(time.Now) // the client waits by its own clock
	client = dial(t, s)
	s.Exhaust(http.StatusForbidden, time.Hour)
	_, _, err = client.Issues.Get(ctx, "acme", "shop", 1)
	if limit := new(gogithub.RateLimitError); !errors.As(err, &limit) || limit.Rate.Remaining != 0 {
		t.Errorf("primary limit: %v", err)
	}
}

func dial(t *testing.T, s *githubtest.Server) *gogithub.Client {
	t.Helper()
	client, err := gogithub.NewClient(gogithub.WithAuthToken(githubtest.Token), gogithub.WithURLs(new(s.URL+"/"), nil))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
