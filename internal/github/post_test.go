package github_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
)

func TestWrites(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{}
	note := func(answer string, status int) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			bodies[r.Method+" "+r.URL.Path] = string(b)
			refuses(status, answer)(rw, r)
		}
	}
	w := newWorld(t, map[string]http.HandlerFunc{
		issuesPath + "/5/comments":                       note(`{"id":77,"body":"hi","issue_url":"https://api.github.com/repos/acme/shop/issues/5"}`, 201),
		issuesPath + "/5/reactions":                      note(`{}`, 201),
		issuesPath + "/comments/8/reactions":             note(`{}`, 200), // it was there
		"/repos/acme/shop/pulls/comments/9/reactions":    note(`{}`, 201),
		"/repos/acme/shop/hooks/1/deliveries/2/attempts": note(`{}`, 202),
	})
	c, err := w.Post(t.Context(), item(5), "a <b> & \xff")
	if err != nil || c.ID != 77 || c.Number != 5 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, on := range []github.Target{{Item: item(5)}, {Item: item(5), Comment: 8}, {Item: item(5), Comment: 9, Inline: true}} {
		if err := w.React(t.Context(), on, "eyes"); err != nil {
			t.Error(err)
		}
	}
	if err := w.Redeliver(t.Context(), repo, loop.Undelivered{Hook: "1", Try: 2}); err != nil {
		t.Error(err)
	}
	eyes, _ := json.Marshal(map[string]string{"content": "eyes"})
	want := map[string]string{
		"POST " + issuesPath + "/5/comments":                  "{\"body\":\"a <b> & \uFFFD\"}\n",
		"POST " + issuesPath + "/5/reactions":                 string(eyes) + "\n",
		"POST " + issuesPath + "/comments/8/reactions":        string(eyes) + "\n",
		"POST /repos/acme/shop/pulls/comments/9/reactions":    string(eyes) + "\n",
		"POST /repos/acme/shop/hooks/1/deliveries/2/attempts": "",
	}
	if diff := cmp.Diff(want, bodies); diff != "" {
		t.Error(diff)
	}
}

func TestFailedDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]http.HandlerFunc{"/repos/acme/shop/hooks/1/deliveries": refuses(200, `[
		{"id":9,"guid":"a","event":"issues","action":"opened","status":"OK","status_code":200,"delivered_at":"2026-07-02T10:09:00Z"},
		{"id":8,"guid":"b","event":"issues","action":"closed","status":"Connection refused","status_code":0,"delivered_at":"2026-07-02T10:08:00Z","redelivery":true},
		{"id":7,"guid":"c","event":"issue_comment","status_code":503,"delivered_at":"2026-07-02T10:07:00Z"},
		{"id":6,"guid":"a","event":"issues","action":"opened","status_code":502,"delivered_at":"2026-07-02T10:06:00Z"},
		{"id":5,"guid":"b","event":"issues","action":"closed","status_code":502,"delivered_at":"2026-07-02T10:05:00Z"},
		{"id":4,"guid":"d","event":"issues","action":"closed","status_code":502,"delivered_at":"2026-07-02T09:59:59Z"}]`,
		"Link", `</never>; rel="next"`)})
	got, err := w.FailedDeliveries(t.Context(), repo, "1", epoch)
	want := []loop.Undelivered{
		{ID: "c", Kind: loop.KindIssueComment, Hook: "1", Try: 7, At: at("02T10:07:00")},
		{ID: "b", Kind: loop.KindIssues, Hook: "1", Try: 8, At: at("02T10:08:00")},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
