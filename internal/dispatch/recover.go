package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
)

// recover takes up what an earlier loopd left: runs first, so that nothing is started beside one that lives on.
func (d *Dispatcher) recover(ctx context.Context) error {
	open, err := d.Inbox.Unfinished(ctx)
	if err != nil {
		return err
	}
	if err := d.mend(ctx); err != nil {
		return err
	}
	runs := map[loop.RunID][]loop.Delivery{}
	for _, del := range open {
		if del.State == loop.StateRunning && del.Run != "" {
			runs[del.Run] = append(runs[del.Run], del)
		}
	}
	for id, carried := range runs {
		if err := d.takeUp(ctx, id, carried); err != nil {
			return err
		}
	}
	for _, del := range open {
		switch {
		case del.State == loop.StateReceived, del.State == loop.StateRunning && del.Run != "":
		case del.Decision == loop.Close:
			d.beginClose(ctx, del)
		case del.Decision == loop.Control:
			d.goRun(func(ctx context.Context) { d.controlling(ctx, del) })
		default:
			d.enqueue(del.Item, jobOf(del))
		}
	}
	return nil
}

// jobOf returns the job of a delivery that waits for its turn.
func jobOf(del loop.Delivery) *job {
	return &job{
		id: del.ID, seq: del.Seq, queued: del.ReceivedAt, due: del.DueAt, attempts: del.Attempts,
		spawn: del.Decision == loop.Spawn, waits: waitOf(del),
	}
}

func waitOf(del loop.Delivery) string {
	if del.State != loop.StateWaiting {
		return ""
	}
	return del.Reason
}

// takeUp makes a run of an earlier loopd the run of its lane, and finds out what became of it.
func (d *Dispatcher) takeUp(ctx context.Context, id loop.RunID, carried []loop.Delivery) error {
	run, err := d.Inbox.Run(ctx, id)
	if err != nil {
		return err
	}
	s, ok := d.Sessions.Find(run.Item)
	if !ok || !carriedBy(run, s) {
		s = loop.Session{WorkItem: run.Item, Harness: run.Harness, HarnessSessionID: run.SessionID, Runner: loop.RunnerHeadless}
	}
	t := trip{
		Handover: loop.Handover{Run: id, Session: s, Fresh: run.Fresh, Timeout: max(time.Second, d.Settings().Timeout-time.Since(run.StartedAt))},
		item:     run.Item,
	}
	for _, del := range carried {
		t.jobs = append(t.jobs, jobOf(del))
	}
	slices.SortFunc(t.jobs, func(a, b *job) int { return int(a.seq - b.seq) })
	d.mu.Lock()
	l := d.laneOf(run.Item)
	l.run, l.ended = id, make(chan struct{})
	d.mu.Unlock()
	d.slots.force()
	t.Handed = sync.OnceFunc(d.slots.release)
	d.Logger.Info("a run from before the start is being settled", "item", run.Item.Ref(), "run", id)
	d.goRun(func(ctx context.Context) {
		defer t.Handed()
		out := d.Runner.Settle(ctx, t.Handover)
		d.finish(ctx, l, t, out)
		d.tidy(l)
	})
	return nil
}

// carriedBy reports whether a run was one of the session, which may have moved to another conversation since. A run that began a
// conversation without an id may have told it since.
func carriedBy(run inbox.Run, s loop.Session) bool {
	if run.SessionID != "" {
		return run.SessionID == s.HarnessSessionID || slices.Contains(s.PreviousSessionIDs, run.SessionID)
	}
	return run.Harness == s.Harness && !s.CreatedAt.Truncate(time.Microsecond).After(run.StartedAt)
}

// tidy removes a lane that nobody works in and that holds nothing.
func (d *Dispatcher) tidy(l *lane) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !l.working && len(l.jobs) == 0 && l.run == "" && d.lanes[l.item.Key()] == l {
		delete(d.lanes, l.item.Key())
	}
}

// mendWindow is how far back session files are compared with the journal at the start.
const mendWindow = 1000

// mend brings the copies in session files up to date with the journal, which decides.
func (d *Dispatcher) mend(ctx context.Context) error {
	done, err := d.Inbox.LastDone(ctx, mendWindow)
	if err != nil {
		return err
	}
	byItem := map[loop.ItemKey][]loop.Delivery{}
	for _, del := range slices.Backward(done) { // the oldest first
		byItem[del.Item.Key()] = append(byItem[del.Item.Key()], del)
	}
	for _, dels := range byItem {
		s, ok := d.Sessions.Find(dels[0].Item)
		if !ok {
			continue
		}
		missing := slices.DeleteFunc(dels, func(del loop.Delivery) bool {
			return del.EndedAt.Before(s.CreatedAt) || s.LastEventAt != nil && !del.EndedAt.After(*s.LastEventAt) ||
				slices.Contains(s.RecentDeliveries, del.ID)
		})
		if len(missing) == 0 {
			continue
		}
		err := d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error {
			for _, del := range missing {
				remember(s, del.ID, del.EndedAt)
			}
			return nil
		})
		if err != nil {
			d.Logger.Error("a session file could not be mended", "item", s.WorkItem.Ref(), "err", err)
		}
	}
	return nil
}
