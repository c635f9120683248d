package githubtest

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// issueView returns a state of an item as an issue, which pull requests are too.
func (t *Thread) issueView(it Item) map[string]any {
	it = t.at(it)
	out := it.issue()
	path := "/issues/" + itoa(t.Number)
	maps.Copy(out, map[string]any{
		"node_id": node("I", t.repo.ID, t.Number), "url": t.repo.api(path), "repository_url": t.repo.api(""),
		"comments_url": t.repo.api(path + "/comments"), "events_url": t.repo.api(path + "/events"),
		"labels_url": t.repo.api(path + "/labels{/name}"), "timeline_url": t.repo.api(path + "/timeline"),
		"author_association": "NONE", "assignees": []any{}, "assignee": nil, "milestone": nil, "active_lock_reason": nil,
		"reactions": rollup(t.reactions), "labels": t.viewsOf(it), "closed_by": nil,
	})
	if t.closer != "" && it.Closed {
		out["closed_by"] = user(t.closer)
	}
	if pr, is := out["pull_request"].(map[string]any); is {
		pr["url"] = t.repo.api("/pulls/" + itoa(t.Number))
		out["draft"], out["node_id"] = it.Draft, node("PR", t.repo.ID, t.Number)
	}
	return out
}

func (t *Thread) viewsOf(it Item) []any {
	views := []any{}
	for _, name := range it.Labels {
		views = append(views, t.repo.labelView(name))
	}
	return views
}

// ofThread finds the issue or pull request that a path names.
func ofThread(answers func(*query, *Thread) answer) func(*query) answer {
	return func(q *query) answer {
		t := q.repo.thread(int(q.num("n")))
		switch {
		case t == nil:
			return missing()
		case t.gone:
			return answer{status: http.StatusGone, body: message("This issue was deleted")}
		case q.repo.noIssues && !t.PR:
			return answer{status: http.StatusGone, body: message("Issues are disabled for this repo")}
		case t.movedTo != nil:
			to := t.movedTo
			_, rest, _ := strings.Cut(strings.TrimPrefix(q.URL.EscapedPath(), "/api/v3"), "/issues/"+q.vars["n"])
			return q.redirect("/repositories/" + strconv.FormatInt(to.repo.ID, 10) + "/issues/" + itoa(to.Number) + rest)
		}
		return answers(q, t)
	}
}

// ofPull is ofThread for what only pull requests have.
func ofPull(answers func(*query, *Thread) answer) func(*query) answer {
	return ofThread(func(q *query, t *Thread) answer {
		if !t.PR {
			return missing()
		}
		return answers(q, t)
	})
}

func inState(state string, it Item) bool {
	switch state {
	case "all":
		return true
	case "closed":
		return it.Closed
	}
	return !it.Closed
}

// issues answers GET …/issues, which lists pull requests too.
func issues(q *query) answer {
	if q.repo.noIssues {
		return answer{status: http.StatusGone, body: message("Issues are disabled for this repo")}
	}
	values := q.URL.Query()
	var rows []row
	for _, t := range q.repo.threads {
		it, is := t.listed()
		if !is || !inState(values.Get("state"), it) || !q.since(it.At) || !labelled(it, values.Get("labels")) {
			continue
		}
		if creator := values.Get("creator"); creator != "" && !strings.EqualFold(creator, it.Author) {
			continue
		}
		rows = append(rows, row{int64(it.Number), it.Opened, it.At, t.issueView(it)})
	}
	return list(q.sorted(rows, "created", "desc"))
}

// labelled reports whether an item has all labels of a list, in which a comma always ends a name.
func labelled(it Item, names string) bool {
	for name := range strings.SplitSeq(names, ",") {
		if name != "" && !has(it.Labels, name) {
			return false
		}
	}
	return true
}

// issueOf answers GET …/issues/{n}.
func issueOf(_ *query, t *Thread) answer {
	return answer{status: http.StatusOK, body: t.issueView(t.Item), changed: t.At}
}

// openIssue answers POST …/issues.
func openIssue(q *query) answer {
	if q.repo.noIssues {
		return answer{status: http.StatusGone, body: message("Issues are disabled for this repo")}
	}
	if q.text("title") == "" {
		return invalid("title is missing")
	}
	it := Item{Title: q.text("title"), Body: q.text("body")}
	names, _ := q.body["labels"].([]any)
	for _, name := range names {
		if s, is := name.(string); is {
			it.Labels = append(it.Labels, s)
		}
	}
	t := q.repo.open(q.ch, q.login, it, nil)
	return created(t.issueView(t.Item))
}

// editIssue answers PATCH …/issues/{n} and …/pulls/{n}.
func editIssue(q *query, t *Thread) answer {
	title, body := t.Title, t.Body
	if s := q.text("title"); s != "" {
		title = s
	}
	if s, is := q.body["body"].(string); is {
		body = s
	}
	if title != t.Title || body != t.Body {
		t.edit(q.ch, q.login, title, body)
	}
	switch q.text("state") {
	case "closed":
		t.close(q.ch, q.login, q.text("state_reason"), "")
	case "open":
		t.reopen(q.ch, q.login)
	}
	if strings.Contains(q.URL.Path, "/pulls/") {
		return ok(t.pullView(t.Item))
	}
	return ok(t.issueView(t.Item))
}

// lock answers PUT and DELETE …/issues/{n}/lock.
func lock(q *query, t *Thread) answer {
	event := "locked"
	if q.Method == http.MethodDelete {
		event = "unlocked"
	}
	t.step(q.ch, event, event, q.login, func() { t.Locked = event == "locked" })
	return answer{status: http.StatusNoContent}
}
