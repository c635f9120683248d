package githubtest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// perPage returns how many rows a page of a request has: 30 unless asked for otherwise, and 100 at most.
func perPage(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("per_page"))
	if err != nil || n < 1 {
		return 30
	}
	return min(n, 100)
}

// page cuts the page that was asked for out of a listing, and links to the others.
func (q *query) page(h http.Header, a answer) any {
	size := perPage(q.Request)
	number, err := strconv.Atoi(q.URL.Query().Get("page"))
	if err != nil || number < 1 {
		number = 1
	}
	last := max(1, (len(a.rows)+size-1)/size)
	q.link(h, number, last)
	from := min(len(a.rows), (number-1)*size)
	rows := append([]any{}, a.rows[from:min(len(a.rows), from+size)]...)
	if a.wrap == "" {
		return rows
	}
	return map[string]any{"total_count": len(a.rows), a.wrap: rows}
}

// link writes the Link header of a page. Its addresses name a repository by its id, as GitHub's do.
func (q *query) link(h http.Header, number, last int) {
	var links []string
	add := func(rel string, page int) {
		links = append(links, "<"+q.other("page", strconv.Itoa(page))+`>; rel="`+rel+`"`)
	}
	if number > 1 {
		add("prev", number-1)
	}
	if number < last {
		add("next", number+1)
		add("last", last)
	}
	if number > 1 {
		add("first", 1)
	}
	if links != nil {
		h.Set("Link", strings.Join(links, ", "))
	}
}

// other returns the address of a request with another value of a parameter.
func (q *query) other(name, value string) string {
	path := q.URL.EscapedPath()
	if _, _, rest, is := cutRepo(strings.TrimPrefix(path, "/api/v3")); is {
		path = "/repositories/" + strconv.FormatInt(q.repo.ID, 10) + rest
	} else {
		path = strings.TrimPrefix(path, "/api/v3")
	}
	values := q.URL.Query()
	values.Set(name, value)
	return q.s.API() + path + "?" + values.Encode()
}

// row is a line of a listing, with what listings are sorted by.
type row struct {
	id               int64
	created, updated time.Time
	body             any
}

// sorted returns rows as sort and direction ask, and otherwise by id; rows that changed in one second stay in the order of
// their ids. Where those two are left out the order is by fallback.
func (q *query) sorted(rows []row, sort, direction string) []any {
	values := q.URL.Query()
	if values.Get("sort") != "" {
		sort = values.Get("sort")
	}
	if values.Get("direction") != "" {
		direction = values.Get("direction")
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		order := a.created.Compare(b.created)
		if sort == "updated" {
			order = a.updated.Compare(b.updated)
		}
		if order == 0 {
			order = int(a.id - b.id)
		}
		if direction == "desc" {
			return -order
		}
		return order
	})
	out := []any{}
	for _, r := range rows {
		out = append(out, r.body)
	}
	return out
}

// since returns whether a thing that changed at a time is new enough for the request: at the second itself it is.
func (q *query) since(changed time.Time) bool {
	from, err := time.Parse(time.RFC3339, q.URL.Query().Get("since"))
	return err != nil || !changed.Before(from.Truncate(time.Second))
}
