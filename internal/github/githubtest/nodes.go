package githubtest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// person returns an account, and null for one that was deleted.
func (q *query) person(login string) any {
	a := q.s.account(login)
	if a["login"] == "ghost" {
		return nil
	}
	name, bot := strings.CutSuffix(a["login"].(string), "[bot]")
	kind := "User"
	if bot {
		kind = "Bot"
	}
	return object{"__typename": kind, "id": a["node_id"], "databaseId": a["id"], "login": name, "name": "", "url": a["html_url"], "email": ""}
}

// moment returns a time, and null for none.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return stamp(t)
}

// thread returns an issue or a pull request.
func (q *query) thread(t *Thread) object {
	it := t.at(t.Item)
	labels := []any{}
	for _, name := range it.Labels {
		l := t.repo.labelView(name)
		labels = append(labels, object{"__typename": "Label", "id": l["node_id"], "name": name, "description": "", "color": l["color"]})
	}
	comments := []any{}
	for _, c := range t.comments {
		comments = append(comments, q.comment(t, c))
	}
	out := object{
		"__typename": "Issue", "id": node("I", t.repo.ID, t.Number), "number": t.Number, "title": it.Title, "body": it.Body, "url": it.page(),
		"state": state(it), "closed": it.Closed, "createdAt": moment(it.Opened), "updatedAt": moment(it.At), "closedAt": nil, "locked": it.Locked,
		"author": q.person(it.Author), "authorAssociation": "NONE", "milestone": nil, "isPinned": false, "stateReason": orNull(strings.ToUpper(it.Reason)),
		"labels": connection(labels), "comments": connection(comments), "assignees": connection(nil), "projectCards": connection(nil),
		"projectItems": connection(nil), "participants": connection(nil), "reactionGroups": groups(t.reactions),
	}
	if it.Closed {
		out["closedAt"] = moment(it.ClosedAt)
	}
	if it.PR {
		maps.Copy(out, q.pull(t, it))
		delete(out, "stateReason")
		delete(out, "isPinned")
	}
	return out
}

func (q *query) pull(t *Thread, it Item) object {
	mergeable := map[string]string{"clean": "MERGEABLE", "dirty": "CONFLICTING", "blocked": "MERGEABLE"}[t.mergeable]
	if mergeable == "" {
		mergeable = "UNKNOWN"
	}
	head := t.repo.Repo
	if it.Fork != "" {
		head = Repo{Host: head.Host, Owner: it.Fork, Name: head.Name}.orDefault()
	}
	out := object{
		"__typename": "PullRequest", "id": node("PR", t.repo.ID, t.Number), "headRefName": it.Head, "headRefOid": it.HeadSHA, "baseRefName": "main",
		"isDraft": it.Draft, "isCrossRepository": it.Fork != "", "maintainerCanModify": false, "mergeable": mergeable,
		"mergeStateStatus": strings.ToUpper(t.mergeable), "merged": it.Merged, "mergedAt": nil, "mergedBy": nil, "mergeCommit": nil,
		"potentialMergeCommit": nil, "autoMergeRequest": nil, "isInMergeQueue": false, "additions": 1, "deletions": 1, "changedFiles": 1,
		"headRepository":      object{"__typename": "Repository", "id": node("R", head.ID), "name": head.Name},
		"headRepositoryOwner": q.person(head.Owner),
		"files":               connection([]any{object{"__typename": "PullRequestChangedFile", "path": "main.go", "additions": 1, "deletions": 1}}),
		"commits":             connection([]any{object{"__typename": "PullRequestCommit", "commit": q.commit(t, it)}}),
		"reviewRequests":      connection(nil), "reviewDecision": "",
	}
	if it.ForkGone {
		out["headRepository"] = nil
	}
	if it.Merged {
		out["mergedAt"], out["mergedBy"] = moment(it.ClosedAt), q.person(t.closer)
		out["mergeCommit"] = object{"__typename": "Commit", "oid": t.mergeCommit()}
	}
	var reviews []any
	latest := map[string]any{}
	var order []string
	for _, v := range t.reviews {
		if !v.seen(q) {
			continue
		}
		reviews = append(reviews, q.review(v))
		if v.State != pending {
			if latest[v.Author] == nil {
				order = append(order, v.Author)
			}
			latest[v.Author] = q.review(v)
		}
	}
	var last []any
	for _, who := range order {
		last = append(last, latest[who])
	}
	out["reviews"], out["latestReviews"] = connection(reviews), connection(last)
	return out
}

func (q *query) comment(t *Thread, c *remark) object {
	view := t.commentView(c)
	return object{
		"__typename": "IssueComment", "id": view["node_id"], "databaseId": c.ID, "author": q.person(c.Author), "authorAssociation": "NONE",
		"body": c.Body, "createdAt": stamp(c.At), "updatedAt": stamp(c.Edited), "includesCreatedEdit": c.Edited.After(c.At), "isMinimized": false,
		"minimizedReason": nil, "reactionGroups": groups(c.reactions), "url": view["html_url"], "viewerDidAuthor": strings.EqualFold(c.Author, q.login),
	}
}

func (q *query) review(v *verdict) object {
	return object{
		"__typename": "PullRequestReview", "id": node("PRR", v.ID), "databaseId": v.ID, "author": q.person(v.Author), "authorAssociation": "NONE",
		"submittedAt": moment(v.At), "body": v.Body, "state": v.State, "commit": object{"__typename": "Commit", "oid": v.SHA}, "reactionGroups": groups(nil),
	}
}

// commit returns the head of a pull request, with what CI says of it.
func (q *query) commit(t *Thread, it Item) object {
	var contexts []any
	for _, r := range slices.Backward(t.repo.runs) {
		if r.SHA != it.HeadSHA {
			continue
		}
		status := "IN_PROGRESS"
		if r.done {
			status = "COMPLETED"
		}
		switch r.kind {
		case "check_run":
			contexts = append(contexts, object{
				"__typename": "CheckRun", "name": r.Name, "status": status, "conclusion": strings.ToUpper(r.Conclusion),
				"startedAt": stamp(r.At), "completedAt": stamp(r.At), "detailsUrl": r.view()["html_url"],
				"checkSuite": object{"__typename": "CheckSuite", "workflowRun": nil}, "isRequired": func(object) any { return false },
			})
		case "status":
			contexts = append(contexts, object{
				"__typename": "StatusContext", "context": r.Name, "state": strings.ToUpper(r.Conclusion), "targetUrl": r.view()["target_url"],
				"createdAt": stamp(r.At), "isRequired": func(object) any { return false },
			})
		}
	}
	out := object{
		"__typename": "Commit", "oid": it.HeadSHA, "messageHeadline": it.Title, "messageBody": "", "committedDate": stamp(it.Opened),
		"authoredDate": stamp(it.Opened), "statusCheckRollup": nil,
		"authors": connection([]any{object{"__typename": "GitActor", "name": it.Author, "email": "", "user": q.person(it.Author)}}),
	}
	if contexts != nil {
		out["statusCheckRollup"] = object{"__typename": "StatusCheckRollup", "contexts": connection(contexts)}
	}
	return out
}

// groups counts reactions as GraphQL does.
func groups(reactions []*reaction) []any {
	names := []string{"THUMBS_UP", "THUMBS_DOWN", "LAUGH", "CONFUSED", "HEART", "HOORAY", "ROCKET", "EYES"}
	counts := rollup(reactions)
	out := []any{}
	for i, content := range contents {
		out = append(out, object{
			"__typename": "ReactionGroup", "content": names[i], "users": object{"__typename": "ReactingUserConnection", "totalCount": counts[content]},
		})
	}
	return out
}
