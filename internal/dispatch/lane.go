package dispatch

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// maxJoined bounds how many deliveries become one prompt.
const maxJoined = 20

// job is a delivery in a lane. The payload stays in the inbox until its turn comes, so a long queue is cheap.
type job struct {
	id       loop.DeliveryID
	seq      int64
	queued   time.Time // when it joined the queue
	due      time.Time // not before; zero: at once
	attempts int
	spawn    bool   // routing decided to start a session for it
	cut      bool   // it was handed over before and cut off
	waits    string // what the inbox says that it waits for; "" if it does not say so
}

// alone reports whether the next run carries nothing else: what failed once does not take others with it.
func (j *job) alone() bool { return j.attempts > 0 }

// lane is the queue of one work item and the run that is going on for it. All fields are guarded by Dispatcher.mu, but
// only the lane's worker, or the one who found an old run at the start, sets run.
type lane struct {
	item    loop.WorkItem
	jobs    []*job // by order of arrival
	working bool   // a worker takes care of jobs
	wake    chan struct{}

	run   loop.RunID // "" when none is going on
	end   *ending    // set when the run is being ended at our wish
	ended chan struct{}
}

// ending says why a run is being ended, and so what becomes of its deliveries.
type ending struct {
	drop    string // the reason they are dropped for; "" puts them back, uncounted
	dropped int    // how many were; set when the run has ended
}

// move says what the worker of a lane does next.
type move struct {
	idle  bool      // nothing is left: the worker ends
	ready bool      // a run can start
	held  []*job    // these wait for their harness and the inbox does not say so yet
	at    time.Time // else: look again at this time; zero: when woken
}

// enqueue adds a delivery to the lane of its item and sees to it that somebody works there. A delivery that is in the lane
// already takes its new place.
func (d *Dispatcher) enqueue(w loop.WorkItem, j *job) {
	d.mu.Lock()
	l := d.laneOf(w)
	l.jobs = slices.DeleteFunc(l.jobs, func(o *job) bool { return o.id == j.id })
	at, _ := slices.BinarySearchFunc(l.jobs, j, func(a, b *job) int { return cmp.Compare(a.seq, b.seq) })
	l.jobs = slices.Insert(l.jobs, at, j)
	start := !l.working
	l.working = true
	d.mu.Unlock()
	if start {
		d.goRun(func(ctx context.Context) { d.work(ctx, l) })
	}
	l.poke()
}

// laneOf returns the lane of an item, made if need be. mu is held.
func (d *Dispatcher) laneOf(w loop.WorkItem) *lane {
	l := d.lanes[w.Key()]
	if l == nil {
		l = &lane{item: w, wake: make(chan struct{}, 1)}
		d.lanes[w.Key()] = l
	}
	return l
}

func (l *lane) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (d *Dispatcher) pokeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lanes {
		l.poke()
	}
}

// work is the life of a lane's worker: it ends when the lane is empty, or with ctx.
func (d *Dispatcher) work(ctx context.Context, l *lane) {
	for ctx.Err() == nil {
		m := d.next(l, time.Now())
		switch {
		case m.idle:
			return
		case len(m.held) > 0:
			d.markWaiting(ctx, m.held, loop.WaitHarness)
		case m.ready:
			if d.ready(ctx, l) && d.slots.acquire(ctx) {
				release := sync.OnceFunc(d.slots.release)
				d.carry(ctx, l, release)
				release()
			}
		default:
			sleep(ctx, m.at, l.wake)
		}
	}
}

// sleep waits for the time, one of two wake-ups, or the end of ctx. The zero time never comes, nor do wake-ups that are not
// given.
func sleep(ctx context.Context, at time.Time, wakes ...<-chan struct{}) {
	wakes = append(wakes, nil, nil)
	var alarm <-chan time.Time
	if !at.IsZero() {
		t := time.NewTimer(time.Until(at))
		defer t.Stop()
		alarm = t.C
	}
	select {
	case <-ctx.Done():
	case <-wakes[0]:
	case <-wakes[1]:
	case <-alarm:
	}
}

// next says what to do in a lane at a time.
func (d *Dispatcher) next(l *lane, now time.Time) move {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.run != "" {
		return move{}
	}
	if len(l.jobs) == 0 {
		l.working = false
		delete(d.lanes, l.item.Key())
		return move{idle: true}
	}
	ready, at := l.due(now)
	if len(ready) == 0 {
		return move{at: at}
	}
	if !ready[0].spawn && d.replaced(l.item) {
		return move{} // Register wakes the lane
	}
	if h := d.holds[d.harnessOf(l.item)]; h != nil && !h.mayProbe(now) {
		held := slices.DeleteFunc(slices.Clone(ready), func(j *job) bool { return j.waits == loop.WaitHarness })
		return move{held: held, at: h.again()}
	}
	if first := ready[0]; !first.alone() {
		if joined := first.queued.Add(d.Settings().Join); joined.After(now) {
			return move{at: joined}
		}
	}
	return move{ready: true}
}

// replaced reports whether an item's session has made room for one that is about to be registered.
func (d *Dispatcher) replaced(w loop.WorkItem) bool {
	s, ok := d.Sessions.Find(w)
	return ok && s.CloseReason == loop.CloseReplaced
}

// due returns the jobs whose time has come, in order, and the time when the next one's comes.
func (l *lane) due(now time.Time) (ready []*job, at time.Time) {
	for _, j := range l.jobs {
		switch {
		case !j.due.After(now):
			ready = append(ready, j)
		case at.IsZero() || j.due.Before(at):
			at = j.due
		}
	}
	return ready, at
}

// batch returns the jobs that the next run carries: the first that is due, with those behind it, unless one of them is to
// go alone.
func (l *lane) batch(now time.Time) []*job {
	ready, _ := l.due(now)
	for i, j := range ready {
		if j.alone() && i == 0 {
			return ready[:1]
		}
		if j.alone() || i == maxJoined {
			return ready[:i]
		}
	}
	return ready
}

// take removes jobs from the lane. mu is held.
func (l *lane) take(jobs []*job) {
	l.jobs = without(l.jobs, jobs)
}

func without(from, jobs []*job) []*job {
	return slices.DeleteFunc(slices.Clone(from), func(j *job) bool { return slices.Contains(jobs, j) })
}
