package githubtest

import (
	"net/http"
	"strconv"
	"time"
)

// limits is how much each token may ask.
type limits struct {
	perHour int // 0 is no limit, and no headers that tell of one
	status  int // of the refusal; 0 is 403
	used    map[string]*allowance
}

// allowance is what a token has used of a resource in its hour.
type allowance struct {
	used  int
	reset time.Time
}

// SetLimit says how many requests each token may make in an hour: 5000 unless said, and 60 without a token; 0 is without
// limit and without the headers that tell of one, which is how enterprise servers come.
func (s *Server) SetLimit(perHour int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = limits{perHour: perHour, used: map[string]*allowance{}}
}

// Exhaust makes every request that is made within so long be refused with status, 403 or 429, and no requests left.
func (s *Server) Exhaust(status int, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits.status = status
	for name := range s.tokens {
		for _, resource := range []string{"core", "graphql"} {
			a := s.allowance(name, resource)
			a.used, a.reset = s.allowed(name), s.now().Add(d)
		}
	}
}

func (s *Server) allowed(name string) int {
	if name == "" {
		return min(60, s.limits.perHour)
	}
	return s.limits.perHour
}

func (s *Server) allowance(name, resource string) *allowance {
	key := resource + " " + name
	a := s.limits.used[key]
	if a == nil || !s.now().Before(a.reset) {
		a = &allowance{reset: s.now().Add(time.Hour)}
		s.limits.used[key] = a
	}
	return a
}

// within reports whether a token may ask yet, and counts the request.
func (s *Server) within(name, resource string) bool {
	a := s.allowance(name, resource)
	if s.limits.perHour != 0 && a.used >= s.allowed(name) {
		return false
	}
	a.used++
	return true
}

// giveBack takes a request off the count.
func (s *Server) giveBack(name, resource string) { s.allowance(name, resource).used-- }

// tell writes the headers of a limit.
func (s *Server) tell(h http.Header, name, resource string) {
	if s.limits.perHour == 0 {
		return
	}
	a, allowed := s.allowance(name, resource), s.allowed(name)
	h.Set("X-RateLimit-Limit", strconv.Itoa(allowed))
	h.Set("X-RateLimit-Used", strconv.Itoa(a.used))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, allowed-a.used)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(a.reset.Add(s.skew).Unix(), 10))
	h.Set("X-RateLimit-Resource", resource)
}

// rateLimit answers GET /rate_limit.
func rateLimit(q *query) answer {
	resources := map[string]any{}
	for _, resource := range []string{"core", "graphql"} {
		a, allowed := q.s.allowance(q.token, resource), q.s.allowed(q.token)
		resources[resource] = map[string]any{"limit": allowed, "used": a.used, "remaining": max(0, allowed-a.used), "reset": a.reset.Unix()}
	}
	return ok(map[string]any{"resources": resources, "rate": resources["core"]})
}
