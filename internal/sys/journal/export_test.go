package journal

import (
	"context"
	"runtime"
	"time"
)

// OpenWith is Open with limits that a test can reach.
func OpenWith(ctx context.Context, path string, busy time.Duration, maxPages int, schemas ...Schema) (*DB, error) {
	return open(ctx, path, options{busy: busy, maxPages: maxPages, checkFirst: 1 << 20}, schemas)
}

// OpenLarge is Open of a journal that is called large whatever its size.
func OpenLarge(ctx context.Context, path string, schemas ...Schema) (*DB, error) {
	return open(ctx, path, options{busy: time.Second}, schemas)
}

// AwaitQueue returns once at least n writes wait for their turn, with how many do.
func (db *DB) AwaitQueue(n int) int {
	for {
		db.mu.Lock()
		waiting := len(db.queue)
		db.mu.Unlock()
		if waiting >= n {
			return waiting
		}
		runtime.Gosched()
	}
}

// Enqueue asks for a write as a caller does that does not get to run: somebody else must carry it out.
func (db *DB) Enqueue(do func(*Tx) error) (done <-chan struct{}) {
	w := &write{do: do, done: make(chan struct{})}
	db.enqueue(w)
	return w.done
}
