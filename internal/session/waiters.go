package session

import (
	"context"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// Waiter is a wake hook that waits in a conversation for something to wake it with.
type Waiter struct {
	Item      loop.WorkItem
	Harness   string
	SessionID loop.SessionID
	Launch    string // of a pane of ours; "" elsewhere
	PID       int    // of the harness's process; 0 unknown
	Caller    int    // of the process that called loopd, by the kernel's word; 0 unknown
	Cwd       string // where the harness is
}

// waiter is one Wait that goes on.
type waiter struct {
	from   origin
	ctx    context.Context //nolint:containedctx // so that nothing is handed to one who is gone
	handed chan loop.Wake  // takes one without blocking; closed where there is nothing more to wait for
}

// Wait waits until something is handed to the conversation, and returns it. It returns false when ctx ends, when a newer waiter
// of the same program has come, and when the program is gone. What is handed over is never lost to one whose ctx had ended.
func (l *Live) Wait(ctx context.Context, w Waiter) (loop.Wake, bool) {
	if ctx.Err() != nil || w.Item.IsZero() {
		return loop.Wake{}, false
	}
	own := &waiter{ctx: ctx, handed: make(chan loop.Wake, 1)}
	l.arrive(own, w)
	select {
	case wake, ok := <-own.handed:
		return wake, ok
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	pl := l.at(w.Item)
	l.endWaiters(pl, func(o *waiter) bool { return o == own })
	l.changed(pl)
	wake, ok := <-own.handed // handed just before ctx ended, or closed
	return wake, ok
}

// arrive lets a waiter wait in the place of an older one of its program. That of a pane of ours is present if nobody is: after a
// restart of loopd it may be the first that is heard of it.
func (l *Live) arrive(own *waiter, w Waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own.from = l.origin(w.Launch, w.PID, w.Caller)
	pl := l.at(w.Item)
	l.prune(pl)
	l.endWaiters(pl, func(o *waiter) bool { return o.from.same(own.from) })
	pl.waiters = append(pl.waiters, own)
	if len(pl.programs) == 0 && w.Launch != "" {
		pl.programs = append(pl.programs, &loop.Presence{
			Harness: w.Harness, SessionID: w.SessionID, Launch: w.Launch, Process: own.from.process, Since: time.Now(),
		})
	}
	l.changed(pl)
}

// Hand hands w to the newest waiter of the program that is present, which is that of the named launch or, for "", any. It returns
// false, and w is the caller's still, when none waits there, or a run has the conversation.
func (l *Live) Hand(item loop.WorkItem, launch string, w loop.Wake) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	pl := l.at(item)
	l.prune(pl)
	to := l.waker(pl)
	if to == nil || pl.writer != "" || launch != "" && to.from.launch != launch {
		l.tidy(pl)
		return false
	}
	to.handed <- w
	l.endWaiters(pl, func(x *waiter) bool { return x == to })
	l.changed(pl)
	return true
}

// waker returns the newest waiter of the program that is present; nil where none is, or hooks are not used.
func (l *Live) waker(pl *place) *waiter {
	if len(pl.programs) == 0 || !l.o.Wakes() {
		return nil
	}
	for _, w := range slices.Backward(pl.waiters) {
		if w.ctx.Err() == nil && w.from.made(pl.programs[0]) {
			return w
		}
	}
	return nil
}

// endWaiters answers the waiters that are picked: with what they were handed, else with nothing. mu is held.
func (l *Live) endWaiters(pl *place, picked func(*waiter) bool) {
	pl.waiters = slices.DeleteFunc(pl.waiters, func(w *waiter) bool {
		if picked(w) {
			close(w.handed)
			return true
		}
		return false
	})
}
