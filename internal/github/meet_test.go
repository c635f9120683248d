package github_test

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

// hub is a GitHub in a process, a webhook of it that keeps what it would send, and a client of its API.
type hub struct {
	gh   *githubtest.Server
	hook *githubtest.Hook
	*github.Client
}

func newHub(t *testing.T, change ...func(*github.Options)) hub {
	t.Helper()
	s := githubtest.NewServer("")
	t.Cleanup(s.Close)
	h := hub{gh: s, hook: s.Webhook("http://127.0.0.1:1/", []byte("s"))}
	h.hook.Hold()
	o := github.Options{
		Journal: openJournal(t), Log: slog.New(slog.DiscardHandler), APIURL: s.API(), HTTP: s.Transport(),
		Env: []string{"GITHUB_TOKEN=" + githubtest.Token},
	}
	for _, c := range change {
		c(&o)
	}
	h.Client = newClient(t, o)
	return h
}

// told returns the events that the webhook has told since it was asked last, by the fact that they report.
func (h hub) told(t *testing.T) map[string]loop.Event {
	t.Helper()
	events := map[string]loop.Event{}
	for _, d := range h.hook.Take() {
		ev, err := github.Decode(loop.Delivery{Source: loop.SourcePoll, Kind: d.Event, Body: d.Body})
		if err == nil && ev.Fact != "" {
			events[ev.Fact] = ev
		}
	}
	return events
}

// found collects what the client finds, by fact.
type found struct {
	t      *testing.T
	events map[string]loop.Event
}

func (f found) add(d loop.Delivery, err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	ev, err := github.Decode(d)
	if err != nil || ev.Fact == "" {
		f.t.Fatalf("%+v, %v: %s", ev, err, d.Body)
	}
	f.events[ev.Fact] = ev
}

// must returns what was listed.
func must[T any](t *testing.T) func(github.Listing[T], error) []T {
	t.Helper()
	return func(l github.Listing[T], err error) []T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return l.All
	}
}

// find asks for all that can be found about a repository since a time, as the one who polls it does.
func (h hub) find(t *testing.T, r loop.Repo, from time.Time) map[string]loop.Event {
	t.Helper()
	f := found{t, map[string]loop.Event{}}
	items, pulls := map[int]github.Item{}, map[int]github.Item{}
	for _, i := range must[github.Item](t)(h.Issues(t.Context(), r, from)) {
		items[i.Number] = i
		if i.PR {
			i = h.findPull(t, f, i.WorkItem())
			pulls[i.Number] = i
		}
		f.add(github.Changed(i, i.Opened()))
		for _, c := range must[github.Change](t)(h.Changes(t.Context(), i.WorkItem())) {
			switch c.Action {
			case "labeled", "closed", "reopened", "ready_for_review":
				f.add(github.Changed(i, c))
			}
		}
	}
	for _, c := range must[github.Comment](t)(h.Comments(t.Context(), r, from)) {
		f.add(github.CommentCreated(items[c.Number], c))
	}
	for _, c := range must[github.Comment](t)(h.InlineComments(t.Context(), r, from)) {
		f.add(github.CommentCreated(pulls[c.Number], c))
	}
	for _, result := range must[github.Result](t)(h.RecentWorkflowRuns(t.Context(), r, from)) {
		f.add(github.Completed(r, result))
	}
	return f.events
}

func (h hub) findPull(t *testing.T, f found, w loop.WorkItem) github.Item {
	t.Helper()
	pull, err := h.Pull(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	for _, review := range must[github.Review](t)(h.Reviews(t.Context(), w)) {
		f.add(github.ReviewSubmitted(pull, review))
	}
	return pull
}

func TestWebhookAndAPITellTheSame(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	shop := h.gh.Repo("acme", "shop")
	r := loop.Repo{Owner: "acme", Name: "shop", ID: shop.ID}
	issue := shop.Open("octocat", githubtest.Item{Title: "Broken", Body: "It is", Labels: []string{"bug", "the-loop: auto-execute"}})
	issue.Comment("mona", "Please mend it")
	pull := shop.Open("mona", githubtest.Item{PR: true, Title: "Mend", Body: "Closes #1", Head: "issue-1-mend"})
	pull.Comment("octocat", "Nice")
	pull.Review("octocat", githubtest.Review{State: "changes_requested", Body: "Not yet"}, githubtest.Comment{Body: "here", Path: "a.go", Line: 3})
	pull.StartReview("operator", "not yet said")
	draft := shop.Open("mona", githubtest.Item{PR: true, Draft: true, Fork: "mona", Head: "topic", HeadSHA: strings.Repeat("b", 40)})
	sha, pulls := pull.Now().HeadSHA, []githubtest.Pull{{Number: pull.Number}}
	shop.Workflow(githubtest.Check{SHA: sha, Conclusion: "failure", Branch: "issue-1-mend", Pulls: pulls})

	early := h.find(t, r, githubtest.Epoch)
	if diff := cmp.Diff(h.told(t), early); diff != "" || len(early) != 10 {
		t.Errorf("%d facts (-webhook +API):\n%s", len(early), diff)
	}
	h.gh.ForgetRequests()
	h.find(t, r, githubtest.Epoch)
	if all, unchanged := h.gh.Count("*"); all == 0 || all != unchanged {
		t.Errorf("%d of %d requests are answered that nothing has changed:\n%v", unchanged, all, h.gh.Requests())
	}

	h.gh.Advance(time.Hour)
	draft.SetDraft("mona", false)
	issue.Close("octocat", "")
	h.gh.Advance(time.Hour)
	pull.Merge("octocat")
	issue.Reopen("mona")
	h.gh.Advance(time.Hour)
	issue.Close("mona", "not_planned")
	late := h.find(t, r, githubtest.Epoch)
	for fact := range early {
		delete(late, fact)
	}
	told := h.told(t)
	want, got := slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(late))
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 5 {
		t.Errorf("%d facts (-webhook +API):\n%s", len(got), diff)
	}
	for fact, ev := range told {
		if diff := cmp.Diff(ev, late[fact]); diff != "" {
			t.Errorf("%s (-webhook +API):\n%s", fact, diff)
		}
	}
}
