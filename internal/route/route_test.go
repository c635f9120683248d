package route_test

import (
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

const autoExecute = "the-loop: auto-execute"

// minutes returns a time after the one at which everything happens that says no other.
func minutes(n int) time.Time { return githubtest.Epoch.Add(time.Duration(n) * time.Minute) }

func item(t testing.TB, ref string) loop.WorkItem {
	t.Helper()
	w, err := loop.ParseAny(ref)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// event decodes a payload, so that what is decided here is decided of what GitHub sends.
func event(t testing.TB, kind loop.Kind, body []byte) loop.Event {
	t.Helper()
	ev, err := github.Decode(loop.Delivery{ID: "d-1", Source: loop.SourceWebhook, Kind: string(kind), Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// world is what surrounds a decision.
type world struct {
	links  route.Links
	facts  route.Facts
	policy route.Policy
}

// newWorld returns one in which octocat may act, labelled items are started and nothing is known.
func newWorld() *world {
	return &world{
		links: route.Links{Declared: map[loop.ItemKey][]loop.WorkItem{}, Remembered: map[loop.ItemKey][]loop.WorkItem{}},
		facts: route.Facts{Items: map[loop.ItemKey]route.ItemFacts{}, Pulls: map[loop.ItemKey]route.PullFacts{}},
		policy: route.Policy{
			RoutingEnabled: true, AuthorizedUsers: []string{"octocat"}, AutoExecuteLabel: autoExecute,
			SpawnOnUnmatched: route.SpawnLabeled, CloseLinked: route.LinkedTrusted, ControlEnabled: true, ControlPrefix: "/loop",
		},
	}
}

// know changes what is known of an item.
func (w *world) know(t testing.TB, ref string, change func(*route.ItemFacts)) *world {
	t.Helper()
	key := item(t, ref).Key()
	f := w.facts.Items[key]
	change(&f)
	w.facts.Items[key] = f
	return w
}

func (w *world) session(t testing.TB, ref string, status loop.SessionStatus) *world {
	t.Helper()
	return w.know(t, ref, func(f *route.ItemFacts) {
		f.Session = loop.Session{WorkItem: item(t, ref), Status: status, CreatedAt: minutes(-60)}
	})
}

func (w *world) remember(t testing.TB, pull, ref string) *world {
	t.Helper()
	key := item(t, pull).Key()
	w.links.Remembered[key] = append(w.links.Remembered[key], item(t, ref))
	return w
}

func (w *world) declare(t testing.TB, pull, ref string) *world {
	t.Helper()
	key := item(t, pull).Key()
	w.links.Declared[key] = append(w.links.Declared[key], item(t, ref))
	return w
}

func (w *world) decide(ev loop.Event) loop.Decision {
	return route.Decide(ev, route.Refs(ev, w.links), w.facts, w.policy)
}

// outcome is the part of a decision that most tests are about.
type outcome struct {
	Kind   loop.DecisionKind
	Reason string // of a drop
	Item   string
	Via    string
}

func outcomeOf(d loop.Decision) outcome {
	o := outcome{Kind: d.Kind, Item: d.Item.Ref(), Via: d.Via.Ref()}
	if d.Kind == loop.Drop {
		o.Reason = d.Reason
	}
	return o
}

func (w *world) want(t *testing.T, ev loop.Event, want outcome) loop.Decision {
	t.Helper()
	d := w.decide(ev)
	if got := outcomeOf(d); got != want {
		t.Errorf("%s/%s: got %+v (%s), want %+v", ev.Kind, ev.Action, got, d.Reason, want)
	}
	if d.Reason == "" {
		t.Errorf("%s/%s: decided without a reason", ev.Kind, ev.Action)
	}
	return d
}

func dropped(reason string) outcome { return outcome{Kind: loop.Drop, Reason: reason} }

func comment(t testing.TB, it githubtest.Item, by, body string) loop.Event {
	t.Helper()
	return event(t, loop.KindIssueComment, githubtest.IssueComment("created", by, it, githubtest.Comment{Body: body}))
}
