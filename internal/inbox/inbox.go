// Package inbox holds every delivery, from the moment at which it is accepted until retention removes it, and what became
// of it. It is a part of the journal: a delivery that Put has taken is on disk, one id is taken once, and what changes
// together with a delivery is committed together with it.
//
// Deliveries are numbered in the order of their arrival (Seq). Reads see what is committed and wait for nobody. Functions
// that take a journal.Tx belong into journal.DB.Write, with whatever else must happen at once.
package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Inbox is the deliveries of one journal. It is safe for concurrent use.
type Inbox struct {
	db   *journal.DB
	news chan struct{} // holds one value while something is received that nobody was told about

	scratch sync.Pool // of *[]byte, in which bodies are packed
}

// New returns the inbox of a journal that was opened with Schema.
func New(db *journal.DB) *Inbox {
	return &Inbox{db: db, news: make(chan struct{}, 1)}
}

// News is for the one who takes up what is received: it yields a value after Put or Redeliver have committed something new,
// one for all that came since the last. Look at Received once before the first wait.
func (in *Inbox) News() <-chan struct{} { return in.news }

func (in *Inbox) tell() {
	select {
	case in.news <- struct{}{}:
	default: // told already
	}
}

// Verdict says how Put took a delivery.
type Verdict string

// The ways in which Put takes a delivery.
const (
	Accepted  Verdict = "accepted"
	Duplicate Verdict = "duplicate" // its id was taken before; nothing changed
	DueAgain  Verdict = "due-again" // GitHub sent one again that had failed: it is received anew
)

// PutResult says what became of a delivery that was put.
type PutResult struct {
	Verdict Verdict
	State   loop.State // of the delivery with this id: the new one, or the earlier one
	Reason  string     // why it is not new, or why it was dropped at once; else ""
}

// Put takes a delivery: when it returns without an error the delivery is on disk, and its Body is the caller's again. Its State is received (or left empty), or
// dropped where the reason is known at once; Item, Decision, Fact and Summary are kept where they are set. Seq is given
// here, and ReceivedAt unless it is set.
//
// An id that was taken before is a duplicate and changes nothing, also after a restart, with one exception: what a webhook
// brings again after it failed, or while it waits for its next try, is received anew with all its tries. The error is
// ErrInvalid for a delivery that cannot be kept, and ErrUnavailable when the journal cannot be written.
func (in *Inbox) Put(ctx context.Context, d loop.Delivery) (PutResult, error) {
	body := in.Pack(d.Body)
	var result PutResult
	err := in.db.Write(ctx, func(tx *journal.Tx) (err error) {
		result, err = in.PutIn(tx, d, body)
		return err
	})
	if err != nil {
		return PutResult{}, unavailable(err)
	}
	return result, nil
}

// PutIn is Put as a part of a write, with the body of the delivery packed before it: others would wait for that.
func (in *Inbox) PutIn(tx *journal.Tx, d loop.Delivery, body Packed) (PutResult, error) {
	if d.State == "" {
		d.State = loop.StateReceived
	}
	if d.ID == "" || d.State != loop.StateReceived && d.State != loop.StateDropped {
		return PutResult{}, fmt.Errorf("put delivery %q as %q: it needs an id and is received or dropped: %w", d.ID, d.State, loop.ErrInvalid)
	}
	if d.ReceivedAt.IsZero() {
		d.ReceivedAt = time.Now()
	}
	if d.State.Final() {
		d.EndedAt = d.ReceivedAt
	}
	result, err := in.put(tx, d, body)
	if err != nil {
		return PutResult{}, fmt.Errorf("put delivery %s: %w", d.ID, err)
	}
	return result, nil
}

