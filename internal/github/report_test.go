package github_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gh "github.com/google/go-github/v89/github"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

// restOf answers as the API does, given what webhooks show: the same objects, with what only the API says.
type restOf struct {
	t    *testing.T
	body map[string]json.RawMessage
}

func rest(t *testing.T, webhook []byte) restOf {
	t.Helper()
	r := restOf{t: t}
	if err := json.Unmarshal(webhook, &r.body); err != nil {
		t.Fatal(err)
	}
	return r
}

// object returns a member of the webhook with some of its own members set.
func (r restOf) object(member string, set map[string]any) string {
	r.t.Helper()
	all := map[string]any{}
	if err := json.Unmarshal(r.body[member], &all); err != nil {
		r.t.Fatalf("%s of %s: %v", member, r.body, err)
	}
	maps.Copy(all, set)
	b, err := json.Marshal(all)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

const apiRepo = "https://api.github.com/repos/acme/shop"

var (
	home     = map[string]any{"repository_url": apiRepo}
	shopRepo = loop.Repo{Owner: "acme", Name: "shop", ID: decodeRepoID()}
)

func decodeRepoID() int64 {
	ev, err := github.Decode(loop.Delivery{Kind: "issues", Body: githubtest.Issues("opened", "octocat", githubtest.Item{})})
	if err != nil {
		panic(err)
	}
	return ev.Repo.ID
}

// same holds that a delivery which the client made is read as the webhook of the same fact, and that the types of somebody
// else who reads webhooks take it too.
func same(t *testing.T, kind loop.Kind, webhook []byte, polled loop.Delivery, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if polled.Kind != string(kind) || polled.Source != loop.SourcePoll {
		t.Errorf("%s by %s, want %s by poll", polled.Kind, polled.Source, kind)
	}
	want := decode(t, kind, webhook)
	want.Source, want.Delivery = loop.SourcePoll, ""
	got, err := github.Decode(polled)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s by webhook and by poll (-webhook +poll):\n%s\n%s", kind, diff, polled.Body)
	}
	if got.Fact == "" {
		t.Errorf("%s names no fact", kind)
	}
	if _, err := gh.ParseWebHook(string(kind), polled.Body); err != nil {
		t.Errorf("go-github does not take it for a webhook: %v\n%s", err, polled.Body)
	}
}

func (r restOf) item(w *world, handlers map[string]http.HandlerFunc, kind, member string, set map[string]any) github.Item {
	r.t.Helper()
	handlers["/repos/acme/shop/"+kind+"/15"] = says(r.object(member, set))
	ask := w.Issue
	if kind == "pulls" {
		ask = w.Pull
	}
	i, err := ask(r.t.Context(), item(15))
	if err != nil {
		r.t.Fatal(err)
	}
	i.Repo.ID = shopRepo.ID
	return i
}

func TestAComment(t *testing.T) {
	t.Parallel()
	for name, it := range map[string]githubtest.Item{
		"on an issue":        {Labels: []string{"bug"}, Body: "text"},
		"on a pull request":  {PR: true, Body: "Closes #3"},
		"on a closed one":    {Closed: true},
		"of a deleted actor": {Author: "mona"},
	} {
		author := "octocat"
		if strings.Contains(name, "deleted") {
			author = ""
		}
		webhook := githubtest.IssueComment("created", author, it, githubtest.Comment{Body: "hi \u0000 \x1b there"})
		handlers := map[string]http.HandlerFunc{}
		w, r := newWorld(t, handlers), rest(t, webhook)
		handlers["/repos/acme/shop/issues/comments"] = says("[" + r.object("comment", map[string]any{"issue_url": apiRepo + "/issues/15"}) + "]")
		l, err := w.Comments(t.Context(), repo, epoch)
		if err != nil || len(l.All) != 1 || l.All[0].Number != 15 || l.All[0].Inline {
			t.Fatalf("%s: %+v, %v", name, l, err)
		}
		polled, err := github.CommentCreated(r.item(w, handlers, "issues", "issue", home), l.All[0])
		same(t, loop.KindIssueComment, webhook, polled, err)
	}
}

