package githubtest

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"
)

// Fault is what goes wrong with a request: it gets what would have answered, and answers itself, lets it answer, or both. A
// test may write its own, such as one that changes an item between two pages.
type Fault func(next http.Handler) http.Handler

// rule is a fault, for which requests and how often yet.
type rule struct {
	pattern string
	fault   Fault
	times   int
}

// Fail lets a fault befall the next requests that match a pattern, so many times; below 0 is until Mend. The pattern is a
// method, a space and a path with or without its query, in which each * stands for anything: "GET *issues?*page=2*". Later
// pages are asked for below /repositories/ID, so begin with a * what should match them too. The first rule that matches is
// the one.
func (s *Server) Fail(pattern string, fault Fault, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &rule{pattern, fault, times})
}

// Mend takes all faults away.
func (s *Server) Mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// fault returns what befalls a request: mostly nothing.
func (s *Server) fault(entry *Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if r.times == 0 || !glob(r.pattern, entry.line()) && !glob(r.pattern, entry.Method+" "+entry.Path) {
			continue
		}
		if r.times > 0 {
			r.times--
		}
		return r.fault
	}
	return func(next http.Handler) http.Handler { return next }
}

// Answer answers with a status, such as 502, and the page that a proxy sends with it.
func Answer(code int) Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(code)
			fmt.Fprintf(w, "<html><body><h1>%d %s</h1></body></html>", code, http.StatusText(code))
		})
	}
}

// SecondaryLimit answers that too much was asked at once: to come back after so long, or, for 0, without saying when.
func SecondaryLimit(retryAfter time.Duration) Fault {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if retryAfter > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
			}
			refuse(w, http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
				"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits")
		})
	}
}

// Slow answers after so long, or not at all when who asked goes away first.
func Slow(wait time.Duration) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			select {
			case <-timer.C:
				next.ServeHTTP(w, r)
			case <-r.Context().Done():
			}
		})
	}
}

// Cut breaks the connection after so many bytes of the body, short of the length that was announced.
func Cut(after int) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := copyAnswer(w, next, r)
			w.Header().Set("Content-Length", strconv.Itoa(len(body)+after+1))
			_, _ = w.Write(body[:min(after, len(body))])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
	}
}

// Garbage answers what is no JSON, with all the headers of the right answer.
func Garbage() Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			copyAnswer(w, next, r)
			w.Header().Del("Content-Length")
			_, _ = w.Write([]byte(`[{"id":1,"body":"\ud8`))
		})
	}
}

// BigPage answers 502 for pages of more than so many rows, as GitHub does when one takes it longer than ten seconds.
func BigPage(rows int) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if perPage(r) > rows {
				next = Answer(http.StatusBadGateway)(nil)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Header adds a header to the right answer, such as X-Poll-Interval.
func Header(name, value string) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(name, value)
			next.ServeHTTP(w, r)
		})
	}
}

// Before runs a function and then answers as if there were no fault: it is how something happens between two pages.
func Before(run func()) Fault {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			run()
			next.ServeHTTP(w, r)
		})
	}
}

// copyAnswer takes the headers of the right answer over and returns its body.
func copyAnswer(w http.ResponseWriter, next http.Handler, r *http.Request) []byte {
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, r)
	maps.Copy(w.Header(), rec.Header())
	return rec.Body.Bytes()
}
