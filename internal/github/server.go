package github

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	gh "github.com/google/go-github/v89/github"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/build"
)

const (
	requestTimeout = 30 * time.Second // one request with its answer; GitHub gives up after ten seconds
	maxAnswer      = 64 << 20         // a hundred comments of the greatest length, escaped
	maxRedirects   = 5
	mediaType      = "application/vnd.github+json"
)

// server is one GitHub. Whoever holds its turn has the server for one request, and with it the token.
type server struct {
	name  string // "" is github.com
	api   *gh.Client
	turn  chan struct{}
	limit *limit

	answers *remembering

	token *tokens     // for the one who has the turn
	user  string      // whose token it is; "" until asked
	renew atomic.Bool // a person waits for a token that is missing or was refused
}

func (c *Client) newServer(name string) (*server, error) {
	base := c.options.APIURL
	if base == "" || name != c.fixed {
		base = apiURL(name)
	}
	u, err := parseAPI(base)
	if err != nil {
		return nil, err
	}
	base = u.String()
	answers := &remembering{db: c.options.Journal, log: c.options.Log, next: c.http}
	api, err := gh.NewClient(
		gh.WithHTTPClient(&http.Client{
			Transport:     answers,
			CheckRedirect: stay,
		}),
		gh.WithURLs(&base, nil),
		gh.WithUserAgent("loopd/"+build.Read().Version),
		gh.WithDisableRateLimitCheck(), // it knows no host that is limited as a whole
	)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w: %w", display(name), loop.ErrInvalid, err)
	}
	s := &server{name: name, api: api, turn: make(chan struct{}, 1), limit: &limit{host: name, until: answers.limit(name)}, answers: answers}
	s.token = newTokens(name, c.options.Env)
	if c.options.TokenEnv != "" && name == c.fixed {
		s.token.variables, s.token.only = []string{c.options.TokenEnv}, true
	}
	return s, nil
}

// answer is what came of a request that went well.
type answer struct {
	header  http.Header
	url     *url.URL // what answered in the end, after redirects
	body    []byte
	moved   bool // another address than the one that was asked has answered
	request string
}

// unchanged reports whether the answer is the one that was given before.
func (a answer) unchanged() bool { return a.header.Get(fromJournal) != "" }

// date is the host's clock, and ours where it does not tell.
func (a answer) date() time.Time {
	if at, err := http.ParseTime(a.header.Get("Date")); err == nil {
		return at.UTC()
	}
	return time.Now().UTC().Truncate(time.Second)
}

func (a answer) read(into any) error {
	if err := json.Unmarshal(a.body, into, lenient()); err != nil {
		return fmt.Errorf("%s: the answer cannot be read: %w: %w", a.request, loop.ErrUnavailable, err)
	}
	return nil
}

// do sends one request and returns its answer. A path is relative to the API's address, or an address of it.
func (s *server) do(ctx context.Context, method, path string, body any) (answer, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return answer{}, fmt.Errorf("wait to ask %s: %w", display(s.name), context.Cause(ctx))
	}
	return s.doInTurn(ctx, method, path, body)
}

// doInTurn is do for the one who has the turn.
func (s *server) doInTurn(ctx context.Context, method, path string, body any) (answer, error) {
	if err := s.limit.wait(ctx, method != http.MethodGet && path != s.graphQL()); err != nil {
		return answer{}, err
	}
	if s.renew.Swap(false) {
		s.token.hurry()
	}
	token, err := s.token.get(ctx)
	if err != nil {
		return answer{}, err
	}
	a, err := s.send(ctx, token, method, path, body)
	if refused(err) && s.token.renew(ctx, token) {
		s.user = ""
		return s.send(ctx, s.token.value, method, path, body)
	}
	return a, err
}

func (s *server) send(ctx context.Context, token, method, path string, body any) (answer, error) {
	timed, cancel := context.WithTimeout(ctx, requestTimeout) // its end closes what go-github leaves open of a refusal
	defer cancel()
	req, err := s.api.NewRequest(timed, method, path, body)
	if err != nil {
		return answer{}, fmt.Errorf("ask %s for %s: %w: %w", display(s.name), path, loop.ErrInvalid, err)
	}
	req.Header.Set("Accept", mediaType)
	req.Header.Set("Authorization", "Bearer "+token)
	what := method + " " + req.URL.Path + " on " + display(s.name)
	var read capped
	resp, err := s.api.Do(req, &read)
	var header http.Header
	status := 0
	if resp != nil {
		header, status = resp.Header, resp.StatusCode
	}
	limit := s.limit.note(status, header, err)
	if limit.later {
		s.answers.keepLimit(ctx, s.name, limit.until)
	}
	if limit.limited {
		return answer{}, fmt.Errorf("%s: %w", what, &LimitError{Host: s.name, Until: limit.until})
	}
	if err != nil && status != http.StatusAccepted {
		return answer{}, fmt.Errorf("%s: %w", what, explain(ctx, err, s.name))
	}
	end := resp.Request.URL
	return answer{header: header, url: end, body: read.body.Bytes(), moved: end.Path != req.URL.Path, request: what}, nil
}

func (s *server) login(ctx context.Context) (string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", fmt.Errorf("wait to ask %s: %w", display(s.name), context.Cause(ctx))
	}
	if s.user != "" {
		return s.user, nil
	}
	a, err := s.doInTurn(ctx, http.MethodGet, "user", nil)
	if err != nil {
		return "", err
	}
	var who account
	if err := a.read(&who); err != nil {
		return "", err
	}
	s.user = string(who.Login)
	return s.user, nil
}

// capped keeps an answer that is not too long. It is no io.ReaderFrom, which would pass the cap by.
type capped struct{ body bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	if c.body.Len()+len(p) > maxAnswer {
		return 0, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return c.body.Write(p)
}

// stay follows a redirect of what is only read, and never to another server: the token would go there.
func stay(next *http.Request, via []*http.Request) error {
	first := via[0]
	moved := next.Response.StatusCode
	switch {
	case first.Method != http.MethodGet, moved == http.StatusFound, moved == http.StatusSeeOther:
		return http.ErrUseLastResponse
	case next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme:
		return http.ErrUseLastResponse
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}

// repoID returns the number in an address of the form /repositories/ID/…, 0 in any other.
func repoID(u *url.URL) int64 {
	_, rest, ok := strings.Cut(u.Path, "/repositories/")
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// apiURL returns where the API of a host is.
func apiURL(host string) string {
	switch {
	case host == "":
		return "https://api.github.com/"
	case strings.HasSuffix(host, ".ghe.com"):
		return "https://api." + host + "/"
	}
	return "https://" + host + "/api/v3/"
}

// hostOf returns the host whose API is at an address, "" (github.com) for an address of no shape that GitHub has.
func hostOf(u *url.URL) string {
	host := loop.URLHost(u)
	switch {
	case strings.HasPrefix(host, "api.") && strings.HasSuffix(host, ".ghe.com"):
		return strings.TrimPrefix(host, "api.")
	case strings.TrimSuffix(u.Path, "/") == "/api/v3":
		return host
	}
	return ""
}

// parseAPI checks that a token may be sent to an address, and has it end in a slash.
func parseAPI(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the API's address must be a URL such as https://github.example.com/api/v3: %w", loop.ErrInvalid)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, fmt.Errorf("the API's address %s must begin with https://, or the token would cross the network unencrypted: %w",
			u.Host, loop.ErrInvalid)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	return u, nil
}

// display names a host to a person.
func display(host string) string {
	if host == "" {
		return "github.com"
	}
	return host
}
