package route_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

var labeledItem = githubtest.Item{Number: 9, Labels: []string{"bug", "The-Loop: Auto-Execute"}, At: minutes(0)}

func TestSpawnPolicies(t *testing.T) {
	t.Parallel()
	plain := githubtest.Item{Number: 9, Labels: []string{"bug"}}
	set := func(label string) loop.Event {
		return event(t, loop.KindIssues, githubtest.Issues("labeled", "octocat", plain, githubtest.Label(label)))
	}
	spawn := outcome{Kind: loop.Spawn, Item: "github:acme/shop#9"}
	for _, tc := range []struct {
		name                   string
		ev                     loop.Event
		never, labeled, always outcome
	}{
		{"a comment on a labelled item", comment(t, labeledItem, "octocat", "hi"), dropped(loop.DropUnmatched), spawn, spawn},
		{"a comment on another", comment(t, plain, "octocat", "hi"), dropped(loop.DropUnmatched), dropped(loop.DropNotLabeled), spawn},
		{"the label was just set", set(strings.ToUpper(autoExecute)), dropped(loop.DropUnmatched), spawn, spawn},
		{"another label was just set", set("bug"), dropped(loop.DropUnmatched), dropped(loop.DropNotLabeled), spawn},
		{"opened with the label", event(t, loop.KindIssues, githubtest.Issues("opened", "octocat", labeledItem)), dropped(loop.DropUnmatched), spawn, spawn},
		{
			"the label was removed", event(t, loop.KindIssues, githubtest.Issues("unlabeled", "octocat", plain, githubtest.Label(autoExecute))),
			dropped(loop.DropUnmatched), dropped(loop.DropNotLabeled), dropped(loop.DropNotDelivered),
		},
		{
			"a labelled issue was deleted", event(t, loop.KindIssues, githubtest.Issues("deleted", "octocat", labeledItem)),
			dropped(loop.DropUnmatched), dropped(loop.DropNotDelivered), dropped(loop.DropNotDelivered),
		},
		{
			"a labelled issue moved away", event(t, loop.KindIssues, githubtest.Issues("transferred", "octocat", labeledItem)),
			dropped(loop.DropUnmatched), dropped(loop.DropNotDelivered), dropped(loop.DropNotDelivered),
		},
		{
			"an approval without a word", event(t, loop.KindPullRequestReview, githubtest.PullRequestReview("submitted", "octocat", labeledItem, githubtest.Review{State: "approved"})),
			dropped(loop.DropUnmatched), dropped(loop.DropNotDelivered), dropped(loop.DropNotDelivered),
		},
		{
			"a stranger labels", event(t, loop.KindIssues, githubtest.Issues("labeled", "mallory", plain, githubtest.Label(autoExecute))),
			dropped(loop.DropUnauthorized), dropped(loop.DropUnauthorized), dropped(loop.DropUnauthorized),
		},
		{
			"a stranger opens with the label", event(t, loop.KindIssues, githubtest.Issues("opened", "mallory", labeledItem)),
			dropped(loop.DropUnauthorized), dropped(loop.DropUnauthorized), dropped(loop.DropUnauthorized),
		},
	} {
		for policy, want := range map[route.SpawnPolicy]outcome{
			route.SpawnNever: tc.never, route.SpawnLabeled: tc.labeled, route.SpawnAlways: tc.always, "": tc.never, "sometimes": tc.never,
		} {
			t.Run(tc.name+"/"+string(policy), func(t *testing.T) {
				t.Parallel()
				w := newWorld()
				w.policy.SpawnOnUnmatched = policy
				w.want(t, tc.ev, want)
			})
		}
	}
	w := newWorld()
	w.policy.AutoExecuteLabel = ""
	w.want(t, set(""), dropped(loop.DropNotLabeled))
}

func TestAnySessionThatIsNotClosedPreventsAnother(t *testing.T) {
	t.Parallel()
	for _, status := range []loop.SessionStatus{loop.StatusActive, loop.StatusPaused} {
		ev := event(t, loop.KindIssues, githubtest.Issues("labeled", "octocat", labeledItem, githubtest.Label(autoExecute)))
		newWorld().session(t, "acme/shop#9", status).want(t, ev, outcome{loop.Drop, loop.DropNotDelivered, "github:acme/shop#9", ""})
	}
}

