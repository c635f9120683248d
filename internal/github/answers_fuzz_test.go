package github_test

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
)

// Whatever a host answers, what is read of it is written so that it reads the same.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		`{"number":7,"title":"t","user":{"login":"mona","id":1},"state":"open","id":3,"body":"b","created_at":"2026-07-02T10:00:00Z"}`,
		`{"number":7,"pull_request":{"merged_at":"2026-07-02T10:00:00Z"},"closed_at":"2026-07-02T10:00:00Z","state":"CLOSED"}`,
		`{"number":7,"head":{"ref":"x","sha":"y","repo":null},"base":{"repo":{"full_name":"a/b","id":4}},"merged":true}`,
		"{\"number\":\"7\",\"number\":8,\"title\":\"\xff\\ud800\",\"labels\":[null,{\"name\":5}],\"issue_url\":\"/7\",\"id\":9}", `[]`, `{}`, `null`,
	} {
		f.Add([]byte(body))
	}
	body := []byte{}
	c, err := github.New(github.Options{
		Journal: openJournal(f), Log: slog.New(slog.DiscardHandler), Env: []string{"GH_TOKEN=x"},
		HTTP: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/repos/acme/shop/issues/comments" {
				return respond(r, 200, "["+string(body)+"]"), nil
			}
			return respond(r, 200, string(body)), nil
		}),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		body = answer
		i, err := c.Issue(t.Context(), item(7))
		if err != nil {
			return
		}
		i.UpdatedAt = i.CreatedAt
		ev := written(t)(github.Changed(i, i.Opened()))
		i.Item.State, i.Item.ClosedAt = "open", ev.Item.ClosedAt
		if diff := cmp.Diff(i.Item, ev.Item); diff != "" {
			t.Errorf("item (-read +written):\n%s", diff)
		}
		comments, err := c.Comments(t.Context(), repo, epoch)
		if err != nil {
			t.Fatalf("it is an object to one, and none to the other: %v", err)
		}
		for _, comment := range comments.All {
			ev := written(t)(github.CommentCreated(i, comment))
			if diff := cmp.Diff(comment.Comment, ev.Comment); diff != "" {
				t.Errorf("comment (-read +written):\n%s", diff)
			}
		}
	})
}

func written(t *testing.T) func(loop.Delivery, error) loop.Event {
	t.Helper()
	return func(d loop.Delivery, err error) loop.Event {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		ev, err := github.Decode(d)
		if err != nil {
			t.Fatalf("%v: %q", err, d.Body)
		}
		return ev
	}
}
