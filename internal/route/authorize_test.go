package route_test

import (
	"testing"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

func TestWhatIsNotLookedAt(t *testing.T) {
	t.Parallel()
	ev := comment(t, githubtest.Item{Number: 9}, "octocat", "hi")
	closing := event(t, loop.KindIssues, githubtest.Issues("closed", "octocat", githubtest.Item{Number: 9, Closed: true}))
	for _, tc := range []struct {
		reason string
		change func(*world)
	}{
		{loop.DropRoutingOff, func(w *world) { w.policy.RoutingEnabled = false }},
		{loop.DropEventOff, func(w *world) { w.policy.Events = []loop.Kind{loop.KindStatus} }},
		{loop.DropDuplicate, func(w *world) { w.facts.Duplicate = true }},
	} {
		w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
		tc.change(w)
		w.want(t, ev, dropped(tc.reason))
		w.want(t, closing, dropped(tc.reason))
	}
	w := newWorld()
	w.policy.Events = []loop.Kind{loop.KindIssueComment}
	w.want(t, ev, dropped(loop.DropNotLabeled))
	w.want(t, event(t, loop.KindStatus, githubtest.Status(githubtest.Check{})), dropped(loop.DropEventOff))
	newWorld().want(t, event(t, loop.KindStatus, githubtest.Status(githubtest.Check{})), dropped(loop.DropNoItem))
}

func TestTheZeroPolicyDoesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
	w.policy = route.Policy{}
	w.want(t, comment(t, githubtest.Item{Number: 9}, "octocat", "hi"), dropped(loop.DropRoutingOff))
}

func TestOwnVoice(t *testing.T) {
	t.Parallel()
	it := githubtest.Item{Number: 9, PR: true}
	delivered := outcome{Kind: loop.Deliver, Item: "github:acme/shop#9"}
	for _, tc := range []struct {
		body string
		want outcome
	}{
		{"done\n\n<!-- loop -->", dropped(loop.DropSelfAuthored)},
		{"/loop stop\r\n<!-- loop -->\r\n", dropped(loop.DropSelfAuthored)},
		{"> done\n> <!-- loop -->\n\nno, it is not", delivered},
		{"> done\n> <!-- loop -->", delivered},
		{"<!-- loop --> is your marker", delivered},
	} {
		for _, ev := range []loop.Event{
			comment(t, it, "octocat", tc.body),
			event(t, loop.KindPullRequestComment, githubtest.PullRequestComment("created", "octocat", it, githubtest.Comment{Body: tc.body})),
			event(t, loop.KindPullRequestReview, githubtest.PullRequestReview("submitted", "octocat", it, githubtest.Review{Body: tc.body})),
		} {
			w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
			w.facts.Login = "octocat" // the operator's own account: its comments count unless they are marked
			w.want(t, ev, tc.want)
		}
	}
	w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
	w.facts.Posted = true
	w.want(t, comment(t, it, "octocat", "no marker, but we posted it"), dropped(loop.DropSelfAuthored))
}

func TestOwnActions(t *testing.T) {
	t.Parallel()
	own := outcome{loop.Drop, loop.DropOwnAction, "github:acme/shop#9", ""}
	for _, tc := range []struct {
		kind   loop.Kind
		action string
		want   outcome
	}{
		{loop.KindPullRequest, "opened", own},
		{loop.KindPullRequest, "synchronize", own},
		{loop.KindPullRequest, "ready_for_review", own},
		{loop.KindIssues, "edited", own},
		{loop.KindIssues, "labeled", outcome{loop.Drop, loop.DropNotDelivered, "github:acme/shop#9", ""}},
		{loop.KindIssues, "closed", outcome{Kind: loop.Close, Item: "github:acme/shop#9"}},
		{loop.KindIssues, "reopened", outcome{Kind: loop.Deliver, Item: "github:acme/shop#9"}},
		{loop.KindIssueComment, "created", outcome{Kind: loop.Deliver, Item: "github:acme/shop#9"}},
	} {
		w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
		w.facts.Login = "OctoCat"
		w.want(t, about(t, tc.kind, tc.action, "octocat"), tc.want)
	}
	w := newWorld()
	w.facts.Login = "octocat"
	w.want(t, about(t, loop.KindPullRequest, "opened", "octocat"), dropped(loop.DropOwnAction))

	// Our own pull request uses the link that it states, so that its checks find the session later.
	w = newWorld().session(t, "acme/shop#5", loop.StatusActive)
	w.facts.Login = "octocat"
	w.want(t, event(t, loop.KindPullRequest, githubtest.PullRequest("opened", "octocat", githubtest.Item{Number: 9, Body: "Closes #5"})),
		outcome{loop.Drop, loop.DropOwnAction, "github:acme/shop#5", "github:acme/shop#9"})
}

