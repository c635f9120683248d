package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// kindClose is the kind of a delivery that a person's close travels as.
const kindClose = "close"

// closeBody is the body of such a delivery.
type closeBody struct {
	WorkItem string            `json:"workItem"`
	Reason   loop.CloseReason  `json:"reason"`
	Terminal loop.TerminalWish `json:"terminal,omitempty"`
}

// Close ends the session of an item for good. Its close is a delivery, so it is finished after a crash too. With wait, Close
// returns once the harness is gone, or with ctx; without, once the close is accepted. Terminal overrules for this once what
// the configuration says of the session's terminal. Of a session that was closed before, TerminalKill removes the terminal that
// was left; every other close of it is ErrNotFound.
func (d *Dispatcher) Close(ctx context.Context, w loop.WorkItem, terminal loop.TerminalWish, wait bool) (CloseResult, error) {
	if s, ok := d.Sessions.Find(w); ok && s.Status == loop.StatusClosed && s.TmuxTarget != "" && terminal == loop.TerminalKill {
		return d.endTerminal(ctx, s)
	}
	return d.end(ctx, w, closeBody{Reason: loop.CloseManual, Terminal: terminal}, wait)
}

// endTerminal ends what a closed session has left of its terminal. It may be done again.
func (d *Dispatcher) endTerminal(ctx context.Context, s loop.Session) (CloseResult, error) {
	host, err := d.Runner.End(ctx, s, loop.Wish{Terminal: loop.TerminalKill})
	if err != nil {
		return CloseResult{}, fmt.Errorf("remove the terminal of %s: %w", s.WorkItem, err)
	}
	res := CloseResult{Session: s, HarnessEnded: host.Found, Killed: host.Killed, Retained: host.Retained, Removed: host.Removed}
	if host.Found {
		d.tellEnded(ctx, loop.Delivery{}, s, res)
	}
	return res, nil
}

func (d *Dispatcher) end(ctx context.Context, w loop.WorkItem, how closeBody, wait bool) (CloseResult, error) {
	s, err := d.openSession(w)
	if err != nil {
		return CloseResult{}, err
	}
	return d.putClose(ctx, s, how, wait)
}

// putClose accepts a close as a delivery, and waits for it if that is wanted.
func (d *Dispatcher) putClose(ctx context.Context, s loop.Session, how closeBody, wait bool) (CloseResult, error) {
	how.WorkItem = s.WorkItem.Ref()
	body, err := json.Marshal(how)
	if err != nil {
		return CloseResult{}, err
	}
	id := loop.DeliveryID("close-" + uuid.NewString())
	done := make(chan CloseResult, 1)
	d.mu.Lock()
	d.waiters[id] = done
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.waiters, id)
		d.mu.Unlock()
	}()
	_, err = d.Inbox.Put(ctx, loop.Delivery{
		ID: id, Source: loop.SourceCommand, Kind: kindClose, ReceivedAt: time.Now(), Body: body, State: loop.StateReceived,
	})
	if err != nil {
		return CloseResult{}, err
	}
	if !wait {
		return CloseResult{Session: s, Delivery: id}, nil
	}
	select {
	case res := <-done:
		return res, nil
	case <-ctx.Done():
		return CloseResult{}, fmt.Errorf("the close of %s is accepted as %s and goes on; its harness has not ended yet: %w",
			s.WorkItem, id, loop.ErrUnavailable)
	}
}

// commandDecision reads a delivery that came from a person.
func commandDecision(del loop.Delivery) (loop.Decision, error) {
	var body closeBody
	if err := json.Unmarshal(del.Body, &body); err != nil || del.Kind != kindClose {
		return loop.Decision{}, fmt.Errorf("command %q cannot be read: %w", del.Kind, loop.ErrInvalid)
	}
	w, err := loop.ParseRef(body.WorkItem)
	if err != nil {
		return loop.Decision{}, err
	}
	dec := loop.Decision{
		Kind: loop.Close, Reason: "by hand", Item: w, Refs: []loop.WorkItem{w},
		Closures: []loop.Closure{{Item: w, Reason: body.Reason, ClosedAt: del.ReceivedAt, Terminal: body.Terminal}},
	}
	if body.Reason == loop.CloseStopped {
		dec.Command.Verb = loop.VerbStop
	}
	return dec, nil
}

