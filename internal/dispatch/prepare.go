package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/prompt"
	"github.com/loop-daemon/loop/internal/route"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// obstacle is why a trip cannot begin, and says what becomes of its deliveries: they are dropped for a reason, have spent a
// try, or, where it says nothing, go back as they were.
type obstacle struct {
	drop   string
	failed error
}

// prepare finds the session of a trip, writes its prompt and commits that it runs.
func (d *Dispatcher) prepare(ctx context.Context, t *trip) *obstacle {
	s, err := d.sessionFor(ctx, t.item, t.jobs[0])
	switch {
	case errors.Is(err, errItemClosed):
		return &obstacle{drop: loop.DropItemClosed}
	case err != nil:
		return &obstacle{failed: err}
	}
	if reason := closedToEvents(s); reason != "" {
		return &obstacle{drop: reason}
	}
	if o := d.brake(ctx, s); o != nil {
		return o
	}
	events, o := d.events(ctx, t)
	if o != nil {
		return o
	}
	now := time.Now()
	if !d.probe(s.Harness, now) {
		return &obstacle{}
	}
	t.Session, t.Fresh, t.repo = s, s.ConversationAt == nil, repositoryID(s.WorkItem, events)
	t.Title, t.Prompt = title(s.WorkItem, events), d.render(*t, events)
	if now, _ := d.Sessions.Find(s.WorkItem); now.Status != s.Status {
		d.unprobe(s.Harness)
		return &obstacle{drop: closedToEvents(now)}
	}
	if err := d.commitRun(ctx, *t, now); err != nil {
		d.unprobe(s.Harness)
		d.trouble(ctx, "cannot write that a run begins", err)
		return &obstacle{}
	}
	for _, j := range t.jobs {
		j.attempts++
		j.waits = ""
	}
	return nil
}

// turnBack writes what an obstacle makes of the deliveries of a trip, and returns those that go back into the lane.
func (d *Dispatcher) turnBack(ctx context.Context, t trip, o obstacle) []*job {
	switch {
	case o.drop != "":
		if err := d.writeDrops(ctx, t.item, t.jobs, o.drop); err != nil {
			d.trouble(ctx, "cannot write that deliveries are dropped", err)
			return t.jobs
		}
		return nil
	case o.failed != nil:
		return d.spendTry(ctx, t, loop.Outcome{Kind: loop.RunUnreached, Detail: loop.Plain(o.failed)})
	}
	return t.jobs
}

// closedToEvents says why a session takes no events; "" when it does.
func closedToEvents(s loop.Session) string {
	switch s.Status {
	case loop.StatusActive:
		return ""
	case loop.StatusPaused:
		return loop.DropSessionPaused
	case loop.StatusClosed:
		return loop.DropItemClosed
	}
	return loop.DropSessionGone
}

// events reads the events of a trip from the inbox. What cannot be read any more, or whose actor is no longer listed, is
// dropped from the trip with its reason, and so is what nobody is there for while the item is stopped.
func (d *Dispatcher) events(ctx context.Context, t *trip) ([]loop.Event, *obstacle) {
	barred, err := d.barred(ctx, t.item)
	if err != nil {
		d.trouble(ctx, "cannot read whether an item is stopped", err)
		return nil, &obstacle{}
	}
	var keep []*job
	var events []loop.Event
	drops := map[string][]*job{}
	for _, j := range t.jobs {
		ev, err := d.event(ctx, j.id)
		switch {
		case errors.Is(err, loop.ErrInvalid), errors.Is(err, loop.ErrNotFound):
			drops[loop.DropUndecodable] = append(drops[loop.DropUndecodable], j)
		case err != nil:
			d.trouble(ctx, "cannot read a delivery", err)
			return nil, &obstacle{}
		case barred && ev.Source != loop.SourceCommand:
			drops[loop.DropStopped] = append(drops[loop.DropStopped], j)
		case !d.mayAsk(ev):
			drops[loop.DropUnauthorized] = append(drops[loop.DropUnauthorized], j)
		default:
			keep, events = append(keep, j), append(events, ev)
		}
	}
	for reason, jobs := range drops {
		if len(keep) == 0 && len(drops) == 1 {
			return nil, &obstacle{drop: reason}
		}
		if err := d.writeDrops(ctx, t.item, jobs, reason); err != nil {
			d.trouble(ctx, "cannot write that deliveries are dropped", err)
			return nil, &obstacle{}
		}
		t.jobs = without(t.jobs, jobs)
	}
	if len(keep) == 0 {
		return nil, &obstacle{}
	}
	return events, nil
}

// barred reports whether nothing may be started for an item but by a person's own word: it was stopped, and its conversation is live
// nowhere.
func (d *Dispatcher) barred(ctx context.Context, w loop.WorkItem) (bool, error) {
	if _, live := d.Live.Presence(w); live {
		return false, nil
	}
	known, err := d.Items.Get(ctx, w)
	return !known.StoppedAt.IsZero(), err
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
	ev, err := d.decode(del)
	if err != nil {
		return loop.Event{}, fmt.Errorf("decode delivery %s: %w: %w", id, err, loop.ErrInvalid)
	}
	return ev, nil
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

// title says in a line what events are about.
func title(w loop.WorkItem, events []loop.Event) string {
	text := prompt.Summary(events[0]) + " on " + w.Ref()
	if more := len(events) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// render writes the prompt of a trip.
func (d *Dispatcher) render(t trip, events []loop.Event) string {
	set := d.Settings()
	in := prompt.Input{Item: t.Session.WorkItem, Events: events, Spawn: t.Fresh || t.starts(), Retry: t.jobs[0].cut, Missed: t.Session.Missed}
	if cmd, err := route.ParseCommand(said(events[0]), set.Route.ControlPrefix); err == nil {
		in.Text = cmd.Text
	}
	return set.Templates.Render(in)
}

// commitRun writes that the deliveries of a trip are running.
func (d *Dispatcher) commitRun(ctx context.Context, t trip, now time.Time) error {
	return d.Journal.Write(ctx, func(tx *journal.Tx) error {
		run := inbox.Run{
			ID: t.Run, Item: t.item, Harness: t.Session.Harness, SessionID: t.Session.HarnessSessionID, Fresh: t.Fresh,
			Deliveries: ids(t.jobs), StartedAt: now,
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
