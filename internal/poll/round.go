package poll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

const (
	// overlap is by how much listings reach back behind the cursor: clocks differ, and a busy provider shows things late.
	overlap = 2 * time.Minute
	// settling is for how long an item that changed is read again: times have the grain of a second, and what belongs together
	// is not shown at once.
	settling = time.Minute
	// ledger is for how long it is certain that the inbox knows what was put.
	ledger = (inbox.MinKeepDays - 1) * 24 * time.Hour
	// checksBack is how long ago a check may have begun whose result is looked for.
	checksBack = 3 * time.Hour
)

// round is one cycle over one repository.
type round struct {
	*Poller

	target target
	asked  bool      // by a person
	repo   loop.Repo // where it is now
	row    repoRow   // how far it was read before
	from   time.Time // changes are listed from then on
	now    time.Time // the provider's clock
	ahead  time.Duration
	newest time.Time // of what changed
	held   time.Time // what changed from then on must be listed again; zero: nothing must

	threads []loop.Thread
	known   map[loop.ItemKey]bool      // in threads
	marked  map[loop.ItemKey]bool      // open, with a label that is watched
	live    map[loop.ItemKey]time.Time // items that a session works on, since when by the provider's clock
	count   Count
}

// ask is a cycle over one repository. Its error says that the repository as a whole could not be read; what was put until then
// is put.
func (p *Poller) ask(ctx context.Context, t target, asked bool) (Count, error) {
	r := &round{
		Poller: p, target: t, asked: asked, known: map[loop.ItemKey]bool{}, marked: map[loop.ItemKey]bool{}, live: map[loop.ItemKey]time.Time{},
	}
	for _, part := range []func(context.Context) error{
		r.list, r.listOpen, r.listPulls, r.readThreads, r.readSessions, r.readChecks, r.advance, r.catchMissed,
	} {
		if err := part(ctx); err != nil {
			return r.count, err
		}
	}
	return r.count, nil
}

// list asks where the repository is and what changed in it.
func (r *round) list(ctx context.Context) (err error) {
	if r.row, err = r.repoRow(ctx, r.target.key()); err != nil {
		return err
	}
	named := r.target.repo
	named.ID = r.row.id
	if r.repo, err = r.Source.Where(ctx, named); err != nil {
		return err
	}
	r.from = r.row.cursor.Add(-overlap)
	if r.row.since.IsZero() {
		r.from = time.Now().Add(-overlap)
	}
	changes, err := r.Source.Changes(ctx, r.repo, r.from)
	if err != nil {
		return err
	}
	r.now, r.ahead = changes.Now, time.Until(changes.Now)
	if r.row.since.IsZero() {
		r.row.since = r.now
	}
	for _, t := range changes.Threads {
		r.add(t)
		if t.At.After(r.newest) {
			r.newest = t.At
		}
	}
	for _, s := range r.Sessions() {
		if !s.Open() {
			continue
		}
		r.live[s.WorkItem.Key()] = s.CreatedAt.Add(r.ahead - time.Second).Truncate(time.Second)
		if err := r.identify(s); err != nil {
			return err
		}
	}
	return nil
}

// identify notes which repository a session works in while it has the name by which the session knows it: that may change, and the
// name be given to another.
func (r *round) identify(s loop.Session) error {
	name := s.WorkItem.RepoName()
	if s.RepositoryID != 0 || !strings.EqualFold(name, repoName(r.target.repo)) || !strings.EqualFold(name, repoName(r.repo)) {
		return nil
	}
	if err := r.Identify(s, r.repo.ID); err != nil && !errors.Is(err, loop.ErrNotFound) { // it may have ended meanwhile
		return fmt.Errorf("note which repository %s is in: %w", s.WorkItem, err)
	}
	return nil
}

func (r *round) add(t loop.Thread) {
	if key := t.WorkItem().Key(); !r.known[key] {
		r.known[key] = true
		r.threads = append(r.threads, t)
	}
}

// listOpen asks for the items that are work because of their label.
func (r *round) listOpen(ctx context.Context) error {
	for _, w := range r.target.watches {
		open, err := r.Source.Open(ctx, r.repo, w.Label)
		if err != nil {
			return err
		}
		for _, t := range open {
			if t.Event.Item.PR && w.PullRequests || !t.Event.Item.PR && w.Issues {
				r.marked[t.WorkItem().Key()] = true
				r.add(t)
			}
		}
	}
	return nil
}

