package githubtest

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Repository is a repository of a Server.
type Repository struct {
	Repo // where it is now, and its id; only the server's methods change it

	s        *Server
	threads  []*Thread // by number
	labels   []string  // as they are spelt, in the order in which they were made
	runs     []*run
	hidden   map[string]bool // lower case logins that may not see it
	archived bool
	noIssues bool
	blocked  int // status of the refusal
	gone     bool
	changed  time.Time
}

// Repo returns the repository owner/name, which is made where there is none, as when a new one takes the name of one that
// moved away.
func (s *Server) Repo(owner, name string) *Repository {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.find(owner, name); r != nil {
		return r
	}
	repo := Repo{Host: s.host, Owner: owner, Name: name}.orDefault()
	for s.byID(repo.ID) != nil {
		repo.ID++
	}
	r := &Repository{Repo: repo, s: s, hidden: map[string]bool{}, changed: s.now()}
	s.repos = append(s.repos, r)
	return r
}

func (s *Server) find(owner, name string) *Repository {
	for _, r := range s.repos {
		if !r.gone && strings.EqualFold(r.Owner, owner) && strings.EqualFold(r.Name, name) {
			return r
		}
	}
	return nil
}

func (s *Server) byID(id int64) *Repository {
	for _, r := range s.repos {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// admitTo refuses who may not see a repository: the zero answer is that q may.
func (q *query) admitTo(r *Repository) answer {
	switch {
	case r == nil, r.gone, r.hidden[strings.ToLower(q.login)]:
		return missing()
	case r.blocked != 0:
		return answer{status: r.blocked, body: map[string]any{
			"message": "Repository access blocked",
			"block":   map[string]any{"reason": "dmca", "created_at": stamp(r.changed), "html_url": "https://github.com/github/dmca"},
		}}
	}
	return answer{}
}

// Rename gives the repository another name. Requests under the old one are sent on.
func (r *Repository) Rename(who, name string) {
	r.s.do(func(ch *change) { r.move(ch, r.Owner, name, who) })
}

// TransferTo gives the repository to another owner. Requests under the old name are sent on.
func (r *Repository) TransferTo(who, owner string) {
	r.s.do(func(ch *change) { r.move(ch, owner, r.Name, who) })
}

// move changes where the repository is, and tells of it if somebody did just that.
func (r *Repository) move(ch *change, owner, name, who string) {
	from := r.Repo
	r.s.moved[strings.ToLower(from.Owner+"/"+from.Name)] = r.ID
	r.Owner, r.Name, r.changed = owner, name, r.s.now()
	switch {
	case who == "":
	case from.Owner != owner:
		ch.emit(r, "repository", "transferred", who, map[string]any{
			"changes": map[string]any{"owner": map[string]any{"from": map[string]any{"user": user(from.Owner)}}},
		})
	default:
		ch.emit(r, "repository", "renamed", who, map[string]any{
			"changes": map[string]any{"repository": map[string]any{"name": map[string]any{"from": from.Name}}},
		})
	}
}

// Archive makes the repository read-only: writes are refused with 403.
func (r *Repository) Archive(who string) {
	r.s.do(func(ch *change) {
		r.archived, r.changed = true, r.s.now()
		ch.emit(r, "repository", "archived", who, map[string]any{})
	})
}

// Delete deletes the repository: it answers 404.
func (r *Repository) Delete(who string) {
	r.s.do(func(ch *change) {
		ch.emit(r, "repository", "deleted", who, map[string]any{})
		r.gone = true
	})
}

// Block makes the repository answer with a status, such as 451 for a takedown and 403 for what GitHub's staff disabled; 0
// is an end of it.
func (r *Repository) Block(status int) {
	r.s.do(func(*change) { r.blocked = status })
}

// SetAccess says whether an account may see the repository. Who may not is answered 404.
func (r *Repository) SetAccess(login string, may bool) {
	r.s.do(func(*change) { r.hidden[strings.ToLower(login)] = !may })
}

// DisableIssues turns issues off, which then answer 410.
func (r *Repository) DisableIssues() {
	r.s.do(func(*change) { r.noIssues = true })
}

// api returns the address of something of the repository in the REST API.
func (r *Repository) api(path string) string {
	return r.s.API() + "/repos/" + r.Owner + "/" + r.Name + path
}

func (r *Repository) view() map[string]any {
	out := r.json()
	maps.Copy(out, map[string]any{
		"node_id": node("R", r.ID), "url": r.api(""), "visibility": "public", "archived": r.archived, "disabled": r.blocked != 0,
		"has_issues": !r.noIssues, "description": nil, "created_at": stamp(Epoch), "updated_at": stamp(r.changed), "pushed_at": stamp(r.changed),
		"issues_url": r.api("/issues{/number}"), "pulls_url": r.api("/pulls{/number}"), "clone_url": r.page() + ".git",
	})
	return out
}

// repository answers GET /repos/{owner}/{name}.
func repository(q *query) answer {
	out := q.repo.view()
	admin := strings.EqualFold(q.login, Operator) || strings.EqualFold(q.login, q.repo.Owner)
	out["permissions"] = map[string]any{"admin": admin, "push": admin, "pull": true}
	return answer{status: http.StatusOK, body: out, changed: q.repo.changed}
}

// branch answers GET …/branches/{name}.
func branch(q *query) answer {
	for _, t := range q.repo.threads {
		if it := t.Item.orDefault(); it.PR && it.Fork == "" && it.Head == q.vars["name"] {
			return ok(map[string]any{"name": it.Head, "commit": map[string]any{"sha": it.HeadSHA}, "protected": false})
		}
	}
	if q.vars["name"] == "main" {
		return ok(map[string]any{"name": "main", "commit": map[string]any{"sha": strings.Repeat("0", 40)}, "protected": true})
	}
	return missing()
}

func itoa(n int) string { return strconv.Itoa(n) }
