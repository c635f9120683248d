package github

import (
	"context"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// teller finds what happened on one item.
type teller struct {
	client *Client
	item   Item // as the listing of issues shows it
	said   []Comment
	known  time.Time // all that was said from then on is in said
	from   time.Time // what happened before is not asked for

	pull    Item                // of a pull request: the item with its branches
	history []Change            // of the item, from its beginning
	done    []Change            // what of it is to be told
	heard   []Comment           // those to be told
	judged  []Review            // those to be told
	reviews map[int64]time.Time // when each was submitted
	edits   map[string]Edit     // of the texts that are told
	told    []moment
}

// moment is one thing that happened.
type moment struct {
	at   time.Time
	what loop.Delivery
}

func (t *teller) tell(ctx context.Context) ([]loop.Delivery, error) {
	for _, find := range []func(context.Context) error{
		t.find, t.findChanges, t.findReviews, t.findComments, t.findEdits, t.tellChanges, t.tellReviews, t.tellComments,
	} {
		if err := find(ctx); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(t.told, func(a, b moment) int { return a.at.Compare(b.at) })
	var told []loop.Delivery
	for _, m := range t.told {
		told = append(told, m.what)
	}
	return told, nil
}

// find asks for what the listing did not show of the item.
func (t *teller) find(ctx context.Context) (err error) {
	w := t.item.WorkItem()
	if t.item.raw == nil {
		if t.item, err = t.client.Issue(ctx, w); err != nil {
			return err
		}
	}
	if t.item.PR {
		t.pull, err = t.client.Pull(ctx, w)
	}
	return err
}

// whole is the item with all that is known of it.
func (t *teller) whole() Item {
	if t.item.PR {
		return t.pull
	}
	return t.item
}

func (t *teller) add(at time.Time, d loop.Delivery, err error) error {
	if err == nil && !at.Before(t.from) {
		t.told = append(t.told, moment{at, d})
	}
	return err
}

// findChanges finds the item opened, labels set, and what else was done to it. Of a closed item the last close is told with the
// time and the person that the item itself names. Of a pull request it is told last how it stands, whatever changed.
func (t *teller) findChanges(ctx context.Context) error {
	item := t.whole()
	l, err := t.client.Changes(ctx, item.WorkItem())
	if err != nil {
		return err
	}
	t.history = l.All
	done := []Change{item.Opened()}
	for _, c := range l.All {
		switch c.Action {
		case "labeled", "reopened", "ready_for_review":
			done = append(done, c)
		case "closed":
			if c.At.Before(item.ClosedAt) || item.State != "closed" {
				done = append(done, c)
			} else if item.ClosedBy.Login == "" { // a pull request that was not merged does not say who
				item.ClosedBy = c.Actor
			}
		}
	}
	if item.State == "closed" {
		done = append(done, item.Closed())
	}
	if item.PR {
		done = append(done, Change{Action: "synchronize", At: item.UpdatedAt})
	}
	t.done = slices.DeleteFunc(done, func(c Change) bool { return c.At.Before(t.from) })
	return nil
}

func (t *teller) tellChanges(context.Context) error {
	for _, c := range t.done {
		then, err := t.asOf(t.whole(), c)
		if err == nil && c.Action == "opened" {
			then, err = then.born(t.history)
		}
		if err != nil {
			return err
		}
		d, err := Changed(then, c)
		if err := t.add(c.At, d, err); err != nil {
			return err
		}
	}
	return nil
}

// born is the item as it was opened: with the labels that its author gave it then, and none that others set since.
func (i Item) born(changes []Change) (Item, error) {
	labels := []members{}
	for _, c := range changes {
		if c.Action == "labeled" && same(c.Actor, i.Author) && !c.At.After(i.CreatedAt) {
			labels = append(labels, members{"name": c.Label})
		}
	}
	var err error
	i.raw, err = edit(i.raw, members{"labels": labels})
	return i, err
}

// findReviews finds the reviews. Their listing does not tell which were edited.
func (t *teller) findReviews(ctx context.Context) error {
	if !t.item.PR {
		return nil
	}
	l, err := t.client.Reviews(ctx, t.pull.WorkItem())
	if err != nil {
		return err
	}
	t.reviews = map[int64]time.Time{}
	t.judged = slices.DeleteFunc(l.All, func(r Review) bool { return r.SubmittedAt.Before(t.from) })
	for _, r := range t.judged {
		t.reviews[r.ID] = r.SubmittedAt
	}
	return nil
}

func (t *teller) tellReviews(context.Context) error {
	for _, r := range t.judged {
		item, err := t.asOf(t.pull, Change{Action: "submitted", Actor: r.Author, At: r.SubmittedAt})
		if err != nil {
			return err
		}
		d, err := ReviewSubmitted(item, r)
		if r.Body != "" && t.editedByOther(r.NodeID, r.Author) {
			d.State, d.Reason = loop.StateDropped, loop.DropEditedByOther
		}
		if err := t.add(r.SubmittedAt, d, err); err != nil {
			return err
		}
	}
	return nil
}

// findComments finds what was said in the conversation and on lines.
func (t *teller) findComments(ctx context.Context) error {
	said, err := t.listed(ctx)
	t.heard = slices.DeleteFunc(said, func(c Comment) bool { return t.when(c).Before(t.from) })
	return err
}

func (t *teller) tellComments(context.Context) error {
	for _, c := range t.heard {
		item := t.item
		if c.Inline {
			item = t.whole()
		}
		item, err := t.asOf(item, Change{Action: "created", Actor: c.Author, At: c.CreatedAt})
		if err != nil {
			return err
		}
		d, err := CommentCreated(item, c)
		if c.UpdatedAt.After(c.CreatedAt) && t.editedByOther(c.NodeID, c.Author) {
			d.State, d.Reason = loop.StateDropped, loop.DropEditedByOther
		}
		if err := t.add(t.when(c), d, err); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the comments that are listed, and those that a listing may have left out: from before it begins, and those of
// a review that were written long before it was submitted.
func (t *teller) listed(ctx context.Context) ([]Comment, error) {
	all := slices.Clone(t.said)
	take := func(l Listing[Comment], err error) error {
		for _, c := range l.All {
			if !slices.ContainsFunc(all, func(old Comment) bool { return old.Inline == c.Inline && old.ID == c.ID }) {
				all = append(all, c)
			}
		}
		return err
	}
	if t.from.Before(t.known) {
		if err := take(t.client.CommentsOn(ctx, t.item.WorkItem(), t.from)); err != nil {
			return nil, err
		}
	}
	if len(t.reviews) > 0 {
		if err := take(t.client.InlineCommentsOn(ctx, t.item.WorkItem())); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// when returns when a comment was to be seen first: one of a review, when that was submitted.
func (t *teller) when(c Comment) time.Time {
	if at := t.reviews[c.Review]; c.Inline && at.After(c.CreatedAt) {
		return at
	}
	return c.CreatedAt
}
