package github

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// findEdits asks, in one request, who edited the texts that are told, where that makes a difference. Where the host does not let
// us ask at all, an item is told without its description; what was said waits.
func (t *teller) findEdits(ctx context.Context) (err error) {
	var nodes []string
	described := t.isRead()
	if described {
		nodes = append(nodes, t.item.NodeID)
	}
	for _, r := range t.judged {
		if r.Body != "" {
			nodes = append(nodes, r.NodeID)
		}
	}
	for _, c := range t.heard {
		if c.UpdatedAt.After(c.CreatedAt) {
			nodes = append(nodes, c.NodeID)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	t.edits, err = t.client.Edits(ctx, t.item.Repo.Host, nodes)
	if e, answered := errors.AsType[*Error](err); answered && e.denied() && described && len(nodes) == 1 {
		return nil
	}
	return err
}

// isRead reports whether anything is told of which the item's description is a part: an agent reads it at a start, and of a
// pull request it says what that closes.
func (t *teller) isRead() bool {
	return t.item.Body != "" && (t.item.PR && len(t.done)+len(t.judged)+len(t.heard) > 0 || slices.ContainsFunc(t.done, Change.begins))
}

// begins reports whether an agent may begin to work because of what was done to an item, and then reads its description.
func (c Change) begins() bool {
	return slices.Contains([]string{"opened", "labeled", "reopened", "ready_for_review"}, c.Action)
}

// same reports whether two accounts are one. One that was deleted is nobody.
func same(a, b loop.Actor) bool { return a.Login != "" && strings.EqualFold(a.Login, b.Login) }

// editedByOther says whether a comment or a review does not stand as its author wrote it.
func (t *teller) editedByOther(node string, author loop.Actor) bool {
	e, known := t.edits[node]
	return !known || !e.At.IsZero() && !same(e.By, author)
}

// asOf is the item with what its title and its description said when something was done to it. A description that does not
// stand as it was then is left out: what it said is not to be known.
func (t *teller) asOf(i Item, c Change) (Item, error) {
	then := members{}
	if title := t.titleAt(c); title != i.Title {
		then["title"], i.Title = title, title
	}
	if i.Body != "" && !t.stood(c) {
		then["body"], i.Body = nil, ""
	}
	if len(then) == 0 {
		return i, nil
	}
	var err error
	i.raw, err = edit(i.raw, then)
	return i, err
}

// titleAt returns the item's title before it was renamed after a change, or in the second of it.
func (t *teller) titleAt(c Change) string {
	for _, h := range t.history {
		if h.Action == "renamed" && (h.At.After(c.At) || h.At.Equal(c.At) && h.ID > c.ID) {
			return h.From
		}
	}
	return t.item.Title
}

// stood reports whether the description is to be believed to say what it said when a change was made, or what the one says who
// made it. Where nobody begins to work because of it, its author may have edited it too. An edit in the second of the change
// counts as one that came after.
func (t *teller) stood(c Change) bool {
	e, known := t.edits[t.item.NodeID]
	switch {
	case !known:
		return false
	case e.At.IsZero(), same(e.By, c.Actor), !c.begins() && same(e.By, t.item.Author):
		return true
	}
	return c.Action != "synchronize" && e.At.Before(c.At)
}
