package inbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Transition is a step in the life of a delivery.
type Transition struct {
	State loop.State

	// These replace what stands there.
	Reason   string
	Attempts int
	DueAt    time.Time

	// These replace what stands there unless they are empty. A delivery that is done has no Error.
	Error    string
	Item     loop.WorkItem
	Decision loop.DecisionKind
	Closures []loop.Closure
	Fact     string
	Run      loop.RunID
	Summary  string
}

// steps says which state may follow which. What is final stays so, but for Put and Redeliver, which receive it anew. A step
// onto itself changes what stands beside the state.
func steps(from loop.State) []loop.State {
	const (
		received, queued, waiting, running = loop.StateReceived, loop.StateQueued, loop.StateWaiting, loop.StateRunning
		done, failed, dropped              = loop.StateDone, loop.StateFailed, loop.StateDropped
	)
	switch from {
	case received:
		return []loop.State{received, queued, waiting, running, done, failed, dropped}
	case queued, waiting, running:
		return []loop.State{queued, waiting, running, done, failed, dropped}
	default:
		return nil
	}
}

// Move takes a delivery to its next state. The error is ErrNotFound for an id that is not known, and ErrConflict for a step
// that no delivery takes, such as one out of a final state.
func (in *Inbox) Move(tx *journal.Tx, id loop.DeliveryID, to Transition) error {
	d, err := get(tx.QueryRow(selectByKey, key(id)))
	if err != nil {
		return notFound(id, err)
	}
	if !slices.Contains(steps(d.State), to.State) {
		return fmt.Errorf("delivery %s is %s and cannot become %q: %w", id, d.State, to.State, loop.ErrConflict)
	}
	r, err := newRow(to.apply(d))
	if err != nil {
		return fmt.Errorf("move delivery %s: %w", id, err)
	}
	_, err = tx.Exec("UPDATE delivery SET state = ?, reason = ?, error = ?, item = ?, item_key = ?, decision = ?, closures = ?, "+
		"fact = ?, attempts = ?, due_at = ?, run = ?, summary = ?, ended_at = ? WHERE seq = ?",
		r.State, r.Reason, r.Error, r.item, r.Item.Key(), r.Decision, r.closures,
		r.Fact, r.Attempts, journal.Micros(r.DueAt), r.Run, r.Summary, journal.Micros(r.EndedAt), r.Seq)
	if err != nil {
		return fmt.Errorf("move delivery %s to %s: %w", id, to.State, err)
	}
	return nil
}

func (t Transition) apply(d loop.Delivery) loop.Delivery {
	d.State, d.Reason, d.Attempts, d.DueAt = t.State, t.Reason, t.Attempts, t.DueAt
	keep(&d.Error, t.Error)
	keep(&d.Item, t.Item)
	keep(&d.Decision, t.Decision)
	keep(&d.Fact, t.Fact)
	keep(&d.Run, t.Run)
	keep(&d.Summary, t.Summary)
	if len(t.Closures) > 0 {
		d.Closures = t.Closures
	}
	if d.State == loop.StateDone {
		d.Error = ""
	}
	if d.State.Final() {
		d.EndedAt = time.Now()
	}
	return d
}

// keep replaces what is kept by a value that is not empty.
func keep[T comparable](kept *T, value T) {
	var empty T
	if value != empty {
		*kept = value
	}
}
