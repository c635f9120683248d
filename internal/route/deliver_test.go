package route_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

// the actions that GitHub documents, by kind, and the default answer for those that an agent hears of.
var actions = map[loop.Kind]struct{ all, delivered []string }{
	loop.KindIssues: {
		all: []string{
			"assigned", "deleted", "demilestoned", "edited", "labeled", "locked", "milestoned", "opened", "pinned", "reopened", "transferred",
			"typed", "unassigned", "unlabeled", "unlocked", "unpinned", "untyped", "brand_new", "",
		},
		delivered: []string{"reopened"},
	},
	loop.KindIssueComment: {all: []string{"created", "pinned", "brand_new", ""}, delivered: []string{"created"}},
	loop.KindPullRequest: {
		all: []string{
			"assigned", "auto_merge_disabled", "auto_merge_enabled", "converted_to_draft", "demilestoned", "dequeued", "edited", "enqueued", "labeled",
			"locked", "milestoned", "opened", "ready_for_review", "reopened", "review_request_removed", "review_requested", "synchronize",
			"unassigned", "unlabeled", "unlocked", "brand_new", "",
		},
		delivered: []string{"reopened", "ready_for_review"},
	},
	loop.KindPullRequestReview:  {all: []string{"submitted", "dismissed", "brand_new", ""}, delivered: []string{"submitted"}},
	loop.KindPullRequestComment: {all: []string{"created", "brand_new", ""}, delivered: []string{"created"}},
}

// about makes a payload of any kind that has an actor, for pull request or issue 9.
func about(t testing.TB, kind loop.Kind, action, sender string) loop.Event {
	t.Helper()
	it := githubtest.Item{Number: 9, Labels: []string{"bug"}}
	label := githubtest.Label("bug")
	switch kind {
	case loop.KindIssues:
		return event(t, kind, githubtest.Issues(action, sender, it, label))
	case loop.KindIssueComment:
		return event(t, kind, githubtest.IssueComment(action, sender, it, githubtest.Comment{Body: "hi"}))
	case loop.KindPullRequest:
		return event(t, kind, githubtest.PullRequest(action, sender, it, label))
	case loop.KindPullRequestReview:
		return event(t, kind, githubtest.PullRequestReview(action, sender, it, githubtest.Review{Body: "hi"}))
	default:
		return event(t, kind, githubtest.PullRequestComment(action, sender, it, githubtest.Comment{Body: "hi"}))
	}
}

func TestWhatReachesASession(t *testing.T) {
	t.Parallel()
	for kind, table := range actions {
		for _, action := range table.all {
			want := outcome{loop.Drop, loop.DropNotDelivered, "github:acme/shop#9", ""}
			if slices.Contains(table.delivered, action) {
				want = outcome{Kind: loop.Deliver, Item: "github:acme/shop#9"}
			}
			ev := about(t, kind, action, "octocat")
			newWorld().session(t, "acme/shop#9", loop.StatusActive).want(t, ev, want)

			if want.Kind == loop.Deliver {
				want = outcome{loop.Drop, loop.DropSessionPaused, "github:acme/shop#9", ""}
			}
			newWorld().session(t, "acme/shop#9", loop.StatusPaused).want(t, ev, want)
			newWorld().session(t, "acme/shop#9", loop.StatusClosed).want(t, ev, dropped(loop.DropNotLabeled))
			newWorld().session(t, "acme/shop#9", loop.StatusActive).want(t, about(t, kind, action, "mallory"), dropped(loop.DropUnauthorized))
		}
	}
}

