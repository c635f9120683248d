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

// Schema makes the tables of the package: how far each repository, each item and each webhook was read.
func Schema() journal.Schema {
	return journal.Schema{Name: "poll", Steps: []string{`
		CREATE TABLE poll_repo (
			name   TEXT PRIMARY KEY, -- as it was named, in lower case
			id     INTEGER NOT NULL, -- the provider's number of it
			since  INTEGER NOT NULL, -- when it was first seen, by the provider's clock; times: microseconds since 1970
			cursor INTEGER NOT NULL  -- all that changed before was taken in
		) STRICT, WITHOUT ROWID;
		CREATE TABLE poll_item (
			key    TEXT PRIMARY KEY, -- the item in lower case
			since  INTEGER NOT NULL, -- what happened before is not replayed
			told   INTEGER NOT NULL, -- all that changed up to then was taken in; 0: nothing was
			closed INTEGER NOT NULL, -- its close was taken in
			tries  INTEGER NOT NULL, -- how often it could not be read since it changed at failed
			failed INTEGER NOT NULL
		) STRICT, WITHOUT ROWID`, `
		ALTER TABLE poll_item ADD COLUMN tried INTEGER NOT NULL DEFAULT 0; -- when it could not be read last`, `
		CREATE TABLE poll_hook (
			name   TEXT    NOT NULL, -- of its repository, as in poll_repo
			hook   TEXT    NOT NULL, -- the provider's number of it
			looked INTEGER NOT NULL, -- what it could not bring before is in poll_missed
			PRIMARY KEY (name, hook)
		) STRICT, WITHOUT ROWID;
		CREATE TABLE poll_missed (
			delivery TEXT    PRIMARY KEY,
			name     TEXT    NOT NULL,
			hook     TEXT    NOT NULL,
			try      INTEGER NOT NULL, -- the provider's number of the sending that failed
			at       INTEGER NOT NULL, -- when that was
			asked    INTEGER NOT NULL, -- how often it was asked for again
			due      INTEGER NOT NULL  -- when it is the next time
		) STRICT, WITHOUT ROWID;
		CREATE INDEX poll_missed_hook ON poll_missed (name, hook, at)`}}
}

// repoRow is how far a repository was read. The zero row is of one that was never seen.
type repoRow struct {
	id            int64
	since, cursor time.Time
}

func (p *Poller) repoRow(ctx context.Context, name string) (repoRow, error) {
	var r repoRow
	var since, cursor int64
	err := p.Journal.Read().QueryRowContext(ctx, "SELECT id, since, cursor FROM poll_repo WHERE name = ?", name).Scan(&r.id, &since, &cursor)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return repoRow{}, fmt.Errorf("read how far %s was polled: %w", name, p.Journal.Explain(err))
	}
	r.since, r.cursor = journal.Moment(since), journal.Moment(cursor)
	return r, nil
}

func (r repoRow) write(tx *journal.Tx, name string) error {
	_, err := tx.Exec("INSERT OR REPLACE INTO poll_repo (name, id, since, cursor) VALUES (?, ?, ?, ?)",
		name, r.id, journal.Micros(r.since), journal.Micros(r.cursor))
	return err
}

// itemRow is how far an item was read. The zero row is of one that was never seen.
type itemRow struct {
	since, told time.Time
	closed      bool
	tries       int
	failed      time.Time // when what could not be read had changed; zero where that is not known
	tried       time.Time // when it could not be read last
}

// rests reports whether the item could not be read so often that it is left alone for a while.
func (r itemRow) rests(now time.Time) bool {
	return r.tries >= maxTries && now.Sub(r.tried) < retryAfter
}

// seen reports whether the item was read before.
func (r itemRow) seen() bool { return !r.told.IsZero() }

func (p *Poller) itemRow(ctx context.Context, w loop.WorkItem) (itemRow, error) {
	var r itemRow
	var since, told, failed, tried int64
	err := p.Journal.Read().QueryRowContext(ctx, "SELECT since, told, closed, tries, failed, tried FROM poll_item WHERE key = ?", w.Key()).
		Scan(&since, &told, &r.closed, &r.tries, &failed, &tried)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return itemRow{}, fmt.Errorf("read how far %s was polled: %w", w, p.Journal.Explain(err))
	}
	r.since, r.told, r.failed, r.tried = journal.Moment(since), journal.Moment(told), journal.Moment(failed), journal.Moment(tried)
	return r, nil
}

func (r itemRow) write(tx *journal.Tx, w loop.WorkItem) error {
	_, err := tx.Exec("INSERT OR REPLACE INTO poll_item (key, since, told, closed, tries, failed, tried) VALUES (?, ?, ?, ?, ?, ?, ?)",
		w.Key(), journal.Micros(r.since), journal.Micros(r.told), r.closed, r.tries, journal.Micros(r.failed), journal.Micros(r.tried))
	return err
}

// forget has an item be as if it was never seen.
func (p *Poller) forget(ctx context.Context, w loop.WorkItem) error {
	return p.Journal.Write(ctx, func(tx *journal.Tx) error {
		_, err := tx.Exec("DELETE FROM poll_item WHERE key = ?", w.Key())
		return err
	})
}
