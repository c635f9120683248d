package journal

import (
	"context"
	"fmt"
	"slices"
)

// batch is how many writes share one commit at most: enough to share the wait for the disk, few enough that the first
// of them does not wait for long.
const batch = 32

// write is a function that waits for its turn. The rest is written before done is closed.
type write struct {
	do    func(*Tx) error
	after []func()
	err   error
	done  chan struct{}
}

// Write carries out do and returns when what it changed is on disk, or with the error that undid it: its own, or that of
// the commit. A panic of do is an error as well. Whatever do does to itself, other writes are not touched by it.
//
// The context bounds the waiting for a turn alone. A write that has begun is carried to its end, so that an error of the
// context means that nothing was done. do must not call Write, and must not keep the Tx.
//
// No goroutine of its own stands behind it: the caller whose turn comes commits for all that wait, so the queue is as long
// as there are callers, and they decide how many there are.
func (db *DB) Write(ctx context.Context, do func(*Tx) error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("wait for the journal: %w", context.Cause(ctx))
	}
	w := &write{do: do, done: make(chan struct{})}
	if !db.enqueue(w) {
		return fmt.Errorf("journal %s: %w", db.path, ErrClosed)
	}
	for {
		select {
		case <-w.done:
			return explain(db.path, w.err)
		case db.lead <- struct{}{}:
			if !isDone(w) {
				db.commitWaiting()
			}
			<-db.lead
		case <-ctx.Done():
			if db.withdraw(w) {
				return fmt.Errorf("wait for the journal: %w", context.Cause(ctx))
			}
			<-w.done
			return explain(db.path, w.err)
		}
	}
}

func isDone(w *write) bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// finish tells those who wait that the write is committed or undone.
func (w *write) finish() {
	if w.err == nil {
		for _, f := range w.after {
			f()
		}
	}
	close(w.done)
}

func (db *DB) enqueue(w *write) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return false
	}
	db.queue = append(db.queue, w)
	return true
}

// withdraw takes a write back that has not begun.
func (db *DB) withdraw(w *write) bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	i := slices.Index(db.queue, w)
	if i < 0 {
		return false
	}
	db.queue = slices.Delete(db.queue, i, i+1)
	return true
}

// commitWaiting commits the next batch and wakes its callers; false when nothing waited. The caller holds lead.
func (db *DB) commitWaiting() bool {
	db.mu.Lock()
	n := min(len(db.queue), batch)
	writes := slices.Clone(db.queue[:n])
	db.queue = slices.Delete(db.queue, 0, n)
	db.mu.Unlock()
	if n == 0 {
		return false
	}
	db.commit(writes)
	for _, w := range writes {
		w.finish()
	}
	return true
}