func TestWhoMayAct(t *testing.T) {
	t.Parallel()
	delivered := outcome{Kind: loop.Deliver, Item: "github:acme/shop#15"}
	opened := func(author string) githubtest.Item { return githubtest.Item{Author: author} }
	for _, tc := range []struct {
		name  string
		users []string
		ev    loop.Event
		want  outcome
	}{
		{"listed", []string{"mona", "octocat"}, comment(t, opened("octocat"), "octocat", "hi"), delivered},
		{"in any case", []string{"OctoCat"}, comment(t, opened("octocat"), "oCTOcat", "hi"), delivered},
		{"nobody is listed", nil, comment(t, opened("octocat"), "octocat", "hi"), dropped(loop.DropUnauthorized)},
		{"not a part of a name", []string{"octocat-admin", "octo", "o", ""}, comment(t, opened("octocat"), "octocat", "hi"), dropped(loop.DropUnauthorized)},
		{"a stranger on a listed person's issue", []string{"octocat"}, comment(t, opened("octocat"), "mallory", "hi"), dropped(loop.DropUnauthorized)},
		{"a listed person on a stranger's issue", []string{"octocat"}, comment(t, opened("mallory"), "octocat", "hi"), delivered},
		{"a deleted account", []string{"", "ghost"}, comment(t, opened("octocat"), "", "hi"), dropped(loop.DropUnauthorized)},
		{"the placeholder of a deleted account", []string{"ghost"}, comment(t, opened("octocat"), "ghost", "hi"), dropped(loop.DropUnauthorized)},
		{
			"a stranger's words in a listed person's name",
			[]string{"octocat"},
			event(t, loop.KindIssueComment, githubtest.IssueComment("created", "octocat", opened("octocat"), githubtest.Comment{Author: "mallory"})), dropped(loop.DropUnauthorized),
		},
		{
			"a listed person's words brought by a stranger",
			[]string{"octocat"},
			event(t, loop.KindIssueComment, githubtest.IssueComment("created", "mallory", opened("octocat"), githubtest.Comment{Author: "octocat"})), dropped(loop.DropUnauthorized),
		},
		{"a stranger's command", []string{"octocat"}, comment(t, opened("octocat"), "mallory", "/loop stop"), dropped(loop.DropUnauthorized)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld().session(t, "acme/shop#15", loop.StatusActive)
			w.policy.AuthorizedUsers = tc.users
			w.want(t, tc.ev, tc.want)
		})
	}
}

func TestEditsAndDeletionsAskForNothing(t *testing.T) {
	t.Parallel()
	c := githubtest.Comment{Body: "/loop stop", Author: "octocat"}
	for _, action := range []string{"edited", "deleted"} {
		for sender, want := range map[string]outcome{"octocat": dropped(loop.DropEdited), "mallory": dropped(loop.DropUnauthorized)} {
			for _, ev := range []loop.Event{
				event(t, loop.KindIssueComment, githubtest.IssueComment(action, sender, githubtest.Item{Labels: []string{autoExecute}}, c)),
				event(t, loop.KindPullRequestComment, githubtest.PullRequestComment(action, sender, githubtest.Item{}, c)),
				event(t, loop.KindPullRequestReview, githubtest.PullRequestReview(action, sender, githubtest.Item{}, githubtest.Review{Body: "/loop stop", Author: "octocat"})),
			} {
				newWorld().session(t, "acme/shop#15", loop.StatusActive).want(t, ev, want)
				newWorld().want(t, ev, want)
			}
		}
	}
}

