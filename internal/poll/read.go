package poll

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// standing is why an item is followed.
type standing struct {
	marked bool      // it is open and has a label that is watched
	live   bool      // a session works on it, or on what it is linked to, or it was stopped and may be started again
	since  time.Time // of live: since when
}

func (s standing) followed() bool { return s.marked || s.live }

// finding is a thing that happened.
type finding struct {
	event    loop.Event
	delivery loop.Delivery
}

// read takes in what happened on an item since it was last read, where it is followed.
func (r *round) read(ctx context.Context, t loop.Thread) error {
	w := t.WorkItem()
	row, err := r.itemRow(ctx, w)
	if err != nil {
		return err
	}
	if row.seen() && row.tries == 0 && !t.At.After(row.told) || row.rests(r.now) && t.At.Equal(row.failed) {
		return nil
	}
	stands, err := r.standing(ctx, &t)
	if err != nil {
		return err
	}
	if !stands.followed() {
		if row.seen() {
			return r.forget(ctx, w)
		}
		return nil
	}
	r.count.Items++
	all, err := t.Told(ctx, r.tellFrom(row, stands, t))
	if err != nil {
		return err
	}
	found, err := r.decode(all)
	if err != nil {
		return err
	}
	kept, row := r.sift(row, stands, t, found)
	owner, err := r.ownerTold(ctx, t, found)
	if err != nil {
		return err
	}
	err = r.put(ctx, kept, func(tx *journal.Tx) error {
		if err := r.link(tx, t, owner); err != nil {
			return err
		}
		for _, f := range found {
			if f.event.Item.HeadSHA == "" {
				continue
			}
			if err := r.see(tx, f.event, t.At); err != nil {
				return err
			}
		}
		return row.write(tx, w)
	})
	r.step("poll-item")
	return err
}

// standing says whether an item is followed. A pull request that was never seen is looked at: its branch may name an issue.
func (r *round) standing(ctx context.Context, t *loop.Thread) (standing, error) {
	w := t.WorkItem()
	if t.Event.Item.PR && t.Event.Item.HeadRef == "" {
		if err := r.branches(ctx, t); err != nil {
			return standing{}, err
		}
	}
	s := standing{marked: r.marked[w.Key()]}
	var err error
	if s.since, s.live, err = r.sessionSince(ctx, t.Event); err != nil || s.live {
		return s, err
	}
	facts, err := r.Items.Get(ctx, w)
	if err == nil && !facts.StoppedAt.IsZero() {
		s.live, s.since = true, facts.StoppedAt.Add(r.ahead-time.Second)
	}
	return s, err
}

// branches fills in the branches of a pull request that was only listed.
func (r *round) branches(ctx context.Context, t *loop.Thread) error {
	pull, known, err := r.Items.Pull(ctx, t.WorkItem())
	if err != nil {
		return err
	}
	if known && pull.HeadRef != "" {
		t.Event.Item.HeadRef, t.Event.Item.HeadSHA, t.Event.Item.HeadRepo = pull.HeadRef, pull.HeadSHA, pull.HeadRepo
		return nil
	}
	full, err := r.Source.Look(ctx, t.WorkItem())
	if err != nil {
		return err
	}
	t.Event = full.Event
	return r.Journal.Write(ctx, func(tx *journal.Tx) error { return r.see(tx, full.Event, full.At) })
}

// see remembers how a pull request stands.
func (r *round) see(tx *journal.Tx, ev loop.Event, at time.Time) error {
	it := ev.Item
	return r.Items.See(tx, item.Pull{
		Item: ev.WorkItem(), HeadSHA: it.HeadSHA, HeadRef: it.HeadRef, HeadRepo: it.HeadRepo, Open: it.State != "closed", SeenAt: at,
	})
}

// sessionSince says whether a session works on one of the items that an event concerns, and since when.
func (r *round) sessionSince(ctx context.Context, ev loop.Event) (since time.Time, is bool, err error) {
	refs, err := r.Refs(ctx, ev)
	for _, w := range refs {
		if at, ok := r.live[w.Key()]; ok && (!is || at.Before(since)) {
			since, is = at, true
		}
	}
	return since, is, err
}

