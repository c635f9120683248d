package githubtest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := start(t)
	in := receive(t)
	s.Webhook(in.url, []byte("s3cret"))
	shop := s.Repo("acme", "shop")

	one := shop.Open("ann", githubtest.Item{Labels: []string{"loop", "bug"}})
	in.expect(t, "issues/opened", "issues/labeled", "issues/labeled")
	pr := shop.Open("bob", githubtest.Item{PR: true, Body: "closes #1", Labels: []string{"loop"}})
	in.expect(t, "pull_request/opened", "pull_request/labeled")
	s.Advance(time.Minute)
	id := one.Comment("ann", "hello")
	ev := in.expect(t, "issue_comment/created")[0]
	if ev.Comment.ID != id || ev.Comment.Body != "hello" || ev.Actor.Login != "ann" || ev.Repo.ID != shop.ID || ev.Item.Number != 1 {
		t.Errorf("the comment came as %+v", ev)
	}
	one.EditComment("bob", id, "bye")
	one.DeleteComment("bob", id)
	one.Unlabel("ann", "BUG")
	one.Edit("ann", "Other", "text")
	one.Lock("ann")
	in.expect(t, "issue_comment/edited", "issue_comment/deleted", "issues/unlabeled", "issues/edited", "issues/locked")

	pr.Review("ann", githubtest.Review{State: "approved"}, githubtest.Comment{Body: "a"}, githubtest.Comment{Body: "b"})
	review := in.expect(t, "pull_request_review/submitted", "pull_request_review_comment/created", "pull_request_review_comment/created")
	if review[0].Review.State != "approved" || review[2].Comment.Body != "b" {
		t.Errorf("the review came as %+v", review)
	}
	pending := pr.StartReview("ann", "later", githubtest.Comment{Body: "c"})
	in.expect(t)
	pr.SubmitReview(pending, "changes_requested")
	pr.Push("bob", "dddddddddddddddddddddddddddddddddddddddd")
	pr.SetDraft("bob", true)
	pr.SetDraft("bob", false)
	pr.Reply("bob", pr.Inline()[0].ID, "done")
	in.expect(t, "pull_request_review/submitted", "pull_request_review_comment/created", "pull_request/synchronize",
		"pull_request/converted_to_draft", "pull_request/ready_for_review", "pull_request_review/submitted", "pull_request_review_comment/created")
	pr.Merge("bob")
	merge := in.expect(t, "pull_request/closed", "issues/closed")
	if !merge[0].Item.Merged || merge[1].Item.Number != 1 || !merge[1].Item.ClosedAt.Equal(s.Now()) {
		t.Errorf("the merge came as %+v", merge)
	}
	one.Reopen("ann")
	shop.Workflow(githubtest.Check{})
	shop.Status(githubtest.Check{})
	shop.RenameLabel("ann", "loop", "Loop!")
	shop.Rename("ann", "store")
	in.expect(t, "issues/reopened", "workflow_run/completed", "status", "label/edited", "repository/renamed")
	one.Transfer("ann", s.Repo("acme", "attic"))
	in.expect(t, "issues/opened", "issues/transferred")
}

// TestHeld is how a test loses, repeats and shuffles deliveries.
func TestHeld(t *testing.T) {
	t.Parallel()
	s := start(t)
	in := receive(t)
	hook := s.Webhook(in.url, []byte("s3cret"))
	hook.Hold()
	one := s.Repo("acme", "shop").Open("ann", githubtest.Item{})
	one.Close("ann", "not_planned")
	in.expect(t)
	held := hook.Take()
	for _, d := range []githubtest.Delivery{held[1], held[0], held[1]} {
		if status := hook.Send(d); status != http.StatusAccepted {
			t.Errorf("send %s: %d", d.Event, status)
		}
	}
	in.expect(t, "issues/closed", "issues/opened", "issues/closed")
	one.Reopen("ann")
	in.expect(t)
	hook.Release()
	one.Label("ann", "loop")
	in.expect(t, "issues/reopened", "issues/labeled")
}

// TestSameFacts holds that a webhook and the API speak of the same things by the same names and times.
func TestSameFacts(t *testing.T) {
	t.Parallel()
	s := start(t)
	in := receive(t)
	s.Webhook(in.url, []byte("s3cret"))
	shop := s.Repo("acme", "shop")
	pr := shop.Open("ann", githubtest.Item{PR: true, Fork: "bob", Labels: []string{"loop"}})
	s.Advance(time.Minute)
	pr.Comment("bob", "c")
	pr.Review("bob", githubtest.Review{State: "approved", Body: "r"}, githubtest.Comment{Body: "i", Line: 7})
	_, events := in.take()
	comment, review, inline := events[2], events[3], events[4]
	for _, tc := range []struct {
		path, field string
		want        any
	}{
		{"issues/comments", "id", comment.Comment.ID},
		{"issues/comments", "html_url", comment.URL},
		{"issues/comments", "created_at", comment.At},
		{"issues/1", "updated_at", review.Item.UpdatedAt},
		{"pulls/1/reviews", "id", review.Review.ID},
		{"pulls/1/reviews", "html_url", review.URL},
		{"pulls/1/reviews", "submitted_at", review.At},
		{"pulls/comments", "id", inline.Comment.ID},
		{"pulls/comments", "html_url", inline.URL},
		{"pulls/comments", "line", int64(inline.Comment.Line)},
		{"pulls/1", "head.repo.id", review.Item.HeadRepo.ID},
		{"pulls/1", "head.sha", review.Item.HeadSHA},
		{"", "id", review.Repo.ID},
	} {
		switch v := tc.want.(type) {
		case int64:
			tc.want = float64(v)
		case time.Time:
			tc.want = v.Format(time.RFC3339)
		}
		path := "/repos/acme/shop"
		if tc.path != "" {
			path += "/" + tc.path
		}
		if diff := cmp.Diff([]any{tc.want}, field(t, get(t, s, path), tc.field)); diff != "" {
			t.Errorf("%s of %s (-webhook +api):\n%s", tc.field, tc.path, diff)
		}
	}
}