func TestChecksAreTrusted(t *testing.T) {
	t.Parallel()
	const nine, sha = "github:acme/shop#9", "bbbb"
	shop, fork := loop.Repo{Owner: "acme", Name: "shop"}, loop.Repo{Owner: "mallory", Name: "shop"}
	attached := []githubtest.Pull{{Number: 9}}
	run := func(c githubtest.Check) loop.Event {
		c.SHA = sha
		return event(t, loop.KindWorkflowRun, githubtest.WorkflowRun("completed", c))
	}
	delivered := outcome{Kind: loop.Deliver, Item: nine}
	for _, tc := range []struct {
		name  string
		ev    loop.Event
		known *route.PullFacts
		want  outcome
	}{
		{"same repository, nothing known", run(githubtest.Check{Pulls: attached}), nil, delivered},
		{"same repository, head known", run(githubtest.Check{Pulls: attached}), &route.PullFacts{HeadSHA: sha, HeadRepo: shop}, delivered},
		{"an older commit, as the payload says", run(githubtest.Check{Pulls: []githubtest.Pull{{Number: 9, SHA: "newer"}}}), nil, dropped(loop.DropStaleSHA)},
		{"an older commit, as is known", run(githubtest.Check{Pulls: attached}), &route.PullFacts{HeadSHA: "newer", HeadRepo: shop}, dropped(loop.DropStaleSHA)},
		{"a fork, found by its head", run(githubtest.Check{Fork: "mallory"}), &route.PullFacts{HeadSHA: sha, HeadRepo: fork}, dropped(loop.DropUntrustedCI)},
		{"a fork that an authorized person acted on", run(githubtest.Check{Fork: "mallory"}), &route.PullFacts{HeadSHA: sha, HeadRepo: fork, Acted: true}, delivered},
		{"the same, of an older commit", run(githubtest.Check{Fork: "mallory"}), &route.PullFacts{HeadSHA: "newer", HeadRepo: fork, Acted: true}, dropped(loop.DropStaleSHA)},
		{"a fork that is gone", run(githubtest.Check{}), &route.PullFacts{HeadSHA: sha}, dropped(loop.DropUntrustedCI)},
		{"a fork, nothing known", run(githubtest.Check{Fork: "mallory"}), nil, dropped(loop.DropUntrustedCI)},
		{"found by its branch, head unknown", run(githubtest.Check{}), &route.PullFacts{HeadRepo: shop}, dropped(loop.DropStaleSHA)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld().session(t, nine, loop.StatusActive)
			w.policy.AuthorizedUsers = nil // checks have no actor
			w.links.ByHead = []loop.WorkItem{item(t, nine)}
			if tc.known != nil {
				w.facts.Pulls[item(t, nine).Key()] = *tc.known
			}
			w.want(t, tc.ev, tc.want)
		})
	}
}

func TestChecksOfADeclaredPullRequest(t *testing.T) {
	t.Parallel()
	ev := event(t, loop.KindStatus, githubtest.Status(githubtest.Check{SHA: "bbbb"}))
	w := newWorld().declare(t, "acme/shop#9", "acme/plan#3").session(t, "acme/plan#3", loop.StatusActive)
	w.links.ByHead = []loop.WorkItem{item(t, "acme/shop#9")}
	w.facts.Pulls[item(t, "acme/shop#9").Key()] = route.PullFacts{HeadSHA: "bbbb", HeadRepo: loop.Repo{Owner: "mona", Name: "shop"}}
	w.want(t, ev, outcome{loop.Deliver, "", "github:acme/plan#3", "github:acme/shop#9"})
}

func TestOneTrustedPullRequestOfTwo(t *testing.T) {
	t.Parallel()
	w := newWorld().session(t, "acme/shop#9", loop.StatusActive).session(t, "acme/shop#10", loop.StatusActive)
	w.links.ByHead = []loop.WorkItem{item(t, "acme/shop#9"), item(t, "acme/shop#10")}
	w.facts.Pulls[item(t, "acme/shop#9").Key()] = route.PullFacts{HeadSHA: "bbbb", HeadRepo: loop.Repo{Owner: "mallory", Name: "shop"}}
	w.facts.Pulls[item(t, "acme/shop#10").Key()] = route.PullFacts{HeadSHA: "bbbb", HeadRepo: loop.Repo{Owner: "acme", Name: "shop"}}
	w.want(t, event(t, loop.KindStatus, githubtest.Status(githubtest.Check{SHA: "bbbb"})), outcome{Kind: loop.Deliver, Item: "github:acme/shop#10"})
}

func TestATakenOverNameIsNotTheSameRepository(t *testing.T) {
	t.Parallel()
	ev := event(t, loop.KindStatus, githubtest.Status(githubtest.Check{SHA: "bbbb"}))
	w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
	w.links.ByHead = []loop.WorkItem{item(t, "acme/shop#9")}
	w.facts.Pulls[item(t, "acme/shop#9").Key()] = route.PullFacts{HeadSHA: "bbbb", HeadRepo: loop.Repo{Owner: "acme", Name: "shop", ID: 1}}
	w.want(t, ev, dropped(loop.DropUntrustedCI))
}

func TestChecksNeverSpawn(t *testing.T) {
	t.Parallel()
	for _, policy := range []route.SpawnPolicy{route.SpawnNever, route.SpawnLabeled, route.SpawnAlways} {
		w := newWorld()
		w.policy.SpawnOnUnmatched = policy
		run := githubtest.WorkflowRun("completed", githubtest.Check{Pulls: []githubtest.Pull{{Number: 9}}})
		w.want(t, event(t, loop.KindWorkflowRun, run), dropped(loop.DropUnmatched))
	}
}