// tellFrom returns from when on to ask what happened on an item: of one that has a label and was never seen, all, for who set it
// and for what was commanded; of one that could not be read, all since it could. The close of a session's item counts whenever it
// was.
func (r *round) tellFrom(row itemRow, s standing, t loop.Thread) time.Time {
	from := row.told.Add(-overlap)
	switch {
	case !row.seen() && s.marked:
		return time.Time{}
	case !row.seen():
		from = s.since
	case row.tries == 0 && r.from.After(from) && t.At.After(r.from):
		from = r.from
	}
	if closed := t.Event.Item.ClosedAt; t.Event.Item.State == "closed" && closed.Before(from) {
		return closed
	}
	return from
}

func (r *round) decode(told []loop.Delivery) ([]finding, error) {
	var found []finding
	for _, d := range told {
		ev, err := r.Decode(d)
		if err != nil {
			return nil, err
		}
		found = append(found, finding{ev, d})
	}
	return found, nil
}

// sift keeps what is new of what happened, and returns how far the item is read with it.
func (r *round) sift(row itemRow, s standing, t loop.Thread, all []finding) ([]finding, itemRow) {
	first := !row.seen()
	labeled := r.lastLabeled(all)
	if first {
		row.since = r.baseline(s, all, labeled)
	}
	if first || row.closed {
		row = row.reopened(all)
	}
	rescued := -1
	if first && !s.live {
		rescued = r.rescued(row.since, t, all)
	}
	var kept []finding
	for i, f := range all {
		switch ev := f.event; {
		case ev.Fact == "" || ev.Action == "labeled" && !r.watches(ev.Label) || r.isTold(row, ev):
		case ev.Action == "closed" && (t.Event.Item.State != "closed" || ev.At.Before(t.Event.Item.ClosedAt)):
			// It was opened again: a session would be ended for nothing.
		case ev.Action == "closed" && s.live,
			i == rescued, first && i == labeled && s.marked, !ev.At.Before(row.since):
			kept = append(kept, f)
			row.closed = row.closed || ev.Action == "closed"
		}
	}
	row.told, row.tries, row.failed, row.tried = t.At, 0, time.Time{}, time.Time{}
	if t.At.Add(settling).After(r.now) {
		row.told = t.At.Add(-time.Second)
	}
	return kept, row
}

// isTold reports whether an event was taken in before, so long ago that nobody else remembers it.
func (r *round) isTold(row itemRow, ev loop.Event) bool {
	return r.now.Sub(ev.At) > ledger && !ev.At.After(row.told.Add(time.Second))
}

// reopened has what happened while the item was closed be no news.
func (r itemRow) reopened(all []finding) itemRow {
	for _, f := range all {
		if f.event.Action == "reopened" && !f.event.At.Before(r.since) {
			r.since, r.closed = f.event.At, false
		}
	}
	return r
}

// baseline returns from when on what happens on an item is news: since it was labelled, in a repository that was known by then,
// or since its session is there.
func (r *round) baseline(s standing, all []finding, labeled int) time.Time {
	since := r.row.since
	if labeled >= 0 && all[labeled].event.At.After(since) {
		since = all[labeled].event.At
	}
	if !s.marked || s.live && s.since.Before(since) {
		since = s.since
	}
	return since
}

func (r *round) watches(label string) bool {
	return slices.ContainsFunc(r.target.watches, func(w Watch) bool { return strings.EqualFold(w.Label, label) })
}

// lastLabeled returns which finding tells that a label was set that is watched, the last, or -1.
func (r *round) lastLabeled(all []finding) int {
	last := -1
	for i, f := range all {
		switch {
		case r.isEnd(f.event):
			last = -1
		case f.event.Action == "labeled" && r.watches(f.event.Label):
			last = i
		}
	}
	return last
}

// isEnd reports whether an event closed an item in a repository that was known by then. What was asked for before is over with it,
// also where nothing is remembered of the item.
func (r *round) isEnd(ev loop.Event) bool {
	return ev.Action == "closed" && !ev.At.Before(r.row.since)
}

// rescued returns which finding is a command from before the item was first seen that nobody has carried out, or -1: the last
// one, unless somebody with our voice spoke after it or the item was closed.
func (r *round) rescued(since time.Time, t loop.Thread, all []finding) int {
	last := -1
	for i, f := range all {
		switch body := f.event.Comment.Body + f.event.Review.Body; {
		case loop.HasMarker(body), r.isEnd(f.event):
			last = -1
		case f.event.At.Before(since) && r.Command(f.event):
			last = i
		}
	}
	if last < 0 || t.Event.Item.State == "closed" {
		return -1
	}
	return last
}