func (in *Inbox) put(tx *journal.Tx, d loop.Delivery, body Packed) (PutResult, error) {
	r, err := newRow(d)
	if err != nil {
		return PutResult{}, err
	}
	inserted, err := r.insert(tx, body)
	if err != nil {
		return PutResult{}, err
	}
	if inserted {
		if d.State == loop.StateReceived {
			tx.OnCommit(in.tell)
		}
		return PutResult{Accepted, d.State, d.Reason}, nil
	}
	old, err := get(tx.QueryRow(selectByKey, key(d.ID)))
	if err != nil {
		return PutResult{}, err
	}
	if d.Source != loop.SourceWebhook || !resumable(old) {
		return PutResult{Duplicate, old.State, loop.DropDuplicate}, nil
	}
	_, err = tx.Exec("UPDATE delivery SET state = ?, reason = '', attempts = 0, due_at = 0, ended_at = 0, "+
		"body = coalesce(body, ?) WHERE seq = ?", loop.StateReceived, []byte(body), old.Seq)
	if err != nil {
		return PutResult{}, err
	}
	tx.OnCommit(in.tell)
	return PutResult{DueAgain, loop.StateReceived, string(DueAgain)}, nil
}

// resumable reports whether a delivery may be tried anew without anybody's insistence.
func resumable(d loop.Delivery) bool {
	return d.State == loop.StateFailed || d.State == loop.StateWaiting && d.Reason == loop.WaitBackoff
}

// Redeliver receives a delivery anew, with all its tries: one that failed, or waits for its next try or its harness, keeps what was decided
// of it; with force one that is done or dropped too, which is then decided anew, and may act on its fact again. The error is
// ErrNotFound for an id that is not known, and ErrConflict when it is on its way, done or dropped without force, or its
// body was dropped by retention.
func (in *Inbox) Redeliver(tx *journal.Tx, id loop.DeliveryID, force bool) error {
	d, err := get(tx.QueryRow(selectByKey, key(id)))
	if err != nil {
		return notFound(id, err)
	}
	again := "UPDATE delivery SET state = ?, reason = '', attempts = 0, due_at = 0, ended_at = 0"
	switch {
	case resumable(d), d.State == loop.StateWaiting && d.Reason == loop.WaitHarness:
	case !d.State.Final():
		return fmt.Errorf("delivery %s is %s: it is on its way already: %w", id, d.State, loop.ErrConflict)
	case !force:
		return fmt.Errorf("delivery %s is %s: only force does it again: %w", id, d.State, loop.ErrConflict)
	default:
		again += ", error = '', decision = '', closures = '', summary = ''"
		if _, err := tx.Exec("UPDATE fact SET delivery = ? WHERE key = ?", id, d.Fact); err != nil {
			return err
		}
	}
	result, err := tx.Exec(again+" WHERE seq = ? AND body IS NOT NULL", loop.StateReceived, d.Seq)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, fmt.Errorf("delivery %s: its body is not kept any more: %w", id, loop.ErrConflict))
	}
	tx.OnCommit(in.tell)
	return nil
}

// Claim gives a fact to the first delivery that claims it, and answers whose it is. What several deliveries report, from
// the webhook and the poller, is so acted on by one of them alone. Claiming again what one has changes nothing.
func (in *Inbox) Claim(tx *journal.Tx, fact string, id loop.DeliveryID) (owner loop.DeliveryID, err error) {
	result, err := tx.Exec("INSERT INTO fact (key, delivery, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", fact, id, time.Now().UnixMicro())
	if err != nil {
		return "", err
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return id, err
	}
	err = tx.QueryRow("SELECT delivery FROM fact WHERE key = ?", fact).Scan(&owner)
	return owner, err
}

func notFound(id loop.DeliveryID, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("delivery %s: it never came or is kept no more: %w", id, loop.ErrNotFound)
	}
	return fmt.Errorf("read delivery %s: %w", id, err)
}

// unavailable adds the class that callers know to what the journal could not do.
func unavailable(err error) error {
	if journal.Unavailable(err) {
		return fmt.Errorf("%w: %w", err, loop.ErrUnavailable)
	}
	return err
}
