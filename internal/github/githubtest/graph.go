package githubtest

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// graph returns what a query begins with.
func (q *query) graph(x *execution) object {
	return object{
		"__typename": "Query",
		"__type":     q.typeOf,
		"viewer":     q.person(q.login),
		"repository": func(args object) any {
			owner, _ := args["owner"].(string)
			name, _ := args["name"].(string)
			r := q.s.find(owner, name)
			if id, moved := q.s.moved[strings.ToLower(owner+"/"+name)]; r == nil && moved {
				r = q.s.byID(id)
			}
			if a := q.admitTo(r); a.status != 0 {
				return x.missing("repository", "a Repository with the name '"+owner+"/"+name+"'")
			}
			return q.repository(x, r)
		},
		"search": func(args object) any {
			text, _ := args["query"].(string)
			if last, is := args["last"]; is && args["before"] == nil { // gh pages forward by it
				args = object{"first": last, "after": args["after"]}
			}
			return connection(q.search(text))(args)
		},
		"nodes": func(args object) any {
			ids, _ := args["ids"].([]any)
			out := []any{}
			for _, id := range ids {
				out = append(out, q.remarkNode(id))
			}
			return out
		},
		"node": func(args object) any {
			for _, r := range q.s.repos {
				for _, t := range r.threads {
					if n := q.thread(t); n["id"] == args["id"] && q.admitTo(r).status == 0 {
						return n
					}
				}
			}
			return x.missing("node", "a node with the global id")
		},
	}
}

// remarkNode returns who edited an item's description, a comment of either kind or a review last, nil for one that is not to be seen.
func (q *query) remarkNode(id any) any {
	for _, r := range q.s.repos {
		if q.admitTo(r).status != 0 {
			continue
		}
		for _, t := range r.threads {
			if (id == node("I", r.ID, t.Number) || id == node("PR", r.ID, t.Number)) && !t.gone && t.movedTo == nil {
				return q.edit(id, t.editor, t.edited)
			}
			for _, c := range slices.Concat(t.comments, t.inline) {
				if id != node("IC", c.ID) && id != node("PRRC", c.ID) {
					continue
				}
				return q.edit(id, c.editor, c.Edited)
			}
			for _, v := range t.reviews {
				if id == node("PRR", v.ID) && v.seen(q) {
					return q.edit(id, v.editor, v.edited)
				}
			}
		}
	}
	return nil
}

func (q *query) edit(id any, editor string, at time.Time) object {
	out := object{"__typename": "Comment", "id": id, "lastEditedAt": nil, "editor": nil}
	if editor != "" {
		out["lastEditedAt"], out["editor"] = stamp(at), q.person(editor)
	}
	return out
}

// typeOf tells the fields of a type, which is how gh finds out what a server can do.
func (q *query) typeOf(args object) any {
	r := &Repository{s: q.s, Repo: Repo{Host: q.s.host}.orDefault()}
	name, _ := args["name"].(string)
	var of object
	switch name {
	case "Issue", "PullRequest":
		of = q.thread(&Thread{repo: r, Item: Item{Repo: r.Repo, PR: name == "PullRequest"}.orDefault()})
	case "Repository":
		of = q.repository(nil, r)
	default:
		return nil
	}
	fields := []any{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		fields = append(fields, object{"name": name})
	}
	return object{"__typename": "__Type", "name": name, "fields": func(object) any { return fields }}
}

