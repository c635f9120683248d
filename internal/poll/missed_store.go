package poll

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// missedRow is a delivery that a webhook could not bring.
type missedRow struct {
	delivery loop.DeliveryID
	try      int64
	at       time.Time
	asked    int
	due      time.Time
}

// lookedAt returns when a webhook was last asked what it could not bring; the zero time: never.
func (p *Poller) lookedAt(ctx context.Context, key hookKey) (time.Time, error) {
	var looked int64
	err := p.Journal.Read().QueryRowContext(ctx, "SELECT looked FROM poll_hook WHERE name = ? AND hook = ?", key.name, key.hook).Scan(&looked)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, fmt.Errorf("read when webhook %s of %s was looked at: %w", key.hook, key.name, p.Journal.Explain(err))
	}
	return journal.Moment(looked), nil
}

func writeLooked(tx *journal.Tx, key hookKey, at time.Time) error {
	_, err := tx.Exec("INSERT OR REPLACE INTO poll_hook (name, hook, looked) VALUES (?, ?, ?)", key.name, key.hook, journal.Micros(at))
	return err
}

// missed returns what a webhook could not bring, the oldest first.
func (p *Poller) missed(ctx context.Context, key hookKey) ([]missedRow, error) {
	all, err := p.queryMissed(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read what webhook %s of %s could not bring: %w", key.hook, key.name, p.Journal.Explain(err))
	}
	return all, nil
}

func (p *Poller) queryMissed(ctx context.Context, key hookKey) ([]missedRow, error) {
	rows, err := p.Journal.Read().QueryContext(ctx, "SELECT delivery, try, at, asked, due FROM poll_missed "+
		"WHERE name = ? AND hook = ? ORDER BY at, try", key.name, key.hook)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err below says what went wrong
	var all []missedRow
	for rows.Next() {
		var m missedRow
		var at, due int64
		if err := rows.Scan(&m.delivery, &m.try, &at, &m.asked, &due); err != nil {
			return nil, err
		}
		m.at, m.due = journal.Moment(at), journal.Moment(due)
		all = append(all, m)
	}
	return all, rows.Err()
}

// insertMissed writes down what was not known to have failed. All webhooks that hear of an event share its id: one of them is
// asked for it.
func insertMissed(tx *journal.Tx, key hookKey, u loop.Undelivered) error {
	_, err := tx.Exec("INSERT INTO poll_missed (delivery, name, hook, try, at, asked, due) VALUES (?, ?, ?, ?, ?, 0, 0) ON CONFLICT DO NOTHING",
		u.ID, key.name, key.hook, u.Try, journal.Micros(u.At))
	return err
}

func (m missedRow) write(tx *journal.Tx) error {
	_, err := tx.Exec("UPDATE poll_missed SET asked = ?, due = ? WHERE delivery = ?", m.asked, journal.Micros(m.due), m.delivery)
	return err
}

func (m missedRow) remove(tx *journal.Tx) error {
	_, err := tx.Exec("DELETE FROM poll_missed WHERE delivery = ?", m.delivery)
	return err
}

// forgetMissed forgets webhooks that were not looked at since a time, and what they could not bring before it.
func forgetMissed(tx *journal.Tx, before int64) error {
	for _, query := range []string{"DELETE FROM poll_hook WHERE looked < ?", "DELETE FROM poll_missed WHERE at < ?"} {
		if _, err := tx.Exec(query, before); err != nil {
			return fmt.Errorf("forget what webhooks could not bring: %w", err)
		}
	}
	return nil
}
