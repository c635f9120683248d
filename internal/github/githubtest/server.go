package githubtest

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

const (
	// Token is a token that every Server knows from the start. It belongs to Operator and may do everything.
	Token = "ghp_operator"
	// Operator is the account of Token.
	Operator = "operator"
)

// Server is one GitHub in a process, on loopback: its REST API below / and, as an enterprise server has it, below /api/v3,
// its GraphQL as far as gh's lists and views ask, and its webhooks. A test of two hosts starts two.
//
// What people do there is a method of Repository or Thread, and what a program does is a request; either changes the same
// state and sends the same webhooks. Nothing happens by itself, and time stands still unless the test moves it, so that two
// runs of a test see the same ids, times and order. A Server may be used by several goroutines at once.
type Server struct {
	// URL is where the server listens, without a slash at its end.
	URL string

	host string
	web  *httptest.Server
	send *http.Client

	mu       sync.Mutex // guards all that follows, and all that repositories and threads hold
	clock    func() time.Time
	shift    time.Duration
	skew     time.Duration
	lag      time.Duration
	last     map[string]int64 // the last id of each kind of thing
	repos    []*Repository
	moved    map[string]int64 // what a repository was called before → its id
	tokens   map[string]*token
	accounts accounts
	hooks    []*Hook
	limits   limits
	rules    []*rule
	log      []*exchange
	inFlight int
}

// NewServer starts the GitHub that is called host, github.com for "". Close ends it.
func NewServer(host string) *Server {
	s := newServer(host)
	s.web = httptest.NewServer(s)
	s.URL = s.web.URL
	return s
}

// NewTLSServer is NewServer over HTTPS, which is all that gh talks. Whoever trusts Certificate can talk to it.
func NewTLSServer(host string) *Server {
	s := newServer(host)
	s.web = httptest.NewTLSServer(s)
	s.URL = s.web.URL
	return s
}

func newServer(host string) *Server {
	if host == "" {
		host = "github.com"
	}
	s := &Server{
		host:     host,
		send:     newSender(),
		clock:    func() time.Time { return Epoch },
		last:     map[string]int64{"comment": 1000, "review": 2000, "check": 3000, "inline": 4000, "event": 7000, "reaction": 8000, "delivery": 9000},
		moved:    map[string]int64{},
		tokens:   map[string]*token{Token: {login: Operator}},
		accounts: accounts{ids: map[string]int64{}, now: map[string]string{}, deleted: map[string]bool{}},
		limits:   limits{used: map[string]*allowance{}},
	}
	if !s.enterprise() {
		s.limits.perHour = 5000
	}
	return s
}

// Close ends the server. Requests that are being answered are waited for.
func (s *Server) Close() {
	s.web.Close()
	s.send.CloseIdleConnections()
}

// Certificate returns the certificate authority of a server that NewTLSServer started, as PEM.
func (s *Server) Certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.web.Certificate().Raw})
}

// Transport answers requests in the goroutine that makes them, without a connection: for tests in a synctest
// bubble, outside of which the server itself must be started. Which host a request names is not looked at.
func (s *Server) Transport() http.RoundTripper { return direct{s} }

// API returns where this GitHub says that its API is: URL, and /api/v3 below it for an enterprise server.
func (s *Server) API() string {
	if s.enterprise() {
		return s.URL + "/api/v3"
	}
	return s.URL
}

func (s *Server) enterprise() bool {
	return s.host != "github.com" && !strings.HasSuffix(s.host, ".ghe.com")
}

// Now returns the server's time.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

// Advance moves the server's time, which otherwise stands at Epoch.
func (s *Server) Advance(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shift += by
}

// SetClock makes the server's time come from clock, such as time.Now, for a test with a program that has a clock of its own.
func (s *Server) SetClock(clock func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock, s.shift = clock, 0
}

// SetSkew makes the Date of each answer so much later than the times in the answer.
func (s *Server) SetSkew(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skew = by
}

// SetLag makes listings show things as they were so long ago, as GitHub's do for some seconds when it is busy. What is asked
// for by its number is always as it is now.
func (s *Server) SetLag(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag = by
}

// now returns the time in GitHub's grain, a second.
func (s *Server) now() time.Time { return s.clock().Add(s.shift).UTC().Truncate(time.Second) }

// shown returns how late a thing may have changed to be in a listing.
func (s *Server) shown() time.Time { return s.now().Add(-s.lag) }

// id returns the next id of a kind of thing.
func (s *Server) id(kind string) int64 {
	s.last[kind]++
	return s.last[kind]
}

// do makes a change, and then sends the webhooks of it.
func (s *Server) do(apply func(*change)) {
	ch := &change{s: s}
	func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		apply(ch)
	}()
	ch.send()
}

// read looks at the state.
func read[T any](s *Server, look func() T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return look()
}

type direct struct{ s *Server }

// RoundTrip answers as the server would over a connection.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if in.Header.Get("User-Agent") == "" {
		in.Header.Set("User-Agent", "Go-http-client/1.1")
	}
	rec := httptest.NewRecorder()
	d.s.ServeHTTP(rec, in)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	res := rec.Result()
	res.Request = r
	return res, nil
}
