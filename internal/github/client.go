package github

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Options is what a Client is made of.
type Options struct {
	Journal *journal.DB // where answers are remembered, opened with Schema
	Log     *slog.Logger
	// APIURL is the API's address where it cannot be found from the host of an item. An address of GitHub's own shape
	// (https://HOST/api/v3) serves the host that it names; any other, such as a proxy's, stands in for github.com.
	APIURL string
	// TokenEnv names the environment variable with the token of the host that APIURL serves, github.com without one.
	// "" is GITHUB_TOKEN, GH_TOKEN or, on enterprise hosts, GH_ENTERPRISE_TOKEN and GITHUB_ENTERPRISE_TOKEN; where none of
	// these is set, what `gh auth token` prints.
	TokenEnv string
	Env      []string          // the environment that tokens are looked up and gh is started in; nil: ours
	HTTP     http.RoundTripper // nil: a transport of the client's own
}

// Client asks GitHub's API, on whatever host a repository is. It is safe for concurrent use. An error of a host is a
// *Error or a *LimitError where the host answered; its class says what can be done: loop.ErrUnavailable is worth another
// try later, and loop.ErrNotFound is no proof that something is gone, for a token that lost a right is answered the same.
type Client struct {
	options Options
	fixed   string // the host that APIURL serves
	http    http.RoundTripper

	mu    sync.Mutex // guards hosts
	hosts map[string]*server
}

// New returns a client. The error is loop.ErrInvalid when APIURL is no address that a token may be sent to.
func New(o Options) (*Client, error) {
	c := &Client{options: o, http: o.HTTP, hosts: map[string]*server{}}
	if o.APIURL != "" {
		u, err := parseAPI(o.APIURL)
		if err != nil {
			return nil, err
		}
		c.fixed = hostOf(u)
	}
	if c.options.Env == nil {
		c.options.Env = os.Environ()
	}
	if c.http == nil {
		c.http = http.DefaultTransport.(*http.Transport).Clone()
	}
	return c, nil
}

// Close ends idle connections. Call it when nothing is asked any more.
func (c *Client) Close() {
	if t, ok := c.http.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// Host names the host whose API is at APIURL: "" (github.com) where the configuration names none.
func (c *Client) Host() string { return c.fixed }

// Limited returns when a host ("" is github.com) may be asked again: the zero time when it may be asked now. Until then
// every call that needs the host fails at once with a *LimitError.
func (c *Client) Limited(host string) time.Time {
	s, err := c.server(host)
	if err != nil {
		return time.Time{}
	}
	return s.limit.paused()
}

// Login returns whose token is used on a host ("" is github.com). It asks once for each token.
func (c *Client) Login(ctx context.Context, host string) (string, error) {
	s, err := c.server(host)
	if err != nil {
		return "", err
	}
	return s.login(ctx)
}

// Renew has the next request to each host look for a token at once where there was none, or a bad one. Else a minute passes.
func (c *Client) Renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.hosts {
		s.renew.Store(true)
	}
}

// Repository is a repository as GitHub names it now.
type Repository struct {
	loop.Repo      // its ID is always known
	Archived  bool // nothing can be written there
}

// Repository asks for a repository: by its number where r has one, so that the answer is the same repository under
// whatever name it has now, and else by its name. Ask before a cycle of listings: they go by the name, and an old name may
// have been given to another repository.
func (c *Client) Repository(ctx context.Context, r loop.Repo) (Repository, error) {
	path := repoPath(r)
	if r.ID != 0 {
		path = fmt.Sprintf("repositories/%d", r.ID)
	}
	var got struct {
		repository
		Archived flag `json:"archived"`
	}
	if _, err := c.get(ctx, r.Host, path, &got); err != nil {
		return Repository{}, err
	}
	now := Repository{Repo: got.repo(r.Host), Archived: bool(got.Archived)}
	if now.Owner == "" || now.Name == "" || now.ID == 0 {
		return Repository{}, fmt.Errorf("GET %s: the answer names no repository: %w", path, loop.ErrUnavailable)
	}
	return now, nil
}

// get asks for one object.
func (c *Client) get(ctx context.Context, host, path string, into any) (answer, error) {
	s, err := c.server(host)
	if err != nil {
		return answer{}, err
	}
	a, err := s.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return answer{}, err
	}
	return a, a.read(into)
}

// post writes, and reads what was made where into is not nil.
func (c *Client) post(ctx context.Context, host, path string, body, into any) error {
	s, err := c.server(host)
	if err != nil {
		return err
	}
	a, err := s.do(ctx, http.MethodPost, path, body)
	if err != nil || into == nil {
		return err
	}
	return a.read(into)
}

// server returns the one through which everything on a host is asked.
func (c *Client) server(name string) (*server, error) {
	name = strings.ToLower(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.hosts[name]; s != nil {
		return s, nil
	}
	s, err := c.newServer(name)
	if err == nil {
		c.hosts[name] = s
	}
	return s, err
}

func repoPath(r loop.Repo) string {
	return "repos/" + url.PathEscape(r.Owner) + "/" + url.PathEscape(r.Name)
}

func itemPath(w loop.WorkItem, kind string) string {
	return fmt.Sprintf("%s/%s/%d", repoPath(repoOf(w, 0)), kind, w.Number)
}
