package github

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// Source finds what happened in repositories, for one who asks again and again. A listing costs a request for each hundred of
// what changed, however many items there are, and what a listing does not say is asked about the items that changed alone.
type Source struct{ client func() *Client }

// NewSource returns a Source that asks through the client that is in force.
func NewSource(client func() *Client) *Source { return &Source{client} }

// Owns reports whether an item is on GitHub, so that it can be asked whether it is closed.
func (s *Source) Owns(w loop.WorkItem) bool { return w.Provider == loop.ProviderGitHub }

// Limited returns until when a host wants no requests; the zero time when it may be asked.
func (s *Source) Limited(host string) time.Time { return s.client().Limited(host) }

// Renew has a token be looked for at once where there was none, or a bad one.
func (s *Source) Renew() { s.client().Renew() }

// Where returns a repository under its present name, with its number. One whose number is known is found after a rename.
func (s *Source) Where(ctx context.Context, r loop.Repo) (loop.Repo, error) {
	now, err := s.client().Repository(ctx, r)
	return now.Repo, err
}

// Open lists the open items that have a label, all of them or an error.
func (s *Source) Open(ctx context.Context, r loop.Repo, label string) ([]loop.Thread, error) {
	return s.threads(s.client().OpenLabeled(ctx, r, label))
}

// OpenPulls lists the open pull requests, all of them with their branches, or an error.
func (s *Source) OpenPulls(ctx context.Context, r loop.Repo) ([]loop.Thread, error) {
	return s.threads(s.client().OpenPulls(ctx, r))
}

func (s *Source) threads(l Listing[Item], err error) (threads []loop.Thread, _ error) {
	for _, i := range l.All {
		threads = append(threads, s.thread(i, nil, l.Now))
	}
	return threads, err
}

// Changes lists what changed in a repository at or after a time: items, and what was said on them. It is three listings,
// whatever changed; of an item that they speak of without showing it, Told asks.
func (s *Source) Changes(ctx context.Context, r loop.Repo, since time.Time) (loop.Changes, error) {
	items, err := s.client().Issues(ctx, r, since)
	if err != nil {
		return loop.Changes{}, err
	}
	comments, err := s.client().Comments(ctx, r, since)
	if err != nil {
		return loop.Changes{}, err
	}
	inline, err := s.client().InlineComments(ctx, r, since)
	if err != nil {
		return loop.Changes{}, err
	}
	said := map[int][]Comment{}
	for _, c := range slices.Concat(comments.All, inline.All) {
		said[c.Number] = append(said[c.Number], c)
	}
	changes := loop.Changes{Now: items.Now}
	for _, i := range items.All {
		changes.Threads = append(changes.Threads, s.thread(i, said[i.Number], since))
		delete(said, i.Number)
	}
	for number, all := range said { // said since the items were listed: an edit, or the host is behind
		changes.Threads = append(changes.Threads, s.thread(Item{Repo: r, Item: loop.Item{Number: number, PR: all[0].Inline}}, all, since))
	}
	slices.SortStableFunc(changes.Threads, inOrder)
	return changes, nil
}

// inOrder has what changed first be the first. What changed at once is a pull request and the issue that its merge has closed,
// in that order.
func inOrder(a, b loop.Thread) int {
	if c := a.At.Compare(b.At); c != 0 || a.Event.Item.PR == b.Event.Item.PR {
		return c
	}
	if a.Event.Item.PR {
		return -1
	}
	return 1
}

// Checks lists the results of workflow runs that were started at or after a time, as the webhook would have told them.
func (s *Source) Checks(ctx context.Context, r loop.Repo, since time.Time) ([]loop.Delivery, error) {
	l, err := s.client().RecentWorkflowRuns(ctx, r, since)
	if err != nil {
		return nil, err
	}
	var told []loop.Delivery
	for _, run := range slices.Backward(l.All) { // the last is the first
		if !run.Over {
			continue
		}
		d, err := Completed(r, run)
		if err != nil {
			return nil, err
		}
		told = append(told, d)
	}
	return told, nil
}

// Look asks for one item as it is now, a pull request with its branches. One that was transferred is answered from where it is.
// What is not there is no proof that it is gone.
func (s *Source) Look(ctx context.Context, w loop.WorkItem) (loop.Thread, error) {
	i, err := s.client().Issue(ctx, w)
	if err != nil {
		return loop.Thread{}, err
	}
	t := s.thread(i, nil, i.UpdatedAt.Add(time.Second))
	if i.PR {
		pull, err := s.client().Pull(ctx, i.WorkItem())
		if err != nil {
			return loop.Thread{}, err
		}
		t.Event.Item = pull.Item
	}
	return t, nil
}

// Undelivered lists the events since a time that a webhook of a repository could not bring us, the oldest first.
func (s *Source) Undelivered(ctx context.Context, r loop.Repo, hook string, since time.Time) ([]loop.Undelivered, error) {
	return s.client().FailedDeliveries(ctx, r, hook, since)
}

// Redeliver has GitHub send an event again.
func (s *Source) Redeliver(ctx context.Context, r loop.Repo, u loop.Undelivered) error {
	return s.client().Redeliver(ctx, r, u)
}

// thread is an item with what is known to have been said on it since a time.
func (s *Source) thread(i Item, said []Comment, since time.Time) loop.Thread {
	t := loop.Thread{Event: loop.Event{Repo: i.Repo, Item: i.Item}, At: i.UpdatedAt}
	for _, c := range said {
		if c.UpdatedAt.After(t.At) {
			t.At = c.UpdatedAt
		}
	}
	t.Told = func(ctx context.Context, from time.Time) ([]loop.Delivery, error) {
		return (&teller{client: s.client(), item: i, said: said, known: since, from: from}).tell(ctx)
	}
	t.Stands = func(ctx context.Context) (bool, error) {
		edits, err := s.client().Edits(ctx, i.Repo.Host, []string{i.NodeID})
		return (&teller{item: i, edits: edits}).stood(Change{Action: "synchronize"}), err
	}
	return t
}

// CommentsOn lists the conversation comments of one item that were made or edited at or after a time, the oldest first.
func (c *Client) CommentsOn(ctx context.Context, w loop.WorkItem, from time.Time) (Listing[Comment], error) {
	values := url.Values{}
	if !from.IsZero() {
		values.Set("since", since(from))
	}
	return listAll(ctx, c, query{repo: repoOf(w, 0), path: itemPath(w, "issues") + "/comments", values: values}, readComment)
}

// InlineCommentsOn lists the comments on lines of one pull request, the oldest first.
func (c *Client) InlineCommentsOn(ctx context.Context, w loop.WorkItem) (Listing[Comment], error) {
	return listAll(ctx, c, query{repo: repoOf(w, 0), path: itemPath(w, "pulls") + "/comments"}, readComment)
}