func TestACommentOnAPullRequestThatWasAskedForAsOne(t *testing.T) {
	t.Parallel()
	it := githubtest.Item{PR: true, Merged: true, Closed: true}
	webhook := githubtest.IssueComment("created", "octocat", it, githubtest.Comment{Body: "hi"})
	handlers := map[string]http.HandlerFunc{"/repos/acme/shop/issues/comments": says("[" + rest(t, webhook).object("comment", nil) + "]")}
	w := newWorld(t, handlers)
	l, err := w.Comments(t.Context(), repo, epoch)
	if err != nil {
		t.Fatal(err)
	}
	pull := rest(t, githubtest.PullRequest("closed", "octocat", it)).item(w, handlers, "pulls", "pull_request", nil)
	polled, err := github.CommentCreated(pull, l.All[0])
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := github.Decode(polled); err != nil || !ev.Item.PR || !ev.Item.Merged {
		t.Errorf("%+v, %v", ev, err)
	}
}

func TestAnInlineComment(t *testing.T) {
	t.Parallel()
	webhook := githubtest.PullRequestComment("created", "octocat", githubtest.Item{Fork: "mona"}, githubtest.Comment{Body: "hi", Line: 7})
	handlers := map[string]http.HandlerFunc{}
	w, r := newWorld(t, handlers), rest(t, webhook)
	handlers["/repos/acme/shop/pulls/comments"] = says("[" + r.object("comment", map[string]any{
		"pull_request_url": apiRepo + "/pulls/15", "pull_request_review_id": 2001,
	}) + "]")
	l, err := w.InlineComments(t.Context(), repo, epoch)
	if err != nil || len(l.All) != 1 || l.All[0].Number != 15 || !l.All[0].Inline || l.All[0].Review != 2001 {
		t.Fatalf("%+v, %v", l, err)
	}
	polled, err := github.CommentCreated(r.item(w, handlers, "pulls", "pull_request", nil), l.All[0])
	same(t, loop.KindPullRequestComment, webhook, polled, err)
}

