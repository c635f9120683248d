package github_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

// odd values stand where an object, a text, a number or a list is documented.
var odd = map[string]any{
	"null": nil, "list": []any{map[string]any{"login": "x"}}, "number": 7.5, "text": "x", "true": true, "object": map[string]any{"a": []any{}},
}

func decode(t *testing.T, kind loop.Kind, body []byte) loop.Event {
	t.Helper()
	ev, err := github.Decode(loop.Delivery{ID: "d-1", Source: loop.SourceWebhook, Kind: string(kind), Body: body})
	if err != nil {
		t.Fatalf("decode %s: %v\n%s", kind, err, body)
	}
	return ev
}

func TestOddMembersCostNothingButThemselves(t *testing.T) {
	t.Parallel()
	it := githubtest.Item{Number: 9, PR: true}
	comment := func(o ...githubtest.Option) []byte {
		return githubtest.IssueComment("created", "octocat", it, githubtest.Comment{Body: "hi"}, o...)
	}
	for _, tc := range []struct {
		member string
		want   func(loop.Event) bool
	}{
		{"comment", func(ev loop.Event) bool { return ev.Actor.Login == "octocat" && ev.Fact == "" && ev.Item.PR }},
		{"comment.body", func(ev loop.Event) bool { return ev.Comment.ID == 1001 && ev.Fact == "comment:1001" }},
		{"comment.user", func(ev loop.Event) bool { return ev.Comment.Body == "hi" && ev.Actor.Login == "octocat" }},
		{"sender", func(ev loop.Event) bool { return ev.Actor.Login == "" && ev.Comment.Author.Login == "octocat" }},
		{"issue", func(ev loop.Event) bool { return ev.Comment.Body == "hi" && ev.Item.PR }},
		{"issue.number", func(ev loop.Event) bool { return ev.Comment.Body == "hi" }},
		{"issue.labels", func(ev loop.Event) bool { return len(ev.Item.Labels) == 0 && ev.Item.Title != "" }},
		{"issue.user", func(ev loop.Event) bool { return ev.Item.Title != "" }},
		{"repository", func(ev loop.Event) bool { return ev.Comment.Body == "hi" }},
		{"repository.full_name", func(ev loop.Event) bool { return ev.Repo.ID != 0 }},
	} {
		for name, value := range odd {
			ev := decode(t, loop.KindIssueComment, comment(githubtest.With(tc.member, value)))
			if got, want := ev.WorkItem().Ref(), "github:acme/shop#9"; got != want || !tc.want(ev) {
				t.Errorf("%s is %s: item %q, event %+v", tc.member, name, got, ev)
			}
		}
	}
}

func TestAnyPullRequestMarkMakesAPullRequest(t *testing.T) {
	t.Parallel()
	for name, value := range odd {
		body := githubtest.IssueComment("created", "octocat", githubtest.Item{}, githubtest.Comment{}, githubtest.With("issue.pull_request", value))
		if got, want := decode(t, loop.KindIssueComment, body).Item.PR, value != nil; got != want {
			t.Errorf("issue.pull_request is %s: a pull request %v, want %v", name, got, want)
		}
	}
}

func TestNumbersAsText(t *testing.T) {
	t.Parallel()
	ev := decode(t, loop.KindIssueComment, []byte(`{"action":"created","repository":{"full_name":"a/b","id":"12"},
		"issue":{"number":"5"},"comment":{"id":"9007199254740993","body":"x"}}`))
	if ev.WorkItem().Ref() != "github:a/b#5" || ev.Repo.ID != 12 || ev.Fact != "comment:9007199254740993" {
		t.Errorf("%+v", ev)
	}
	for _, number := range []string{"0", "-5", "5.5", "1e9", "99999999999999999999", `"5x"`, `""`, "4294967301"} {
		ev := decode(t, loop.KindIssues, []byte(`{"action":"opened","repository":{"full_name":"a/b"},"issue":{"number":`+number+`}}`))
		if !ev.WorkItem().IsZero() || ev.Fact != "" {
			t.Errorf("number %s is item %v, fact %q", number, ev.WorkItem(), ev.Fact)
		}
	}
}

func TestPullRequestNumberBesideABrokenPullRequest(t *testing.T) {
	t.Parallel()
	for name, value := range odd {
		ev := decode(t, loop.KindPullRequest, githubtest.PullRequest("reopened", "octocat", githubtest.Item{Number: 9}, githubtest.With("pull_request", value)))
		if ev.WorkItem().Ref() != "github:acme/shop#9" || !ev.Item.PR {
			t.Errorf("pull_request is %s: %+v", name, ev)
		}
	}
}

