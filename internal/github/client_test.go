package github_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

const secretToken = "ghp_secret"

var (
	repo  = loop.Repo{Owner: "acme", Name: "shop"}
	epoch = time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
)

// world is a client and the server that it asks.
type world struct {
	*github.Client
	url string
	log *bytes.Buffer
	db  *journal.DB

	mu   sync.Mutex
	seen []string // method, path and query of each request
}

// newWorld starts a server that answers by path, in GitHub's way where a test says nothing else.
func newWorld(t *testing.T, handlers map[string]http.HandlerFunc, change ...func(*github.Options)) *world {
	t.Helper()
	w := &world{log: &bytes.Buffer{}, db: openJournal(t)}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, r.Method+" "+r.URL.RequestURI())
		w.mu.Unlock()
		if h := handlers[r.URL.Path]; h != nil {
			h(rw, r)
			return
		}
		http.Error(rw, `{"message":"Not Found"}`, http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	o := github.Options{
		Journal: w.db, Log: slog.New(slog.NewTextHandler(w.log, nil)), APIURL: server.URL, Env: []string{"GITHUB_TOKEN=" + secretToken},
	}
	for _, c := range change {
		c(&o)
	}
	w.Client = newClient(t, o)
	return w
}

func newClient(t *testing.T, o github.Options) *github.Client {
	t.Helper()
	c, err := github.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func openJournal(t testing.TB) *journal.DB {
	t.Helper()
	db, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), github.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (w *world) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

func refuses(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// tagged answers with an entity tag of the token and the body, and «not modified» to who has it.
func tagged(body *string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tag := fmt.Sprintf(`W/"%x"`, r.Header.Get("Authorization")+*body)
		w.Header().Set("Etag", tag)
		w.Header().Set("Date", epoch.Format(http.TimeFormat))
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, *body)
	}
}

func numbers(items []github.Item) []int {
	var n []int
	for _, i := range items {
		n = append(n, i.Number)
	}
	return n
}

func TestRequestsAreAsGitHubWantsThem(t *testing.T) {
	t.Parallel()
	var header http.Header
	w := newWorld(t, map[string]http.HandlerFunc{"/repos/acme/shop": func(rw http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		fmt.Fprint(rw, `{"id":7,"full_name":"acme/shop","archived":true}`)
	}})
	got, err := w.Repository(t.Context(), repo)
	want := github.Repository{Repo: loop.Repo{Owner: "acme", Name: "shop", ID: 7}, Archived: true}
	if err != nil || got != want {
		t.Fatalf("%+v, %v, want %+v", got, err, want)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + secretToken, "Accept": "application/vnd.github+json", "X-Github-Api-Version": "2022-11-28",
	} {
		if header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, header.Get(name), value)
		}
	}
	if !strings.HasPrefix(header.Get("User-Agent"), "loopd/") {
		t.Errorf("User-Agent %q", header.Get("User-Agent"))
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]http.HandlerFunc{
		"/repos/acme/shop/issues/1": refuses(401, `{"message":"Bad credentials"}`),
		"/repos/acme/shop/issues/2": refuses(403, `{"message":"Resource not accessible by personal access token"}`,
			"X-Accepted-GitHub-Permissions", "issues=read"),
		"/repos/acme/shop/issues/3": refuses(404, `{"message":"Not Found"}`),
		"/repos/acme/shop/issues/4": refuses(410, `{"message":"This issue was deleted"}`),
		"/repos/acme/shop/issues/5": refuses(451, `{"message":"Repository access blocked"}`),
		"/repos/acme/shop/issues/6": refuses(422, `{"message":"Validation Failed","errors":[{"message":"no such\nfield"}]}`),
		"/repos/acme/shop/issues/7": refuses(500, `<html>`),
		"/repos/acme/shop/issues/8": says(`{"number":8`),
		"/repos/acme/shop/issues/9": says(`[]`),
		"/repos/acme/shop/issues/10": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "100")
			fmt.Fprint(rw, `{"number":10,`)
		},
	})
	for _, tc := range []struct {
		number, status int
		class          error
		says           string
	}{
		{3, 404, loop.ErrNotFound, "it does not exist, or the token may not see it"},
		{2, 403, loop.ErrDenied, "the token needs issues=read"},
		{4, 410, loop.ErrNotFound, "410 gone: This issue was deleted"},
		{5, 451, loop.ErrDenied, "Repository access blocked"},
		{6, 422, loop.ErrInvalid, "Validation Failed; no such field"},
		{7, 500, loop.ErrUnavailable, "GET /repos/acme/shop/issues/7 on github.com: 500"},
		{8, 0, loop.ErrUnavailable, "the answer cannot be read"},
		{9, 0, loop.ErrUnavailable, "the answer is no item"},
		{10, 0, loop.ErrUnavailable, "no answer that can be used from github.com"},
		{1, 401, loop.ErrDenied, "give loopd a token that is valid"},
		{3, 0, loop.ErrDenied, "github.com refuses the token of $GITHUB_TOKEN"}, // it is not tried again at once
	} {
		_, err := w.Issue(t.Context(), item(tc.number))
		e, _ := errors.AsType[*github.Error](err)
		if !errors.Is(err, tc.class) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), secretToken) {
			t.Errorf("%d: %v, want %q of class %v", tc.number, err, tc.says, tc.class)
		}
		if status := map[bool]int{true: 0}[e == nil]; e != nil && e.Status != tc.status || e == nil && status != tc.status {
			t.Errorf("%d: %+v, want status %d", tc.number, e, tc.status)
		}
	}
	if strings.Contains(w.log.String(), secretToken) {
		t.Errorf("the log holds the token: %s", w.log)
	}
}

