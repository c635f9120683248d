package dispatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
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

// carry runs the next batch of a lane, if it still has one.
func (d *Dispatcher) carry(ctx context.Context, l *lane) {
	t, ok := d.prepare(ctx, l)
	if !ok {
		return
	}
	d.step("running")
	d.deliver(ctx, l, t)
}

// deliver hands a trip over and writes down what became of it.
func (d *Dispatcher) deliver(ctx context.Context, l *lane, t trip) {
	d.Log.Log(ctx, loop.LogEvent{
		Type: loop.LogRunStarted, Item: t.item, Delivery: t.jobs[0].id, Run: t.Run, Message: startedMessage(t),
		Fields: map[string]string{
			"harness": t.Session.Harness, "deliveries": joinIDs(t.jobs), "attempt": strconv.Itoa(t.jobs[0].attempts),
		},
	})
	out := loop.Outcome{Kind: loop.RunEnded}
	if !d.ending(l) {
		out = d.Runner.Deliver(ctx, t.Handover)
	}
	d.step("ended")
	d.finish(ctx, l, t, out)
}

// ending reports whether the lane's run is to be ended at our wish.
func (d *Dispatcher) ending(l *lane) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return l.end != nil
}

// prepare chooses what the next run carries and commits that it runs. It reports false when there is nothing to run now.
func (d *Dispatcher) prepare(ctx context.Context, l *lane) (trip, bool) {
	now := time.Now()
	d.mu.Lock()
	jobs := l.batch(now)
	d.mu.Unlock()
	if len(jobs) == 0 {
		return trip{}, false
	}
	s, err := d.sessionFor(ctx, l.item, jobs[0])
	if err != nil {
		d.giveBack(ctx, l, jobs, loop.Outcome{Kind: loop.RunUnreached, Detail: err.Error()})
		return trip{}, false
	}
	if reason := closedToEvents(s); reason != "" {
		d.drop(ctx, l, jobs, reason)
		return trip{}, false
	}
	if d.runaway(ctx, s, now) {
		return trip{}, false // the pause dropped what was queued
	}
	return d.begin(ctx, l, s, jobs, now)
}

// closedToEvents says why a session takes no events; "" when it does.
func closedToEvents(s loop.Session) string {
	switch s.Status {
	case loop.StatusActive:
		return ""
	case loop.StatusPaused:
		return loop.DropSessionPaused
	}
	return loop.DropSessionGone
}

// begin builds the prompt and commits the run.
func (d *Dispatcher) begin(ctx context.Context, l *lane, s loop.Session, jobs []*job, now time.Time) (trip, bool) {
	jobs, events := d.events(ctx, l, jobs)
	if len(jobs) == 0 || !d.probe(s.Harness, now) {
		return trip{}, false
	}
	fresh := s.ConversationAt == nil
	text, err := d.render(s, fresh, jobs, events)
	if err != nil {
		d.unprobe(s.Harness)
		d.giveBack(ctx, l, jobs, loop.Outcome{Kind: loop.RunUnreached, Detail: err.Error()})
		return trip{}, false
	}
	t := trip{
		Handover: loop.Handover{Run: newRunID(now), Session: s, Fresh: fresh, Prompt: text, Timeout: d.Settings().Timeout},
		item:     l.item, jobs: jobs, repo: repositoryID(s.WorkItem, events),
	}
	if !d.occupy(l, t) {
		d.unprobe(s.Harness)
		return trip{}, false
	}
	if err := d.commitRun(ctx, t, now); err != nil {
		d.unprobe(s.Harness)
		d.trouble(ctx, "cannot write that a run begins", err)
		d.vacate(l, jobs)
		return trip{}, false
	}
	for _, j := range jobs {
		j.attempts++
		j.held = false
	}
	return t, true
}

// repositoryID finds GitHub's number of an item's repository in what happened there.
func repositoryID(w loop.WorkItem, events []loop.Event) int64 {
	for _, ev := range events {
		if own := ev.WorkItem(); ev.Repo.ID != 0 && own.SameRepo(w) {
			return ev.Repo.ID
		}
	}
	return 0
}

// occupy makes a trip the lane's run, unless one of its deliveries has been taken out of the lane meanwhile.
func (d *Dispatcher) occupy(l *lane, t trip) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range t.jobs {
		if !slices.Contains(l.jobs, j) {
			return false
		}
	}
	l.take(t.jobs)
	l.run, l.end, l.ended = t.Run, nil, make(chan struct{})
	return true
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

// commitRun writes that the deliveries of a trip are running.
func (d *Dispatcher) commitRun(ctx context.Context, t trip, now time.Time) error {
	return d.Journal.Write(ctx, func(tx *journal.Tx) error {
		run := inbox.Run{
			ID: t.Run, Item: t.item, Harness: t.Session.Harness, SessionID: t.Session.HarnessSessionID, Fresh: t.Fresh, StartedAt: now,
		}
		for _, j := range t.jobs {
			run.Deliveries = append(run.Deliveries, j.id)
		}
		if err := d.Inbox.BeginRun(tx, run); err != nil {
			return err
		}
		for _, j := range t.jobs {
			to := inbox.Transition{State: loop.StateRunning, Run: t.Run, Attempts: j.attempts + 1}
			if err := d.Inbox.Move(tx, j.id, to); err != nil {
				return err
			}
		}
		return nil
	})
}

// events reads the events of a batch from the inbox. What cannot be read any more, or whose actor is no longer listed, is
// dropped from the batch with its reason.
func (d *Dispatcher) events(ctx context.Context, l *lane, jobs []*job) ([]*job, []loop.Event) {
	var keep []*job
	var events []loop.Event
	for _, j := range jobs {
		ev, err := d.event(ctx, j.id)
		switch {
		case errors.Is(err, loop.ErrInvalid), errors.Is(err, loop.ErrNotFound):
			d.drop(ctx, l, []*job{j}, loop.DropUndecodable)
		case err != nil:
			d.trouble(ctx, "cannot read a delivery", err)
			return nil, nil
		case !d.Settings().Route.Authorizes(ev):
			d.drop(ctx, l, []*job{j}, loop.DropUnauthorized)
		default:
			keep, events = append(keep, j), append(events, ev)
		}
	}
	return keep, events
}

// event reads one delivery of the inbox and decodes it.
func (d *Dispatcher) event(ctx context.Context, id loop.DeliveryID) (loop.Event, error) {
	del, err := d.Inbox.Get(ctx, id)
	if err != nil {
		return loop.Event{}, err
	}
	if del.Body, err = d.Inbox.Body(ctx, id); err != nil {
		return loop.Event{}, err
	}
	ev, err := d.Decode(del)
	if err != nil {
		return loop.Event{}, fmt.Errorf("decode delivery %s: %w: %w", id, err, loop.ErrInvalid)
	}
	return ev, nil
}

// trouble says what the journal could not do, and waits a moment before the caller tries again.
func (d *Dispatcher) trouble(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	d.Logger.Error(what, "err", err, "next", "tried again in a second") //nolint:sloglint // each caller's is constant
	sleep(ctx, nil, time.Now().Add(time.Second))
}

func startedMessage(t trip) string {
	if t.Fresh {
		return fmt.Sprintf("%s starts a conversation on %s", t.Session.Harness, t.item)
	}
	return fmt.Sprintf("%s resumes its conversation on %s", t.Session.Harness, t.item)
}

func joinIDs(jobs []*job) string {
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = string(j.id)
	}
	return strings.Join(ids, " ")
}
