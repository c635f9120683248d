package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// maxShown is how many runs are remembered as shown. Whoever waits for one learns of it at once.
const maxShown = 4096

// Live is what hooks told of the conversations that are live now, and the wake hooks that wait in them. It is kept in memory
// alone: after a restart it fills again with what the next hooks tell. It is safe for concurrent use, and nothing but Wait
// blocks.
type Live struct {
	mu       sync.Mutex // guards all below
	presence map[loop.ItemKey]loop.Presence
	waiters  map[loop.ItemKey][]*waiter // the newest last
	watches  map[loop.ItemKey]chan struct{}
	shown    map[loop.RunID]bool
	order    []loop.RunID // those of shown, the oldest first
}

// Waiter is a wake hook that waits in a conversation for something to wake it with.
type Waiter struct {
	Item      loop.WorkItem
	Harness   string
	SessionID loop.SessionID
	Launch    string // of a pane of ours; "" elsewhere
	PID       int    // of the harness's process; 0 unknown
}

// waiter is one Wait that goes on.
type waiter struct {
	Waiter

	ctx    context.Context //nolint:containedctx // so that nothing is handed to one who is gone
	handed chan loop.Wake  // takes one without blocking; closed where there is nothing more to wait for
}

// NewLive returns a Live that knows of nothing.
func NewLive() *Live {
	return &Live{
		presence: map[loop.ItemKey]loop.Presence{},
		waiters:  map[loop.ItemKey][]*waiter{},
		watches:  map[loop.ItemKey]chan struct{}{},
		shown:    map[loop.RunID]bool{},
	}
}

// Report takes in what a hook told. A start makes its program the one that is present for the item. What another program tells
// meanwhile changes nothing, and neither does what a headless run of ours tells, but for the runs that it shows.
func (l *Live) Report(r loop.Report) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.show(r.Runs)
	if r.Item.IsZero() {
		return
	}
	if r.Run == "" {
		l.tell(r)
	}
	l.changed(r.Item)
}

// tell changes the presence that a report is about.
func (l *Live) tell(r loop.Report) {
	key := r.Item.Key()
	p, known := l.presence[key]
	same := known && sameProgram(p.Launch, p.PID, r.Launch, r.PID)
	switch {
	case r.Event == loop.HookEnd:
		if leaves(r) {
			l.endWaiters(key, func(w *waiter) bool { return sameProgram(w.Launch, w.PID, r.Launch, r.PID) })
			if same {
				delete(l.presence, key)
			}
		}
		return
	case known && !same && r.Event != loop.HookStart:
		return
	case !same:
		p = loop.Presence{Launch: r.Launch}
	}
	p.Harness, p.SessionID, p.PID = r.Harness, r.SessionID, cmp.Or(r.PID, p.PID)
	if turn, told := turnAfter(r); told {
		if p.Turn != turn {
			p.Turn, p.Since, p.Detail = turn, at(r), ""
		}
		if turn == loop.TurnWaiting {
			p.Detail = cmp.Or(r.Detail, p.Detail)
		}
	}
	l.presence[key] = p
}

// at says when what is reported was.
func at(r loop.Report) time.Time {
	if r.At.IsZero() {
		return time.Now()
	}
	return r.At
}

// leaves reports whether an end is one of the program, and not of a conversation that it leaves for another.
func leaves(r loop.Report) bool { return r.Source != "clear" && r.Source != "resume" }

// turnAfter says what a conversation does after what was told, if that says anything about it.
func turnAfter(r loop.Report) (loop.Turn, bool) {
	switch r.Event {
	case loop.HookPrompt:
		return loop.TurnBusy, true
	case loop.HookWaiting:
		return loop.TurnWaiting, true
	case loop.HookStart:
		return loop.TurnIdle, r.Source != "compact" // which happens within a turn too
	case loop.HookStop, loop.HookFailure:
		return loop.TurnIdle, true
	case loop.HookEnd:
	}
	return loop.TurnUnknown, false
}

// sameProgram reports whether two hooks were called by the same process, as far as they tell.
func sameProgram(launchA string, pidA int, launchB string, pidB int) bool {
	return launchA == launchB && (pidA == pidB || pidA == 0 || pidB == 0)
}

