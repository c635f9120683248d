package githubtest

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Request is a request that the server answered, or is answering.
type Request struct {
	Method      string
	Path        string // as asked for, /api/v3 and all
	Query       url.Values
	Token       string // what it was signed with; "" is nobody
	Conditional bool   // it asked only for what changed
	Status      int    // 0 while it is being answered
	At          time.Time
	InFlight    int // how many others were being answered when it came
}

// String returns method, path and status, such as "GET /user 200".
func (r Request) String() string { return r.line() + " " + http.StatusText(r.Status) }

func (r Request) line() string {
	line := r.Method + " " + r.Path
	if len(r.Query) > 0 {
		line += "?" + r.Query.Encode()
	}
	return line
}

// Requests returns all requests since the start or the last ForgetRequests, in the order in which they came.
func (s *Server) Requests() []Request {
	return read(s, func() []Request {
		var out []Request
		for _, x := range s.log {
			r := x.Request
			r.Status = int(x.status.Load())
			out = append(out, r)
		}
		return out
	})
}

// ForgetRequests empties what Requests and Count answer.
func (s *Server) ForgetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// Count returns how many requests match a pattern, as Fail reads it, and how many of those were answered 304.
func (s *Server) Count(pattern string) (all, unchanged int) {
	for _, r := range s.Requests() {
		if glob(pattern, r.line()) || glob(pattern, r.Method+" "+r.Path) {
			all++
			if r.Status == http.StatusNotModified {
				unchanged++
			}
		}
	}
	return all, unchanged
}

// exchange is a request with its answer.
type exchange struct {
	Request
	status atomic.Int32 // known before who asked has the answer, which is written while s.mu is held
}

// begin writes a request down as it comes.
func (s *Server) begin(r *http.Request) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := &exchange{Request: Request{
		Method:      r.Method,
		Path:        r.URL.EscapedPath(),
		Query:       r.URL.Query(),
		Token:       tokenOf(r),
		Conditional: r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != "",
		At:          s.now(),
		InFlight:    s.inFlight,
	}}
	s.inFlight++
	s.log = append(s.log, entry)
	return entry
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

// glob reports whether text is what pattern says, in which each * stands for anything.
func glob(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	if !more {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok && more {
		first, rest, more = strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, first)
		}
		_, text, ok = strings.Cut(text, first)
	}
	return ok
}

// witness writes down with what status a request is answered.
type witness struct {
	http.ResponseWriter
	of *exchange
}

// WriteHeader passes the status on.
func (w *witness) WriteHeader(status int) {
	w.of.status.CompareAndSwap(0, int32(status))
	w.ResponseWriter.WriteHeader(status)
}

// Write passes bytes on.
func (w *witness) Write(b []byte) (int, error) {
	w.of.status.CompareAndSwap(0, http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *witness) Unwrap() http.ResponseWriter { return w.ResponseWriter }
