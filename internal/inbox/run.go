package inbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Run is one handing-over of deliveries to a harness.
type Run struct {
	ID         loop.RunID
	Item       loop.WorkItem
	Harness    string
	SessionID  loop.SessionID    // the conversation that it was for
	Fresh      bool              // it began the conversation
	Deliveries []loop.DeliveryID // in the order of the prompt
	StartedAt  time.Time
	EndedAt    time.Time    // zero while it may be alive
	Outcome    loop.Outcome // once it has ended
}

// BeginRun writes that a run is about to start, so that it is found after a crash. The error is ErrExists for an id that
// was used before.
func (in *Inbox) BeginRun(tx *journal.Tx, r Run) error {
	deliveries, err := json.Marshal(r.Deliveries)
	if err != nil {
		return fmt.Errorf("begin run %s: %w", r.ID, err)
	}
	result, err := tx.Exec("INSERT INTO run (id, item, item_key, harness, session_id, fresh, deliveries, started_at, ended_at, kind, "+
		"outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '', '') ON CONFLICT DO NOTHING",
		r.ID, r.Item.Ref(), r.Item.Key(), r.Harness, r.SessionID, r.Fresh, string(deliveries), journal.Micros(r.StartedAt))
	if err != nil {
		return fmt.Errorf("begin run %s: %w", r.ID, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("begin run %s: %w", r.ID, loop.ErrExists))
	}
	return nil
}

// EndRun writes what became of a run. The error is ErrNotFound for one that never began, ErrConflict for one that has ended,
// and ErrInvalid for an outcome that is no end.
func (in *Inbox) EndRun(tx *journal.Tx, id loop.RunID, out loop.Outcome, at time.Time) error {
	if out.Kind == "" || out.Kind == loop.RunDetached {
		return fmt.Errorf("end run %s: outcome %q is no end: %w", id, out.Kind, loop.ErrInvalid)
	}
	outcome, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("end run %s: %w", id, err)
	}
	result, err := tx.Exec("UPDATE run SET ended_at = ?, kind = ?, outcome = ? WHERE id = ? AND ended_at = 0",
		journal.Micros(at), out.Kind, string(outcome), id)
	if err != nil {
		return fmt.Errorf("end run %s: %w", id, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return err
	}
	if _, err := scanRun(tx.QueryRow(selectRun+"WHERE id = ?", id)); err != nil {
		return noRun(id, err)
	}
	return fmt.Errorf("end run %s: it has ended before: %w", id, loop.ErrConflict)
}

const selectRun = "SELECT id, item, harness, session_id, fresh, deliveries, started_at, ended_at, outcome FROM run "

// Run returns a run; ErrNotFound for one that never began or is kept no more.
func (in *Inbox) Run(ctx context.Context, id loop.RunID) (Run, error) {
	r, err := scanRun(in.db.Read().QueryRowContext(ctx, selectRun+"WHERE id = ?", id))
	if err != nil {
		return Run{}, in.explain(noRun(id, err))
	}
	return r, nil
}

// Runs returns the last runs of an item, the newest first, at most limit.
func (in *Inbox) Runs(ctx context.Context, w loop.WorkItem, limit int) ([]Run, error) {
	return in.runs(ctx, selectRun+"WHERE item_key = ? ORDER BY started_at DESC, id DESC LIMIT ?", w.Key(), limit)
}

// RunsSince counts the runs of an item that began at a time or later. What never reached a harness, or was turned away by
// one that could not work, is not counted.
func (in *Inbox) RunsSince(ctx context.Context, w loop.WorkItem, since time.Time) (int, error) {
	var n int
	err := in.db.Read().QueryRowContext(ctx, "SELECT count(*) FROM run WHERE item_key = ? AND started_at >= ? AND kind NOT IN (?, ?, ?, ?)",
		w.Key(), journal.Micros(since), loop.RunNever, loop.RunUnreached, loop.RunHeld, loop.RunDeferred).Scan(&n)
	if err != nil {
		return 0, in.explain(fmt.Errorf("count runs of %s: %w", w, err))
	}
	return n, nil
}

func (in *Inbox) runs(ctx context.Context, query string, args ...any) ([]Run, error) {
	var all []Run
	err := in.each(ctx, func(rows *sql.Rows) error {
		r, err := scanRun(rows)
		all = append(all, r)
		return err
	}, query, args...)
	return all, err
}

func scanRun(from scanner) (Run, error) {
	var r Run
	var started, ended int64
	var item, deliveries, outcome string
	err := from.Scan(&r.ID, &item, &r.Harness, &r.SessionID, &r.Fresh, &deliveries, &started, &ended, &outcome)
	if err != nil {
		return r, err
	}
	r.StartedAt, r.EndedAt = journal.Moment(started), journal.Moment(ended)
	if r.Item, err = parseItem(item); err != nil {
		return r, fmt.Errorf("run %s: %w", r.ID, err)
	}
	if err := json.Unmarshal([]byte(deliveries), &r.Deliveries); err != nil {
		return r, fmt.Errorf("run %s: %w", r.ID, err)
	}
	if outcome != "" {
		err = json.Unmarshal([]byte(outcome), &r.Outcome)
	}
	return r, err
}

func noRun(id loop.RunID, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("run %s: it never began or is kept no more: %w", id, loop.ErrNotFound)
	}
	return fmt.Errorf("read run %s: %w", id, err)
}