func TestSpawnKeys(t *testing.T) {
	t.Parallel()
	const nine = "github:acme/shop#9"
	pull := labeledItem
	pull.Body, pull.Head = "Closes #5, fixes #6", "issue-77-x"
	bare := labeledItem
	bare.Head = pull.Head
	exists := func(e route.Existence) func(*route.ItemFacts) { return func(f *route.ItemFacts) { f.Existence = e } }
	closed := func(f *route.ItemFacts) { f.ClosedAt = minutes(-5) }
	for _, tc := range []struct {
		name  string
		pull  githubtest.Item
		world *world
		want  outcome
	}{
		{"the issue before the pull request", pull, newWorld(), outcome{loop.Spawn, "", "github:acme/shop#5", nine}},
		{"the remembered item before the issue", pull, newWorld().remember(t, nine, "acme/plan#3"), outcome{loop.Spawn, "", "github:acme/plan#3", nine}},
		{"the next issue where one is closed", pull, newWorld().know(t, "acme/shop#5", closed), outcome{loop.Spawn, "", "github:acme/shop#6", nine}},
		{"nothing for a name alone", bare, newWorld(), outcome{Kind: loop.Spawn, Item: nine}},
		{"nothing for what does not exist", bare, newWorld().know(t, "acme/shop#77", exists(route.Absent)), outcome{Kind: loop.Spawn, Item: nine}},
		{"a name that is proven", bare, newWorld().know(t, "acme/shop#77", exists(route.Proven)), outcome{loop.Spawn, "", "github:acme/shop#77", nine}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := tc.world.want(t, event(t, loop.KindPullRequest, githubtest.PullRequest("opened", "octocat", tc.pull)), tc.want)
			named := strings.Contains(d.Reason, "github:acme/shop#77")
			if proven := tc.want.Item == "github:acme/shop#77"; named == proven {
				t.Errorf("the reason of what was not started for is not visible: %q", d.Reason)
			}
		})
	}
}

func TestOneSpawnForOneLabelling(t *testing.T) {
	t.Parallel()
	label := func(at int) loop.Event {
		it := labeledItem
		it.At = minutes(at)
		return event(t, loop.KindIssues, githubtest.Issues("labeled", "octocat", it, githubtest.Label(autoExecute)))
	}
	reopened := func(at int) loop.Event {
		it := labeledItem
		it.At = minutes(at)
		return event(t, loop.KindIssues, githubtest.Issues("reopened", "octocat", it))
	}
	say := func(at int) loop.Event {
		return event(t, loop.KindIssueComment, githubtest.IssueComment("created", "octocat", labeledItem, githubtest.Comment{At: minutes(at)}))
	}
	spawn, spent := outcome{Kind: loop.Spawn, Item: "github:acme/shop#9"}, dropped(loop.DropSpawnedBefore)
	spawned := func(f *route.ItemFacts) { f.SpawnedAt = minutes(0) }
	for _, tc := range []struct {
		name  string
		ev    loop.Event
		facts func(*route.ItemFacts)
		want  outcome
	}{
		{"the first", label(0), func(*route.ItemFacts) {}, spawn},
		{"the same once more", label(0), spawned, spent},
		{"a later comment", say(60), spawned, spent},
		{"set anew", label(60), spawned, spawn},
		{"a comment after it was set anew", say(90), func(f *route.ItemFacts) { f.SpawnedAt, f.LabeledAt = minutes(0), minutes(60) }, spawn},
		{"another label", event(t, loop.KindIssues, githubtest.Issues("labeled", "octocat",
			githubtest.Item{Number: 9, Labels: labeledItem.Labels, At: minutes(60)}, githubtest.Label("bug"))), spawned, spent},
		{"reopened", reopened(60), spawned, spawn},
		{"a comment after a reopening", say(90), func(f *route.ItemFacts) { f.SpawnedAt, f.ReopenedAt = minutes(0), minutes(60) }, spawn},
		{"an older reopening", say(90), func(f *route.ItemFacts) { f.SpawnedAt, f.ReopenedAt = minutes(0), minutes(-60) }, spent},
	} {
		for _, policy := range []route.SpawnPolicy{route.SpawnLabeled, route.SpawnAlways} {
			t.Run(tc.name+"/"+string(policy), func(t *testing.T) {
				t.Parallel()
				w := newWorld().know(t, "acme/shop#9", tc.facts)
				w.policy.SpawnOnUnmatched = policy
				w.want(t, tc.ev, tc.want)
			})
		}
	}
}

func TestNothingStartsForAStoppedItem(t *testing.T) {
	t.Parallel()
	stopped := func(f *route.ItemFacts) { f.Stopped = true }
	label := event(t, loop.KindIssues, githubtest.Issues("labeled", "octocat", labeledItem, githubtest.Label(autoExecute)))
	newWorld().know(t, "acme/shop#9", stopped).want(t, label, dropped(loop.DropStopped))
	unlabeled := comment(t, githubtest.Item{Number: 9}, "octocat", "still there?")
	newWorld().know(t, "acme/shop#9", stopped).want(t, unlabeled, dropped(loop.DropStopped))
	claimed := func(f *route.ItemFacts) { f.Claimed = true }
	newWorld().know(t, "acme/shop#9", claimed).want(t, label, dropped(loop.DropClaimed))

	pull := labeledItem
	pull.Body = "Closes #5"
	opened := event(t, loop.KindPullRequest, githubtest.PullRequest("opened", "octocat", pull))
	newWorld().know(t, "acme/shop#5", stopped).want(t, opened, dropped(loop.DropStopped))
	newWorld().know(t, "acme/shop#9", stopped).want(t, opened, dropped(loop.DropStopped))
}