func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	body := []byte("{\"action\":\"created\",\"repository\":{\"full_name\":\"a/b\"},\"issue\":{\"number\":5},\"x\":\"\xc3\x28\"," +
		"\"comment\":{\"id\":1,\"body\":\"a\xff\\u0000b\\ud800\"},\"action\":\"created\"}")
	ev := decode(t, loop.KindIssueComment, body)
	if ev.WorkItem().Ref() != "github:a/b#5" || ev.Comment.Body != "a�\x00b�" {
		t.Errorf("item %v, body %q", ev.WorkItem(), ev.Comment.Body)
	}
}

func TestHugeAndNested(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4<<20)
	nested := strings.Repeat(`{"a":[`, 4000) + strings.Repeat(`]}`, 4000)
	ev := decode(t, loop.KindIssueComment, []byte(`{"deep":`+nested+`,"action":"created","repository":{"full_name":"a/b","deep":`+nested+`},
		"issue":{"number":5,"labels":[`+nested+`,{"name":"bug"}]},"comment":{"id":1,"body":"`+long+`"}}`))
	if ev.WorkItem().Ref() != "github:a/b#5" || len(ev.Comment.Body) != len(long) || len(ev.Item.Labels) != 1 {
		t.Errorf("item %v, %d bytes of text, labels %v", ev.WorkItem(), len(ev.Comment.Body), ev.Item.Labels)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, header, page, want string }{
		{"github.com", "", "https://github.com/acme/shop", "github:acme/shop#15"},
		{"no page", "", "", "github:acme/shop#15"},
		{"the page's host", "", "https://ghe.example.com/acme/shop", "github:ghe.example.com/acme/shop#15"},
		{"the header's host", "GHE.example.com", "", "github:ghe.example.com/acme/shop#15"},
		{"the header before the page", "ghe.example.com", "https://github.com/acme/shop", "github:ghe.example.com/acme/shop#15"},
		{"a header that names github.com", "github.com", "https://github.com/acme/shop", "github:acme/shop#15"},
		{"a port", "", "http://ghe.example.com:8080/acme/shop", "github:ghe.example.com:8080/acme/shop#15"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body := githubtest.IssueComment("created", "octocat", githubtest.Item{}, githubtest.Comment{}, githubtest.With("repository.html_url", tc.page))
			ev, err := github.Decode(loop.Delivery{Kind: "issue_comment", Host: tc.header, Body: body})
			if err != nil || ev.WorkItem().Ref() != tc.want {
				t.Fatalf("item %v, %v, want %s", ev.WorkItem(), err, tc.want)
			}
			if fact := map[bool]string{true: "comment:1001", false: "comment:" + ev.Repo.Host + "/1001"}[ev.Repo.Host == ""]; ev.Fact != fact {
				t.Errorf("fact %q, want %q", ev.Fact, fact)
			}
		})
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	it := githubtest.Item{Number: 9, PR: true, At: githubtest.Epoch.In(time.FixedZone("", 7200))}
	for _, tc := range []struct {
		kind loop.Kind
		body []byte
		want string
	}{
		{loop.KindIssues, githubtest.Issues("opened", "o", it), "opened:github:acme/shop#9"},
		{loop.KindIssues, githubtest.Issues("reopened", "o", it), "reopened:github:acme/shop#9:2026-07-02T10:00:00Z"},
		{loop.KindIssues, githubtest.Issues("labeled", "o", it, githubtest.Label("The-Loop")), "label:github:acme/shop#9:the-loop:2026-07-02T10:00:00Z"},
		{loop.KindIssues, githubtest.Issues("labeled", "o", it), ""},
		{loop.KindIssues, githubtest.Issues("unlabeled", "o", it, githubtest.Label("x")), ""},
		{loop.KindIssues, githubtest.Issues("edited", "o", it), ""},
		{loop.KindPullRequest, githubtest.PullRequest("ready_for_review", "o", it), "ready_for_review:github:acme/shop#9:2026-07-02T10:00:00Z"},
		{loop.KindPullRequest, githubtest.PullRequest("synchronize", "o", it), ""},
		{loop.KindPullRequest, githubtest.PullRequest("closed", "o", githubtest.Item{Closed: true}), "close:github:acme/shop#15:2026-07-02T10:00:00Z"},
		{loop.KindIssueComment, githubtest.IssueComment("created", "o", it, githubtest.Comment{ID: 5}), "comment:5"},
		{loop.KindIssueComment, githubtest.IssueComment("edited", "o", it, githubtest.Comment{ID: 5}), ""},
		{loop.KindIssueComment, githubtest.IssueComment("deleted", "o", it, githubtest.Comment{ID: 5}), ""},
		{loop.KindPullRequestComment, githubtest.PullRequestComment("created", "o", it, githubtest.Comment{ID: 5}), "comment:r5"},
		{loop.KindPullRequestReview, githubtest.PullRequestReview("submitted", "o", it, githubtest.Review{ID: 5}), "review:5"},
		{loop.KindPullRequestReview, githubtest.PullRequestReview("dismissed", "o", it, githubtest.Review{ID: 5}), ""},
		{loop.KindWorkflowRun, githubtest.WorkflowRun("completed", githubtest.Check{ID: 5, Attempt: 3}), "workflow_run:5:3:failure"},
		{loop.KindWorkflowRun, githubtest.WorkflowRun("requested", githubtest.Check{ID: 5}), ""},
		{loop.KindCheckRun, githubtest.CheckRun("completed", githubtest.Check{ID: 5, Conclusion: "success"}), "check_run:5:1:success"},
		{loop.KindCheckRun, githubtest.CheckRun("created", githubtest.Check{ID: 5}), ""},
		{loop.KindCheckSuite, githubtest.CheckSuite("completed", githubtest.Check{ID: 5}), "check_suite:5:1:failure"},
		{loop.KindStatus, githubtest.Status(githubtest.Check{ID: 5, Conclusion: "error"}), "status:5:1:error"},
		{loop.KindStatus, githubtest.Status(githubtest.Check{ID: 5, Conclusion: "pending"}), ""},
	} {
		if got := decode(t, tc.kind, tc.body).Fact; got != tc.want {
			t.Errorf("fact of %s %s = %q, want %q", tc.kind, tc.body[:40], got, tc.want)
		}
	}
}

