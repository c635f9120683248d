package githubtest

import (
	"slices"
	"strings"
	"time"
)

// verdict is a review. Its state is as REST spells it, in capitals.
type verdict struct {
	Review
	inline []*remark
	editor string // who edited it last; "" nobody did
	edited time.Time
}

const pending = "PENDING"

// Review submits a review with inline comments, and returns its id. Its state is approved, changes_requested or, unless
// said, commented.
func (t *Thread) Review(who string, r Review, inline ...Comment) int64 {
	var v *verdict
	t.repo.s.do(func(ch *change) {
		v = t.startReview(who, r.Body, inline)
		t.submit(ch, v, r.State)
	})
	return v.ID
}

// StartReview writes a review that is not submitted: only who writes it sees it, and nothing is sent.
func (t *Thread) StartReview(who, body string, inline ...Comment) int64 {
	var v *verdict
	t.repo.s.do(func(*change) { v = t.startReview(who, body, inline) })
	return v.ID
}

// SubmitReview submits a review that was started.
func (t *Thread) SubmitReview(id int64, state string) {
	t.repo.s.do(func(ch *change) {
		if v := t.verdict(id); v != nil && v.State == pending {
			t.submit(ch, v, state)
		}
	})
}

// EditReview changes what a review says. The REST API does not tell that it was.
func (t *Thread) EditReview(who string, id int64, body string) {
	t.repo.s.do(func(ch *change) {
		if v := t.verdict(id); v != nil {
			t.touch()
			v.Body, v.editor, v.edited = body, who, t.At
			t.emitReview(ch, "edited", who, v)
		}
	})
}

// DismissReview takes the weight from a review.
func (t *Thread) DismissReview(who string, id int64) {
	t.repo.s.do(func(ch *change) {
		if v := t.verdict(id); v != nil {
			t.touch()
			v.State = "DISMISSED"
			t.note("review_dismissed", who)
			t.emitReview(ch, "dismissed", who, v)
		}
	})
}

// Reply answers an inline comment, which is a review of its own, and returns the new comment's id.
func (t *Thread) Reply(who string, to int64, body string) int64 {
	var id int64
	t.repo.s.do(func(ch *change) {
		if c, inline := t.remark(to); inline {
			id = t.reply(ch, who, c, body).ID
		}
	})
	return id
}

func (t *Thread) reply(ch *change, who string, to *remark, body string) *remark {
	v := t.startReview(who, "", []Comment{{Body: body, Path: to.Path, Line: to.Line, ReplyTo: to.ID}})
	t.submit(ch, v, "")
	return v.inline[0]
}

// Inline returns the inline comments that everybody sees, oldest first.
func (t *Thread) Inline() []Comment {
	return read(t.repo.s, func() []Comment {
		var out []Comment
		for _, c := range t.shownInline("") {
			out = append(out, c.Comment)
		}
		return out
	})
}

// shownInline returns the inline comments that an account sees.
func (t *Thread) shownInline(login string) []*remark {
	return slices.DeleteFunc(slices.Clone(t.inline), func(c *remark) bool { return c.pending && !strings.EqualFold(c.Author, login) })
}

func (t *Thread) startReview(who, body string, inline []Comment) *verdict {
	v := &verdict{Review: Review{ID: t.repo.s.id("review"), State: pending, Body: body, Author: who, SHA: t.HeadSHA}}
	t.reviews = append(t.reviews, v)
	for _, c := range inline {
		if c.Path == "" {
			c.Path = "main.go"
		}
		c.ID, c.Author, c.SHA, c.Review = t.repo.s.id("inline"), who, t.HeadSHA, v.ID
		c.At = t.repo.s.now()
		c.Edited = c.At
		v.inline = append(v.inline, &remark{Comment: c, pending: true})
	}
	t.inline = append(t.inline, v.inline...)
	return v
}

// submit makes a review public: one event for it, and one for each of its comments.
func (t *Thread) submit(ch *change, v *verdict, state string) {
	t.touch()
	v.State, v.At = strings.ToUpper(state), t.At
	if state == "" {
		v.State = "COMMENTED"
	}
	for _, c := range v.inline {
		c.pending, c.Edited = false, t.At
	}
	t.emitReview(ch, "submitted", v.Author, v)
	for _, c := range v.inline {
		t.emitComment(ch, "created", v.Author, c, nil)
	}
}

