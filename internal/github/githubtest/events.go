package githubtest

import "slices"

func (o *occurrence) view(t *Thread) map[string]any {
	id := itoa(int(o.id))
	out := map[string]any{
		"id": o.id, "node_id": node("EV", o.id), "url": t.repo.api("/issues/events/" + id), "actor": user(o.actor), "event": o.name,
		"commit_id": orNull(o.commit), "commit_url": nil, "created_at": stamp(o.at), "performed_via_github_app": nil,
	}
	if o.commit != "" {
		out["commit_url"] = t.repo.api("/commits/" + o.commit)
	}
	if o.label != "" {
		out["label"] = map[string]any{"name": o.label, "color": label(o.label)["color"]}
	}
	if o.rename != nil {
		out["rename"] = map[string]any{"from": o.rename["from"], "to": o.rename["to"]}
	}
	if o.name == "closed" {
		out["state_reason"] = orNull(t.Reason)
	}
	return out
}

// eventsOf answers GET …/issues/{n}/events, oldest first.
func eventsOf(q *query, t *Thread) answer {
	rows := []any{}
	for _, o := range t.events {
		if !o.at.After(q.s.shown()) {
			rows = append(rows, o.view(t))
		}
	}
	return list(rows)
}

// events answers GET …/issues/events, of all items, newest first.
func events(q *query) answer {
	var rows []row
	for _, t := range q.repo.threads {
		for _, o := range t.events {
			if o.at.After(q.s.shown()) || t.gone || t.movedTo != nil {
				continue
			}
			view := o.view(t)
			view["issue"] = t.issueView(t.Item)
			rows = append(rows, row{o.id, o.at, o.at, view})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return int(b.id - a.id) })
	out := []any{}
	for _, r := range rows {
		out = append(out, r.body)
	}
	return list(out)
}

// timeline answers GET …/issues/{n}/timeline: events, comments and reviews in the order in which they came.
func timeline(q *query, t *Thread) answer {
	var rows []row
	add := func(name string, r row) {
		if view := r.body.(map[string]any); name != "" {
			view["event"], view["actor"] = name, view["user"]
		}
		rows = append(rows, r)
	}
	for _, o := range t.events {
		add("", row{o.id, o.at, o.at, o.view(t)})
	}
	for _, c := range t.comments {
		add("commented", row{c.ID, c.At, c.At, t.commentView(c)})
	}
	for _, v := range t.reviews {
		if v.seen(q) && v.State != pending {
			add("reviewed", row{v.ID, v.At, v.At, t.reviewView(v)})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.created.Compare(b.created) })
	out := []any{}
	for _, r := range rows {
		if !r.created.After(q.s.shown()) {
			out = append(out, r.body)
		}
	}
	return list(out)
}