// endless is a body without an end.
type endless struct{ read *int }

func (e endless) Read(p []byte) (int, error) {
	*e.read += len(p)
	return len(p), nil
}

func TestAnswersHaveAnEnd(t *testing.T) {
	t.Parallel()
	read := 0
	c := newClient(t, github.Options{
		Journal: openJournal(t), Log: slog.New(slog.DiscardHandler), Env: []string{"GH_TOKEN=x"},
		HTTP: roundTrip(func(r *http.Request) (*http.Response, error) {
			resp := respond(r, 200, "")
			resp.Body = io.NopCloser(endless{&read})
			return resp, nil
		}),
	})
	_, err := c.Issue(t.Context(), item(1))
	if !errors.Is(err, loop.ErrUnavailable) || !strings.Contains(err.Error(), "longer than") || read > 80<<20 {
		t.Errorf("after %d bytes: %v", read, err)
	}
}

func item(n int) loop.WorkItem {
	return loop.WorkItem{Provider: loop.ProviderGitHub, Owner: "acme", Repo: "shop", Number: n}
}

func TestEveryCallNamesItsHost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ api, host, want string }{
		{"", "", "https://api.github.com/user"},
		{"", "ghe.example.com", "https://ghe.example.com/api/v3/user"},
		{"", "GHE.example.com:8443", "https://ghe.example.com:8443/api/v3/user"},
		{"", "acme.ghe.com", "https://api.acme.ghe.com/user"},
		{"https://ghe.example.com/api/v3", "ghe.example.com", "https://ghe.example.com/api/v3/user"},
		{"https://ghe.example.com/api/v3/", "", "https://api.github.com/user"},
		{"https://api.acme.ghe.com", "acme.ghe.com", "https://api.acme.ghe.com/user"},
		{"https://proxy.example.com/github", "", "https://proxy.example.com/github/user"},
		{"https://proxy.example.com/github", "ghe.example.com", "https://ghe.example.com/api/v3/user"},
		{"http://127.0.0.1:8080/api/v3", "127.0.0.1:8080", "http://127.0.0.1:8080/api/v3/user"},
	} {
		var asked, token string
		c := newClient(t, github.Options{
			Journal: openJournal(t), Log: slog.New(slog.DiscardHandler), APIURL: tc.api, TokenEnv: "MINE",
			Env: []string{"MINE=of-the-configured", "GITHUB_TOKEN=of-github", "GH_ENTERPRISE_TOKEN=of-enterprise"},
			HTTP: roundTrip(func(r *http.Request) (*http.Response, error) {
				asked, token = r.URL.String(), r.Header.Get("Authorization")
				return respond(r, 200, `{"login":"octocat"}`), nil
			}),
		})
		login, err := c.Login(t.Context(), tc.host)
		if err != nil || login != "octocat" || asked != tc.want {
			t.Errorf("with %q, %q is asked at %s: %q, %v; want %s", tc.api, tc.host, asked, login, err, tc.want)
		}
		wantToken := "Bearer of-github"
		switch {
		case tc.api == "" && tc.host == "", tc.api != "" && strings.HasPrefix(asked, strings.TrimSuffix(tc.api, "/")+"/"):
			wantToken = "Bearer of-the-configured"
		case strings.HasPrefix(tc.host, "ghe."), strings.HasPrefix(tc.host, "GHE."):
			wantToken = "Bearer of-enterprise"
		}
		if token != wantToken {
			t.Errorf("with %q, %q is sent %q, want %q", tc.api, tc.host, token, wantToken)
		}
	}
}

func TestAddressesThatNoTokenIsSentTo(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"http://ghe.example.com/api/v3", "ghe.example.com", "https://u:p@ghe.example.com/", "ftp://x/", "https://x/?a"} {
		if _, err := github.New(github.Options{APIURL: api}); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("%s: %v", api, err)
		}
	}
}

func TestLoginIsAskedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]http.HandlerFunc{"/user": says(`{"login":"octocat"}`)})
	for range 3 {
		if login, err := w.Login(t.Context(), ""); err != nil || login != "octocat" {
			t.Fatal(login, err)
		}
	}
	if diff := cmp.Diff([]string{"GET /user"}, w.requests()); diff != "" {
		t.Error(diff)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(r *http.Request, status int, body string, header ...string) *http.Response {
	rec := httptest.NewRecorder()
	refuses(status, body, header...)(rec, r)
	resp := rec.Result()
	resp.Request = r
	return resp
}