func TestWhatReachesASessionOfChecks(t *testing.T) {
	t.Parallel()
	pulls := []githubtest.Pull{{Number: 9}}
	for _, conclusion := range []string{"failure", "timed_out", "startup_failure", "success", "cancelled", "neutral", "skipped", "action_required", "stale", "error", "pending"} {
		check := githubtest.Check{Conclusion: conclusion, App: "lint", Pulls: pulls}
		failed := slices.Contains([]string{"failure", "timed_out", "startup_failure"}, conclusion)
		actions := check
		actions.App = "github-actions"
		for _, tc := range []struct {
			ev        loop.Event
			delivered bool
		}{
			{event(t, loop.KindWorkflowRun, githubtest.WorkflowRun("completed", check)), failed},
			{event(t, loop.KindWorkflowRun, githubtest.WorkflowRun("requested", check)), false},
			{event(t, loop.KindWorkflowRun, githubtest.WorkflowRun("in_progress", check, githubtest.With("workflow_run.conclusion", conclusion))), false},
			{event(t, loop.KindCheckRun, githubtest.CheckRun("completed", check)), failed},
			{event(t, loop.KindCheckRun, githubtest.CheckRun("completed", actions)), false},
			{event(t, loop.KindCheckRun, githubtest.CheckRun("created", check)), false},
			{event(t, loop.KindCheckRun, githubtest.CheckRun("rerequested", check)), false},
			{event(t, loop.KindCheckSuite, githubtest.CheckSuite("completed", check)), false},
			{event(t, loop.KindStatus, githubtest.Status(check)), conclusion == "failure" || conclusion == "error"},
		} {
			want := outcome{loop.Drop, loop.DropNotDelivered, "github:acme/shop#9", ""}
			if tc.delivered {
				want = outcome{Kind: loop.Deliver, Item: "github:acme/shop#9"}
			}
			w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
			w.links.ByHead = []loop.WorkItem{item(t, "acme/shop#9")}
			w.facts.Pulls[item(t, "acme/shop#9").Key()] = route.PullFacts{HeadSHA: tc.ev.CI.SHA, HeadRepo: tc.ev.Repo}
			w.want(t, tc.ev, want)
		}
	}
}

func TestReviewsWithoutAWord(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		review githubtest.Review
		want   outcome
	}{
		{githubtest.Review{State: "approved"}, outcome{loop.Drop, loop.DropNotDelivered, "github:acme/shop#9", ""}},
		{githubtest.Review{State: "APPROVED", Body: " \n"}, outcome{loop.Drop, loop.DropNotDelivered, "github:acme/shop#9", ""}},
		{githubtest.Review{State: "approved", Body: "but see below"}, outcome{Kind: loop.Deliver, Item: "github:acme/shop#9"}},
		{githubtest.Review{State: "changes_requested"}, outcome{Kind: loop.Deliver, Item: "github:acme/shop#9"}},
	} {
		ev := event(t, loop.KindPullRequestReview, githubtest.PullRequestReview("submitted", "octocat", githubtest.Item{Number: 9}, tc.review))
		newWorld().session(t, "acme/shop#9", loop.StatusActive).want(t, ev, tc.want)
	}
}

func TestDeliverTable(t *testing.T) {
	t.Parallel()
	w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
	w.policy.Deliver = map[loop.Kind][]string{loop.KindIssues: {"assigned"}, loop.KindCheckSuite: {"success"}}
	w.want(t, about(t, loop.KindIssues, "assigned", "octocat"), outcome{Kind: loop.Deliver, Item: "github:acme/shop#9"})
	w.want(t, about(t, loop.KindIssues, "reopened", "octocat"), outcome{loop.Drop, loop.DropNotDelivered, "github:acme/shop#9", ""})
	w.want(t, about(t, loop.KindIssueComment, "created", "octocat"), outcome{loop.Drop, loop.DropNotDelivered, "github:acme/shop#9", ""})
	suite := githubtest.CheckSuite("completed", githubtest.Check{Conclusion: "success", Pulls: []githubtest.Pull{{Number: 9}}})
	w.want(t, event(t, loop.KindCheckSuite, suite), outcome{Kind: loop.Deliver, Item: "github:acme/shop#9"})
	for _, kind := range loop.Kinds() {
		if _, ok := route.DefaultDeliver()[kind]; !ok {
			t.Errorf("the default table says nothing of %s", kind)
		}
	}
}

