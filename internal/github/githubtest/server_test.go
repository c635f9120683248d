package githubtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

// start returns a GitHub that ends with the test.
func start(t *testing.T) *githubtest.Server {
	t.Helper()
	s := githubtest.NewServer("")
	t.Cleanup(s.Close)
	return s
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// ask makes a request with the operator's token and, in pairs, more headers.
func ask(t *testing.T, s *githubtest.Server, method, path, body string, headers ...string) reply {
	t.Helper()
	r, err := try(s, method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func try(s *githubtest.Server, method, path, body string, headers ...string) (reply, error) {
	if !strings.HasPrefix(path, "http") {
		path = s.URL + path
	}
	req, err := http.NewRequest(method, path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Authorization", "Bearer "+githubtest.Token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, b}, err
}

func get(t *testing.T, s *githubtest.Server, path string, headers ...string) reply {
	t.Helper()
	return ask(t, s, http.MethodGet, path, "", headers...)
}

// field reads what is at a dotted path of every row of an answer, or of the answer itself.
func field(t *testing.T, r reply, path string) []any {
	t.Helper()
	var v any
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	rows, many := v.([]any)
	if !many {
		rows = []any{v}
	}
	out := []any{}
	for _, v := range rows {
		for name := range strings.SplitSeq(path, ".") {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		out = append(out, v)
	}
	return out
}

// want compares one field of all rows.
func want(t *testing.T, r reply, path string, values ...any) {
	t.Helper()
	for i, v := range values {
		if n, is := v.(int); is {
			values[i] = float64(n)
		}
	}
	if values == nil {
		values = []any{}
	}
	if diff := cmp.Diff(values, field(t, r, path)); diff != "" {
		t.Errorf("%s of the answer %d (-want +got):\n%s", path, r.status, diff)
	}
}

// receiver takes deliveries and reads them as Loop does.
type receiver struct {
	url    string
	mu     sync.Mutex
	got    []loop.Event
	events []string
	fail   int
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.fail > 0 {
			r.fail--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if err := github.Verify([][]byte{[]byte("s3cret")}, body, req.Header.Values(github.SignatureHeader)); err != nil {
			t.Errorf("a delivery: %v", err)
		}
		event := req.Header.Get("X-GitHub-Event")
		ev := loop.Event{}
		if slices.Contains(loop.Kinds(), loop.Kind(event)) {
			var err error
			ev, err = github.Decode(loop.Delivery{
				ID: loop.DeliveryID(req.Header.Get("X-GitHub-Delivery")), Kind: event, Body: body,
				Host: req.Header.Get("X-GitHub-Enterprise-Host"),
			})
			if err != nil {
				t.Errorf("decode %s: %v", event, err)
			}
		}
		r.got = append(r.got, ev)
		action := struct{ Action string }{}
		if err := json.Unmarshal(body, &action); err != nil {
			t.Errorf("read %s: %v", event, err)
		}
		r.events = append(r.events, strings.TrimSuffix(event+"/"+action.Action, "/"))
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(web.Close)
	r.url = web.URL
	return r
}

// take returns what came since it was last asked.
func (r *receiver) take() (names []string, events []loop.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names, events = r.events, r.got
	r.events, r.got = nil, nil
	return names, events
}

func (r *receiver) expect(t *testing.T, names ...string) []loop.Event {
	t.Helper()
	got, events := r.take()
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
	return events
}

func TestItems(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop := s.Repo("acme", "shop")
	first := shop.Open("ann", githubtest.Item{Title: "Closed on Sundays", Labels: []string{"Loop"}})
	s.Advance(time.Minute)
	pr := shop.Open("bob", githubtest.Item{PR: true, Body: "Fixes #1", Head: "issue-1", HeadSHA: strings.Repeat("c", 40), Draft: true})
	s.Advance(time.Minute)
	first.Comment("ann", "please")

	all := get(t, s, "/repos/acme/shop/issues?state=all")
	want(t, all, "number", 2, 1)
	want(t, all, "user.login", "bob", "ann")
	want(t, all, "pull_request.url", s.URL+"/repos/acme/shop/pulls/2", nil)
	want(t, all, "comments", 0, 1)
	want(t, get(t, s, "/repos/acme/shop/issues?sort=updated&direction=asc"), "number", 2, 1)
	want(t, get(t, s, "/repos/ACME/Shop/issues?labels=loop"), "number", 1)
	want(t, get(t, s, "/repos/acme/shop/issues?labels=loop,bug"), "number")
	want(t, get(t, s, "/repos/acme/shop/pulls"), "head.ref", "issue-1")
	want(t, get(t, s, "/repos/acme/shop/pulls"), "mergeable", nil)
	want(t, get(t, s, "/repos/acme/shop/pulls/2"), "mergeable", true)
	want(t, get(t, s, "/repos/acme/shop/pulls/2"), "draft", true)
	if got := get(t, s, "/repos/acme/shop/pulls/1"); got.status != http.StatusNotFound {
		t.Errorf("an issue as a pull request: %d", got.status)
	}

	pr.SetDraft("bob", false)
	pr.Merge("ann")
	want(t, get(t, s, "/repos/acme/shop/issues"), "number")
	want(t, get(t, s, "/repos/acme/shop/issues/1"), "state_reason", "completed")
	want(t, get(t, s, "/repos/acme/shop/issues/2"), "pull_request.merged_at", "2026-07-02T10:02:00Z")
	want(t, get(t, s, "/repos/acme/shop/pulls?state=closed"), "merged_at", "2026-07-02T10:02:00Z")
	want(t, get(t, s, "/repos/acme/shop/issues/1/events"), "event", "labeled", "closed")
	want(t, get(t, s, "/repos/acme/shop/issues/2/timeline"), "event", "ready_for_review", "merged", "closed")
	want(t, get(t, s, "/repos/acme/shop/issues/events"), "issue.number", 1, 2, 2, 2, 1)
}

// TestSince holds that since is inclusive, at the grain of a second, and about changes.
func TestSince(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop := s.Repo("acme", "shop")
	one := shop.Open("ann", githubtest.Item{})
	old := one.Comment("ann", "one")
	s.Advance(10 * time.Second)
	one.Comment("ann", "two")
	one.Comment("ann", "three")
	at := "2026-07-02T10:00:10Z"
	want(t, get(t, s, "/repos/acme/shop/issues/comments?since="+at), "body", "two", "three")
	want(t, get(t, s, "/repos/acme/shop/issues/comments?since=2026-07-02T10:00:11Z"), "body")
	want(t, get(t, s, "/repos/acme/shop/issues?since="+at), "number", 1)
	s.Advance(10 * time.Second)
	one.EditComment("ann", old, "one, mended")
	want(t, get(t, s, "/repos/acme/shop/issues/comments?sort=updated&direction=desc&since="+at), "body", "one, mended", "three", "two")
	one.DeleteComment("ann", old)
	want(t, get(t, s, "/repos/acme/shop/issues/comments"), "body", "two", "three")
	want(t, get(t, s, "/repos/acme/shop/issues/comments"), "issue_url", s.URL+"/repos/acme/shop/issues/1", s.URL+"/repos/acme/shop/issues/1")
}

func TestReviews(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop := s.Repo("acme", "shop")
	pr := shop.Open("ann", githubtest.Item{PR: true})
	pr.Review("bob", githubtest.Review{State: "changes_requested", Body: "no"}, githubtest.Comment{Body: "here", Line: 3}, githubtest.Comment{Body: "there"})
	mine := pr.StartReview(githubtest.Operator, "not yet", githubtest.Comment{Body: "draft"})
	s.AddToken("other", "carol")
	want(t, get(t, s, "/repos/acme/shop/pulls/1/reviews"), "state", "CHANGES_REQUESTED", "PENDING")
	want(t, get(t, s, "/repos/acme/shop/pulls/1/reviews"), "submitted_at", "2026-07-02T10:00:00Z", nil)
	want(t, get(t, s, "/repos/acme/shop/pulls/1/reviews", "Authorization", "token other"), "state", "CHANGES_REQUESTED")
	want(t, get(t, s, "/repos/acme/shop/pulls/comments"), "body", "here", "there")
	s.Advance(time.Minute)
	pr.SubmitReview(mine, "")
	want(t, get(t, s, "/repos/acme/shop/pulls/1/reviews", "Authorization", "token other"), "state", "CHANGES_REQUESTED", "COMMENTED")
	want(t, get(t, s, "/repos/acme/shop/pulls/1/comments?since=2026-07-02T10:01:00Z"), "body", "draft")
	s.DeleteAccount("bob")
	want(t, get(t, s, "/repos/acme/shop/pulls/1/reviews"), "user.login", nil, githubtest.Operator)
	want(t, get(t, s, "/repos/acme/shop/pulls/1/comments"), "user.login", "ghost", "ghost", githubtest.Operator)
}

func TestChecks(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop := s.Repo("acme", "shop")
	sha := strings.Repeat("c", 40)
	shop.Open("ann", githubtest.Item{PR: true, HeadSHA: sha})
	id := shop.Workflow(githubtest.Check{SHA: sha})
	shop.Workflow(githubtest.Check{ID: id, SHA: sha, Attempt: 2, Conclusion: "success"})
	shop.CheckRun(githubtest.Check{SHA: sha, Name: "lint", App: "linter"})
	shop.CheckRun(githubtest.Check{SHA: sha, Name: "lint", App: "linter", Conclusion: "success"})
	shop.Status(githubtest.Check{SHA: sha, Name: "ci/x", Conclusion: "pending"})
	shop.Status(githubtest.Check{SHA: sha, Name: "ci/x", Conclusion: "error"})
	commit := "/repos/acme/shop/commits/" + sha
	runs := get(t, s, "/repos/acme/shop/actions/runs?head_sha="+sha)
	want(t, runs, "total_count", 1)
	if !strings.Contains(string(runs.body), `"run_attempt":2`) || !strings.Contains(string(runs.body), `"number":1`) {
		t.Errorf("workflow runs: %s", runs.body)
	}
	want(t, get(t, s, commit+"/check-runs"), "total_count", 1)
	want(t, get(t, s, commit+"/check-runs?filter=all"), "total_count", 2)
	want(t, get(t, s, commit+"/statuses"), "state", "error", "pending")
	want(t, get(t, s, commit+"/status"), "state", "failure")
	want(t, get(t, s, commit+"/pulls"), "number", 1)
}
