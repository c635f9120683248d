package githubtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (h *Hook) view(r *Repository) map[string]any {
	return map[string]any{
		"type": "Repository", "id": h.ID, "name": "web", "active": true, "events": []any{"*"},
		"config": map[string]any{"url": h.url, "content_type": "json", "insecure_ssl": "0", "secret": "********"},
		"url":    r.api("/hooks/" + strconv.FormatInt(h.ID, 10)), "deliveries_url": r.api("/hooks/" + strconv.FormatInt(h.ID, 10) + "/deliveries"),
	}
}

func (t *try) view() map[string]any {
	return map[string]any{
		"id": t.id, "guid": t.GUID, "delivered_at": stamp(t.at), "redelivery": t.again, "duration": 0.1, "status": t.status,
		"status_code": t.code, "event": t.Event, "action": orNull(t.Action), "installation_id": nil, "repository_id": t.repo, "throttled_at": nil,
	}
}

func (q *query) hook() *Hook {
	id := q.num("id")
	if id < 1 || id > int64(len(q.s.hooks)) {
		return nil
	}
	return q.s.hooks[id-1]
}

// hooks answers GET …/hooks.
func hooks(q *query) answer {
	rows := []any{}
	for _, h := range q.s.hooks {
		rows = append(rows, h.view(q.repo))
	}
	return list(rows)
}

// hookOf answers GET …/hooks/{id}.
func hookOf(q *query) answer {
	h := q.hook()
	if h == nil {
		return missing()
	}
	return ok(h.view(q.repo))
}

// deliveries answers GET …/hooks/{id}/deliveries: newest first, and the next page by a cursor.
func deliveries(q *query) answer {
	h := q.hook()
	if h == nil {
		return missing()
	}
	cursor, err := strconv.ParseInt(strings.TrimPrefix(q.URL.Query().Get("cursor"), "v1_"), 10, 64)
	rows := []any{}
	for _, t := range slices.Backward(h.tries) {
		if t.repo != q.repo.ID || err == nil && t.id >= cursor || q.URL.Query().Get("status") == "failure" && t.code/100 == 2 {
			continue
		}
		if len(rows) == perPage(q.Request) {
			last := rows[len(rows)-1].(map[string]any)["id"].(int64)
			q.ch.header("Link", "<"+q.other("cursor", "v1_"+strconv.FormatInt(last, 10))+`>; rel="next"`)
			break
		}
		rows = append(rows, t.view())
	}
	return ok(rows)
}

func (q *query) try() *try {
	h := q.hook()
	if h == nil {
		return nil
	}
	for _, t := range h.tries {
		if t.id == q.num("n") && t.repo == q.repo.ID {
			return t
		}
	}
	return nil
}

// delivery answers GET …/hooks/{id}/deliveries/{n}.
func delivery(q *query) answer {
	t := q.try()
	if t == nil {
		return missing()
	}
	out := t.view()
	out["url"] = q.hook().url
	out["request"] = map[string]any{
		"headers": map[string]any{"X-GitHub-Delivery": t.GUID, "X-GitHub-Event": t.Event},
		"payload": json.RawMessage(t.Body),
	}
	out["response"] = map[string]any{"headers": map[string]any{}, "payload": ""}
	return ok(out)
}

// redeliver answers POST …/hooks/{id}/deliveries/{n}/attempts, and sends the delivery again afterwards.
func redeliver(q *query) answer {
	t := q.try()
	if t == nil {
		return missing()
	}
	q.ch.sends = append(q.ch.sends, sending{q.hook(), t.Delivery, true})
	return answer{status: http.StatusAccepted, body: map[string]any{}}
}
