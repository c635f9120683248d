package githubtest

import (
	"net/http"
	"slices"
	"strings"
)

// Comment writes a conversation comment and returns its id.
func (t *Thread) Comment(who, body string) int64 {
	var c *remark
	t.repo.s.do(func(ch *change) { c = t.comment(ch, who, body) })
	return c.ID
}

func (t *Thread) comment(ch *change, who, body string) *remark {
	t.touch()
	c := &remark{Comment: Comment{ID: t.repo.s.id("comment"), Author: who, Body: body, At: t.At, Edited: t.At}}
	t.comments = append(t.comments, c)
	t.emitComment(ch, "created", who, c, nil)
	return c
}

// EditComment changes what a comment of either kind says.
func (t *Thread) EditComment(who string, id int64, body string) {
	t.repo.s.do(func(ch *change) {
		if c, _ := t.remark(id); c != nil {
			t.editComment(ch, who, c, body)
		}
	})
}

func (t *Thread) editComment(ch *change, who string, c *remark, body string) {
	from := c.Body
	t.touch()
	c.Body, c.Edited, c.editor = body, t.At, who
	t.emitComment(ch, "edited", who, c, map[string]any{"changes": map[string]any{"body": map[string]any{"from": from}}})
}

// DeleteComment deletes a comment of either kind. Listings do not tell that it was there.
func (t *Thread) DeleteComment(who string, id int64) {
	t.repo.s.do(func(ch *change) {
		if c, _ := t.remark(id); c != nil {
			t.deleteComment(ch, who, c)
		}
	})
}

func (t *Thread) deleteComment(ch *change, who string, c *remark) {
	t.touch()
	t.emitComment(ch, "deleted", who, c, nil)
	same := func(other *remark) bool { return other == c }
	t.comments, t.inline = slices.DeleteFunc(t.comments, same), slices.DeleteFunc(t.inline, same)
}

// Comments returns the conversation comments, oldest first.
func (t *Thread) Comments() []Comment {
	return read(t.repo.s, func() []Comment {
		var out []Comment
		for _, c := range t.comments {
			out = append(out, c.Comment)
		}
		return out
	})
}

// remark finds a comment of either kind, and tells which it is.
func (t *Thread) remark(id int64) (c *remark, inline bool) {
	for _, c := range t.comments {
		if c.ID == id {
			return c, false
		}
	}
	for _, c := range t.inline {
		if c.ID == id {
			return c, true
		}
	}
	return nil, false
}

func (t *Thread) emitComment(ch *change, action, who string, c *remark, extra map[string]any) {
	if extra == nil {
		extra = map[string]any{}
	}
	if c.Path != "" {
		extra["pull_request"], extra["comment"] = t.pullRow(t.Item), t.inlineView(c)
		ch.emit(t.repo, "pull_request_review_comment", action, who, extra)
		return
	}
	extra["issue"], extra["comment"] = t.issueView(t.Item), t.commentView(c)
	ch.emit(t.repo, "issue_comment", action, who, extra)
}

func (t *Thread) commentView(c *remark) map[string]any {
	out := c.json("", t.at(t.Item))
	out["node_id"], out["issue_url"] = node("IC", c.ID), t.repo.api("/issues/"+itoa(t.Number))
	out["url"], out["reactions"] = t.repo.api("/issues/comments/"+itoa(int(c.ID))), rollup(c.reactions)
	return out
}

// commentsOf answers GET …/issues/{n}/comments.
func commentsOf(q *query, t *Thread) answer {
	return list(q.sorted(t.rows(q, t.comments, t.commentView), "", "asc"))
}

// comments answers GET …/issues/comments, of all items.
func comments(q *query) answer {
	var rows []row
	for _, t := range q.repo.threads {
		rows = append(rows, t.rows(q, t.comments, t.commentView)...)
	}
	return list(q.sorted(rows, "", "asc"))
}

// rows lists comments that are new enough for since, and old enough for the lag of listings.
func (t *Thread) rows(q *query, comments []*remark, view func(*remark) map[string]any) []row {
	var rows []row
	for _, c := range comments {
		if !c.pending && q.since(c.Edited) && !c.Edited.After(q.s.shown()) && !t.gone && t.movedTo == nil {
			rows = append(rows, row{c.ID, c.At, c.Edited, view(c)})
		}
	}
	return rows
}

// ofComment finds the comment that a path names: an inline one below /pulls.
func ofComment(answers func(*query, *Thread, *remark) answer) func(*query) answer {
	return func(q *query) answer {
		below := strings.Contains(q.URL.Path, "/pulls/comments/")
		for _, t := range q.repo.threads {
			c, inline := t.remark(q.num("id"))
			if c != nil && inline == below && !c.pending && !t.gone && t.movedTo == nil {
				return answers(q, t, c)
			}
		}
		return missing()
	}
}

func (t *Thread) remarkView(c *remark) map[string]any {
	if c.Path != "" {
		return t.inlineView(c)
	}
	return t.commentView(c)
}

// commentOf answers GET …/issues/comments/{id} and …/pulls/comments/{id}.
func commentOf(_ *query, t *Thread, c *remark) answer {
	return answer{status: http.StatusOK, body: t.remarkView(c), changed: c.Edited}
}

// addComment answers POST …/issues/{n}/comments.
func addComment(q *query, t *Thread) answer {
	if q.text("body") == "" {
		return invalid("body can't be blank")
	}
	if len(q.text("body")) > 65536 {
		return invalid("body is too long (maximum is 65536 characters)")
	}
	if t.Locked {
		return answer{status: http.StatusForbidden, body: message("Unable to create comment because issue is locked.")}
	}
	return created(t.commentView(t.comment(q.ch, q.login, q.text("body"))))
}

// editComment answers PATCH of a comment.
func editComment(q *query, t *Thread, c *remark) answer {
	t.editComment(q.ch, q.login, c, q.text("body"))
	return ok(t.remarkView(c))
}

// deleteComment answers DELETE of a comment.
func deleteComment(q *query, t *Thread, c *remark) answer {
	t.deleteComment(q.ch, q.login, c)
	return answer{status: http.StatusNoContent}
}