func (q *query) repository(x *execution, r *Repository) object {
	one := func(is func(*Thread) bool, name, what string) member {
		return func(args object) any {
			n, _ := args["number"].(float64)
			if t := r.thread(int(n)); t != nil && !t.gone && t.movedTo == nil && is(t) {
				return q.thread(t)
			}
			return x.missing(name, what+" with the number of "+itoa(int(n)))
		}
	}
	issue, pr := func(t *Thread) bool { return !t.PR }, func(t *Thread) bool { return t.PR }
	return object{
		"__typename": "Repository", "id": node("R", r.ID), "databaseId": r.ID, "name": r.Name, "nameWithOwner": r.Owner + "/" + r.Name,
		"owner": q.person(r.Owner), "url": r.page(), "hasIssuesEnabled": !r.noIssues, "isArchived": r.archived, "isPrivate": false,
		"isFork": false, "parent": nil, "description": nil, "viewerPermission": "ADMIN", "mergeCommitAllowed": true,
		"defaultBranchRef":   object{"__typename": "Ref", "name": "main"},
		"issue":              one(issue, "issue", "an Issue"),
		"pullRequest":        one(pr, "pullRequest", "a PullRequest"),
		"issueOrPullRequest": one(func(*Thread) bool { return true }, "issueOrPullRequest", "an issue or pull request"),
		"issues":             func(args object) any { return connection(q.listing(r, args, issue))(args) },
		"pullRequests":       func(args object) any { return connection(q.listing(r, args, pr))(args) },
	}
}

// listing returns the items of a kind that arguments ask for, newest first.
func (q *query) listing(r *Repository, args object, is func(*Thread) bool) []any {
	nodes := []any{}
	by, _ := args["filterBy"].(object)
	for _, t := range slices.Backward(r.threads) {
		it, shown := t.listed()
		if !shown || !is(t) || !among(args["states"], state(it)) || !equal(args["headRefName"], it.Head) ||
			!equal(args["baseRefName"], "main") || !equal(by["createdBy"], it.Author) || by["assignee"] != nil || by["mentioned"] != nil {
			continue
		}
		nodes = append(nodes, q.thread(t))
	}
	return nodes
}

// among reports whether one is in a list, a single value being one of one, and nothing any.
func among(list any, one string) bool {
	many, is := list.([]any)
	if !is {
		return equal(list, one)
	}
	return slices.ContainsFunc(many, func(v any) bool { return equal(v, one) })
}

func equal(want any, got string) bool {
	s, is := want.(string)
	return !is || strings.EqualFold(s, got)
}

// state returns what GraphQL calls the state of an item.
func state(it Item) string {
	switch {
	case it.Merged:
		return "MERGED"
	case it.Closed:
		return "CLOSED"
	}
	return "OPEN"
}

// search returns the items that qualifiers, such as repo:, label: and is:, all hold for; other words are looked for in titles.
func (q *query) search(text string) []any {
	var qualifiers []string
	for i, part := range strings.Split(text, `"`) {
		switch {
		case i%2 == 0:
			qualifiers = append(qualifiers, strings.Fields(part)...)
		case len(qualifiers) > 0:
			qualifiers[len(qualifiers)-1] += part
		}
	}
	nodes := []any{}
	for _, r := range q.s.repos {
		if q.admitTo(r).status != 0 {
			continue
		}
		for _, t := range slices.Backward(r.threads) {
			it, shown := t.listed()
			if shown && !slices.ContainsFunc(qualifiers, func(word string) bool { return !holds(word, it) }) {
				nodes = append(nodes, q.thread(t))
			}
		}
	}
	return nodes
}

func holds(qualifier string, it Item) bool {
	name, value, is := strings.Cut(qualifier, ":")
	if !is {
		return strings.Contains(strings.ToLower(it.Title), strings.ToLower(qualifier))
	}
	switch name {
	case "repo":
		return strings.EqualFold(value, it.Repo.Owner+"/"+it.Repo.Name)
	case "label":
		return has(it.Labels, value)
	case "author":
		return strings.EqualFold(value, it.Author)
	case "is", "type", "state":
		switch value {
		case "issue":
			return !it.PR
		case "pr":
			return it.PR
		case "open":
			return !it.Closed
		case "closed":
			return it.Closed
		case "merged":
			return it.Merged
		}
	case "draft":
		return it.Draft == (value == "true")
	}
	return true // sort: and others change nothing
}