// beginClose closes the records that a close ends, so that of several the first says why, and sets going what follows.
func (d *Dispatcher) beginClose(ctx context.Context, del loop.Delivery) {
	for _, c := range del.Closures {
		_, _, _ = d.closeRecord(ctx, del, c) // one that cannot be written is tried again below
	}
	d.goRun(func(ctx context.Context) { d.closing(ctx, del) })
}

// closing carries out a close until all that it ends has ended. Every step may be done again after a crash.
func (d *Dispatcher) closing(ctx context.Context, del loop.Delivery) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		res, err := d.closeAll(ctx, del)
		if err == nil {
			d.closed(del.ID, res)
			return
		}
		if ctx.Err() != nil {
			return
		}
		d.Logger.Warn("a close is not finished and is tried again", "delivery", del.ID, "item", del.Item.Ref(), "err", err)
		del = d.putOff(ctx, del, err)
		sleep(ctx, time.Now().Add(wait))
	}
}

// putOff writes what keeps a close from being finished, and tells it where that is news.
func (d *Dispatcher) putOff(ctx context.Context, del loop.Delivery, why error) loop.Delivery {
	to := inbox.Transition{State: loop.StateWaiting, Reason: loop.WaitEnding, Attempts: del.Attempts, Error: loop.Plain(why)}
	if del.State == to.State && del.Error == to.Error {
		return del
	}
	err := d.Journal.Write(ctx, func(tx *journal.Tx) error { return d.Inbox.Move(tx, del.ID, to) })
	if err != nil {
		d.trouble(ctx, "cannot write what a close waits for", err)
		return del
	}
	d.Log.Log(ctx, loop.LogEvent{
		Type: loop.LogSessionWaiting, Item: del.Item, Delivery: del.ID, Message: "the close of " + del.Item.Ref() + " waits: " + to.Error,
		Fields: map[string]string{"reason": to.Reason},
	})
	del.State, del.Reason, del.Error = to.State, to.Reason, to.Error
	return del
}

// closeAll ends the sessions of all closures of a delivery, then the delivery.
func (d *Dispatcher) closeAll(ctx context.Context, del loop.Delivery) (CloseResult, error) {
	total := CloseResult{Delivery: del.ID}
	for _, c := range del.Closures {
		res, err := d.closeOne(ctx, del, c)
		if err != nil {
			return total, err
		}
		if total.Session.WorkItem.IsZero() {
			total.Session = res.Session
		}
		total.HarnessEnded = total.HarnessEnded || res.HarnessEnded
		total.Killed = total.Killed || res.Killed
		total.Dropped += res.Dropped
		total.Retained, total.Removed = cmp.Or(total.Retained, res.Retained), cmp.Or(total.Removed, res.Removed)
	}
	err := d.Journal.Write(ctx, func(tx *journal.Tx) error {
		return d.Inbox.Move(tx, del.ID, inbox.Transition{State: loop.StateDone})
	})
	return total, err
}

// closeOne ends the session of one item: first the record, then what is queued, then the harness.
func (d *Dispatcher) closeOne(ctx context.Context, del loop.Delivery, c loop.Closure) (CloseResult, error) {
	s, open, err := d.closeRecord(ctx, del, c)
	if err != nil {
		return CloseResult{}, err
	}
	d.step("closed")
	res := CloseResult{Session: s}
	drop := loop.DropItemClosed
	if c.Reason == loop.CloseReplaced {
		drop = "" // what is queued is for the session that comes
	} else if res.Dropped, err = d.dropQueued(ctx, c.Item, del.Seq, drop); err != nil {
		return CloseResult{}, err
	}
	ended, dropped, err := d.endRun(ctx, c.Item, drop, d.Settings().CloseSettle)
	if err != nil {
		return CloseResult{}, err
	}
	res.Dropped += dropped
	if !open && ended.Found { // a start was on its way: its record came after the first look
		if res.Session, open, err = d.closeRecord(ctx, del, c); err != nil {
			return CloseResult{}, err
		}
		s = res.Session
	}
	if !open && s.Ending == loop.EndingNone {
		return res, nil
	}
	host, err := d.Runner.End(ctx, s, loop.Wish{Settle: d.settleLeft(s), Terminal: c.Terminal})
	if err != nil {
		return CloseResult{}, fmt.Errorf("end the harness of %s: %w", s.WorkItem, err)
	}
	d.step("harness-ended")
	res.HarnessEnded, res.Killed = ended.Found || host.Found, ended.Killed || host.Killed
	res.Retained, res.Removed = host.Retained, host.Removed
	d.tellEnded(ctx, del, s, res)
	err = d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error { s.Ending = loop.EndingNone; return nil })
	if err != nil {
		return CloseResult{}, err
	}
	res.Session.Ending = loop.EndingNone
	return res, nil
}

