package route_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

// check fails for a decision that can never be right, whatever the event.
func check(fatalf func(string, ...any), w *world, ev loop.Event, d loop.Decision) {
	open := func(item loop.WorkItem) bool { return w.facts.Items[item.Key()].Session.Open() }
	listed := strings.EqualFold(ev.Actor.Login, "octocat")
	switch {
	case d.Reason == "":
		fatalf("no reason: %+v", d)
	case d.Kind != loop.Drop && d.Item.IsZero():
		fatalf("for no item: %+v", d)
	case d.Kind == loop.Deliver && w.facts.Items[d.Item.Key()].Session.Status != loop.StatusActive:
		fatalf("delivered to a session that is not active: %+v", d)
	case d.Kind == loop.Spawn && (open(d.Item) || !listed || ev.Kind.CI() || ev.Action == "closed"):
		fatalf("started for %+v: %+v", ev, d)
	case (d.Kind == loop.Control || d.Kind == loop.Deliver && !ev.Kind.CI()) && !listed:
		fatalf("%q may do %+v", ev.Actor.Login, d)
	case (d.Kind == loop.Close) != (len(d.Closures) > 0), (d.Kind == loop.Control) != (d.Command.Verb != ""):
		fatalf("half a decision: %+v", d)
	case (d.Kind == loop.Deliver || d.Kind == loop.Spawn || d.Kind == loop.Control) && !slices.Contains(d.Refs, d.Item):
		fatalf("an item that the event does not concern: %+v", d)
	}
	for _, c := range d.Closures {
		if !open(c.Item) {
			fatalf("closes what is not open: %+v", d)
		}
	}
}

// TestEveryDecisionIsSound draws events, memories and policies, and asks what must hold of all of them.
func TestEveryDecisionIsSound(t *testing.T) {
	t.Parallel()
	refs := []string{"acme/shop#5", "acme/shop#7", "acme/shop#9", "acme/plan#5"}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld()
		for _, ref := range refs {
			status := rapid.SampledFrom([]loop.SessionStatus{"", loop.StatusActive, loop.StatusPaused, loop.StatusClosed}).Draw(rt, ref)
			w.session(t, ref, status).know(t, ref, func(f *route.ItemFacts) {
				f.Stopped, f.OtherPull = rapid.Bool().Draw(rt, "stopped"), rapid.Bool().Draw(rt, "other pull")
				f.SpawnedAt, f.ReopenedAt = minutes(rapid.IntRange(-2, 2).Draw(rt, "spawned")), minutes(rapid.IntRange(-2, 2).Draw(rt, "reopened"))
			})
		}
		if rapid.Bool().Draw(rt, "linked") {
			w.remember(t, "acme/shop#9", rapid.SampledFrom(refs).Draw(rt, "link"))
		}
		w.policy.SpawnOnUnmatched = rapid.SampledFrom([]route.SpawnPolicy{route.SpawnNever, route.SpawnLabeled, route.SpawnAlways}).Draw(rt, "spawns")
		w.policy.CloseLinked = rapid.SampledFrom([]route.LinkedPolicy{route.LinkedNever, route.LinkedMerged, route.LinkedTrusted}).Draw(rt, "linked")
		w.facts.Login = rapid.SampledFrom([]string{"", "octocat", "bot"}).Draw(rt, "login")
		w.links.ByHead = []loop.WorkItem{item(t, "acme/shop#9")}
		ev := drawEvent(t, rt)
		d := w.decide(ev)
		check(rt.Fatalf, w, ev, d)
		candidates := route.Refs(ev, w.links)
		if early, ok := route.Foregone(ev, candidates, w.policy); ok && (early.Kind != loop.Drop || cmp.Diff(d, early) != "") {
			rt.Fatalf("decided early as %+v, with all facts as %+v", early, d)
		}
	})
}

