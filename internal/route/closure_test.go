package route_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

func closing(t testing.TB, it githubtest.Item, by string) loop.Event {
	t.Helper()
	it.Closed = true
	if it.PR {
		return event(t, loop.KindPullRequest, githubtest.PullRequest("closed", by, it))
	}
	return event(t, loop.KindIssues, githubtest.Issues("closed", by, it))
}

func TestAClosedItemEndsItsSession(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		it     githubtest.Item
		reason loop.CloseReason
		merged bool
	}{
		{"issue", githubtest.Item{Number: 9}, loop.CloseIssue, false},
		{"pull request", githubtest.Item{Number: 9, PR: true}, loop.ClosePRClosed, false},
		{"merged pull request", githubtest.Item{Number: 9, PR: true, Merged: true}, loop.ClosePRMerged, true},
		{"pull request of a fork that is gone", githubtest.Item{Number: 9, PR: true, ForkGone: true}, loop.ClosePRClosed, false},
	} {
		for _, status := range []loop.SessionStatus{loop.StatusActive, loop.StatusPaused} {
			for _, by := range []string{"octocat", "mallory", ""} {
				w := newWorld().session(t, "acme/shop#9", status)
				w.policy.AuthorizedUsers = nil // a close asks nobody
				w.facts.Login = by
				d := w.want(t, closing(t, tc.it, by), outcome{Kind: loop.Close, Item: "github:acme/shop#9"})
				want := []loop.Closure{{Item: item(t, "acme/shop#9"), Reason: tc.reason, Merged: tc.merged, ClosedAt: githubtest.Epoch}}
				if diff := cmp.Diff(want, d.Closures); diff != "" {
					t.Errorf("%s, closed by %q: %s", tc.name, by, diff)
				}
			}
		}
	}
}

func TestAClosedItemStartsAndPromptsNothing(t *testing.T) {
	t.Parallel()
	for _, it := range []githubtest.Item{labeledItem, {Number: 9, PR: true, Labels: labeledItem.Labels, Body: "Closes #5"}} {
		w := newWorld()
		w.policy.SpawnOnUnmatched = route.SpawnAlways
		w.policy.Deliver = map[loop.Kind][]string{loop.KindIssues: {"closed"}, loop.KindPullRequest: {"closed"}}
		w.want(t, closing(t, it, "octocat"), dropped(loop.DropNoSession))
		w.session(t, "acme/shop#9", loop.StatusClosed).want(t, closing(t, it, "octocat"), dropped(loop.DropNoSession))
		w.session(t, "acme/shop#9", loop.StatusActive).want(t, closing(t, it, "octocat"), outcome{Kind: loop.Close, Item: "github:acme/shop#9"})
	}
}

func TestAClosedPullRequestEndsLinkedSessions(t *testing.T) {
	t.Parallel()
	const five, nine = "github:acme/shop#5", "github:acme/shop#9"
	pull := githubtest.Item{Number: 9, PR: true, Body: "Closes #5"}
	with := func(change func(*githubtest.Item)) githubtest.Item {
		it := pull
		change(&it)
		return it
	}
	fork := with(func(it *githubtest.Item) { it.Fork = "mallory" })
	mergedFork := with(func(it *githubtest.Item) { it.Fork, it.Merged = "mallory", true })
	mergedOwn := with(func(it *githubtest.Item) { it.Merged = true })
	open5 := func() *world { return newWorld().session(t, five, loop.StatusActive) }
	otherPull := func() *world { return open5().know(t, five, func(f *route.ItemFacts) { f.OtherPull = true }) }
	ends, untrusted, off := outcome{loop.Close, "", five, nine}, outcome{loop.Drop, loop.DropUntrustedLink, five, nine}, outcome{loop.Drop, loop.DropLinkedOff, five, nine}
	other := outcome{loop.Drop, loop.DropOtherPull, five, nine}
	for _, tc := range []struct {
		name                   string
		it                     githubtest.Item
		world                  func() *world
		trusted, merged, never outcome
	}{
		{"merged", mergedOwn, open5, ends, ends, off},
		{"merged from a fork", mergedFork, open5, ends, ends, off},
		{"closed, same repository", pull, open5, ends, off, off},
		{"closed, a stranger's fork", fork, open5, untrusted, off, off},
		{"closed, a fork that is gone", with(func(it *githubtest.Item) { it.ForkGone = true }), open5, untrusted, off, off},
		{"closed, a fork's pull request that the session declared", fork, func() *world { return open5().declare(t, nine, five) }, ends, off, off},
		{"closed, a fork's pull request that is remembered", fork, func() *world { return open5().remember(t, nine, five) }, untrusted, off, off},
		{"merged, while another is open", mergedOwn, otherPull, other, other, off},
		{"closed, while another is open", pull, otherPull, other, off, off},
	} {
		for policy, want := range map[route.LinkedPolicy]outcome{
			route.LinkedTrusted: tc.trusted, route.LinkedMerged: tc.merged, route.LinkedNever: tc.never, "": tc.never, "always": tc.never,
		} {
			t.Run(tc.name+"/"+string(policy), func(t *testing.T) {
				t.Parallel()
				w := tc.world()
				w.policy.CloseLinked = policy
				w.want(t, closing(t, tc.it, "mallory"), want)
			})
		}
	}
}