// Wait waits until something is handed to the conversation, and returns it. It returns false when ctx ends, when a newer waiter
// of the same program has come, and when the program is gone. What is handed over is never lost to one whose ctx had ended.
func (l *Live) Wait(ctx context.Context, w Waiter) (loop.Wake, bool) {
	if ctx.Err() != nil || w.Item.IsZero() {
		return loop.Wake{}, false
	}
	own := &waiter{Waiter: w, ctx: ctx, handed: make(chan loop.Wake, 1)}
	l.arrive(own)
	select {
	case wake, ok := <-own.handed:
		return wake, ok
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endWaiters(w.Item.Key(), func(o *waiter) bool { return o == own })
	l.changed(w.Item)
	wake, ok := <-own.handed // handed just before ctx ended, or closed
	return wake, ok
}

// arrive lets a waiter wait in the place of an older one of its program, which is present if nobody is.
func (l *Live) arrive(own *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := own.Item.Key()
	l.endWaiters(key, func(o *waiter) bool { return sameProgram(o.Launch, o.PID, own.Launch, own.PID) })
	l.waiters[key] = append(l.waiters[key], own)
	if _, known := l.presence[key]; !known {
		l.presence[key] = loop.Presence{
			Harness: own.Harness, SessionID: own.SessionID, Launch: own.Launch, PID: own.PID, Since: time.Now(),
		}
	}
	l.changed(own.Item)
}

// Hand hands w to the newest waiter of an item, in the named launch unless that is "". It returns false, and w is the caller's
// still, when none waits there.
func (l *Live) Hand(item loop.WorkItem, launch string, w loop.Wake) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := item.Key()
	for _, o := range slices.Backward(l.waiters[key]) {
		if (launch == "" || o.Launch == launch) && o.ctx.Err() == nil {
			o.handed <- w
			l.endWaiters(key, func(x *waiter) bool { return x == o })
			l.changed(item)
			return true
		}
	}
	return false
}

// Presence returns where the conversation of an item is live; false where no hook told of one.
func (l *Live) Presence(item loop.WorkItem) (loop.Presence, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.presence[item.Key()]
	p.Waker = slices.ContainsFunc(l.waiters[item.Key()], func(w *waiter) bool {
		return ok && w.ctx.Err() == nil && sameProgram(w.Launch, w.PID, p.Launch, p.PID)
	})
	return p, ok
}

// Shown reports whether a prompt hook has shown the token of a run. Of very many runs the oldest are forgotten.
func (l *Live) Shown(run loop.RunID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown[run]
}

// Watch returns a channel that is closed at the next change of what is known of an item: its presence, its waiters, the runs
// that it has shown.
func (l *Live) Watch(item loop.WorkItem) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.watches[item.Key()]
	if c == nil {
		c = make(chan struct{})
		l.watches[item.Key()] = c
	}
	return c
}

// Forget takes away what is known of a launch of an item's pane, which is gone without a word.
func (l *Live) Forget(item loop.WorkItem, launch string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := item.Key()
	if p, ok := l.presence[key]; ok && p.Launch == launch {
		delete(l.presence, key)
	}
	l.endWaiters(key, func(w *waiter) bool { return w.Launch == launch })
	l.changed(item)
}

// endWaiters answers the waiters that are picked: with what they were handed, else with nothing. mu is held.
func (l *Live) endWaiters(key loop.ItemKey, picked func(*waiter) bool) {
	l.waiters[key] = slices.DeleteFunc(l.waiters[key], func(w *waiter) bool {
		if picked(w) {
			close(w.handed)
			return true
		}
		return false
	})
	if len(l.waiters[key]) == 0 {
		delete(l.waiters, key)
	}
}

// show remembers runs as shown. mu is held.
func (l *Live) show(runs []loop.RunID) {
	for _, run := range runs {
		if l.shown[run] {
			continue
		}
		if len(l.order) == maxShown {
			delete(l.shown, l.order[0])
			l.order = slices.Delete(l.order, 0, 1)
		}
		l.shown[run] = true
		l.order = append(l.order, run)
	}
}

// changed wakes those who watch an item. mu is held.
func (l *Live) changed(item loop.WorkItem) {
	if c := l.watches[item.Key()]; c != nil {
		close(c)
		delete(l.watches, item.Key())
	}
}
