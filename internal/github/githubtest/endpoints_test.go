package githubtest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// call is a request, and one member of its answer.
type call struct {
	request, body string
	status        int
	member        string // "" is that the answer holds nothing
	want          any
}

func (c call) check(t *testing.T, s *githubtest.Server, below string) {
	t.Helper()
	method, path, _ := strings.Cut(c.request, " ")
	got := ask(t, s, method, below+path, c.body)
	if got.status != c.status {
		t.Errorf("%s: %d %s, want %d", c.request, got.status, got.body, c.status)
		return
	}
	if c.member != "" {
		want(t, got, c.member, c.want)
	} else if body := strings.TrimSpace(string(got.body)); body != "" && body != "[]" {
		t.Errorf("%s: %s, want nothing", c.request, body)
	}
}

func TestGeneralEndpoints(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []call{
		{"GET /user", "", 200, "login", "operator"},
		{"GET /users/ann", "", 200, "type", "User"},
		{"GET /users/loop%5Bbot%5D", "", 200, "type", "Bot"},
		{"GET /rate_limit", "", 200, "resources.core.limit", 5000.0},
		{"GET /nothing", "", 404, "status", "404"},
	} {
		c.check(t, s, "")
	}
}

// TestEndpoints asks a repository, in order, for what the other tests do not.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	s := start(t)
	hook := s.Webhook("http://127.0.0.1:1", []byte("s3cret"))
	hook.Hold()
	shop := s.Repo("acme", "shop")
	sha := strings.Repeat("c", 40)
	shop.Open("ann", githubtest.Item{Labels: []string{"needs care"}})
	shop.Open("bob", githubtest.Item{PR: true, HeadSHA: sha})
	shop.CheckSuite(githubtest.Check{SHA: sha, Name: "suite"})
	shop.CheckRun(githubtest.Check{ID: 9, SHA: sha, Name: "lint", Conclusion: "in_progress"})
	for _, c := range []call{
		{"GET /branches/topic", "", 200, "commit.sha", sha},
		{"GET /branches/other", "", 404, "message", "Not Found"},
		{"GET /commits/topic/check-suites", "", 200, "total_count", 1.0},
		{"GET /check-runs/9", "", 200, "status", "in_progress"},

		{"POST /labels", `{"name":"a/b: ü"}`, 201, "name", "a/b: ü"},
		{"POST /labels", `{"name":"A/B: Ü"}`, 422, "status", "422"},
		{"GET /labels/a%2Fb:%20%C3%BC", "", 200, "name", "a/b: ü"},
		{"PATCH /labels/needs%20care", `{"new_name":"care"}`, 200, "name", "care"},
		{"GET /issues/1/labels", "", 200, "name", "care"},
		{"DELETE /issues/1/labels/care", "", 200, "", nil},
		{"DELETE /issues/1/labels/care", "", 404, "message", "Label does not exist"},

		{"POST /issues", `{"title":"Third","labels":["care"]}`, 201, "number", 3.0},
		{"POST /issues", `{}`, 422, "status", "422"},
		{"PATCH /issues/3", `{"title":"3rd","body":"text"}`, 200, "title", "3rd"},
		{"PATCH /issues/3", `{"state":"closed"}`, 200, "closed_by.login", "operator"},
		{"PATCH /issues/3", `{"state":"open"}`, 200, "state_reason", "reopened"},
		{"PUT /issues/3/lock", "", 204, "", nil},
		{"GET /issues/3", "", 200, "locked", true},
		{"DELETE /issues/3/lock", "", 204, "", nil},

		{"POST /issues/3/comments", `{"body":"one"}`, 201, "id", 1001.0},
		{"PATCH /issues/comments/1001", `{"body":"two"}`, 200, "body", "two"},
		{"POST /issues/comments/1001/reactions", `{"content":"+1"}`, 201, "id", 8001.0},
		{"GET /issues/comments/1001", "", 200, "reactions.+1", 1.0},
		{"DELETE /issues/comments/1001/reactions/8001", "", 204, "", nil},
		{"GET /issues/comments/1001/reactions", "", 200, "", nil},
		{"DELETE /issues/comments/1001", "", 204, "", nil},
		{"GET /issues/comments/1001", "", 404, "status", "404"},

		{"POST /pulls/2/reviews", `{"event":"COMMENT","body":"well","comments":[{"path":"a.go","line":3,"body":"here"}]}`, 200, "state", "COMMENTED"},
		{"POST /pulls/2/reviews", `{"body":"not yet"}`, 200, "state", "PENDING"},
		{"POST /pulls/2/reviews", `{"event":"SHRUG"}`, 422, "status", "422"},
		{"GET /pulls/2/reviews/2001", "", 200, "body", "well"},
		{"GET /pulls/2/reviews/2001/comments", "", 200, "path", "a.go"},
		{"POST /pulls/2/comments/4001/replies", `{"body":"there"}`, 201, "in_reply_to_id", 4001.0},
		{"GET /pulls/comments/4002", "", 200, "body", "there"},
		{"GET /issues/comments/4002", "", 404, "status", "404"},
		{"POST /pulls/comments/4002/reactions", `{"content":"eyes"}`, 201, "content", "eyes"},
		{"PATCH /pulls/2", `{"body":"Fixes #3"}`, 200, "body", "Fixes #3"},
		{"PUT /pulls/2/merge", "", 200, "merged", true},
		{"PUT /pulls/2/merge", "", 405, "status", "405"},
		{"GET /issues/3", "", 200, "state", "closed"},

		{"GET /hooks", "", 200, "config.secret", "********"},
		{"GET /hooks/1", "", 200, "active", true},
		{"GET /hooks/2", "", 404, "status", "404"},
		{"GET /hooks/1/deliveries/1", "", 404, "status", "404"},
	} {
		c.check(t, s, "/repos/acme/shop")
	}
}

