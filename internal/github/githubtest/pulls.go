package githubtest

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
)

var closes = regexp.MustCompile(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)`)

// Push moves the head of a pull request to another commit.
func (t *Thread) Push(who, sha string) {
	t.repo.s.do(func(ch *change) {
		before := t.HeadSHA
		t.touch()
		t.HeadSHA = sha
		t.emit(ch, "synchronize", who, map[string]any{"before": before, "after": sha})
	})
}

// SetDraft makes a pull request a draft, or ready for review.
func (t *Thread) SetDraft(who string, draft bool) {
	event, action := "ready_for_review", "ready_for_review"
	if draft {
		event, action = "convert_to_draft", "converted_to_draft"
	}
	t.repo.s.do(func(ch *change) { t.step(ch, event, action, who, func() { t.Draft = draft }) })
}

// SetMergeable says how a pull request stands to its base: clean, dirty, blocked, or unknown while GitHub works it out.
func (t *Thread) SetMergeable(state string) { t.repo.s.do(func(*change) { t.mergeable = state }) }

// LoseFork deletes the repository that the branch of a pull request is in.
func (t *Thread) LoseFork() { t.repo.s.do(func(*change) { t.ForkGone = true }) }

// Enqueue puts a pull request into the merge queue.
func (t *Thread) Enqueue(who string) {
	t.repo.s.do(func(ch *change) { t.step(ch, "added_to_merge_queue", "enqueued", who, func() {}) })
}

// Dequeue takes a pull request out of the merge queue, for a reason such as CI_FAILURE or MERGE.
func (t *Thread) Dequeue(who, reason string) {
	t.repo.s.do(func(ch *change) {
		t.touch()
		t.note("removed_from_merge_queue", who)
		t.emit(ch, "dequeued", who, map[string]any{"reason": reason})
	})
}

// Merge merges a pull request, and closes the issues of its repository that its body says it closes.
func (t *Thread) Merge(who string) { t.repo.s.do(func(ch *change) { t.merge(ch, who) }) }

func (t *Thread) merge(ch *change, who string) {
	if t.Closed {
		return
	}
	t.touch()
	t.Merged, t.Closed, t.ClosedAt, t.closer = true, true, t.At, who
	t.note("merged", who).commit = t.mergeCommit()
	t.note("closed", who)
	t.emit(ch, "closed", who, nil)
	for _, found := range closes.FindAllStringSubmatch(t.Body, -1) {
		n, _ := strconv.Atoi(found[1])
		if issue := t.repo.thread(n); issue != nil && !issue.PR {
			issue.close(ch, who, "", t.mergeCommit())
		}
	}
}

// mergeCommit returns the commit that merged a pull request.
func (t *Thread) mergeCommit() string {
	digits := strconv.FormatInt(number(t.HeadSHA+itoa(t.Number)), 16)
	return strings.Repeat("0", 40-len(digits)) + digits
}

// pullView returns a state of a pull request as it is shown alone.
func (t *Thread) pullView(it Item) map[string]any {
	it = t.at(it)
	out := it.pull()
	n := itoa(t.Number)
	maps.Copy(out, map[string]any{
		"node_id": node("PR", t.repo.ID, t.Number), "url": t.repo.api("/pulls/" + n), "issue_url": t.repo.api("/issues/" + n),
		"comments_url": t.repo.api("/issues/" + n + "/comments"), "review_comments_url": t.repo.api("/pulls/" + n + "/comments"),
		"statuses_url": t.repo.api("/statuses/" + it.HeadSHA), "author_association": "NONE", "assignees": []any{}, "assignee": nil,
		"requested_reviewers": []any{}, "requested_teams": []any{}, "milestone": nil, "auto_merge": nil, "merge_commit_sha": nil,
		"merged_by": nil, "mergeable_state": t.mergeable, "mergeable": nil, "review_comments": len(t.shownInline("")), "commits": 1,
		"additions": 1, "deletions": 1, "changed_files": 1, "maintainer_can_modify": false, "labels": t.viewsOf(it),
	})
	if t.mergeable != "unknown" {
		out["mergeable"] = t.mergeable != "dirty"
	}
	if it.Merged {
		out["merged_by"], out["merge_commit_sha"] = user(t.closer), t.mergeCommit()
	}
	return out
}

// pullRow returns a pull request as listings show it, without what takes GitHub longer to find out.
func (t *Thread) pullRow(it Item) map[string]any {
	out := t.pullView(it)
	for _, name := range []string{
		"merged", "mergeable", "mergeable_state", "merged_by", "comments", "review_comments", "commits", "additions",
		"deletions", "changed_files", "maintainer_can_modify",
	} {
		delete(out, name)
	}
	return out
}

// pulls answers GET …/pulls. It knows no since.
func pulls(q *query) answer {
	values := q.URL.Query()
	var rows []row
	for _, t := range q.repo.threads {
		it, is := t.listed()
		if !is || !it.PR || !inState(values.Get("state"), it) || !t.from(values.Get("head"), it) {
			continue
		}
		if base := values.Get("base"); base != "" && base != "main" {
			continue
		}
		rows = append(rows, row{int64(it.Number), it.Opened, it.At, t.pullRow(it)})
	}
	direction := "desc"
	if sort := values.Get("sort"); sort != "" && sort != "created" {
		direction = "asc"
	}
	return list(q.sorted(rows, "created", direction))
}

// from reports whether a pull request's branch is the one that is asked for as owner:branch.
func (t *Thread) from(head string, it Item) bool {
	owner, name, named := strings.Cut(head, ":")
	if !named {
		return true // GitHub takes no notice of a branch without its owner
	}
	from := it.Fork
	if from == "" {
		from = t.repo.Owner
	}
	return strings.EqualFold(from, owner) && it.Head == name
}

// pull answers GET …/pulls/{n}.
func pull(_ *query, t *Thread) answer {
	return answer{status: 200, body: t.pullView(t.Item), changed: t.At}
}

// mergePull answers PUT …/pulls/{n}/merge.
func mergePull(q *query, t *Thread) answer {
	if t.Closed || t.Draft || t.mergeable != "clean" {
		return answer{status: 405, body: message("Pull Request is not mergeable")}
	}
	t.merge(q.ch, q.login)
	return ok(map[string]any{"sha": t.mergeCommit(), "merged": true, "message": "Pull Request successfully merged"})
}

// pullsOf answers GET …/commits/{sha}/pulls.
func pullsOf(q *query) answer {
	rows := []any{}
	for _, t := range q.repo.threads {
		if it, is := t.listed(); is && it.PR && it.HeadSHA == q.vars["name"] {
			rows = append(rows, t.pullRow(it))
		}
	}
	return list(rows)
}
