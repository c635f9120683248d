package github

import (
	"context"
	"slices"
	"strings"
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
	reviews map[int64]time.Time // when each was submitted
	told    []moment
}

// moment is one thing that happened.
type moment struct {
	at   time.Time
	what loop.Delivery
}

func (t *teller) tell(ctx context.Context) ([]loop.Delivery, error) {
	for _, find := range []func(context.Context) error{t.find, t.changes, t.judged, t.comments} {
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

// changes finds the item opened, labels set, and what else was done to it. Of a closed item the last close is told with the time
// and the person that the item itself names. Of a pull request it is told last how it stands, whatever changed.
func (t *teller) changes(ctx context.Context) error {
	item := t.whole()
	l, err := t.client.Changes(ctx, item.WorkItem())
	if err != nil {
		return err
	}
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
	for _, c := range done {
		if c.At.Before(t.from) {
			continue
		}
		then := item
		if c.Action == "opened" {
			if then, err = item.born(l.All); err != nil {
				return err
			}
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
		if c.Action == "labeled" && strings.EqualFold(c.Actor.Login, i.Author.Login) && !c.At.After(i.CreatedAt) {
			labels = append(labels, members{"name": c.Label})
		}
	}
	var err error
	i.raw, err = edit(i.raw, members{"labels": labels})
	return i, err
}

// comments finds what was said in the conversation and on lines.
func (t *teller) comments(ctx context.Context) error {
	said, err := t.listed(ctx)
	if err != nil {
		return err
	}
	said = slices.DeleteFunc(said, func(c Comment) bool { return t.when(c).Before(t.from) })
	var asked []written
	for _, c := range said {
		if c.UpdatedAt.After(c.CreatedAt) {
			asked = append(asked, written{c.NodeID, c.Author})
		}
	}
	edited, err := t.editedByOthers(ctx, asked)
	if err != nil {
		return err
	}
	for _, c := range said {
		item := t.item
		if c.Inline {
			item = t.whole()
		}
		d, err := CommentCreated(item, c)
		if edited[c.NodeID] {
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

// written is a text that may have been edited since.
type written struct {
	node   string
	author loop.Actor
}

// editedByOthers says, by their nodes, which texts do not stand as their authors wrote them.
func (t *teller) editedByOthers(ctx context.Context, texts []written) (map[string]bool, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var nodes []string
	for _, w := range texts {
		nodes = append(nodes, w.node)
	}
	edits, err := t.client.Edits(ctx, t.item.Repo.Host, nodes)
	if err != nil {
		return nil, err
	}
	others := map[string]bool{}
	for _, w := range texts {
		e, known := edits[w.node]
		others[w.node] = !known || !e.At.IsZero() && !strings.EqualFold(e.By.Login, w.author.Login)
	}
	return others, nil
}

// judged finds the reviews. Their listing does not tell which were edited.
func (t *teller) judged(ctx context.Context) error {
	if !t.item.PR {
		return nil
	}
	l, err := t.client.Reviews(ctx, t.pull.WorkItem())
	if err != nil {
		return err
	}
	t.reviews = map[int64]time.Time{}
	all := slices.DeleteFunc(l.All, func(r Review) bool { return r.SubmittedAt.Before(t.from) })
	var asked []written
	for _, r := range all {
		if r.Body != "" {
			asked = append(asked, written{r.NodeID, r.Author})
		}
	}
	edited, err := t.editedByOthers(ctx, asked)
	if err != nil {
		return err
	}
	for _, r := range all {
		t.reviews[r.ID] = r.SubmittedAt
		d, err := ReviewSubmitted(t.pull, r)
		if edited[r.NodeID] {
			d.State, d.Reason = loop.StateDropped, loop.DropEditedByOther
		}
		if err := t.add(r.SubmittedAt, d, err); err != nil {
			return err
		}
	}
	return nil
}