func TestPullRequestStates(t *testing.T) {
	t.Parallel()
	s := start(t)
	in := receive(t)
	pr := s.Repo("acme", "shop").Open("bob", githubtest.Item{PR: true, Fork: "bob"})
	s.Webhook(in.url, []byte("s3cret"))
	pr.SetMergeable("unknown")
	want(t, get(t, s, "/repos/acme/shop/pulls/1"), "mergeable", nil)
	pr.SetMergeable("dirty")
	want(t, get(t, s, "/repos/acme/shop/pulls/1"), "mergeable", false)
	pr.LoseFork()
	want(t, get(t, s, "/repos/acme/shop/pulls/1"), "head.repo", nil)
	id := pr.Review("ann", githubtest.Review{State: "approved"})
	pr.DismissReview("bob", id)
	want(t, get(t, s, "/repos/acme/shop/pulls/1/reviews"), "state", "DISMISSED")
	pr.Enqueue("ann")
	pr.Dequeue("ann", "CI_FAILURE")
	pr.Lock("ann")
	pr.Unlock("ann")
	pr.Close("ann", "")
	want(t, get(t, s, "/repos/acme/shop/pulls/1"), "merged", false)
	in.expect(t, "pull_request_review/submitted", "pull_request_review/dismissed", "pull_request/enqueued", "pull_request/dequeued",
		"pull_request/locked", "pull_request/unlocked", "pull_request/closed")
	pr.Label("ann", "loop")
	s.Repo("acme", "shop").DeleteLabel("ann", "LOOP")
	if now := pr.Now(); len(now.Labels) != 0 || !now.Closed || now.Merged {
		t.Errorf("the pull request is %+v", now)
	}
}

func TestDeliveryOfAHook(t *testing.T) {
	t.Parallel()
	s := start(t)
	in := receive(t)
	s.Webhook(in.url, []byte("s3cret"))
	s.Repo("acme", "shop").Open("ann", githubtest.Item{})
	one := get(t, s, "/repos/acme/shop/hooks/1/deliveries/9001")
	want(t, one, "request.payload.issue.number", 1)
	want(t, one, "request.headers.X-GitHub-Event", "issues")
	s.Repo("acme", "other").Open("ann", githubtest.Item{})
	want(t, get(t, s, "/repos/acme/shop/hooks/1/deliveries"), "id", 9001)
	s.AddToken("reader", "ann", "metadata=read", "issues=read")
	if got := get(t, s, "/repos/acme/shop/hooks/1/deliveries", "Authorization", "Bearer reader"); got.status != http.StatusForbidden {
		t.Errorf("without the right to hooks: %d", got.status)
	}
	var lines []string
	for _, r := range s.Requests() {
		lines = append(lines, r.String()+" "+r.Token)
	}
	if diff := cmp.Diff([]string{
		"GET /repos/acme/shop/hooks/1/deliveries/9001 OK ghp_operator", "GET /repos/acme/shop/hooks/1/deliveries OK ghp_operator",
		"GET /repos/acme/shop/hooks/1/deliveries Forbidden reader",
	}, lines); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

// TestTheLogKnowsWhatWasAnswered asks a server that is not done with a request whose answer is there.
func TestTheLogKnowsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	s := start(t)
	sent, done := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(sent)
		<-done
	}))
	t.Cleanup(slow.Close)
	s.Repo("acme", "shop").Open("ann", githubtest.Item{})
	s.Webhook(slow.URL, []byte("s3cret"))
	ask(t, s, http.MethodPost, "/repos/acme/shop/issues/1/comments", `{"body":"hello"}`)
	<-sent
	if diff := cmp.Diff(http.StatusCreated, s.Requests()[0].Status); diff != "" {
		t.Errorf("the status in the log (-want +got):\n%s", diff)
	}
	close(done)
}