func TestOwnAndLinkedSessionsEndTogether(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for _, ref := range []string{"acme/shop#9", "acme/shop#5", "acme/plan#6", "acme/shop#7"} {
		w.session(t, ref, loop.StatusActive)
	}
	w.remember(t, "acme/shop#9", "acme/shop#5")
	it := githubtest.Item{Number: 9, PR: true, Merged: true, Body: "Closes #5, fixes acme/plan#6, see #7"}
	d := w.want(t, closing(t, it, "octocat"), outcome{Kind: loop.Close, Item: "github:acme/shop#9"})
	var got []string
	for _, c := range d.Closures {
		got = append(got, c.Item.Ref()+" "+string(c.Reason))
	}
	want := []string{"github:acme/shop#9 pr-merged", "github:acme/shop#5 pr-merged", "github:acme/plan#6 pr-merged"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAStrangersPullRequestEndsOnlyItself(t *testing.T) {
	t.Parallel()
	w := newWorld().session(t, "acme/shop#9", loop.StatusActive).session(t, "acme/shop#5", loop.StatusActive)
	d := w.want(t, closing(t, githubtest.Item{Number: 9, PR: true, Fork: "mallory", Body: "Closes #5"}, "mallory"), outcome{Kind: loop.Close, Item: "github:acme/shop#9"})
	if len(d.Closures) != 1 {
		t.Errorf("closures %v", d.Closures)
	}
}

func TestAPullRequestAsTheIssuesListShowsIt(t *testing.T) {
	t.Parallel()
	shop, fork := loop.Repo{Owner: "acme", Name: "shop"}, loop.Repo{Owner: "mallory", Name: "shop"}
	for _, tc := range []struct {
		mergedAt any
		head     loop.Repo
		want     outcome
	}{
		{"2026-07-02T10:00:00Z", fork, outcome{loop.Close, "", "github:acme/shop#5", "github:acme/shop#9"}},
		{nil, shop, outcome{loop.Close, "", "github:acme/shop#5", "github:acme/shop#9"}},
		{nil, fork, outcome{loop.Drop, loop.DropUntrustedLink, "github:acme/shop#5", "github:acme/shop#9"}},
		{nil, loop.Repo{}, outcome{loop.Drop, loop.DropUntrustedLink, "github:acme/shop#5", "github:acme/shop#9"}},
	} {
		ev := event(t, loop.KindIssues, githubtest.Issues("closed", "", githubtest.Item{Number: 9, Closed: true, Body: "Closes #5"},
			githubtest.With("issue.pull_request.merged_at", tc.mergedAt)))
		w := newWorld().session(t, "acme/shop#5", loop.StatusActive)
		w.facts.Pulls[item(t, "acme/shop#9").Key()] = route.PullFacts{HeadRepo: tc.head}
		w.want(t, ev, tc.want)
	}
}

func TestStaleCloses(t *testing.T) {
	t.Parallel()
	const five, nine = "github:acme/shop#5", "github:acme/shop#9"
	pull := githubtest.Item{Number: 9, PR: true, Merged: true, Body: "Closes #5"}
	for _, tc := range []struct {
		name    string
		ref     string
		created int // minutes after the close
		change  func(*world)
		want    outcome
	}{
		{"the session is older", nine, -60, nil, outcome{Kind: loop.Close, Item: nine}},
		{"clocks differ", nine, 10, nil, outcome{Kind: loop.Close, Item: nine}},
		{"the session is later", nine, 11, nil, outcome{loop.Drop, loop.DropStaleClose, nine, ""}},
		{"reopened since", nine, -60, func(w *world) { w.know(t, nine, func(f *route.ItemFacts) { f.ReopenedAt = minutes(1) }) }, outcome{loop.Drop, loop.DropStaleClose, nine, ""}},
		{"reopened before", nine, -60, func(w *world) { w.know(t, nine, func(f *route.ItemFacts) { f.ReopenedAt = minutes(-1) }) }, outcome{Kind: loop.Close, Item: nine}},
		{"reopened in its second", nine, -60, func(w *world) { w.know(t, nine, func(f *route.ItemFacts) { f.ReopenedAt = minutes(0) }) }, outcome{loop.Drop, loop.DropStaleClose, nine, ""}},
		{"the linked session is later", five, 11, nil, outcome{loop.Drop, loop.DropStaleClose, five, nine}},
		{"the linked issue was reopened", five, -60, func(w *world) { w.know(t, five, func(f *route.ItemFacts) { f.ReopenedAt = minutes(1) }) }, outcome{loop.Drop, loop.DropStaleClose, five, nine}},
		{"the pull request was reopened", five, -60, func(w *world) { w.know(t, nine, func(f *route.ItemFacts) { f.ReopenedAt = minutes(1) }) }, outcome{loop.Drop, loop.DropStaleClose, five, nine}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld().session(t, tc.ref, loop.StatusActive)
			w.know(t, tc.ref, func(f *route.ItemFacts) { f.Session.CreatedAt = minutes(tc.created) })
			if tc.change != nil {
				tc.change(w)
			}
			w.want(t, closing(t, pull, "octocat"), tc.want)
		})
	}
}
