package dispatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Register links a conversation that exists already to a work item. ErrExists if the item has a session that is not
// closed, unless r.Force, which closes that one as replaced, waits until its harness has ended, and leaves what is queued
// to the new one. ErrExists too if another open session has the same conversation: two queues would write into it at once.
func (d *Dispatcher) Register(ctx context.Context, r Registration) (loop.Session, []string, error) {
	if err := r.SessionID.Check(); err != nil {
		return loop.Session{}, nil, err
	}
	s, err := d.newSession(r)
	if err != nil {
		return loop.Session{}, nil, err
	}
	if r.Force {
		if _, err := d.end(ctx, r.Item, closeBody{Reason: loop.CloseReplaced}, true); err != nil && !errors.Is(err, loop.ErrNotFound) {
			return loop.Session{}, nil, err
		}
	}
	now := time.Now()
	s.ConversationAt = &now
	if err := d.Sessions.Register(s); err != nil {
		return loop.Session{}, nil, err
	}
	d.Live.Keep(s.WorkItem, s.Harness, s.HarnessSessionID)
	d.pokeAll()
	d.registered(ctx, s, "a conversation of "+s.Harness+" is linked to "+s.WorkItem.Ref())
	var warnings []string
	if err := d.Available(s.Harness); err != nil {
		warnings = append(warnings, loop.Plain(err))
	}
	if _, err := os.Stat(s.Cwd); err != nil {
		warnings = append(warnings, fmt.Sprintf("folder %s: %v; events fail until it is there", s.Cwd, err))
	}
	return s, warnings, nil
}

// newSession makes the record of a session. Its conversation has no id where it is yet to begin and the harness will name it.
func (d *Dispatcher) newSession(r Registration) (loop.Session, error) {
	set := d.Settings()
	if !filepath.IsAbs(r.Cwd) {
		return loop.Session{}, fmt.Errorf("folder %q is not absolute: %w", r.Cwd, loop.ErrInvalid)
	}
	if r.Runner == "" {
		r.Runner = set.Runner
	}
	target, err := d.Place(r.Item, r.Harness, r.Runner)
	if err != nil {
		return loop.Session{}, err
	}
	return loop.Session{
		WorkItem: r.Item, Harness: r.Harness, HarnessSessionID: r.SessionID, Cwd: filepath.Clean(r.Cwd), Runner: r.Runner, TmuxTarget: target,
		Status: loop.StatusActive, CreatedAt: time.Now().UTC(), RecentDeliveries: []loop.DeliveryID{}, PullRequests: []string{},
	}, nil
}

func (d *Dispatcher) registered(ctx context.Context, s loop.Session, message string) {
	d.Log.Log(ctx, loop.LogEvent{
		Type: loop.LogSessionRegistered, Item: s.WorkItem, Message: message,
		Fields: map[string]string{"harness": s.Harness, "harness_session_id": string(s.HarnessSessionID), "runner": string(s.Runner)},
	})
}

// errItemClosed says that an item was closed after routing decided to start a session for it.
var errItemClosed = errors.New("the item was closed meanwhile")

// sessionFor returns the session that a lane's next run is for. A delivery that routing decided to spawn for gets one made,
// which exists from then on, whatever becomes of the start.
func (d *Dispatcher) sessionFor(ctx context.Context, w loop.WorkItem, first *job) (loop.Session, error) {
	s, ok := d.Sessions.Find(w)
	if ok && (s.Open() || !first.spawn) {
		return s, nil
	}
	if err := d.Sessions.Unreadable(w); err != nil {
		return loop.Session{}, err
	}
	if !first.spawn {
		return loop.Session{}, nil
	}
	known, err := d.Items.Get(ctx, w)
	switch {
	case err != nil:
		return loop.Session{}, err
	case known.ClosedAt.After(known.ReopenedAt):
		return loop.Session{}, errItemClosed
	}
	set := d.Settings()
	if set.SpawnWorkdir == "" {
		return loop.Session{}, errors.New("no folder to start a session in: set routing.spawn_workdir")
	}
	id, err := d.NewSessionID(set.DefaultHarness)
	if err != nil {
		return loop.Session{}, err
	}
	s, err = d.newSession(Registration{Item: w, Harness: set.DefaultHarness, SessionID: id, Cwd: set.SpawnWorkdir})
	if err != nil {
		return loop.Session{}, err
	}
	s.Spawned = true
	if err := d.Sessions.Register(s); err != nil {
		return loop.Session{}, err
	}
	d.registered(ctx, s, "a session is made for "+w.Ref())
	d.step("registered")
	return s, nil
}

// Pause ends the running turn of an item's session and drops what is queued and what comes, until Resume.
func (d *Dispatcher) Pause(ctx context.Context, w loop.WorkItem) (PauseResult, error) {
	s, err := d.openSession(w)
	if err != nil {
		return PauseResult{}, err
	}
	var res PauseResult
	if res.Dropped, err = d.pauseRecord(ctx, s, "", nil); err != nil {
		return PauseResult{}, err
	}
	ended, dropped, err := d.endRun(ctx, s.WorkItem, loop.DropSessionPaused, 0)
	if err != nil {
		return PauseResult{}, err
	}
	res.Dropped += dropped
	host, err := d.Runner.End(ctx, s, loop.Wish{OnlyBusy: !ended.Found, Terminal: loop.TerminalKeep})
	if err != nil {
		return PauseResult{}, err
	}
	res.RunEnded = ended.Found || host.Found
	res.Session, _ = d.Sessions.Find(s.WorkItem)
	return res, nil
}

