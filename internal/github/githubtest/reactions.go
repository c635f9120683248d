package githubtest

import (
	"net/http"
	"slices"
	"strings"
)

var contents = []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}

// reaction is what somebody thinks of an item or a comment.
type reaction struct {
	id      int64
	who     string
	content string
	at      string
}

// React sets a reaction, such as eyes, on a comment of either kind, or on the item itself for 0. No webhook tells of it.
func (t *Thread) React(who string, comment int64, content string) {
	t.repo.s.do(func(*change) {
		if on := t.reactionsOn(comment); on != nil {
			t.repo.s.react(on, who, content)
		}
	})
}

// Reactions returns who set which reaction on a comment, or on the item itself for 0, as "octocat eyes", in the order in
// which they were set.
func (t *Thread) Reactions(comment int64) []string {
	return read(t.repo.s, func() []string {
		var out []string
		if on := t.reactionsOn(comment); on != nil {
			for _, r := range *on {
				out = append(out, r.who+" "+r.content)
			}
		}
		return out
	})
}

func (t *Thread) reactionsOn(comment int64) *[]*reaction {
	if comment == 0 {
		return &t.reactions
	}
	if c, _ := t.remark(comment); c != nil {
		return &c.reactions
	}
	return nil
}

// react sets a reaction once for each person, and tells whether it is new.
func (s *Server) react(on *[]*reaction, who, content string) (r *reaction, fresh bool) {
	for _, r := range *on {
		if strings.EqualFold(r.who, who) && r.content == content {
			return r, false
		}
	}
	r = &reaction{id: s.id("reaction"), who: who, content: content, at: stamp(s.now())}
	*on = append(*on, r)
	return r, true
}

func (r *reaction) view() map[string]any {
	return map[string]any{"id": r.id, "node_id": node("REA", r.id), "user": user(r.who), "content": r.content, "created_at": r.at}
}

// rollup counts reactions as comments and issues show them.
func rollup(reactions []*reaction) map[string]any {
	out := map[string]any{"total_count": len(reactions)}
	for _, content := range contents {
		n := 0
		for _, r := range reactions {
			if r.content == content {
				n++
			}
		}
		out[content] = n
	}
	return out
}

func (q *query) reactTo(on *[]*reaction) answer {
	switch q.Method {
	case http.MethodGet:
		rows := []any{}
		for _, r := range *on {
			rows = append(rows, r.view())
		}
		return list(rows)
	case http.MethodDelete:
		*on = slices.DeleteFunc(*on, func(r *reaction) bool { return r.id == q.num("n") })
		return answer{status: http.StatusNoContent}
	}
	if !slices.Contains(contents, q.text("content")) {
		return invalid("content")
	}
	r, fresh := q.s.react(on, q.login, q.text("content"))
	if !fresh {
		return ok(r.view())
	}
	return created(r.view())
}

// reactThread answers for …/issues/{n}/reactions.
func reactThread(q *query, t *Thread) answer { return q.reactTo(&t.reactions) }

// reactComment answers for …/comments/{id}/reactions and what is below.
func reactComment(q *query, _ *Thread, c *remark) answer { return q.reactTo(&c.reactions) }
