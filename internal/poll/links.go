package poll

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// listPulls has the open pull requests remembered that belong to sessions, when a session is there of which nothing was read yet:
// they may be older than all that is listed as changed, and a check on one of them does not say whose it is.
func (r *round) listPulls(ctx context.Context) error {
	fresh, err := r.hasFresh(ctx)
	if err != nil || !fresh && !r.unlinked[r.target.key()] {
		return err
	}
	open, err := r.Source.OpenPulls(ctx, r.repo)
	if err != nil {
		return err
	}
	delete(r.unlinked, r.target.key())
	for _, t := range open {
		owner, err := r.proven(ctx, t)
		if err != nil {
			return err
		}
		if owner.IsZero() {
			continue
		}
		err = r.Journal.Write(ctx, func(tx *journal.Tx) error {
			if err := r.see(tx, t.Event, t.At); err != nil {
				return err
			}
			return r.link(tx, t, owner)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hasFresh reports whether a session works in the repository whose item was never read.
func (r *round) hasFresh(ctx context.Context) (bool, error) {
	for _, s := range r.Sessions() {
		if !s.Open() || !r.Source.Owns(s.WorkItem) || !strings.EqualFold(s.WorkItem.RepoName(), repoName(r.target.repo)) {
			continue
		}
		w := s.WorkItem
		w.Owner, w.Repo = r.repo.Owner, r.repo.Name // its present name
		if row, err := r.itemRow(ctx, w); err != nil || !row.seen() && row.tries == 0 {
			return true, err
		}
	}
	return false, nil
}

// owner returns the item to whose session a pull request belongs, by what it says itself, and no item where it has a session of its
// own. What a fork says is not believed: anybody can make one.
func (r *round) owner(ctx context.Context, ev loop.Event) (loop.WorkItem, error) {
	if !ev.Item.PR || !ev.Item.HeadRepo.Same(ev.Repo) {
		return loop.WorkItem{}, nil
	}
	refs, err := r.Refs(ctx, ev)
	for _, w := range refs {
		if _, works := r.live[w.Key()]; !works {
			continue
		}
		if w.Key() == ev.WorkItem().Key() {
			break
		}
		return w, err
	}
	return loop.WorkItem{}, err
}

// proven is owner, believing of the description only what its author says.
func (r *round) proven(ctx context.Context, t loop.Thread) (loop.WorkItem, error) {
	owner, err := r.owner(ctx, t.Event)
	if err != nil || owner.IsZero() || t.Event.Item.Body == "" {
		return owner, err
	}
	bare := t.Event
	bare.Item.Body = ""
	without, err := r.owner(ctx, bare)
	if err != nil || without.Key() == owner.Key() {
		return without, err
	}
	switch stands, err := t.Stands(ctx); {
	case err != nil:
		r.unlinked[r.target.key()] = true
		return without, r.unreadable(ctx, fmt.Errorf("ask who edited %s: %w", t.WorkItem(), err))
	case stands:
		return owner, nil
	}
	return without, nil
}

// ownerTold is owner by how the pull request was told to stand.
func (r *round) ownerTold(ctx context.Context, t loop.Thread, found []finding) (loop.WorkItem, error) {
	for _, f := range slices.Backward(found) {
		if f.event.Action == "synchronize" {
			return r.owner(ctx, f.event)
		}
	}
	return r.proven(ctx, t)
}

// link remembers that a pull request belongs to an item, if there is one.
func (r *round) link(tx *journal.Tx, pull loop.Thread, owner loop.WorkItem) error {
	if owner.IsZero() {
		return nil
	}
	return r.Items.Link(tx, pull.WorkItem(), item.Link{Item: owner, At: pull.At})
}
