// Package githubtest is GitHub for tests and the demonstration. Payloads of webhooks can be made one by one, in GitHub's shape:
// what a payload does not need to say is filled in, and With breaks what a test wants broken. A Server is a whole GitHub, whose
// API and webhooks speak of the same state in the same words. Everything is deterministic.
package githubtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/github"
)

// Epoch is when everything happens that says no time of its own.
var Epoch = time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)

// Option changes a payload before it is written.
type Option func(body map[string]any)

// With sets the member at a dotted path, such as "comment.user", to any value. A nil value is a JSON null.
func With(path string, value any) Option {
	return func(body map[string]any) {
		names := strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			next, ok := body[name].(map[string]any)
			if !ok {
				next = map[string]any{}
				body[name] = next
			}
			body = next
		}
		body[names[len(names)-1]] = value
	}
}

// Label names the label that was just set or removed.
func Label(name string) Option { return With("label", label(name)) }

// Sign returns the value of the X-Hub-Signature-256 header for a body.
func Sign(secret, body []byte) string { return github.Sign(secret, body) }

// NewRequest returns a signed delivery of an event to a receiver's URL.
func NewRequest(ctx context.Context, url string, secret []byte, event, delivery string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a delivery to %s: %w", url, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "GitHub-Hookshot/0000000")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", delivery)
	req.Header.Set("X-GitHub-Hook-ID", "1")
	req.Header.Set("X-Hub-Signature-256", Sign(secret, body))
	return req, nil
}

// Ping returns what GitHub sends when a webhook was made.
func Ping() []byte {
	return write(map[string]any{
		"zen": "Keep it logically awesome.", "hook_id": 1,
		"hook":       map[string]any{"type": "Repository", "id": 1, "active": true, "events": []string{"*"}},
		"repository": Repo{}.json(),
	})
}

// Repo is a repository. The zero Repo is acme/shop on github.com.
type Repo struct {
	Host  string
	Owner string
	Name  string
	ID    int64
}

func (r Repo) orDefault() Repo {
	if r.Owner == "" {
		r.Owner = "acme"
	}
	if r.Name == "" {
		r.Name = "shop"
	}
	if r.Host == "" {
		r.Host = "github.com"
	}
	if r.ID == 0 {
		r.ID = number(r.page())
	}
	return r
}

func (r Repo) page() string {
	return "https://" + r.Host + "/" + r.Owner + "/" + r.Name
}

func (r Repo) json() map[string]any {
	r = r.orDefault()
	return map[string]any{
		"id": r.ID, "name": r.Name, "full_name": r.Owner + "/" + r.Name, "private": false,
		"owner": user(r.Owner), "html_url": r.page(), "default_branch": "main", "fork": false,
	}
}

// user returns an account, and the null of a deleted one for "".
func user(login string) any {
	if login == "" {
		return nil
	}
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return map[string]any{"login": login, "id": number(login), "type": kind, "site_admin": false}
}

func label(name string) map[string]any {
	return map[string]any{"id": number(name), "name": name, "color": "0e8a16", "default": false, "description": nil}
}

// number returns an id for a name, another for each.
func number(name string) int64 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int64(h.Sum32())
}

func write(body map[string]any, options ...Option) []byte {
	for _, option := range options {
		option(body)
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("githubtest: an option set what is no JSON: %v", err)) // a fault of the test that called
	}
	return b
}

func stamp(t time.Time) string {
	if t.IsZero() {
		t = Epoch
	}
	return t.UTC().Format(time.RFC3339)
}
