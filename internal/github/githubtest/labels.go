package githubtest

import (
	"net/http"
	"slices"
	"strings"
)

// spell returns a label as the repository spells it, and makes it where there is none: case makes no difference.
func (r *Repository) spell(name string) string {
	for _, known := range r.labels {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	r.labels = append(r.labels, name)
	return name
}

func has(labels []string, name string) bool {
	return slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, name) })
}

func (r *Repository) labelView(name string) map[string]any {
	out := label(name)
	out["node_id"], out["url"] = node("LA", r.ID, name), r.api("/labels/"+name)
	return out
}

// RenameLabel renames a label, on every item that has it.
func (r *Repository) RenameLabel(who, from, to string) {
	r.s.do(func(ch *change) { r.renameLabel(ch, who, from, to) })
}

func (r *Repository) renameLabel(ch *change, who, from, to string) {
	r.eachLabel(from, func(string) []string { return []string{to} })
	ch.emit(r, "label", "edited", who, map[string]any{
		"label": r.labelView(to), "changes": map[string]any{"name": map[string]any{"from": from}},
	})
}

// DeleteLabel deletes a label: no item has it any more, and no item says that it lost it.
func (r *Repository) DeleteLabel(who, name string) {
	r.s.do(func(ch *change) {
		ch.emit(r, "label", "deleted", who, map[string]any{"label": r.labelView(name)})
		r.eachLabel(name, func(string) []string { return nil })
	})
}

// eachLabel replaces a label by others, in the repository and on all items.
func (r *Repository) eachLabel(name string, with func(string) []string) {
	replace := func(labels []string) (out []string) {
		for _, l := range labels {
			if strings.EqualFold(l, name) {
				out = append(out, with(l)...)
			} else {
				out = append(out, l)
			}
		}
		return out
	}
	r.labels = replace(r.labels)
	for _, t := range r.threads {
		t.Labels = replace(t.Labels)
	}
}

// labels answers GET …/labels.
func labels(q *query) answer {
	rows := []any{}
	for _, name := range q.repo.labels {
		rows = append(rows, q.repo.labelView(name))
	}
	return list(rows)
}

// labelOf answers GET …/labels/{name}.
func labelOf(q *query) answer {
	if !has(q.repo.labels, q.vars["name"]) {
		return missing()
	}
	return ok(q.repo.labelView(q.repo.spell(q.vars["name"])))
}

// makeLabel answers POST …/labels.
func makeLabel(q *query) answer {
	name := q.text("name")
	if name == "" || has(q.repo.labels, name) {
		return invalid("name already_exists")
	}
	q.repo.spell(name)
	q.ch.emit(q.repo, "label", "created", q.login, map[string]any{"label": q.repo.labelView(name)})
	return created(q.repo.labelView(name))
}

// editLabel answers PATCH …/labels/{name}.
func editLabel(q *query) answer {
	if !has(q.repo.labels, q.vars["name"]) {
		return missing()
	}
	if to := q.text("new_name"); to != "" {
		q.repo.renameLabel(q.ch, q.login, q.vars["name"], to)
		return ok(q.repo.labelView(to))
	}
	return ok(q.repo.labelView(q.repo.spell(q.vars["name"])))
}

// labelsOf answers GET …/issues/{n}/labels.
func labelsOf(_ *query, t *Thread) answer { return list(t.labelViews()) }

func (t *Thread) labelViews() []any {
	rows := []any{}
	for _, name := range t.Labels {
		rows = append(rows, t.repo.labelView(name))
	}
	return rows
}

// addLabels answers POST …/issues/{n}/labels, whose body is an object or the list itself.
func addLabels(q *query, t *Thread) answer {
	names, is := q.body["labels"].([]any)
	if !is {
		return invalid("labels")
	}
	for _, name := range names {
		if s, is := name.(string); is {
			t.label(q.ch, q.login, s)
		}
	}
	return list(t.labelViews())
}

// removeLabel answers DELETE …/issues/{n}/labels/{name}.
func removeLabel(q *query, t *Thread) answer {
	if !has(t.Labels, q.vars["name"]) {
		return answer{status: http.StatusNotFound, body: message("Label does not exist")}
	}
	t.unlabel(q.ch, q.login, q.vars["name"])
	return list(t.labelViews())
}
