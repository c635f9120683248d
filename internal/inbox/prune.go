package inbox

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// MinKeepDays is for how long ids are remembered at least: longer than GitHub sends a delivery again.
const MinKeepDays = 35

// pruneStep bounds how much one commit removes, so that nobody waits for long behind it.
const pruneStep = 200

// Pruned says what Prune removed.
type Pruned struct {
	Bodies, Deliveries, Facts, Runs int
}

// Prune removes what is older than its time: bodies of deliveries that are done or dropped after bodyDays, and after keepDays
// (MinKeepDays at least) whole deliveries that are final, facts and runs that have ended. What is not final stays, and what
// failed keeps its body for as long as it is known, because it can be redelivered.
func (in *Inbox) Prune(ctx context.Context, now time.Time, bodyDays, keepDays int) (Pruned, error) {
	keep := journal.Micros(now.AddDate(0, 0, -max(keepDays, MinKeepDays)))
	bodies := journal.Micros(now.AddDate(0, 0, -bodyDays))
	var p Pruned
	for _, job := range []struct {
		removed      *int
		find, remove string
		args         []any
	}{
		{
			&p.Deliveries, "SELECT seq FROM delivery WHERE ended_at > 0 AND ended_at < ?",
			"DELETE FROM delivery WHERE seq = ? AND ended_at > 0",
			[]any{keep},
		},
		{
			&p.Bodies, "SELECT seq FROM delivery WHERE ended_at > 0 AND ended_at < ? AND state IN (?, ?) AND body IS NOT NULL",
			"UPDATE delivery SET body = NULL WHERE seq = ? AND ended_at > 0",
			[]any{bodies, loop.StateDone, loop.StateDropped},
		},
		{&p.Facts, "SELECT key FROM fact WHERE at < ?", "DELETE FROM fact WHERE key = ?", []any{keep}},
		{&p.Runs, "SELECT id FROM run WHERE ended_at > 0 AND ended_at < ?", "DELETE FROM run WHERE id = ?", []any{keep}},
	} {
		var err error
		if *job.removed, err = in.pruneAll(ctx, job.find, job.args, job.remove); err != nil {
			return p, fmt.Errorf("prune deliveries: %w", err)
		}
	}
	return p, nil
}

// pruneAll finds rows while others write, then removes them step by step.
func (in *Inbox) pruneAll(ctx context.Context, find string, args []any, remove string) (int, error) {
	var found []any
	err := in.each(ctx, func(rows *sql.Rows) error {
		var id any
		err := rows.Scan(&id)
		found = append(found, id)
		return err
	}, find, args...)
	if err != nil {
		return 0, err
	}
	removed := 0
	for len(found) > 0 {
		step := found[:min(len(found), pruneStep)]
		found = found[len(step):]
		err := in.db.Write(ctx, func(tx *journal.Tx) error {
			for _, id := range step {
				if _, err := tx.Exec(remove, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return removed, unavailable(err)
		}
		removed += len(step)
	}
	return removed, nil
}