func TestRedelivery(t *testing.T) {
	t.Parallel()
	s := start(t)
	in := receive(t)
	in.fail = 1
	hook := s.Webhook(in.url, []byte("s3cret"))
	one := s.Repo("acme", "shop").Open("ann", githubtest.Item{})
	one.Comment("ann", "x")
	in.expect(t, "issue_comment/created")
	if failed := hook.Failed(); len(failed) != 1 || failed[0].Event != "issues" {
		t.Fatalf("failed: %v", failed)
	}
	const path = "/repos/acme/shop/hooks/1/deliveries"
	tries := get(t, s, path)
	want(t, tries, "event", "issue_comment", "issues")
	want(t, tries, "status_code", 202, 503)
	first := get(t, s, path+"?per_page=1")
	want(t, first, "event", "issue_comment")
	link := first.header.Get("Link")
	want(t, get(t, s, link[1:len(link)-len(`>; rel="next"`)]), "event", "issues")
	id := field(t, tries, "id")[1].(float64)
	one.Unlabel("ann", "none")
	if got := ask(t, s, http.MethodPost, path+"/"+itoa(int64(id))+"/attempts", ""); got.status != http.StatusAccepted {
		t.Fatalf("redeliver: %d %s", got.status, got.body)
	}
	s.Close() // waits for what follows the answer
	in.expect(t, "issues/opened")
	if failed := hook.Failed(); failed != nil {
		t.Errorf("failed: %v", failed)
	}
	rec := httptest.NewRecorder()
	again := httptest.NewRequest(http.MethodGet, path, nil)
	again.Header.Set("User-Agent", "test")
	again.Header.Set("Authorization", "token "+githubtest.Token)
	s.ServeHTTP(rec, again)
	tries = reply{rec.Code, rec.Header(), rec.Body.Bytes()}
	want(t, tries, "redelivery", true, false, false)
	if guids := field(t, tries, "guid"); guids[0] != guids[2] || guids[0] == guids[1] {
		t.Errorf("the tries are of the events %v", guids)
	}
}

// TestWrites holds that what a program writes is seen as what a person does.
func TestWrites(t *testing.T) {
	t.Parallel()
	s := start(t)
	in := receive(t)
	s.Webhook(in.url, []byte("s3cret"))
	one := s.Repo("acme", "shop").Open("ann", githubtest.Item{})
	const path = "/repos/acme/shop/issues/1"
	post := func(path, body string, status int) {
		t.Helper()
		if got := ask(t, s, http.MethodPost, path, body); got.status != status {
			t.Errorf("POST %s: %d %s, want %d", path, got.status, got.body, status)
		}
	}
	post(path+"/comments", `{"body":"hello"}`, 201)
	post(path+"/comments", `{"body":""}`, 422)
	post(path+"/comments", `{`, 400)
	post(path+"/reactions", `{"content":"eyes"}`, 201)
	post(path+"/reactions", `{"content":"eyes"}`, 200)
	post("/repos/acme/shop/issues/comments/1001/reactions", `{"content":"rocket"}`, 201)
	post(path+"/labels", `["Loop"]`, 200)
	post(path+"/labels", `{"labels":["loop","bug"]}`, 200)
	if got := ask(t, s, http.MethodDelete, path+"/labels/BUG", ""); got.status != 200 {
		t.Errorf("DELETE a label: %d", got.status)
	}
	if got := ask(t, s, http.MethodPatch, path, `{"state":"closed","state_reason":"not_planned"}`); got.status != 200 {
		t.Errorf("close: %d", got.status)
	}
	if diff := cmp.Diff([]string{"operator eyes"}, one.Reactions(0)); diff != "" {
		t.Errorf("reactions of the item (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"operator rocket"}, one.Reactions(one.Comments()[0].ID)); diff != "" {
		t.Errorf("reactions of the comment (-want +got):\n%s", diff)
	}
	now := one.Now()
	if diff := cmp.Diff([]string{"Loop"}, now.Labels); diff != "" || now.Reason != "not_planned" || !now.Closed {
		t.Errorf("the item is %+v", now)
	}
	s.Close() // waits for what follows the last answer
	in.expect(t, "issues/opened", "issue_comment/created", "issues/labeled", "issues/labeled", "issues/unlabeled", "issues/closed")
}