// pauseRecord pauses a session, shows letters on the ticket, and drops what is queued for it; it returns how many these were.
func (d *Dispatcher) pauseRecord(ctx context.Context, s loop.Session, reason string, letters []outbox.Letter) (dropped int, err error) {
	now := time.Now().UTC()
	err = d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error {
		if s.Status == loop.StatusActive {
			s.Status, s.PauseReason, s.PausedAt = loop.StatusPaused, reason, &now
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	d.tellWith(ctx, loop.LogEvent{
		Type: loop.LogSessionPaused, Item: s.WorkItem, Message: s.WorkItem.Ref() + " is paused: its events are dropped until it is resumed",
		Fields: map[string]string{"reason": reason},
	}, letters)
	return d.dropQueued(ctx, s.WorkItem, 0, loop.DropSessionPaused)
}

// Resume lets events reach a paused session again. Its next prompt says how many it missed.
func (d *Dispatcher) Resume(ctx context.Context, w loop.WorkItem) (ResumeResult, error) {
	s, err := d.openSession(w)
	if err != nil {
		return ResumeResult{}, err
	}
	if s.Status != loop.StatusPaused {
		return ResumeResult{Session: s}, nil
	}
	var res ResumeResult
	if s.PausedAt != nil {
		if res.Missed, err = d.Inbox.CountDropped(ctx, s.WorkItem, loop.DropSessionPaused, *s.PausedAt); err != nil {
			return ResumeResult{}, err
		}
	}
	err = d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error {
		s.Status, s.PauseReason, s.PausedAt, s.Missed = loop.StatusActive, "", nil, res.Missed
		return nil
	})
	if err != nil {
		return ResumeResult{}, err
	}
	res.Session, _ = d.Sessions.Find(s.WorkItem)
	d.Log.Log(ctx, loop.LogEvent{Type: loop.LogSessionResumed, Item: s.WorkItem, Message: s.WorkItem.Ref() + " takes events again"})
	return res, nil
}

// openSession returns the active or paused session of an item.
func (d *Dispatcher) openSession(w loop.WorkItem) (loop.Session, error) {
	s, ok := d.Sessions.Find(w)
	unreadable := d.Sessions.Unreadable(w)
	switch {
	case unreadable != nil:
		return s, unreadable
	case !ok:
		return s, fmt.Errorf("no session works on %s: %w", w, loop.ErrNotFound)
	case !s.Open():
		return s, fmt.Errorf("the session of %[1]s is closed (%[2]s); loopctl sessions start %[1]s begins another, or register one of your own: %[3]w",
			w, s.CloseReason, loop.ErrNotFound)
	}
	return s, nil
}

// brake pauses a session that has had its runs for this hour.
func (d *Dispatcher) brake(ctx context.Context, s loop.Session) *obstacle {
	runs, err := d.Inbox.RunsSince(ctx, s.WorkItem, time.Now().Add(-time.Hour))
	if err != nil {
		d.trouble(ctx, "cannot count the runs of a session", err)
		return &obstacle{}
	}
	if runs < d.Settings().MaxRunsPerHour {
		return nil
	}
	d.Logger.Warn("a session had too many runs in an hour and is paused", "item", s.WorkItem.Ref(), "runs", runs)
	if _, err := d.pauseRecord(ctx, s, loop.PausedRunaway, runaway(s, runs, time.Now())); err != nil {
		d.trouble(ctx, "cannot pause a session that runs away", err)
		return &obstacle{}
	}
	return &obstacle{drop: loop.DropSessionPaused}
}

// Redeliver makes a failed delivery due now with its tries anew, or one that waits for its next try or for its harness; a
// done or dropped one only with force.
func (d *Dispatcher) Redeliver(ctx context.Context, id loop.DeliveryID, force bool) (loop.Delivery, error) {
	before, err := d.Inbox.Get(ctx, id)
	if err != nil {
		return loop.Delivery{}, err
	}
	err = d.Journal.Write(ctx, func(tx *journal.Tx) error { return d.Inbox.Redeliver(tx, id, force) })
	if err != nil {
		return loop.Delivery{}, err
	}
	if before.Reason == loop.WaitHarness {
		d.probeSoon(time.Now()) // a person says that it works again
		d.pokeAll()
	}
	return d.Inbox.Get(ctx, id)
}

// dropQueued drops what is queued for an item and arrived before seq; 0 is all. It returns how many these were.
func (d *Dispatcher) dropQueued(ctx context.Context, w loop.WorkItem, before int64, reason string) (int, error) {
	d.mu.Lock()
	var jobs []*job
	if l := d.lanes[w.Key()]; l != nil {
		for _, j := range l.jobs {
			if before == 0 || j.seq < before {
				jobs = append(jobs, j)
			}
		}
		l.take(jobs)
		l.poke()
	}
	d.mu.Unlock()
	if err := d.writeDrops(ctx, w, jobs, reason); err != nil {
		for _, j := range jobs {
			d.enqueue(w, j)
		}
		return 0, err
	}
	return len(jobs), nil
}

func (d *Dispatcher) writeDrops(ctx context.Context, w loop.WorkItem, jobs []*job, reason string) error {
	if len(jobs) == 0 {
		return nil
	}
	return d.Journal.Write(ctx, func(tx *journal.Tx) error {
		for _, j := range jobs {
			if err := d.Inbox.Move(tx, j.id, inbox.Transition{State: loop.StateDropped, Reason: reason, Attempts: j.attempts}); err != nil {
				return err
			}
			ev := loop.LogEvent{Type: loop.LogDeliveryDropped, Item: w, Delivery: j.id, Fields: map[string]string{"reason": reason}}
			if err := d.Log.Append(tx, ev); err != nil {
				return err
			}
		}
		return nil
	})
}
