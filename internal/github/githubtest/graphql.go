package githubtest

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
)

// object is a node of the graph. A member that takes arguments is a func.
type object = map[string]any

type member = func(args object) any

// graphql answers POST /graphql: queries, without directives, over what graph returns.
func graphql(q *query) answer {
	if q.login == "" {
		return answer{status: http.StatusUnauthorized, body: message("This endpoint requires you to be authenticated.")}
	}
	doc, err := parse(q.text("query"))
	if err != nil {
		return ok(object{"errors": []any{object{"message": "Parse error: " + err.Error()}}})
	}
	variables := maps.Clone(doc.defaults)
	given, _ := q.body["variables"].(map[string]any)
	maps.Copy(variables, given)
	x := &execution{doc: doc, variables: variables}
	data := x.object(doc.fields, q.graph(x))
	if x.broken {
		return ok(object{"errors": x.errors})
	}
	out := object{"data": data}
	if x.errors != nil {
		out["errors"] = x.errors
	}
	return ok(out)
}

// execution is the run of one query.
type execution struct {
	doc       *document
	variables object
	errors    []any
	broken    bool // the query itself is wrong, so there is no data
}

// missing tells that what was asked for is not there, which leaves the rest of the answer as it is.
func (x *execution) missing(member, what string) any {
	x.errors = append(x.errors, object{
		"type": "NOT_FOUND", "path": []any{member}, "message": "Could not resolve to " + what + ".",
		"locations": []any{object{"line": 1, "column": 1}},
	})
	return nil
}

func (x *execution) object(fields []selection, of object) object {
	out := object{}
	for _, f := range fields {
		if f.fragment {
			if f.on == "" || f.on == of["__typename"] {
				merge(out, x.object(x.inside(f), of))
			}
			continue
		}
		v, known := of[f.name]
		if !known {
			x.broken = true
			x.errors = append(x.errors, object{"message": fmt.Sprintf("Field '%s' doesn't exist on type '%v'", f.name, of["__typename"])})
			continue
		}
		if ask, is := v.(member); is {
			v = ask(x.resolve(f.args).(object))
		}
		merge(out, object{f.alias: x.value(f.fields, v)})
	}
	return out
}

// inside returns what a fragment holds, which a spread keeps elsewhere. What it is on is looked at again there.
func (x *execution) inside(f selection) []selection {
	if f.spread == "" {
		return f.fields
	}
	return []selection{x.doc.fragments[f.spread]}
}

func (x *execution) value(fields []selection, v any) any {
	switch v := v.(type) {
	case object:
		if v == nil {
			return nil
		}
		return x.object(fields, v)
	case []any:
		out := []any{}
		for _, one := range v {
			out = append(out, x.value(fields, one))
		}
		return out
	}
	return v
}

// resolve puts the values of variables in their places.
func (x *execution) resolve(v any) any {
	switch v := v.(type) {
	case variable:
		return x.variables[string(v)]
	case object:
		out := object{}
		for name, value := range v {
			out[name] = x.resolve(value)
		}
		return out
	case []any:
		out := []any{}
		for _, value := range v {
			out = append(out, x.resolve(value))
		}
		return out
	}
	return v
}

// merge adds one selection's answer to another's: the same member may be asked for in several places.
func merge(into, from object) {
	for name, v := range from {
		old, both := into[name].(object)
		more, is := v.(object)
		if both && is {
			merge(old, more)
			continue
		}
		into[name] = v
	}
}

// connection returns a list of nodes as GraphQL cuts it, whose cursors are the numbers of nodes.
func connection(nodes []any) member {
	return func(args object) any {
		from, until := 0, len(nodes)
		if after, is := args["after"].(string); is {
			_, _ = fmt.Sscanf(after, "%d", &from)
			from = min(from, len(nodes))
		}
		if first, is := args["first"].(float64); is {
			until = min(until, from+int(first))
		}
		if last, is := args["last"].(float64); is {
			from = max(from, until-int(last))
		}
		page, edges := []any{}, []any{}
		for i, n := range nodes[from:until] {
			page = append(page, n)
			edges = append(edges, object{"node": n, "cursor": itoa(from + i + 1)})
		}
		return object{
			"totalCount": len(nodes), "issueCount": len(nodes), "nodes": page, "edges": edges,
			"pageInfo": object{"hasNextPage": until < len(nodes), "hasPreviousPage": from > 0, "startCursor": itoa(from), "endCursor": itoa(until)},
		}
	}
}

var errEnd = errors.New("unexpected end of document")