func TestClosedPullRequestAsTheIssuesListShowsIt(t *testing.T) {
	t.Parallel()
	body := githubtest.Issues("closed", "o", githubtest.Item{Number: 9, Closed: true},
		githubtest.With("issue.pull_request", map[string]any{"merged_at": "2026-07-02T10:00:00Z"}))
	if ev := decode(t, loop.KindIssues, body); !ev.Item.PR || !ev.Item.Merged {
		t.Errorf("a merged pull request is read as %+v", ev.Item)
	}
}

func TestChecksOfForksAndOtherBases(t *testing.T) {
	t.Parallel()
	pulls := []githubtest.Pull{{Number: 9}, {Number: 10, SHA: "newer"}, {Number: 11, Base: githubtest.Repo{Owner: "upstream"}}}
	ev := decode(t, loop.KindCheckRun, githubtest.CheckRun("completed", githubtest.Check{Pulls: pulls, SHA: "abc", App: "lint"}))
	want := []loop.PullHead{{Number: 9, SHA: "abc"}, {Number: 10, SHA: "newer"}}
	if diff := cmp.Diff(want, ev.CI.PRs); diff != "" || ev.CI.HeadRepo.Owner != "acme" || ev.CI.App != "lint" || ev.CI.Branch != "topic" {
		t.Errorf("%+v\n%s", ev.CI, diff)
	}
	ev = decode(t, loop.KindCheckRun, githubtest.CheckRun("completed", githubtest.Check{Pulls: pulls, Fork: "mona"}))
	if ev.CI.HeadRepo != (loop.Repo{}) {
		t.Errorf("a check of a fork's branch has head repository %+v", ev.CI.HeadRepo)
	}
}

func FuzzDecode(f *testing.F) {
	it := githubtest.Item{Number: 9, PR: true, Labels: []string{"bug"}}
	for _, body := range [][]byte{
		githubtest.Issues("labeled", "o", it, githubtest.Label("x")),
		githubtest.IssueComment("created", "o", it, githubtest.Comment{Body: "hi"}),
		githubtest.PullRequest("closed", "o", it),
		githubtest.PullRequestComment("created", "o", it, githubtest.Comment{}),
		githubtest.WorkflowRun("completed", githubtest.Check{Pulls: []githubtest.Pull{{Number: 1}}}),
		githubtest.Status(githubtest.Check{}),
		[]byte(`{"issue":[],"pull_request":null,"number":"7","comment":{"html_url":"https://github.com/a/b/pull/3#x"}}`),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, kind := range loop.Kinds() {
			ev, err := github.Decode(loop.Delivery{ID: "d", Kind: string(kind), Body: body})
			if err != nil {
				return
			}
			if kind.CI() && ev.Actor != (loop.Actor{}) {
				t.Fatalf("%s has actor %+v", kind, ev.Actor)
			}
		}
	})
}
