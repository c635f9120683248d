// Package eventlog is what happened, for people and for programs: entries that are numbered in their order and can be asked
// for or followed.
//
// It is a part of the journal. An entry that is appended in a write lasts if that write does, and is seen by those who
// follow once it lasts. Following reads from the journal at the reader's own pace: there is no queue, no gap and no limit to
// how slow a reader may be, but that of retention. Each entry also goes to the logger once it lasts, without its message and
// fields, which may hold what an agent said.
package eventlog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Schema makes the table of the log.
func Schema() journal.Schema {
	return journal.Schema{Name: "eventlog", Steps: []string{`
		CREATE TABLE event (
			seq      INTEGER PRIMARY KEY, -- without gaps: Prune removes the oldest and never the last
			at       INTEGER NOT NULL,    -- microseconds since 1970
			type     TEXT    NOT NULL,
			item     TEXT    NOT NULL,
			item_key TEXT    NOT NULL,    -- the item in lower case
			delivery TEXT    NOT NULL,
			run      TEXT    NOT NULL,
			message  TEXT    NOT NULL,
			fields   TEXT    NOT NULL     -- JSON
		) STRICT;
		CREATE INDEX event_item ON event (item_key) WHERE item_key <> ''`}}
}

// Log is the event log of one journal. It is safe for concurrent use. A nil Log takes everything, keeps nothing and has
// nothing.
type Log struct {
	db     *journal.DB
	logger *slog.Logger

	mu    sync.Mutex
	grown chan struct{} // guarded by mu; closed and replaced when entries are committed
}

// New returns the log of a journal that was opened with Schema.
func New(db *journal.DB, logger *slog.Logger) *Log {
	return &Log{db: db, logger: logger.With("component", "eventlog"), grown: make(chan struct{})}
}

// Append adds an entry as a part of a write. At is now unless it is set; Seq is given here.
func (l *Log) Append(tx *journal.Tx, ev loop.LogEvent) error {
	if l == nil {
		return nil
	}
	if ev.At.IsZero() {
		ev.At = time.Now()
	}
	fields := ""
	if len(ev.Fields) > 0 {
		b, err := json.Marshal(ev.Fields)
		if err != nil {
			return fmt.Errorf("log %s: %w", ev.Type, err)
		}
		fields = string(b)
	}
	_, err := tx.Exec("INSERT INTO event (at, type, item, item_key, delivery, run, message, fields) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		ev.At.UnixMicro(), ev.Type, ev.Item.Ref(), ev.Item.Key(), ev.Delivery, ev.Run, ev.Message, fields)
	if err != nil {
		return fmt.Errorf("log %s: %w", ev.Type, err)
	}
	tx.OnCommit(func() { l.lasts(ev) })
	return nil
}

// Log adds an entry in a write of its own and returns when it is on disk, also when ctx has ended: what happened, happened.
// What cannot be written is an error in the logger.
func (l *Log) Log(ctx context.Context, ev loop.LogEvent) {
	if l == nil {
		return
	}
	err := l.db.Write(context.WithoutCancel(ctx), func(tx *journal.Tx) error { return l.Append(tx, ev) })
	if err != nil {
		l.logger.ErrorContext(ctx, "an event could not be kept", append(attrs(ev), "err", err)...)
	}
}

// lasts wakes those who follow, and tells the logger.
func (l *Log) lasts(ev loop.LogEvent) {
	l.mu.Lock()
	close(l.grown)
	l.grown = make(chan struct{})
	l.mu.Unlock()
	level := slog.LevelInfo
	switch ev.Type {
	case loop.LogRunFailed, loop.LogSpawnFailed, loop.LogResumeFailed, loop.LogRunHeld, loop.LogConfigRejected, loop.LogConfigWarning,
		loop.LogAnnounceFailed, loop.LogOutboxFailed:
		level = slog.LevelWarn
	case loop.LogDeliveryDropped: // a busy repository sends little else
		level = slog.LevelDebug
	}
	if !l.logger.Enabled(context.Background(), level) {
		return
	}
	l.logger.Log(context.Background(), level, "event", attrs(ev)...)
}

func attrs(ev loop.LogEvent) []any {
	out := []any{"type", ev.Type}
	for _, a := range []struct{ key, value string }{
		{"item", ev.Item.Ref()}, {"delivery", string(ev.Delivery)}, {"run", string(ev.Run)}, {"reason", ev.Fields["reason"]},
	} {
		if a.value != "" {
			out = append(out, a.key, a.value)
		}
	}
	return out
}

func (l *Log) growth() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grown
}

// Filter chooses entries.
type Filter struct {
	Item  loop.WorkItem // zero is any
	Type  loop.LogType  // "" is any
	After int64         // only those with a larger Seq; 0 is from the oldest that is kept
	Limit int           // Query: at most so many; 0 is 100. Watch has no limit.
}

