package githubtest

import (
	"net/http"
	"slices"
	"strings"
)

// token is what a request can be signed with.
type token struct {
	login  string
	grants []string // nil is everything
}

// AddToken makes a token of an account known. Without grants it may do everything its account may; otherwise what they
// say, such as "issues=read" and "pull_requests=write". Adding a token again replaces its grants.
func (s *Server) AddToken(value, login string, grants ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[value] = &token{login, grants}
}

// RemoveToken makes a token unknown: it was revoked, or took its place in a rotation.
func (s *Server) RemoveToken(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, value)
}

// may reports whether a token grants one of the permissions in a list that is separated by "; ".
func (t *token) may(permissions string) bool {
	if t.grants == nil || permissions == "" {
		return true
	}
	for permission := range strings.SplitSeq(permissions, "; ") {
		name, level, _ := strings.Cut(permission, "=")
		if slices.Contains(t.grants, permission) || level == "read" && slices.Contains(t.grants, name+"=write") {
			return true
		}
	}
	return false
}

// tokenOf returns the token that a request is signed with, and "" for none.
func tokenOf(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	_, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(value)
}

// accounts is what became of accounts. Whoever is not named in it is there, under the name and the id that go with it.
type accounts struct {
	ids     map[string]int64  // lower case name → id, of the renamed
	now     map[string]string // lower case name of before → name
	deleted map[string]bool   // by lower case name
}

// DeleteAccount deletes an account: what it wrote is ghost's from then on, and its reviews are nobody's.
func (s *Server) DeleteAccount(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts.deleted[strings.ToLower(login)] = true
}

// RenameOwner renames an account, and moves its repositories with it.
func (s *Server) RenameOwner(from, to string) {
	s.do(func(ch *change) {
		s.accounts.now[strings.ToLower(from)] = to
		s.accounts.ids[strings.ToLower(to)] = number(from)
		for _, r := range s.repos {
			if strings.EqualFold(r.Owner, from) {
				r.move(ch, to, r.Name, "")
			}
		}
	})
}

// settle gives every account in a document that is about to leave the name and the id that it has now.
func (s *Server) settle(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if login, is := v["login"].(string); is && v["site_admin"] != nil {
			return s.account(login)
		}
		_, review := v["submitted_at"]
		for name, member := range v {
			v[name] = s.settle(member)
			if who, is := v[name].(map[string]any); is && review && name == "user" && who["login"] == "ghost" {
				v[name] = nil
			}
		}
	case []any:
		for i := range v {
			v[i] = s.settle(v[i])
		}
	}
	return v
}

// account returns an account as it is now.
func (s *Server) account(login string) map[string]any {
	if s.accounts.deleted[strings.ToLower(login)] {
		login = "ghost"
	}
	id, renamed := s.accounts.ids[strings.ToLower(login)]
	if to, ok := s.accounts.now[strings.ToLower(login)]; ok {
		id, renamed = number(login), true
		login = to
	}
	out := user(login).(map[string]any)
	if renamed {
		out["id"] = id
	}
	out["node_id"] = node("U", out["id"])
	out["html_url"] = "https://" + s.host + "/" + login
	out["url"] = s.API() + "/users/" + login
	return out
}

// self answers GET /user.
func self(q *query) answer {
	if q.login == "" {
		return answer{status: http.StatusUnauthorized, body: message("Requires authentication")}
	}
	return ok(q.s.account(q.login))
}

// person answers GET /users/{name}.
func person(q *query) answer {
	if q.s.accounts.deleted[strings.ToLower(q.vars["name"])] {
		return missing()
	}
	return ok(q.s.account(q.vars["name"]))
}
