// Package item remembers what Loop has learned of a work item beside its session: that it was stopped, closed, reopened or
// announced, what a session was last started for, and of pull requests their heads and the issues that they are linked to.
//
// It is a part of the journal. Functions that take a journal.Tx belong into journal.DB.Write, with whatever else must happen
// at once; reads see what is committed and wait for nobody. Items compare without regard to case. Events may be told out of
// order and more than once: what is older than what is known changes nothing.
package item

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Schema makes the tables of the package.
func Schema() journal.Schema {
	return journal.Schema{Name: "item", Steps: []string{`
		CREATE TABLE item (
			key         TEXT PRIMARY KEY,           -- the item in lower case
			stopped_at  INTEGER NOT NULL DEFAULT 0, -- all times: microseconds since 1970, 0 is none
			spawned_at  INTEGER NOT NULL DEFAULT 0,
			labeled_at  INTEGER NOT NULL DEFAULT 0,
			reopened_at INTEGER NOT NULL DEFAULT 0,
			closed_at   INTEGER NOT NULL DEFAULT 0
		) STRICT, WITHOUT ROWID;
		CREATE TABLE pull (
			key          TEXT PRIMARY KEY,
			ref          TEXT    NOT NULL,
			repo         TEXT    NOT NULL,            -- where it was made, in lower case
			head_sha     TEXT    NOT NULL DEFAULT '',
			head_ref     TEXT    NOT NULL DEFAULT '',
			head_host    TEXT    NOT NULL DEFAULT '',
			head_owner   TEXT    NOT NULL DEFAULT '',
			head_name    TEXT    NOT NULL DEFAULT '',
			head_repo_id INTEGER NOT NULL DEFAULT 0,
			open         INTEGER NOT NULL DEFAULT 0,
			seen_at      INTEGER NOT NULL DEFAULT 0,
			acted        INTEGER NOT NULL DEFAULT 0
		) STRICT, WITHOUT ROWID;
		CREATE INDEX pull_sha ON pull (head_sha) WHERE head_sha <> '';
		CREATE INDEX pull_ref ON pull (repo, head_ref) WHERE head_ref <> '';
		CREATE TABLE link (
			pull     TEXT    NOT NULL,
			item     TEXT    NOT NULL,
			ref      TEXT    NOT NULL, -- of the item
			declared INTEGER NOT NULL,
			at       INTEGER NOT NULL,
			PRIMARY KEY (pull, item)
		) STRICT, WITHOUT ROWID;
		CREATE INDEX link_item ON link (item)`, `
		ALTER TABLE item ADD COLUMN claim      INTEGER NOT NULL DEFAULT 0; -- the comment that announced a session; 0 is none
		ALTER TABLE item ADD COLUMN claimed_at INTEGER NOT NULL DEFAULT 0`, `
		ALTER TABLE item ADD COLUMN commanded_at INTEGER NOT NULL DEFAULT 0; -- when the last command was written that was carried out`}}
}

// Store is the facts in one journal. It is safe for concurrent use.
type Store struct{ db *journal.DB }

// New returns the store of a journal that was opened with Schema.
func New(db *journal.DB) *Store { return &Store{db} }

// Facts is what is known of an item. A time is zero where the thing has not been seen.
type Facts struct {
	StoppedAt  time.Time // by a person's command; lifted by Start
	SpawnedAt  time.Time // of the event that a session was last started for
	LabeledAt  time.Time // when the label that starts sessions was last set
	ReopenedAt time.Time
	ClosedAt   time.Time
	// CommandedAt is when the comment was written whose command was carried out, the last of them.
	CommandedAt time.Time
	Claim       int64 // the comment by which a Loop, maybe this one, last announced a session; 0 is none
}

// Get returns what is known of an item; the zero Facts when nothing is.
func (s *Store) Get(ctx context.Context, w loop.WorkItem) (Facts, error) {
	var stopped, spawned, labeled, reopened, closed, commanded, claim int64
	err := s.db.Read().QueryRowContext(ctx, "SELECT stopped_at, spawned_at, labeled_at, reopened_at, closed_at, commanded_at, claim "+
		"FROM item WHERE key = ?", w.Key()).Scan(&stopped, &spawned, &labeled, &reopened, &closed, &commanded, &claim)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Facts{}, s.explain(fmt.Errorf("read what is known of %s: %w", w, err))
	}
	return Facts{
		StoppedAt: journal.Moment(stopped), SpawnedAt: journal.Moment(spawned), LabeledAt: journal.Moment(labeled),
		ReopenedAt: journal.Moment(reopened), ClosedAt: journal.Moment(closed), CommandedAt: journal.Moment(commanded), Claim: claim,
	}, nil
}

