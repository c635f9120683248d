package inbox

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Get returns a delivery without its body; ErrNotFound for an id that never came or is kept no more.
func (in *Inbox) Get(ctx context.Context, id loop.DeliveryID) (loop.Delivery, error) {
	d, err := get(in.db.Read().QueryRowContext(ctx, selectByKey, key(id)))
	if err != nil {
		return loop.Delivery{}, in.explain(notFound(id, err))
	}
	return d, nil
}

// Body returns the body of a delivery as it came; ErrNotFound for an id that is not known or when retention has dropped the
// body.
func (in *Inbox) Body(ctx context.Context, id loop.DeliveryID) ([]byte, error) {
	var body []byte
	err := in.db.Read().QueryRowContext(ctx, "SELECT body FROM delivery WHERE key = ?", key(id)).Scan(&body)
	if err != nil {
		return nil, in.explain(notFound(id, err))
	}
	if body == nil {
		return nil, fmt.Errorf("delivery %s: its body is not kept any more: %w", id, loop.ErrNotFound)
	}
	body, err = unpack(body)
	if err != nil {
		return nil, fmt.Errorf("read the body of delivery %s: %w", id, err)
	}
	return body, nil
}

// Received returns deliveries that nobody has taken up yet, the oldest first, at most limit. One that has a Decision was
// decided before it failed and was received anew: it goes on from there.
func (in *Inbox) Received(ctx context.Context, limit int) ([]loop.Delivery, error) {
	return in.query(ctx, "SELECT "+columns+" FROM delivery WHERE state = ? ORDER BY seq LIMIT ?", loop.StateReceived, limit)
}

// Unfinished returns all deliveries that are not final, in the order of their arrival: what is still owed.
func (in *Inbox) Unfinished(ctx context.Context) ([]loop.Delivery, error) {
	return in.query(ctx, "SELECT "+columns+" FROM delivery WHERE state IN (?, ?, ?, ?) ORDER BY seq",
		loop.StateReceived, loop.StateQueued, loop.StateWaiting, loop.StateRunning)
}

// LastDone returns the deliveries that arrived last among those that are done, the newest first, at most limit.
func (in *Inbox) LastDone(ctx context.Context, limit int) ([]loop.Delivery, error) {
	return in.List(ctx, Filter{State: loop.StateDone, Limit: limit})
}

// Hook is a webhook that has brought a delivery.
type Hook struct {
	ID    string
	Since time.Time // when the first of its deliveries arrived that are known
}

// Hooks returns the webhooks that have brought something about the items of a repository: those are ours.
func (in *Inbox) Hooks(ctx context.Context, r loop.Repo) ([]Hook, error) {
	w := loop.WorkItem{Provider: loop.ProviderGitHub, Host: r.Host, Owner: r.Owner, Repo: r.Name, Number: 1}
	prefix := strings.TrimSuffix(string(w.Key()), "#1")
	var all []Hook
	err := in.each(ctx, func(rows *sql.Rows) error {
		var h Hook
		var since int64
		err := rows.Scan(&h.ID, &since)
		h.Since = journal.Moment(since)
		all = append(all, h)
		return err
	}, "SELECT hook, min(received_at) FROM delivery WHERE item_key <> '' AND item_key > ? AND item_key < ? AND source = ? AND hook <> '' "+
		"GROUP BY hook ORDER BY hook", prefix+"#", prefix+"$", loop.SourceWebhook) // $ follows #
	return all, err
}

// Filter chooses deliveries. The zero value is the newest fifty.
type Filter struct {
	State  loop.State    // "" is any
	Item   loop.WorkItem // zero is any
	Before int64         // only those with a smaller Seq; 0 is all
	Limit  int           // at most so many; 0 is 50
}

// List returns deliveries, the newest first.
func (in *Inbox) List(ctx context.Context, f Filter) ([]loop.Delivery, error) {
	query := "SELECT " + columns + " FROM delivery WHERE true"
	var args []any
	if f.State != "" {
		query, args = query+" AND state = ?", append(args, f.State)
	}
	if !f.Item.IsZero() {
		query, args = query+" AND item_key = ? AND item_key <> ''", append(args, f.Item.Key())
	}
	if f.Before > 0 {
		query, args = query+" AND seq < ?", append(args, f.Before)
	}
	if f.Limit <= 0 {
		f.Limit = 50
	}
	return in.query(ctx, query+" ORDER BY seq DESC LIMIT ?", append(args, f.Limit)...)
}

// Claimed reports whether a fact was acted on, whichever delivery brought it.
func (in *Inbox) Claimed(ctx context.Context, fact string) (bool, error) {
	var is bool
	err := in.db.Read().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM fact WHERE key = ?)", fact).Scan(&is)
	if err != nil {
		return false, in.explain(fmt.Errorf("look for fact %s: %w", fact, err))
	}
	return is, nil
}

// CountByState says how many deliveries are in each state; a state without any is left out.
func (in *Inbox) CountByState(ctx context.Context) (map[loop.State]int64, error) {
	counts := map[loop.State]int64{}
	err := in.each(ctx, func(rows *sql.Rows) error {
		var state loop.State
		var n int64
		err := rows.Scan(&state, &n)
		counts[state] = n
		return err
	}, "SELECT state, count(*) FROM delivery GROUP BY state")
	return counts, err
}

// CountDropped says how many deliveries of an item were dropped for a reason since a time.
func (in *Inbox) CountDropped(ctx context.Context, w loop.WorkItem, reason string, since time.Time) (int, error) {
	var n int
	err := in.db.Read().QueryRowContext(ctx, "SELECT count(*) FROM delivery WHERE item_key = ? AND item_key <> '' AND state = ? "+
		"AND reason = ? AND ended_at >= ?", w.Key(), loop.StateDropped, reason, journal.Micros(since)).Scan(&n)
	if err != nil {
		return 0, in.explain(fmt.Errorf("count dropped deliveries of %s: %w", w, err))
	}
	return n, nil
}

func (in *Inbox) query(ctx context.Context, query string, args ...any) ([]loop.Delivery, error) {
	var all []loop.Delivery
	err := in.each(ctx, func(rows *sql.Rows) error {
		d, err := get(rows)
		all = append(all, d)
		return err
	}, query, args...)
	return all, err
}

// each calls f for every row of the answer.
func (in *Inbox) each(ctx context.Context, f func(*sql.Rows) error, query string, args ...any) error {
	rows, err := in.db.Read().QueryContext(ctx, query, args...)
	if err != nil {
		return in.explain(fmt.Errorf("read deliveries: %w", err))
	}
	defer rows.Close() //nolint:errcheck // Err below says what went wrong
	for rows.Next() {
		if err := f(rows); err != nil {
			return in.explain(fmt.Errorf("read deliveries: %w", err))
		}
	}
	if err := rows.Err(); err != nil {
		return in.explain(fmt.Errorf("read deliveries: %w", err))
	}
	return nil
}

func (in *Inbox) explain(err error) error { return unavailable(in.db.Explain(err)) }
