package github

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loop-daemon/loop/internal/loop"
)

// Item is an issue or a pull request as the API shows it. Of a pull request that Issues, OpenLabeled or Issue have returned,
// the branches and the draft state are not known: Pull and OpenPulls have them.
type Item struct {
	loop.Item
	Repo        loop.Repo // where it is: other than where it was asked for when it has moved
	CreatedAt   time.Time
	StateReason string     // "completed", "not_planned", "reopened", …
	ClosedBy    loop.Actor // who closed or merged it; zero where the API does not say
	Locked      bool
	NodeID      string // for Edits

	raw jsontext.Value
}

// WorkItem names the item where it is now.
func (i Item) WorkItem() loop.WorkItem {
	return loop.Event{Repo: i.Repo, Item: i.Item}.WorkItem()
}

// Labeled reports whether the item has a label. Labels compare without regard to case.
func (i Item) Labeled(label string) bool {
	return slices.ContainsFunc(i.Labels, func(l string) bool { return strings.EqualFold(l, label) })
}

// Issues lists the issues and pull requests of a repository, open or closed, that have changed at or after a time, the one
// that changed first being the first. Checks and statuses do not change an item.
func (c *Client) Issues(ctx context.Context, r loop.Repo, from time.Time) (Listing[Item], error) {
	return listAll(ctx, c, query{repo: r, path: repoPath(r) + "/issues", values: url.Values{
		"state": {"all"}, "sort": {"updated"}, "direction": {"asc"}, "since": {since(from)},
	}}, itemsOf(r))
}

// OpenLabeled lists the open issues and pull requests that have a label, the oldest first.
func (c *Client) OpenLabeled(ctx context.Context, r loop.Repo, label string) (Listing[Item], error) {
	values := url.Values{"state": {"open"}, "sort": {"created"}, "direction": {"asc"}}
	if !strings.Contains(label, ",") { // which GitHub would take for two labels
		values.Set("labels", label)
	}
	l, err := listAll(ctx, c, query{repo: r, path: repoPath(r) + "/issues", values: values}, itemsOf(r))
	l.All = slices.DeleteFunc(l.All, func(i Item) bool { return !i.Labeled(label) })
	return l, err
}

// OpenPulls lists the open pull requests of a repository with their branches, the oldest first.
func (c *Client) OpenPulls(ctx context.Context, r loop.Repo) (Listing[Item], error) {
	values := url.Values{"state": {"open"}, "sort": {"created"}, "direction": {"asc"}}
	return listAll(ctx, c, query{repo: r, path: repoPath(r) + "/pulls", values: values}, itemsOf(r))
}

// Issue asks for one item, whether it is an issue or a pull request. One that was transferred is answered from where it is
// now. A *Error of 404 is no proof that it is gone, one of 410 is.
func (c *Client) Issue(ctx context.Context, w loop.WorkItem) (Item, error) {
	return c.item(ctx, w, "issues")
}

// Pull asks for one pull request, with its branches.
func (c *Client) Pull(ctx context.Context, w loop.WorkItem) (Item, error) {
	return c.item(ctx, w, "pulls")
}

func (c *Client) item(ctx context.Context, w loop.WorkItem, kind string) (Item, error) {
	var raw jsontext.Value
	a, err := c.get(ctx, w.Host, itemPath(w, kind), &raw)
	if err != nil {
		return Item{}, err
	}
	i, err := readItem(repoOf(w, repoID(a.url)), raw)
	if err != nil || i.Number == 0 {
		return Item{}, fmt.Errorf("%s: the answer is no item: %w", a.request, errors.Join(loop.ErrUnavailable, err))
	}
	return i, nil
}

// Change is what was done to an item: labeled, unlabeled, closed, reopened, ready_for_review, renamed and so on.
type Change struct {
	ID     int64
	Action string
	Label  string // of labeled and unlabeled
	From   string // of renamed: the title until then
	Actor  loop.Actor
	At     time.Time
}

// Changes lists what was done to an item, in order: who set which label, and when.
func (c *Client) Changes(ctx context.Context, w loop.WorkItem) (Listing[Change], error) {
	q := query{repo: repoOf(w, 0), path: itemPath(w, "issues") + "/events"}
	return listAll(ctx, c, q, func(raw jsontext.Value) (Change, error) {
		var e struct {
			ID        number          `json:"id"`
			Event     text            `json:"event"`
			Label     object[label]   `json:"label"`
			Rename    object[rename]  `json:"rename"`
			Actor     object[account] `json:"actor"`
			CreatedAt instant         `json:"created_at"`
		}
		err := json.Unmarshal(raw, &e, lenient())
		return Change{
			ID: int64(e.ID), Action: string(e.Event), Label: string(e.Label.is.Name), From: string(e.Rename.is.From),
			Actor: e.Actor.is.actor(), At: first(e.CreatedAt),
		}, err
	})
}

type rename struct {
	From text `json:"from"`
}

// restItem is an issue or a pull request with what only the API says of it.
type restItem struct {
	issue `json:",inline"`

	RepositoryURL text            `json:"repository_url"`
	StateReason   text            `json:"state_reason"`
	ClosedBy      object[account] `json:"closed_by"`
	MergedBy      object[account] `json:"merged_by"`
	Locked        flag            `json:"locked"`
	NodeID        text            `json:"node_id"`
}

func itemsOf(r loop.Repo) func(jsontext.Value) (Item, error) {
	return func(raw jsontext.Value) (Item, error) { return readItem(r, raw) }
}

// readItem reads an item that was asked for in a repository.
func readItem(r loop.Repo, raw jsontext.Value) (Item, error) {
	var got restItem
	if err := json.Unmarshal(raw, &got, lenient()); err != nil {
		return Item{}, err
	}
	i := Item{
		Item:        got.item(r.Host),
		Repo:        got.home(r),
		CreatedAt:   first(got.CreatedAt),
		StateReason: string(got.StateReason),
		ClosedBy:    got.ClosedBy.is.actor(),
		Locked:      bool(got.Locked),
		NodeID:      string(got.NodeID),
		raw:         raw.Clone(),
	}
	i.PR = got.Pull.given || got.Base.ok
	if i.ClosedBy == (loop.Actor{}) {
		i.ClosedBy = got.MergedBy.is.actor()
	}
	return i, nil
}

// home returns the repository that an item is in, by its own account.
func (i restItem) home(asked loop.Repo) loop.Repo {
	if home := i.Base.is.repo(asked.Host); home.Owner != "" {
		return home
	}
	if parts := strings.Split(string(i.RepositoryURL), "/"); len(parts) > 2 {
		asked.Owner, asked.Name = parts[len(parts)-2], parts[len(parts)-1]
	}
	return asked
}

func repoOf(w loop.WorkItem, id int64) loop.Repo {
	return loop.Repo{Host: w.Host, Owner: w.Owner, Name: w.Repo, ID: id}
}
