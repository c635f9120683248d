package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loop-daemon/loop/internal/loop"
)

const (
	pageSize     = 100  // the most that GitHub gives
	leastPage    = 10   // a host that cannot make as little is down
	mostPages    = 1000 // no end of pages is a fault of the host
	stampPattern = "2006-01-02T15:04:05Z"
)

// Listing is all of a listing: every page was read, and each is whole.
type Listing[T any] struct {
	All []T
	// Now is the host's clock when it answered the first page: all that had happened by then is in the listing, but for
	// what the host's own delays and clocks hide. Reckon the next since from here, with an overlap.
	Now       time.Time
	Unchanged bool // each page is as it was when it was last asked for
	Moved     bool // the repository has another name now: ask Repository for it
}

// query is what a listing is asked for.
type query struct {
	repo   loop.Repo
	path   string // below the API's address
	values url.Values
	member string // of the object that holds the list; "" where the answer is the list
}

func since(at time.Time) string { return at.UTC().Format(stampPattern) }

// errStop ends a listing early, as whole as it is wanted.
var errStop = errors.New("enough was listed")

// listAll reads every page of a listing. A host that takes too long to make a page is asked for smaller ones, from the first.
func listAll[T any](ctx context.Context, c *Client, q query, read func(jsontext.Value) (T, error)) (Listing[T], error) {
	s, err := c.server(q.repo.Host)
	if err != nil {
		return Listing[T]{}, err
	}
	for size := pageSize; ; size /= 2 {
		l, err := walk(ctx, s, q, size, read)
		if !tooBig(err) || size/2 < leastPage {
			return l, err
		}
	}
}

func walk[T any](ctx context.Context, s *server, q query, size int, read func(jsontext.Value) (T, error)) (Listing[T], error) {
	values := url.Values{"per_page": {strconv.Itoa(size)}}
	maps.Copy(values, q.values)
	l := Listing[T]{Unchanged: true}
	next := q.path + "?" + values.Encode()
	for range mostPages {
		a, err := s.do(ctx, http.MethodGet, next, nil)
		if err != nil {
			return Listing[T]{}, err
		}
		if err := q.sameRepo(a); err != nil {
			return Listing[T]{}, err
		}
		if l.Now.IsZero() {
			l.Now, l.Moved = a.date(), a.moved
		}
		l.Unchanged = l.Unchanged && a.unchanged()
		switch err := l.take(a, q.member, read); {
		case errors.Is(err, errStop):
			return l, nil
		case err != nil:
			return Listing[T]{}, err
		}
		if next, err = nextPage(a); err != nil {
			return Listing[T]{}, err
		}
		if next == "" {
			return l, nil
		}
	}
	return Listing[T]{}, fmt.Errorf("GET %s: it has more than %d pages: %w", q.path, mostPages, loop.ErrUnavailable)
}

// sameRepo holds that the one who answers is the repository that was meant: a name may have been given to another.
func (q query) sameRepo(a answer) error {
	if id := repoID(a.url); id != 0 && q.repo.ID != 0 && id != q.repo.ID {
		return fmt.Errorf("%s: %s/%s is repository %d now, not %d: ask where the repository is: %w",
			a.request, q.repo.Owner, q.repo.Name, id, q.repo.ID, loop.ErrConflict)
	}
	return nil
}

func (l *Listing[T]) take(a answer, member string, read func(jsontext.Value) (T, error)) error {
	raw := jsontext.Value(a.body)
	if member != "" {
		var object map[string]jsontext.Value
		if err := a.read(&object); err != nil {
			return err
		}
		raw = object[member]
	}
	var values []jsontext.Value
	if err := json.Unmarshal(raw, &values, lenient()); err != nil {
		return fmt.Errorf("%s: the answer is no list: %w: %w", a.request, loop.ErrUnavailable, err)
	}
	for _, v := range values {
		one, err := read(v)
		switch {
		case errors.Is(err, errStop):
			return err
		case err != nil:
			return fmt.Errorf("%s: the answer cannot be read: %w: %w", a.request, loop.ErrUnavailable, err)
		}
		l.All = append(l.All, one)
	}
	return nil
}

// links matches an address in a Link header and what is said of it. An address may hold commas, but no brackets.
var links = regexp.MustCompile(`<([^<>]*)>([^<]*)`)

// nextPage returns the address of the next page as the answer gives it, "" at the end.
func nextPage(a answer) (string, error) {
	for _, link := range links.FindAllStringSubmatch(a.header.Get("Link"), -1) {
		if !strings.Contains(link[2], `rel="next"`) {
			continue
		}
		next, err := a.url.Parse(link[1])
		if err != nil || next.Host != a.url.Host || next.Scheme != a.url.Scheme {
			return "", fmt.Errorf("%s: the next page is on another server: %w", a.request, loop.ErrUnavailable)
		}
		return next.String(), nil
	}
	return "", nil
}
