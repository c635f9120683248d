package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Given a receiver with a small cap on bodies,
// When requests come that are wrong in each way that it tells apart, and some that only look so,
// Then each gets the status that says what is wrong, nothing of what was refused is kept, and no answer tells a secret.
func TestEveryAnswerOfTheReceiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[webhook]\nmax_body_bytes = 65536")
	w.start()
	good := commentBody(15, "hello")
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	drop := func(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }
	const signature, event, delivery = "X-Hub-Signature-256", "X-GitHub-Event", "X-GitHub-Delivery"
	form := "payload=" + url.QueryEscape(string(good))
	cases := []struct {
		name   string
		status int
		body   []byte // nil: a good one
		edit   func(*http.Request)
	}{
		{"no signature", 401, nil, drop(signature)},
		{"the old signature alone", 401, nil, func(r *http.Request) {
			r.Header.Del(signature)
			r.Header.Set("X-Hub-Signature", "sha1=0123456789012345678901234567890123456789")
		}},
		{"two signatures", 401, nil, func(r *http.Request) { r.Header.Add(signature, r.Header.Get(signature)) }},
		{"half a signature", 401, nil, func(r *http.Request) { r.Header.Set(signature, r.Header.Get(signature)[:40]) }},
		{"a signature of other bytes", 401, nil, set(signature, githubtest.Sign([]byte(secret), []byte("{}")))},
		{"a signature with another secret", 401, nil, set(signature, githubtest.Sign([]byte("guess"), good))},
		{"no object", 400, []byte("[]"), nil},
		{"no event type", 400, nil, drop(event)},
		{"an event type that is none", 400, nil, set(event, "../../issues")},
		{"no delivery id", 400, nil, drop(delivery)},
		{"a delivery id that is no UUID", 400, nil, set(delivery, "-")},
		{"two delivery ids", 400, nil, func(r *http.Request) { r.Header.Add(delivery, uuid.NewString()) }},
		{"a form without payload", 400, []byte("payloat=1"), set("Content-Type", "application/x-www-form-urlencoded")},
		{"another path", 404, nil, func(r *http.Request) { r.URL.Path = "/metrics" }},
		{"a path below", 404, nil, func(r *http.Request) { r.URL.Path += "/" }},
		{"the way to another service", 404, nil, func(r *http.Request) { r.URL.Path = "/loop.v1.Sessions/Register" }},
		{"GET", 405, nil, func(r *http.Request) { r.Method = http.MethodGet }},
		{"PUT", 405, nil, func(r *http.Request) { r.Method = http.MethodPut }},
		{"POST to the health", 405, nil, func(r *http.Request) { r.URL.Path = "/healthz" }},
		{"too large", 413, with(`"pad":"`+strings.Repeat("x", 70_000)+`"`, good), nil},
		{"endless", 413, nil, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(io.LimitReader(letters{}, 1<<30)), -1
		}},
		{"text", 415, nil, set("Content-Type", "text/plain")},
		{"no content type", 415, nil, drop("Content-Type")},
		{"good", 202, nil, nil},
		{"JSON in other words", 202, nil, set("Content-Type", "Application/JSON; charset=utf-8")},
		{"a form", 202, []byte(form), set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")},
		{"ping", 202, githubtest.Ping(), set(event, "ping")},
		{"an event that nobody reads", 202, nil, set(event, "star")},
	}
	for _, c := range cases {
		body := c.body
		if body == nil {
			body = good
		}
		req, err := githubtest.NewRequest(t.Context(), w.loopd.url, []byte(secret), "issue_comment", uuid.NewString(), body)
		if err != nil {
			t.Fatal(err)
		}
		if c.edit != nil {
			c.edit(req)
		}
		a := w.send(req)
		if a.status != c.status || !strings.HasPrefix(a.body, "{") || strings.Contains(a.body, secret) || strings.Contains(a.body, "sha256=") {
			t.Errorf("%s: %d %s, want %d", c.name, a.status, a.body, c.status)
		}
	}
	w.allDropped(5)
	if a := w.get("/healthz"); a.status != http.StatusOK {
		t.Errorf("the health is %d %s after all that", a.status, a.body)
	}
}

// letters is an endless body.
type letters struct{}

func (letters) Read(b []byte) (int, error) { return copy(b, bytes.Repeat([]byte("x"), len(b))), nil }

func (w *world) get(path string) answer {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, strings.TrimSuffix(w.loopd.url, "/gh-webhook")+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.send(req)
}

// Given a journal that another process keeps to itself,
// When a delivery comes,
// Then it is answered with 503 and when to come again, never with 202; and when the journal is free, GitHub's retry of it is done.
func TestAJournalThatCannotBeWrittenTakesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	release := w.keepJournal()
	id, body := uuid.NewString(), commentBody(15, "is anybody there?")
	req, err := githubtest.NewRequest(t.Context(), w.loopd.url, []byte(secret), "issue_comment", id, body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("answered %s with Retry-After %q", res.Status, res.Header.Get("Retry-After"))
	}
	release()
	if a := w.postAs(id, "issue_comment", body); a.status != http.StatusAccepted {
		t.Fatalf("the retry is answered %d %s", a.status, a.body)
	}
	w.ends(id, "done", "")
	if n := len(w.runs()); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
}

// keepJournal takes the lock on the journal, as a person does who looks into it with another program, until release.
func (w *world) keepJournal() (release func()) {
	w.t.Helper()
	db, err := journal.Open(w.t.Context(), filepath.Join(w.state, "journal.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	held, free, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.Write(w.t.Context(), func(tx *journal.Tx) error {
			close(held)
			select {
			case <-free:
			case <-time.After(patience):
			}
			return nil
		})
	}()
	select {
	case <-held:
	case err := <-ended:
		w.t.Fatal(err)
	}
	return func() {
		close(free)
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
		if err := db.Close(); err != nil {
			w.t.Error(err)
		}
	}
}