func TestAReview(t *testing.T) {
	t.Parallel()
	webhook := githubtest.PullRequestReview("submitted", "octocat", githubtest.Item{}, githubtest.Review{State: "changes_requested", Body: "no"})
	handlers := map[string]http.HandlerFunc{}
	w, r := newWorld(t, handlers), rest(t, webhook)
	handlers["/repos/acme/shop/pulls/15/reviews"] = says("[" + r.object("review", map[string]any{"state": "PENDING", "submitted_at": nil}) +
		"," + r.object("review", map[string]any{"state": "CHANGES_REQUESTED"}) + "]")
	l, err := w.Reviews(t.Context(), item(15))
	if err != nil || len(l.All) != 1 {
		t.Fatalf("%+v, %v: one is still being written", l, err)
	}
	polled, err := github.ReviewSubmitted(r.item(w, handlers, "pulls", "pull_request", nil), l.All[0])
	same(t, loop.KindPullRequestReview, webhook, polled, err)
	if !strings.Contains(string(polled.Body), `"state":"changes_requested"`) {
		t.Errorf("the state is not in lower case: %s", polled.Body)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	const then, later = "2026-07-02T10:00:00Z", "2026-07-09T10:00:00Z"
	for _, tc := range []struct {
		kind    loop.Kind
		webhook []byte
		change  string
	}{
		{loop.KindIssues, githubtest.Issues("labeled", "mona", githubtest.Item{Labels: []string{"bug"}}, githubtest.Label("bug")), `"event":"labeled","label":{"name":"bug"}`},
		{loop.KindIssues, githubtest.Issues("closed", "mona", githubtest.Item{Closed: true}), `"event":"closed"`},
		{loop.KindIssues, githubtest.Issues("reopened", "mona", githubtest.Item{}), `"event":"reopened"`},
		{loop.KindPullRequest, githubtest.PullRequest("labeled", "mona", githubtest.Item{}, githubtest.Label("bug")), `"event":"labeled","label":{"name":"bug"}`},
		{loop.KindPullRequest, githubtest.PullRequest("closed", "mona", githubtest.Item{Closed: true, Merged: true}), `"event":"closed"`},
		{loop.KindPullRequest, githubtest.PullRequest("ready_for_review", "mona", githubtest.Item{}), `"event":"ready_for_review"`},
	} {
		handlers := map[string]http.HandlerFunc{}
		w, r := newWorld(t, handlers), rest(t, tc.webhook)
		actor := r.object("sender", nil)
		handlers["/repos/acme/shop/issues/15/events"] = says(`[{"id":1,"actor":` + actor + `,"created_at":"` + then + `",` + tc.change + `}]`)
		l, err := w.Changes(t.Context(), item(15))
		if err != nil || len(l.All) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		now := map[string]any{"updated_at": later, "repository_url": apiRepo}
		if strings.Contains(tc.change, "reopened") {
			now["state"], now["closed_at"] = "closed", later
		}
		var i github.Item
		if tc.kind == loop.KindIssues {
			i = r.item(w, handlers, "issues", "issue", now)
		} else {
			i = r.item(w, handlers, "pulls", "pull_request", now)
		}
		polled, err := github.Changed(i, l.All[0])
		want := tc.webhook
		same(t, tc.kind, want, polled, err)
	}
}

func TestAClosureAsTheListingShowsIt(t *testing.T) {
	t.Parallel()
	webhook := githubtest.Issues("closed", "mona", githubtest.Item{Closed: true})
	r := rest(t, webhook)
	w := newWorld(t, map[string]http.HandlerFunc{
		issuesPath + "/15": says(r.object("issue", map[string]any{"repository_url": apiRepo, "closed_by": json.RawMessage(r.object("sender", nil)), "state_reason": "completed"})),
		issuesPath: says("[" + r.object("issue", map[string]any{
			"repository_url": apiRepo, "pull_request": map[string]any{"merged_at": "2026-07-02T10:00:00Z"},
		}) + "]"),
	})
	i, err := w.Issue(t.Context(), item(15))
	if err != nil || i.StateReason != "completed" {
		t.Fatal(i, err)
	}
	i.Repo.ID = shopRepo.ID
	polled, err := github.Changed(i, i.Closed())
	same(t, loop.KindIssues, webhook, polled, err)

	l, err := w.Issues(t.Context(), repo, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if polled, err = github.Changed(l.All[0], l.All[0].Closed()); err != nil {
		t.Fatal(err)
	}
	ev, err := github.Decode(polled)
	if err != nil || ev.Kind != loop.KindPullRequest || !ev.Item.Merged || ev.Fact != "close:github:acme/shop#15:2026-07-02T10:00:00Z" || ev.Actor.Login != "" {
		t.Errorf("a merged pull request: %+v, %v", ev, err)
	}
	if opened := l.All[0].Opened(); opened.Action != "opened" || opened.Actor.Login != "octocat" || opened.At.IsZero() {
		t.Errorf("%+v", opened)
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	webhook := githubtest.WorkflowRun("completed", githubtest.Check{
		SHA: "abc", App: "lint", Summary: "one test fails", Pulls: []githubtest.Pull{{Number: 9}},
	})
	w := newWorld(t, map[string]http.HandlerFunc{
		"/repos/acme/shop/actions/runs": says(`{"total_count":1,"workflow_runs":[` + rest(t, webhook).object("workflow_run", nil) + `]}`),
	})
	l, err := w.RecentWorkflowRuns(t.Context(), shopRepo, epoch)
	if err != nil || len(l.All) != 1 || !l.All[0].Over || l.All[0].SHA != "abc" || l.All[0].Conclusion != "failure" {
		t.Fatalf("%+v, %v", l, err)
	}
	polled, err := github.Completed(shopRepo, l.All[0])
	same(t, loop.KindWorkflowRun, webhook, polled, err)
}