// Stop remembers that a person stopped an item; nothing is started for it until Start, also after a restart. The first stop
// counts.
func (s *Store) Stop(tx *journal.Tx, w loop.WorkItem, at time.Time) error {
	return change(tx, w, "INSERT INTO item (key, stopped_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE "+
		"SET stopped_at = CASE stopped_at WHEN 0 THEN excluded.stopped_at ELSE stopped_at END", journal.Micros(at))
}

// Start lifts a stop, and forgets that a session was started or announced before, so that one can be again.
func (s *Store) Start(tx *journal.Tx, w loop.WorkItem) error {
	return change(tx, w, "UPDATE item SET stopped_at = 0, spawned_at = 0, claim = 0, claimed_at = 0 WHERE key = ?")
}

// Commanded remembers when a command was written that is carried out.
func (s *Store) Commanded(tx *journal.Tx, w loop.WorkItem, at time.Time) error {
	return change(tx, w, "INSERT INTO item (key, commanded_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE "+
		"SET commanded_at = max(commanded_at, excluded.commanded_at)", journal.Micros(at))
}

// Spawned remembers that a session is started for an event of that time: one labelling starts one session. It means nothing
// for an item that was closed since.
func (s *Store) Spawned(tx *journal.Tx, w loop.WorkItem, at time.Time) error {
	return change(tx, w, "INSERT INTO item (key, spawned_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE "+
		"SET spawned_at = max(spawned_at, excluded.spawned_at) WHERE excluded.spawned_at > closed_at", journal.Micros(at))
}

// Labeled remembers when the label that starts sessions was set, unless the item was closed since.
func (s *Store) Labeled(tx *journal.Tx, w loop.WorkItem, at time.Time) error {
	return change(tx, w, "INSERT INTO item (key, labeled_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE "+
		"SET labeled_at = max(labeled_at, excluded.labeled_at) WHERE excluded.labeled_at > closed_at", journal.Micros(at))
}

// Reopened remembers when an item was reopened.
func (s *Store) Reopened(tx *journal.Tx, w loop.WorkItem, at time.Time) error {
	return change(tx, w, "INSERT INTO item (key, reopened_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE "+
		"SET reopened_at = max(reopened_at, excluded.reopened_at)", journal.Micros(at))
}

// Closed remembers when an item was closed, and forgets for what a session was started before then, so that an item that is
// reopened begins as if it were new. A stop and the links stay.
func (s *Store) Closed(tx *journal.Tx, w loop.WorkItem, at time.Time) error {
	return change(tx, w, "INSERT INTO item (key, closed_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE "+
		"SET closed_at = max(closed_at, excluded.closed_at), "+
		"spawned_at = CASE WHEN spawned_at <= excluded.closed_at THEN 0 ELSE spawned_at END, "+
		"labeled_at = CASE WHEN labeled_at <= excluded.closed_at THEN 0 ELSE labeled_at END, "+
		"claim = CASE WHEN claimed_at <= excluded.closed_at THEN 0 ELSE claim END", journal.Micros(at))
}

// Claim remembers the comment by which a Loop announced a session, unless the item was closed since.
func (s *Store) Claim(tx *journal.Tx, w loop.WorkItem, comment int64, at time.Time) error {
	return change(tx, w, "INSERT INTO item (key, claim, claimed_at) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE "+
		"SET claim = excluded.claim, claimed_at = excluded.claimed_at WHERE excluded.claimed_at > max(claimed_at, closed_at)", comment, journal.Micros(at))
}

func change(tx *journal.Tx, w loop.WorkItem, query string, args ...any) error {
	if _, err := tx.Exec(query, append([]any{w.Key()}, args...)...); err != nil {
		return fmt.Errorf("remember what happened to %s: %w", w, err)
	}
	return nil
}

// explain puts what the journal could not do into the class that callers know.
func (s *Store) explain(err error) error {
	if err = s.db.Explain(err); journal.Unavailable(err) {
		return fmt.Errorf("%w: %w", err, loop.ErrUnavailable)
	}
	return err
}
