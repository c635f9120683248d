package githubtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// query is a request on its way to a handler, with what was found out about it.
type query struct {
	*http.Request
	s     *Server
	ch    *change
	token string
	login string // whose token it is; "" is nobody
	may   func(permissions string) bool
	repo  *Repository
	vars  map[string]string
	body  map[string]any
}

// num returns a part of the path that is a number.
func (q *query) num(name string) int64 {
	n, _ := strconv.ParseInt(q.vars[name], 10, 64) // match took digits only
	return n
}

// text returns a member of the body that is a string.
func (q *query) text(name string) string {
	s, _ := q.body[name].(string)
	return s
}

// ServeHTTP answers a request as GitHub would.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry := s.begin(r)
	defer s.end()
	out := &witness{w, entry}
	s.greet(out.Header(), r)
	s.fault(&entry.Request)(http.HandlerFunc(s.serve)).ServeHTTP(out, r)
}

// greet writes the headers that every answer has, a refusal too.
func (s *Server) greet(h http.Header, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.Set("Date", s.now().Add(s.skew).Format(http.TimeFormat))
	h.Set("X-GitHub-Request-Id", fmt.Sprintf("0000:%08X", len(s.log)))
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	if s.enterprise() {
		h.Set("X-GitHub-Enterprise-Version", "3.17.0")
	}
	s.tell(h, tokenOf(r), resourceOf(r))
}

func resourceOf(r *http.Request) string {
	if strings.HasSuffix(r.URL.Path, "/graphql") {
		return "graphql"
	}
	return "core"
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return // who asked is gone
	}
	q := &query{Request: r, s: s, ch: &change{s: s, base: r.Context()}, token: tokenOf(r), body: map[string]any{}}
	if bytes.HasPrefix(body, []byte("[")) {
		body = append(append([]byte(`{"labels":`), body...), '}') // the one list that a body may be
	}
	if len(body) > 0 && json.Unmarshal(body, &q.body) != nil {
		refuse(w, http.StatusBadRequest, "Problems parsing JSON", "https://docs.github.com/rest")
		return
	}
	s.locked(w, q)
	_ = http.NewResponseController(w).Flush() // the answer is there before the webhooks are
	q.ch.send()
}

// locked answers while nothing else changes.
func (s *Server) locked(w http.ResponseWriter, q *query) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.admit(q)
	if a.status == 0 {
		a = s.dispatch(q)
	}
	s.write(w, q, a)
}

// admit refuses who may not ask at all: the zero answer is that q may.
func (s *Server) admit(q *query) answer {
	if q.UserAgent() == "" {
		return answer{status: http.StatusForbidden, body: message("Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")}
	}
	t := s.tokens[q.token]
	if q.token != "" && t == nil {
		return answer{status: http.StatusUnauthorized, body: message("Bad credentials")}
	}
	if t == nil {
		t = &token{grants: []string{"metadata=read", "issues=read", "pull_requests=read", "checks=read", "statuses=read", "actions=read"}}
	}
	q.login, q.may = t.login, t.may
	if !strings.HasSuffix(q.URL.Path, "/rate_limit") && !s.within(q.token, resourceOf(q.Request)) {
		status := s.limits.status
		if status == 0 {
			status = http.StatusForbidden
		}
		return answer{status: status, body: message("API rate limit exceeded for user ID " + strconv.FormatInt(number(q.login), 10) + ".")}
	}
	return answer{}
}

// dispatch finds the repository and the handler of a request, and lets it answer.
func (s *Server) dispatch(q *query) answer {
	path := q.URL.EscapedPath()
	for _, prefix := range []string{"/api/v3", "/api"} {
		if rest, below := strings.CutPrefix(path, prefix+"/"); below {
			path = "/" + rest
			break
		}
	}
	table := general
	owner, name, rest, inRepo := cutRepo(path)
	if id, after, byID := cutID(path); byID {
		q.repo, rest, table = s.byID(id), after, below
	} else if inRepo {
		table = below
		q.repo = s.find(owner, name)
		if q.repo == nil {
			if id, ok := s.moved[strings.ToLower(owner+"/"+name)]; ok {
				return q.redirect("/repositories/" + strconv.FormatInt(id, 10) + rest)
			}
		}
	} else {
		rest = path
	}
	if inRepo || q.repo != nil || strings.HasPrefix(path, "/repositories/") {
		if a := q.admitTo(q.repo); a.status != 0 {
			return a
		}
	}
	return q.call(table, rest)
}

// call lets the route of a table that matches answer.
func (q *query) call(table []route, path string) answer {
	for _, route := range table {
		vars, is := match(route.pattern, q.Method+" "+path)
		if !is {
			continue
		}
		q.vars = vars
		q.ch.header("X-Accepted-GitHub-Permissions", route.needs)
		if !q.may(route.needs) {
			return answer{status: http.StatusForbidden, body: message("Resource not accessible by personal access token")}
		}
		if writes(q.Method) && q.repo != nil {
			if q.login == "" {
				return answer{status: http.StatusUnauthorized, body: message("Requires authentication")}
			}
			if q.repo.archived {
				return answer{status: http.StatusForbidden, body: message("Repository was archived so is read-only.")}
			}
		}
		return route.answer(q)
	}
	return missing()
}

func writes(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// redirect sends on to where a thing is now, without a change of method.
func (q *query) redirect(path string) answer {
	to := q.s.API() + path
	if q.URL.RawQuery != "" {
		to += "?" + q.URL.RawQuery
	}
	status := http.StatusMovedPermanently
	if writes(q.Method) {
		status = http.StatusTemporaryRedirect
	}
	q.ch.header("Location", to)
	return answer{status: status, body: map[string]any{"message": "Moved Permanently", "url": to, "documentation_url": docs}}
}

func cutRepo(path string) (owner, name, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, "/repos/")
	owner, path, _ = strings.Cut(path, "/")
	name, rest, more := strings.Cut(path, "/")
	if more {
		rest = "/" + rest
	}
	return owner, name, rest, ok && name != ""
}

func cutID(path string) (id int64, rest string, ok bool) {
	path, ok = strings.CutPrefix(path, "/repositories/")
	digits, rest, more := strings.Cut(path, "/")
	if more {
		rest = "/" + rest
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, rest, ok && err == nil
}

// match compares a method and a path with a pattern, in which {n} and {id} stand for digits and {name} for anything without
// a slash.
func match(pattern, path string) (map[string]string, bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	vars := map[string]string{}
	for i, part := range want {
		name, variable := strings.CutPrefix(part, "{")
		if !variable {
			if part != got[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(got[i])
		if err != nil || value == "" || name != "name}" && !digits(value) {
			return nil, false
		}
		vars[strings.TrimSuffix(name, "}")] = value
	}
	return vars, true
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == "" && len(s) < 19
}