func TestWhichSession(t *testing.T) {
	t.Parallel()
	const five, nine, seven = "github:acme/shop#5", "github:acme/shop#9", "github:acme/shop#7"
	pull := githubtest.Item{Number: 9, PR: true, Body: "Closes #5", Head: "issue-7-x"}
	for _, tc := range []struct {
		name  string
		world *world
		want  outcome
	}{
		{"of the issue that the pull request closes", newWorld().session(t, five, loop.StatusActive), outcome{loop.Deliver, "", five, nine}},
		{"of the pull request before the issue's", newWorld().session(t, five, loop.StatusActive).session(t, nine, loop.StatusActive), outcome{loop.Deliver, "", nine, ""}},
		{"of the remembered link before both", newWorld().remember(t, nine, "acme/plan#3").session(t, "acme/plan#3", loop.StatusActive).
			session(t, five, loop.StatusActive).session(t, nine, loop.StatusActive), outcome{loop.Deliver, "", "github:acme/plan#3", nine}},
		{"of the declared link before the remembered", newWorld().remember(t, nine, five).declare(t, nine, "acme/plan#3").
			session(t, "acme/plan#3", loop.StatusActive).session(t, five, loop.StatusActive), outcome{loop.Deliver, "", "github:acme/plan#3", nine}},
		{"of the branch's issue, whether it is proven or not", newWorld().session(t, seven, loop.StatusActive), outcome{loop.Deliver, "", seven, nine}},
		{"the first is paused", newWorld().session(t, nine, loop.StatusPaused).session(t, five, loop.StatusActive), outcome{loop.Drop, loop.DropSessionPaused, nine, ""}},
		{"a closed one does not count", newWorld().session(t, nine, loop.StatusClosed).session(t, five, loop.StatusActive), outcome{loop.Deliver, "", five, nine}},
	} {
		ev := event(t, loop.KindPullRequestComment, githubtest.PullRequestComment("created", "octocat", pull, githubtest.Comment{Body: "hi"}))
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.world.want(t, ev, tc.want)
		})
	}
}

func TestCommentOnAPullRequestGoesToItsIssuesSession(t *testing.T) {
	t.Parallel()
	w := newWorld().session(t, "acme/shop#5", loop.StatusActive)
	d := w.want(t, comment(t, githubtest.Item{Number: 9, PR: true, Body: "Closes #5"}, "octocat", "hi"),
		outcome{loop.Deliver, "", "github:acme/shop#5", "github:acme/shop#9"})
	if diff := cmp.Diff([]loop.WorkItem{item(t, "acme/shop#9"), item(t, "acme/shop#5")}, d.Refs); diff != "" {
		t.Error(diff)
	}
}

func TestCrossRepositoryLinksStayThere(t *testing.T) {
	t.Parallel()
	pull := githubtest.Item{Number: 9, PR: true, Body: "Closes acme/plan#5"}
	newWorld().session(t, "acme/plan#5", loop.StatusActive).session(t, "acme/shop#5", loop.StatusActive).
		want(t, comment(t, pull, "octocat", "hi"), outcome{loop.Deliver, "", "github:acme/plan#5", "github:acme/shop#9"})
	newWorld().session(t, "acme/shop#5", loop.StatusActive).want(t, comment(t, pull, "octocat", "hi"), dropped(loop.DropNotLabeled))
}

func TestALinkOnceUsedHolds(t *testing.T) {
	t.Parallel()
	w := newWorld().session(t, "acme/shop#5", loop.StatusActive).remember(t, "acme/shop#9", "acme/shop#5")
	w.want(t, comment(t, githubtest.Item{Number: 9, PR: true, Body: "the keyword is gone"}, "octocat", "hi"),
		outcome{loop.Deliver, "", "github:acme/shop#5", "github:acme/shop#9"})
}

func TestBurstOfOpenedAndLabeledNeverPrompts(t *testing.T) {
	t.Parallel()
	w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
	for _, action := range []string{"opened", "labeled", "synchronize", "edited"} {
		w.want(t, about(t, loop.KindPullRequest, action, "octocat"), outcome{loop.Drop, loop.DropNotDelivered, "github:acme/shop#9", ""})
	}
}
