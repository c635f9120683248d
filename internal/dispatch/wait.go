package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// deferPause is the wait before a prompt that could not be handed over after all is tried again.
const deferPause = 2 * time.Second

// ready reports whether what is due in a lane can be handed over now. If not, it writes down what it waits for, and returns
// when another look is worth it.
func (d *Dispatcher) ready(ctx context.Context, l *lane) bool {
	s, ok := d.hosted(l)
	if !ok {
		return true // there is nobody to wait for: the deliveries are told so in their turn
	}
	r := d.Runner.Ready(ctx, s)
	if r.Wait == "" || ctx.Err() != nil {
		return ctx.Err() == nil
	}
	d.mu.Lock()
	jobs, _ := l.due(time.Now())
	begins := len(waitingElse(l.jobs, r.Wait)) == len(l.jobs)
	d.mu.Unlock()
	if news := waitingElse(jobs, r.Wait); len(news) > 0 {
		d.markWaiting(ctx, news, r.Wait)
		if begins && !d.asked(s, r.Wait) {
			d.tellWaiting(ctx, s, news[0].id, r.Wait, r.Detail)
		}
	}
	sleep(ctx, r.Again, l.wake, r.Changed)
	return false
}

// asked reports whether a wait is for an answer that a hook has told of already.
func (d *Dispatcher) asked(s loop.Session, wait string) bool {
	here, _ := d.Live.Presence(s.WorkItem)
	return here.Turn == loop.TurnWaiting && (wait == loop.WaitDialog || wait == loop.WaitElsewhere)
}

// hosted returns the session that the next run of a lane is for, as far as it is known beforehand.
func (d *Dispatcher) hosted(l *lane) (loop.Session, bool) {
	s, ok := d.Sessions.Find(l.item)
	if ok && s.Open() {
		return s, s.Status == loop.StatusActive
	}
	d.mu.Lock()
	spawn := len(l.jobs) > 0 && l.jobs[0].spawn
	d.mu.Unlock()
	set := d.Settings()
	return loop.Session{WorkItem: l.item, Harness: set.DefaultHarness, Runner: set.Runner}, spawn
}

// waitingElse returns the jobs that the inbox does not say to wait for that reason.
func waitingElse(jobs []*job, reason string) (other []*job) {
	for _, j := range jobs {
		if j.waits != reason {
			other = append(other, j)
		}
	}
	return other
}

// markWaiting writes what deliveries wait for. Their tries are not counted by it.
func (d *Dispatcher) markWaiting(ctx context.Context, jobs []*job, reason string) {
	err := d.Journal.Write(ctx, func(tx *journal.Tx) error {
		for _, j := range jobs {
			to := inbox.Transition{State: loop.StateWaiting, Reason: reason, Attempts: j.attempts}
			if err := d.Inbox.Move(tx, j.id, to); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		d.trouble(ctx, "cannot write what deliveries wait for", err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, j := range jobs {
		j.waits = reason
	}
}

func (d *Dispatcher) tellWaiting(ctx context.Context, s loop.Session, id loop.DeliveryID, reason, detail string) {
	d.Log.Log(ctx, loop.LogEvent{
		Type: loop.LogSessionWaiting, Item: s.WorkItem, Delivery: id, Message: fmt.Sprintf("events of %s wait: %s", s.WorkItem, detail),
		Fields: map[string]string{"reason": reason, "harness": s.Harness},
	})
}

// tellAsked tells that an agent asks a person for something in a live conversation, whether or not anything is queued for it.
func (d *Dispatcher) tellAsked(ctx context.Context, r loop.Report) {
	where := loop.Presence{Launch: r.Launch, Process: loop.Process{PID: r.PID}, Where: r.Where}.Reach(r.Item)
	d.Log.Log(ctx, loop.LogEvent{
		Type: loop.LogSessionWaiting, Item: r.Item,
		Message: fmt.Sprintf("%s on %s waits for a person %s: %s", r.Harness, r.Item, where, cmp.Or(r.Detail, "an answer")),
		Fields:  map[string]string{"reason": loop.WaitDialog, "harness": r.Harness},
	})
}