// Query returns entries in their order.
func (l *Log) Query(ctx context.Context, f Filter) ([]loop.LogEvent, error) {
	if l == nil {
		return nil, nil
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	events, err := query(ctx, l.db.Read(), f)
	return events, l.explain(err)
}

// querier is the read pool, or one snapshot of it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func query(ctx context.Context, from querier, f Filter) ([]loop.LogEvent, error) {
	query, args := "SELECT seq, at, type, item, delivery, run, message, fields FROM event WHERE seq > ?", []any{f.After}
	if !f.Item.IsZero() {
		query, args = query+" AND item_key = ? AND item_key <> ''", append(args, f.Item.Key())
	}
	if f.Type != "" {
		query, args = query+" AND type = ?", append(args, f.Type)
	}
	rows, err := from.QueryContext(ctx, query+" ORDER BY seq LIMIT ?", append(args, f.Limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err below says what went wrong
	var events []loop.LogEvent
	for rows.Next() {
		ev, err := scan(rows)
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, rows.Err()
}

// watchStep is how many entries are read at a time while following.
const watchStep = 200

// Watch returns the entries that Query would, then those that come, until ctx ends or the reader stops. The last pair has an
// error when something failed: ErrConflict, naming the last entry that was given, when retention has removed what follows
// it, so that the reader knows of the gap. The end of ctx is no error.
func (l *Log) Watch(ctx context.Context, f Filter) iter.Seq2[loop.LogEvent, error] {
	return func(yield func(loop.LogEvent, error) bool) {
		if l == nil {
			return
		}
		last := f.After
		f.Limit = watchStep
		for {
			grown := l.growth() // before the look, so that what comes between the two is not missed
			events, seen, err := l.next(ctx, f, last)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(loop.LogEvent{}, err)
				return
			}
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			last = seen
			if len(events) == watchStep {
				continue
			}
			select {
			case <-grown:
			case <-ctx.Done():
				return
			}
		}
	}
}

// next returns the entries after last and the number of the last one that was looked at, chosen or not.
func (l *Log) next(ctx context.Context, f Filter, last int64) (events []loop.LogEvent, seen int64, err error) {
	tx, err := l.db.Read().BeginTx(ctx, nil) // one snapshot for both looks
	if err != nil {
		return nil, last, l.explain(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	var first, newest int64
	err = tx.QueryRowContext(ctx, "SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM event").Scan(&first, &newest)
	if err != nil {
		return nil, last, l.explain(err)
	}
	if last > 0 && first > last+1 {
		return nil, last, fmt.Errorf("entries after %d are kept no more, the oldest is %d: %w", last, first, loop.ErrConflict)
	}
	f.After = last
	if events, err = query(ctx, tx, f); err != nil {
		return nil, last, l.explain(err)
	}
	if len(events) == f.Limit {
		newest = events[len(events)-1].Seq // there may be more
	}
	return events, max(last, newest), nil
}

// Last returns the number of the newest entry, 0 when there is none.
func (l *Log) Last(ctx context.Context) (int64, error) {
	if l == nil {
		return 0, nil
	}
	var last int64
	err := l.db.Read().QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM event").Scan(&last)
	return last, l.explain(err)
}

// pruneStep bounds how much one commit removes, so that nobody waits for long behind it.
const pruneStep = 500

// Prune removes entries that are older than keepDays, but never the newest, and returns how many.
func (l *Log) Prune(ctx context.Context, now time.Time, keepDays int) (int, error) {
	if l == nil {
		return 0, nil
	}
	before := now.AddDate(0, 0, -keepDays).UnixMicro()
	removed := 0
	for {
		var n int64
		err := l.db.Write(ctx, func(tx *journal.Tx) error {
			result, err := tx.Exec("DELETE FROM event WHERE seq < (SELECT min(seq) FROM event) + ? AND seq < coalesce("+
				"(SELECT seq FROM event WHERE at >= ? ORDER BY seq LIMIT 1), (SELECT max(seq) FROM event))", pruneStep, before)
			if err != nil {
				return err
			}
			n, err = result.RowsAffected()
			return err
		})
		if err != nil {
			return removed, unavailable(fmt.Errorf("prune the event log: %w", err))
		}
		removed += int(n)
		if n < pruneStep {
			return removed, nil
		}
	}
}

func scan(rows *sql.Rows) (loop.LogEvent, error) {
	var ev loop.LogEvent
	var at int64
	var item, fields string
	err := rows.Scan(&ev.Seq, &at, &ev.Type, &item, &ev.Delivery, &ev.Run, &ev.Message, &fields)
	if err != nil {
		return ev, err
	}
	ev.At = time.UnixMicro(at).UTC()
	if item != "" {
		if ev.Item, err = loop.ParseRef(item); err != nil {
			return ev, err
		}
	}
	if fields != "" {
		err = json.Unmarshal([]byte(fields), &ev.Fields)
	}
	return ev, err
}

func (l *Log) explain(err error) error {
	if err == nil {
		return nil
	}
	return unavailable(fmt.Errorf("read the event log: %w", l.db.Explain(err)))
}

// unavailable adds the class that callers know to what the journal could not do.
func unavailable(err error) error {
	if journal.Unavailable(err) {
		return fmt.Errorf("%w: %w", err, loop.ErrUnavailable)
	}
	return err
}
