package dispatch

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// newRunID returns an id that rises with time.
func newRunID(now time.Time) loop.RunID {
	stamp := strings.Replace(now.UTC().Format("20060102-150405.000"), ".", "-", 1)
	return loop.RunID(stamp + "-" + strings.ToLower(rand.Text()[:6]))
}

// trip is one run and what it carries.
type trip struct {
	loop.Handover
	item loop.WorkItem
	jobs []*job
	repo int64 // GitHub's number of the item's repository; 0 unknown
}

// starts reports whether the trip is to start a session that loopd made. A start that failed may have begun the conversation,
// but until that has answered once it knows nothing of the item.
func (t trip) starts() bool { return t.Session.Spawned && t.Session.LastEventAt == nil }

// carry runs the next batch of a lane, if it still has one. Release is called when the run needs its slot no more.
func (d *Dispatcher) carry(ctx context.Context, l *lane, release func()) {
	t, ok := d.occupy(l, time.Now())
	if !ok {
		return
	}
	if o := d.prepare(ctx, &t); o != nil {
		d.vacate(l, d.turnBack(ctx, t, *o))
		return
	}
	d.step("running")
	t.Handed = release
	d.deliver(ctx, l, t)
}

// occupy takes the next batch out of a lane and makes it the lane's run, so that whoever ends the session from now on ends
// this run.
func (d *Dispatcher) occupy(l *lane, now time.Time) (trip, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	jobs := slices.Clone(l.batch(now))
	if len(jobs) == 0 {
		return trip{}, false
	}
	t := trip{Handover: loop.Handover{Run: newRunID(now), Timeout: d.Settings().Timeout}, item: l.item, jobs: jobs}
	l.take(jobs)
	l.run, l.end, l.ended = t.Run, nil, make(chan struct{})
	return t, true
}

// deliver hands a trip over and writes down what became of it.
func (d *Dispatcher) deliver(ctx context.Context, l *lane, t trip) {
	t.Began = sync.OnceFunc(func() {
		d.tellStarted(ctx, t)
		d.answered(ctx, t)
	})
	out := loop.Outcome{Kind: loop.RunEnded}
	if !d.ending(l) {
		out = d.Runner.Deliver(ctx, t.Handover)
	}
	if !slices.Contains(neverBegan, out.Kind) {
		t.Began()
	}
	d.step("ended")
	d.finish(ctx, l, t, out)
}

// neverBegan are the ends of a run that may never have begun. Every other end is told after a beginning.
var neverBegan = []loop.OutcomeKind{loop.RunDeferred, loop.RunEnded, loop.RunDetached}

// tellStarted writes to the event log that a run begins, and shows it on the ticket.
func (d *Dispatcher) tellStarted(ctx context.Context, t trip) {
	d.tellWith(ctx, loop.LogEvent{
		Type: loop.LogRunStarted, Item: t.item, Delivery: t.jobs[0].id, Run: t.Run, Message: startedMessage(t),
		Fields: map[string]string{
			"harness": t.Session.Harness, "deliveries": joinIDs(t.jobs), "attempt": strconv.Itoa(t.jobs[0].attempts),
		},
	}, d.startLetters(ctx, t))
}

// ending reports whether the lane's run is to be ended at our wish.
func (d *Dispatcher) ending(l *lane) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return l.end != nil
}

// vacate ends the lane's run, puts jobs back into the lane and lets those know who wait for the run's end.
func (d *Dispatcher) vacate(l *lane, jobs []*job) {
	d.mu.Lock()
	ended := l.ended
	l.run, l.end, l.ended = "", nil, nil
	d.mu.Unlock()
	for _, j := range jobs {
		d.enqueue(l.item, j)
	}
	close(ended)
	l.poke()
}

// trouble says what the journal could not do, and waits a moment before the caller tries again.
func (d *Dispatcher) trouble(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	d.Logger.Error(what, "err", err, "next", "tried again in a second") //nolint:sloglint // each caller's is constant
	sleep(ctx, time.Now().Add(time.Second))
}

func startedMessage(t trip) string {
	if t.Fresh {
		return fmt.Sprintf("%s starts a conversation on %s", t.Session.Harness, t.item)
	}
	return fmt.Sprintf("%s resumes its conversation on %s", t.Session.Harness, t.item)
}

func joinIDs(jobs []*job) string {
	words := make([]string, len(jobs))
	for i, id := range ids(jobs) {
		words[i] = string(id)
	}
	return strings.Join(words, " ")
}

func ids(jobs []*job) []loop.DeliveryID {
	all := make([]loop.DeliveryID, len(jobs))
	for i, j := range jobs {
		all[i] = j.id
	}
	return all
}