// readThreads takes in what changed, item by item.
func (r *round) readThreads(ctx context.Context) error {
	for _, t := range r.threads {
		if err := r.goOn(ctx); err != nil {
			return err
		}
		if err := r.read(ctx, t); err != nil {
			if err := r.failed(ctx, t.WorkItem(), t.At, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// goOn says whether the next item may begin.
func (r *round) goOn(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	same := func(w Watch) bool { return strings.EqualFold(repoName(w.Repo), repoName(r.target.repo)) }
	if r.target.watched() && !slices.ContainsFunc(r.Settings().Watches, same) {
		return fmt.Errorf("%s is not watched any more: %w", repoName(r.target.repo), loop.ErrConflict)
	}
	return nil
}

// readSessions asks about the items of sessions, and the pull requests that are linked to them, of which nothing was heard yet, or
// which could not be read. From then on their changes are listed like any other.
func (r *round) readSessions(ctx context.Context) error {
	for _, s := range r.Sessions() {
		if !s.Open() || !r.Source.Owns(s.WorkItem) {
			continue
		}
		pulls, err := r.Items.OpenPulls(ctx, s.WorkItem)
		if err != nil {
			return err
		}
		all := []loop.WorkItem{s.WorkItem}
		for _, p := range pulls {
			all = append(all, p.Item)
		}
		for _, w := range all {
			if !strings.EqualFold(w.RepoName(), repoName(r.target.repo)) {
				continue
			}
			if err := r.goOn(ctx); err != nil {
				return err
			}
			w.Owner, w.Repo = r.repo.Owner, r.repo.Name // its present name
			if err := r.readUnheard(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *round) readUnheard(ctx context.Context, w loop.WorkItem) error {
	if r.known[w.Key()] {
		return nil
	}
	r.known[w.Key()] = true
	row, err := r.itemRow(ctx, w)
	if err != nil || row.seen() && row.tries == 0 || row.rests(r.now) {
		return err
	}
	var changed time.Time
	t, err := r.Source.Look(ctx, w)
	switch {
	case err != nil:
	case t.WorkItem().Key() != w.Key():
		err = fmt.Errorf("%s was transferred and is %s now: its session goes on: %w", w.Ref(), t.WorkItem().Ref(), loop.ErrConflict)
	default:
		changed, err = t.At, r.read(ctx, t)
	}
	if err != nil {
		return r.failed(ctx, w, changed, err)
	}
	return nil
}

// readChecks takes in the results of checks on the pull requests of sessions. That they cannot be read holds up nothing else.
func (r *round) readChecks(ctx context.Context) error {
	if !slices.ContainsFunc(r.Sessions(), func(s loop.Session) bool {
		return s.Open() && strings.EqualFold(s.WorkItem.RepoName(), repoName(r.target.repo))
	}) {
		return nil
	}
	told, err := r.Source.Checks(ctx, r.repo, r.now.Add(-checksBack).Truncate(time.Hour))
	if err != nil {
		return r.unreadable(ctx, fmt.Errorf("read the results of checks: %w", err))
	}
	var found []finding
	for _, d := range told {
		ev, err := r.Decode(d)
		if err != nil || ev.Fact == "" {
			continue
		}
		since, is, err := r.sessionSince(ctx, ev)
		if err != nil {
			return err
		}
		if is && !ev.At.Before(since) {
			found = append(found, finding{ev, d})
		}
	}
	return r.put(ctx, found, nil)
}

// advance moves the cursor to what is taken in.
func (r *round) advance(ctx context.Context) error {
	next := repoRow{id: r.repo.ID, since: r.row.since, cursor: r.row.cursor}
	switch {
	case next.cursor.IsZero():
		next.cursor = r.now
	case r.newest.After(next.cursor):
		next.cursor = r.newest
	}
	if next.cursor.After(r.now) {
		next.cursor = r.now
	}
	if !r.held.IsZero() && r.held.Before(next.cursor) {
		next.cursor = r.held
	}
	if next == r.row {
		return nil
	}
	err := r.Journal.Write(ctx, func(tx *journal.Tx) error { return next.write(tx, r.target.key()) })
	r.step("poll-cursor")
	return err
}