func TestNothingStartsForAClosedItem(t *testing.T) {
	t.Parallel()
	shut := labeledItem
	shut.Closed = true
	newWorld().want(t, comment(t, shut, "octocat", "thanks"), dropped(loop.DropItemClosed))
	shut.PR, shut.Merged, shut.Body = true, true, "Closes #5"
	newWorld().want(t, comment(t, shut, "octocat", "thanks"), dropped(loop.DropItemClosed))

	late := event(t, loop.KindIssues, githubtest.Issues("opened", "octocat", labeledItem))
	for _, tc := range []struct {
		closed, reopened int
		want             outcome
	}{
		{5, -99, dropped(loop.DropItemClosed)}, // the close came first, by the payloads it is the later one
		{5, 6, outcome{Kind: loop.Spawn, Item: "github:acme/shop#9"}},
		{-5, -99, outcome{Kind: loop.Spawn, Item: "github:acme/shop#9"}},
	} {
		newWorld().know(t, "acme/shop#9", func(f *route.ItemFacts) { f.ClosedAt, f.ReopenedAt = minutes(tc.closed), minutes(tc.reopened) }).
			want(t, late, tc.want)
	}
	again := event(t, loop.KindIssues, githubtest.Issues("reopened", "octocat", labeledItem))
	for closed, want := range map[time.Duration]outcome{
		-time.Second: {Kind: loop.Spawn, Item: "github:acme/shop#9"},
		0:            {Kind: loop.Spawn, Item: "github:acme/shop#9"},
		time.Second:  dropped(loop.DropItemClosed),
	} {
		newWorld().know(t, "acme/shop#9", func(f *route.ItemFacts) { f.ClosedAt = again.At.Add(closed) }).want(t, again, want)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	it := githubtest.Item{Number: 9, PR: true, Body: "Closes #5"}
	const five, nine = "github:acme/shop#5", "github:acme/shop#9"
	for _, tc := range []struct {
		name  string
		world *world
		body  string
		want  outcome
		cmd   loop.Command
	}{
		{"for the session that is there", newWorld().session(t, nine, loop.StatusActive), "/loop stop", outcome{Kind: loop.Control, Item: nine}, loop.Command{Verb: loop.VerbStop}},
		{"for a paused one", newWorld().session(t, five, loop.StatusPaused), "/loop resume", outcome{loop.Control, "", five, nine}, loop.Command{Verb: loop.VerbResume}},
		{"with text beside", newWorld(), "/loop start — please also do Y", outcome{loop.Control, "", five, nine}, loop.Command{Verb: loop.VerbStart, Text: "— please also do Y"}},
		{"the stopped item is started", newWorld().know(t, nine, func(f *route.ItemFacts) { f.Stopped = true }), "/loop start", outcome{Kind: loop.Control, Item: nine}, loop.Command{Verb: loop.VerbStart}},
		{"the same twice", newWorld(), "/loop pause\n/loop pause", outcome{loop.Control, "", five, nine}, loop.Command{Verb: loop.VerbPause}},
		{"two different ones", newWorld().session(t, five, loop.StatusActive), "/loop start\n/loop stop", dropped(loop.DropAmbiguous), loop.Command{}},
		{"a quoted one is a comment", newWorld().session(t, five, loop.StatusActive), "> /loop stop\n\nwhy?", outcome{loop.Deliver, "", five, nine}, loop.Command{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, ev := range []loop.Event{
				comment(t, it, "octocat", tc.body),
				event(t, loop.KindPullRequestComment, githubtest.PullRequestComment("created", "octocat", it, githubtest.Comment{Body: tc.body})),
				event(t, loop.KindPullRequestReview, githubtest.PullRequestReview("submitted", "octocat", it, githubtest.Review{Body: tc.body})),
			} {
				d := tc.world.want(t, ev, tc.want)
				if diff := cmp.Diff(tc.cmd, d.Command); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	w := newWorld().session(t, five, loop.StatusActive)
	w.policy.ControlEnabled = false
	w.want(t, comment(t, it, "octocat", "/loop stop"), dropped(loop.DropControlOff))
	w.want(t, comment(t, it, "octocat", "/loop stop\n/loop start"), dropped(loop.DropControlOff))
}

func TestStartWhereOnlyABranchNamesAnIssue(t *testing.T) {
	t.Parallel()
	it := githubtest.Item{Number: 9, Head: "issue-77-x"}
	start := event(t, loop.KindPullRequestComment, githubtest.PullRequestComment("created", "octocat", it, githubtest.Comment{Body: "/loop start"}))
	newWorld().want(t, start, outcome{Kind: loop.Control, Item: "github:acme/shop#9"})
}