func (t *Thread) emitReview(ch *change, action, who string, v *verdict) {
	view := t.reviewView(v)
	view["state"] = strings.ToLower(v.State) // as webhooks spell it
	ch.emit(t.repo, "pull_request_review", action, who, map[string]any{"pull_request": t.pullRow(t.Item), "review": view})
}

func (t *Thread) verdict(id int64) *verdict {
	for _, v := range t.reviews {
		if v.ID == id {
			return v
		}
	}
	return nil
}

func (t *Thread) reviewView(v *verdict) map[string]any {
	out := v.json("", t.at(t.Item))
	out["body"], out["node_id"] = v.Body, node("PRR", v.ID)
	out["pull_request_url"], out["author_association"] = t.repo.api("/pulls/"+itoa(t.Number)), "NONE"
	if v.State == pending {
		delete(out, "submitted_at")
	}
	return out
}

func (t *Thread) inlineView(c *remark) map[string]any {
	it := t.at(t.Item)
	it.PR = true
	out := c.json("", it)
	out["node_id"], out["pull_request_url"] = node("PRRC", c.ID), t.repo.api("/pulls/"+itoa(t.Number))
	out["url"], out["reactions"] = t.repo.api("/pulls/comments/"+itoa(int(c.ID))), rollup(c.reactions)
	out["original_line"], out["original_commit_id"], out["side"], out["subject_type"] = c.Line, c.SHA, "RIGHT", "line"
	if c.SHA != t.HeadSHA {
		out["line"], out["position"] = nil, nil // outdated
	}
	return out
}

// seen reports whether a review is there for who asks.
func (v *verdict) seen(q *query) bool {
	if v.State == pending {
		return strings.EqualFold(v.Author, q.login)
	}
	return !v.At.After(q.s.shown())
}

// reviewsOf answers GET …/pulls/{n}/reviews, oldest first. It knows no since.
func reviewsOf(q *query, t *Thread) answer {
	rows := []any{}
	for _, v := range t.reviews {
		if v.seen(q) {
			rows = append(rows, t.reviewView(v))
		}
	}
	return list(rows)
}

func ofReview(answers func(*query, *Thread, *verdict) answer) func(*query) answer {
	return ofPull(func(q *query, t *Thread) answer {
		v := t.verdict(q.num("id"))
		if v == nil || v.State == pending && !v.seen(q) {
			return missing()
		}
		return answers(q, t, v)
	})
}

// reviewOf answers GET …/pulls/{n}/reviews/{id}.
func reviewOf(_ *query, t *Thread, v *verdict) answer { return ok(t.reviewView(v)) }

// reviewComments answers GET …/pulls/{n}/reviews/{id}/comments.
func reviewComments(_ *query, t *Thread, v *verdict) answer {
	rows := []any{}
	for _, c := range t.inline {
		if c.Review == v.ID {
			rows = append(rows, t.inlineView(c))
		}
	}
	return list(rows)
}

// addReview answers POST …/pulls/{n}/reviews; without an event the review stays pending.
func addReview(q *query, t *Thread) answer {
	var inline []Comment
	given, _ := q.body["comments"].([]any)
	for _, c := range given {
		c, _ := c.(map[string]any)
		path, _ := c["path"].(string)
		body, _ := c["body"].(string)
		line, _ := c["line"].(float64)
		inline = append(inline, Comment{Path: path, Body: body, Line: int(line)})
	}
	states := map[string]string{"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED", "": pending}
	state, known := states[q.text("event")]
	if !known {
		return invalid("event")
	}
	v := t.startReview(q.login, q.text("body"), inline)
	if state != pending {
		t.submit(q.ch, v, state)
	}
	return ok(t.reviewView(v))
}

// inlineOf answers GET …/pulls/{n}/comments.
func inlineOf(q *query, t *Thread) answer {
	return list(q.sorted(t.rows(q, t.inline, t.inlineView), "", "asc"))
}

// inlineComments answers GET …/pulls/comments, of all pull requests.
func inlineComments(q *query) answer {
	var rows []row
	for _, t := range q.repo.threads {
		rows = append(rows, t.rows(q, t.inline, t.inlineView)...)
	}
	return list(q.sorted(rows, "", "asc"))
}

// addReply answers POST …/pulls/{n}/comments/{id}/replies.
func addReply(q *query, t *Thread) answer {
	to, inline := t.remark(q.num("id"))
	if !inline || q.text("body") == "" {
		return missing()
	}
	return created(t.inlineView(t.reply(q.ch, q.login, to, q.text("body"))))
}