func drawEvent(t *testing.T, rt *rapid.T) loop.Event {
	t.Helper()
	kind := rapid.SampledFrom(loop.Kinds()).Draw(rt, "kind")
	action := rapid.SampledFrom([]string{"opened", "created", "submitted", "labeled", "closed", "reopened", "edited", "deleted", "completed"}).Draw(rt, "action")
	sender := rapid.SampledFrom([]string{"octocat", "mallory", ""}).Draw(rt, "sender")
	text := rapid.SampledFrom([]string{"", "hi", "/loop start", "/loop stop\n/loop start", "x\n<!-- loop -->", "Closes #5"}).Draw(rt, "text")
	it := githubtest.Item{
		Number: 9, PR: rapid.Bool().Draw(rt, "pull request"), Body: rapid.SampledFrom([]string{"", "Closes #5", "fixes acme/plan#5"}).Draw(rt, "body"),
		Head: rapid.SampledFrom([]string{"topic", "issue-7-x"}).Draw(rt, "branch"), Fork: rapid.SampledFrom([]string{"", "mallory"}).Draw(rt, "fork"),
		Merged: rapid.Bool().Draw(rt, "merged"), Labels: rapid.SampledFrom([][]string{nil, {autoExecute}}).Draw(rt, "labels"),
	}
	run := githubtest.Check{Fork: it.Fork, Branch: it.Head}
	if rapid.Bool().Draw(rt, "attached") {
		run.Pulls = []githubtest.Pull{{Number: 9}}
	}
	switch kind {
	case loop.KindIssues:
		return event(t, kind, githubtest.Issues(action, sender, it, githubtest.Label(autoExecute)))
	case loop.KindIssueComment:
		return event(t, kind, githubtest.IssueComment(action, sender, it, githubtest.Comment{Body: text}))
	case loop.KindPullRequest:
		return event(t, kind, githubtest.PullRequest(action, sender, it, githubtest.Label(autoExecute)))
	case loop.KindPullRequestReview:
		return event(t, kind, githubtest.PullRequestReview(action, sender, it, githubtest.Review{Body: text}))
	case loop.KindPullRequestComment:
		return event(t, kind, githubtest.PullRequestComment(action, sender, it, githubtest.Comment{Body: text}))
	case loop.KindWorkflowRun:
		return event(t, kind, githubtest.WorkflowRun(action, run))
	case loop.KindCheckRun:
		return event(t, kind, githubtest.CheckRun(action, run))
	case loop.KindCheckSuite:
		return event(t, kind, githubtest.CheckSuite(action, run))
	default:
		return event(t, kind, githubtest.Status(run))
	}
}

func FuzzDecide(f *testing.F) {
	it := githubtest.Item{Number: 9, PR: true, Body: "Closes #5", Labels: []string{autoExecute}}
	for kind, body := range map[loop.Kind][]byte{
		loop.KindIssues:            githubtest.Issues("labeled", "octocat", it, githubtest.Label(autoExecute)),
		loop.KindIssueComment:      githubtest.IssueComment("created", "octocat", it, githubtest.Comment{Body: "/loop start x"}),
		loop.KindPullRequest:       githubtest.PullRequest("closed", "octocat", it),
		loop.KindPullRequestReview: githubtest.PullRequestReview("submitted", "mallory", it, githubtest.Review{}),
		loop.KindStatus:            githubtest.Status(githubtest.Check{}),
		loop.KindCheckRun:          githubtest.CheckRun("completed", githubtest.Check{Pulls: []githubtest.Pull{{Number: 9}}}),
	} {
		f.Add(string(kind), body)
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		ev, err := github.Decode(loop.Delivery{ID: "d", Kind: kind, Body: body})
		if err != nil {
			return
		}
		w := newWorld().session(t, "acme/shop#9", loop.StatusActive)
		w.policy.SpawnOnUnmatched = route.SpawnAlways
		check(t.Fatalf, w, ev, w.decide(ev))
	})
}