// settleLeft is what is left of the time that a running turn gets after its session was closed.
func (d *Dispatcher) settleLeft(s loop.Session) time.Duration {
	if s.ClosedAt == nil {
		return 0
	}
	return max(0, time.Until(s.ClosedAt.Add(d.Settings().CloseSettle)))
}

// tellEnded writes to the event log what the end of a session ended and what it leaves.
func (d *Dispatcher) tellEnded(ctx context.Context, del loop.Delivery, s loop.Session, res CloseResult) {
	if res.HarnessEnded {
		d.Log.Log(ctx, loop.LogEvent{
			Type: loop.LogHarnessTerminated, Item: s.WorkItem, Delivery: del.ID, Message: "the harness of " + s.WorkItem.Ref() + " was ended",
			Fields: map[string]string{"killed": strconv.FormatBool(res.Killed)},
		})
	}
	if res.Retained != "" {
		d.Log.Log(ctx, loop.LogEvent{
			Type: loop.LogSessionRetained, Item: s.WorkItem, Delivery: del.ID,
			Message: "the terminal of " + s.WorkItem.Ref() + " stays as a record: loopctl attach " + s.WorkItem.Ref(),
			Fields:  map[string]string{"tmux_target": res.Retained},
		})
	}
}

// closeRecord closes the record of an item's session, if that is open and older than the close, and says whether it was.
func (d *Dispatcher) closeRecord(ctx context.Context, del loop.Delivery, c loop.Closure) (s loop.Session, open bool, err error) {
	s, ok := d.Sessions.Find(c.Item)
	if err := d.Sessions.Unreadable(c.Item); err != nil {
		return s, false, err
	}
	if !ok || !s.Open() {
		return s, false, nil
	}
	now := time.Now().UTC()
	err = d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error {
		s.Status, s.ClosedAt, s.CloseReason, s.Ending = loop.StatusClosed, &now, c.Reason, loop.EndingHarness
		return nil
	})
	if err != nil {
		return s, false, err
	}
	d.forgetTurns(s.WorkItem)
	s, _ = d.Sessions.Find(c.Item)
	ev := loop.LogEvent{
		Type: loop.LogSessionAutoclosed, Item: s.WorkItem, Delivery: del.ID, Message: fmt.Sprintf("the session of %s is closed: %s", s.WorkItem, c.Reason),
		Fields: map[string]string{"reason": string(c.Reason), "merged": strconv.FormatBool(c.Merged)},
	}
	if del.Source == loop.SourceCommand {
		ev.Type = loop.LogSessionClosed
	}
	d.Log.Log(ctx, ev)
	return s, true, nil
}

// closed tells those who wait for a close how it ended.
func (d *Dispatcher) closed(id loop.DeliveryID, res CloseResult) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.waiters[id]; w != nil {
		w <- res
	}
}

// endRun ends the run that is going on for an item, after giving it time to end by itself, and returns when its outcome
// is written. Its deliveries are dropped with the reason, which it counts, or put back when that is "".
func (d *Dispatcher) endRun(ctx context.Context, w loop.WorkItem, drop string, settle time.Duration) (all loop.Termination, dropped int, err error) {
	d.mu.Lock()
	l := d.lanes[w.Key()]
	if l == nil || l.run == "" {
		d.mu.Unlock()
		return all, 0, nil
	}
	run, ended := l.run, l.ended
	d.mu.Unlock()
	if await(ctx, ended, settle) {
		return all, 0, ctx.Err()
	}
	end := &ending{drop: drop}
	d.mu.Lock()
	if l.run == run {
		l.end = end
	}
	d.mu.Unlock()
	for {
		t, err := d.Runner.Terminate(ctx, run)
		if err != nil {
			return all, 0, fmt.Errorf("end run %s of %s: %w", run, w, err)
		}
		all.Found, all.Killed = all.Found || t.Found, all.Killed || t.Killed
		if await(ctx, ended, time.Second) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return all, end.dropped, ctx.Err()
		}
	}
}

// await waits until ended is closed or ctx ends, for at most so long, and reports whether either happened.
func await(ctx context.Context, ended <-chan struct{}, most time.Duration) bool {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return true
	case <-t.C:
		return false
	}
}
