package dispatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// finish writes down what became of a run and goes on with the lane.
func (d *Dispatcher) finish(ctx context.Context, l *lane, t trip, out loop.Outcome) {
	if out.Kind == loop.RunDetached {
		return // it goes on without us; the next start settles it
	}
	if out.Kind == loop.RunLost && t.Fresh {
		out.Kind = loop.RunFailed // it was not asked for a conversation that it could have lost
	}
	var fates []fate
	if d.learn(ctx, t, out) {
		fates = t.putBack()
	} else {
		d.mu.Lock()
		end := l.end
		d.mu.Unlock()
		fates = t.fates(out, end, d.Settings().MaxAttempts, d.RetryBase, time.Now())
	}
	if !d.record(ctx, t, out, fates) {
		return // the end of ctx: the next start finds the run's outcome in its folder
	}
	d.step("recorded")
	d.tell(ctx, t, out, fates)
	if out.Kind == loop.RunDone { // of a run from before a restart it may not have been noted
		d.answered(ctx, t)
	}
	d.mu.Lock()
	if l.end != nil {
		l.end.dropped = dropped(fates)
	}
	d.mu.Unlock()
	d.vacate(l, open(fates))
}

// fate is what becomes of one delivery after a run.
type fate struct {
	*job
	to inbox.Transition
}

// open returns the jobs whose deliveries are not final.
func open(fates []fate) []*job {
	var jobs []*job
	for _, f := range fates {
		if !f.to.State.Final() {
			jobs = append(jobs, f.job)
		}
	}
	return jobs
}

// dropped counts the deliveries that are dropped.
func dropped(fates []fate) (n int) {
	for _, f := range fates {
		if f.to.State == loop.StateDropped {
			n++
		}
	}
	return n
}

// fates says what becomes of the deliveries of a run.
func (t trip) fates(out loop.Outcome, end *ending, maxAttempts int, base time.Duration, now time.Time) []fate {
	fates := make([]fate, len(t.jobs))
	due := now.Add(backoff(t.jobs[0].attempts, base)) // one time for all, so that they keep their order
	if out.Kind == loop.RunDeferred {
		due = now.Add(deferPause)
	}
	for i, j := range t.jobs {
		fates[i] = fate{j, fateOf(j, out, end, maxAttempts, due)}
		j.cut = j.cut || out.Kind == loop.RunCutOff
		j.waits = ""
		if fates[i].to.State == loop.StateWaiting {
			j.waits = fates[i].to.Reason
		}
		j.attempts, j.due = fates[i].to.Attempts, fates[i].to.DueAt
	}
	return fates
}

func fateOf(j *job, out loop.Outcome, end *ending, maxAttempts int, due time.Time) inbox.Transition {
	to := inbox.Transition{Attempts: j.attempts, Error: out.Detail}
	switch out.Kind {
	case loop.RunDone:
		to.State, to.Error = loop.StateDone, ""
	case loop.RunTimeout:
		to.State, to.Reason = loop.StateFailed, loop.FailTimeout
	case loop.RunHeld:
		to.State, to.Reason, to.Attempts = loop.StateWaiting, loop.WaitHarness, j.attempts-1
	case loop.RunDeferred:
		to.State, to.Reason, to.Attempts, to.DueAt = loop.StateWaiting, out.Reason, j.attempts-1, due
	case loop.RunNever:
		to.State, to.Attempts, to.Error = loop.StateQueued, j.attempts-1, ""
	case loop.RunEnded:
		if end != nil && end.drop != "" {
			to.State, to.Reason, to.Error = loop.StateDropped, end.drop, ""
			break
		}
		to.State, to.Attempts = loop.StateQueued, j.attempts-1
	default:
		if j.attempts >= maxAttempts {
			to.State, to.Reason = loop.StateFailed, loop.FailAttempts
			break
		}
		to.State, to.Reason, to.DueAt = loop.StateWaiting, loop.WaitBackoff, due
	}
	return to
}

// putBack queues the deliveries of a trip again at once, uncounted.
func (t trip) putBack() []fate {
	fates := make([]fate, len(t.jobs))
	for i, j := range t.jobs {
		j.attempts--
		fates[i] = fate{j, inbox.Transition{State: loop.StateQueued, Attempts: j.attempts}}
	}
	return fates
}

// backoff is the wait after so many tries: the base, four times as long each time, at most an hour, a tenth more or less.
func backoff(tries int, base time.Duration) time.Duration {
	wait := base
	for range min(tries-1, 10) {
		wait = min(4*wait, time.Hour)
	}
	return wait + time.Duration((rand.Float64()-0.5)*0.2*float64(wait)) //nolint:gosec // jitter
}

// spendTry counts a try that came to no run, and returns the jobs that go back into the lane.
func (d *Dispatcher) spendTry(ctx context.Context, t trip, out loop.Outcome) []*job {
	for _, j := range t.jobs {
		j.attempts++
	}
	fates := t.fates(out, nil, d.Settings().MaxAttempts, d.RetryBase, time.Now())
	letters := d.endLetters(ctx, t, out, fates)
	err := d.Journal.Write(ctx, func(tx *journal.Tx) error { return d.moveAll(tx, fates, letters) })
	if err != nil {
		d.trouble(ctx, "cannot write that a try failed", err)
		for _, j := range t.jobs {
			j.attempts--
			j.due = time.Time{}
		}
		return t.jobs
	}
	d.tell(ctx, t, out, fates)
	return open(fates)
}

func (d *Dispatcher) moveAll(tx *journal.Tx, fates []fate, letters []outbox.Letter) error {
	for _, f := range fates {
		if err := d.Inbox.Move(tx, f.id, f.to); err != nil {
			return err
		}
	}
	return d.Outbox.Put(tx, letters...)
}

// learn takes over into the session and the holds what a run told about them. It reports whether the deliveries go back at
// once, because the conversation is to be begun in another way.
func (d *Dispatcher) learn(ctx context.Context, t trip, out loop.Outcome) (again bool) {
	now := time.Now()
	if t.Session.HarnessSessionID == "" && out.SessionID != "" {
		// Whatever became of the run, there is a conversation now, and the next try goes on with it.
		d.updateSession(t, func(s *loop.Session) error { named(s, out.SessionID, now); return nil })
	}
	if out.Kind == loop.RunHeld {
		if d.holdHarness(t.Session.Harness, out, now) {
			d.Log.Log(ctx, loop.LogEvent{
				Type: loop.LogRunHeld, Item: t.item, Run: t.Run, Message: fmt.Sprintf("%s cannot work now: %s", t.Session.Harness, out.Detail),
				Fields: map[string]string{"harness": t.Session.Harness, "reason": out.Reason},
			})
		}
		return false
	}
	if slices.Contains(saidNothing, out.Kind) {
		d.unprobe(t.Session.Harness)
		return false
	}
	d.freeHarness(t.Session.Harness)
	switch {
	case out.Kind == loop.RunLost:
		d.Log.Log(ctx, loop.LogEvent{
			Type: loop.LogResumeFailed, Item: t.item, Run: t.Run, Message: "the conversation is gone, a fresh one is started: " + out.Detail,
			Fields: map[string]string{"harness_session_id": string(t.Session.HarnessSessionID)},
		})
		return d.updateSession(t, func(s *loop.Session) error { return d.renew(s) })
	case out.Reason == loop.FailedIDInUse && t.Fresh:
		return d.updateSession(t, func(s *loop.Session) error { s.ConversationAt = &now; return nil })
	case out.Kind == loop.RunDone:
		if t.Session.HarnessSessionID == "" && out.SessionID == "" {
			d.Logger.Warn("the harness did not name its conversation, so that the next event begins another one",
				"item", t.item.Ref(), "harness", t.Session.Harness, "run", t.Run)
		}
		d.updateSession(t, func(s *loop.Session) error { handled(s, t, out, now); return nil })
	}
	return false
}

// saidNothing are the ends of a run that tell nothing of its harness.
var saidNothing = []loop.OutcomeKind{loop.RunEnded, loop.RunNever, loop.RunUnreached, loop.RunDeferred}

// renew gives a session the id of a conversation that is yet to begin. The old id is kept in the record.
func (d *Dispatcher) renew(s *loop.Session) error {
	id, err := d.NewSessionID(s.Harness)
	if err != nil {
		return err
	}
	supersede(s, id)
	s.ConversationAt = nil
	return nil
}

// supersede gives a session another id, and keeps the old one, if it had any, in the record.
func supersede(s *loop.Session, id loop.SessionID) {
	if s.HarnessSessionID != "" {
		s.PreviousSessionIDs = append(s.PreviousSessionIDs, s.HarnessSessionID)
	}
	s.HarnessSessionID = id
}

// named notes the id of the conversation that a harness told, and that there is one.
func named(s *loop.Session, id loop.SessionID, now time.Time) {
	if id != "" && id != s.HarnessSessionID && id.Check() == nil {
		supersede(s, id)
	}
	if s.ConversationAt == nil && s.HarnessSessionID != "" {
		s.ConversationAt = &now
	}
}

// handled notes in a session that a run answered.
func handled(s *loop.Session, t trip, out loop.Outcome, now time.Time) {
	for _, j := range t.jobs {
		remember(s, j.id, now)
	}
	s.CostUSD, s.Missed = out.CostUSD, 0
	if s.RepositoryID == 0 {
		s.RepositoryID = t.repo
	}
	if s.HarnessSessionID == t.Session.HarnessSessionID { // else a person has taken up another meanwhile
		named(s, out.SessionID, now)
	}
}

// remember notes a delivery that is done in a session's copy for readers.
func remember(s *loop.Session, id loop.DeliveryID, at time.Time) {
	at = at.UTC()
	s.LastEventAt = &at
	if !slices.Contains(s.RecentDeliveries, id) {
		s.RecentDeliveries = append(s.RecentDeliveries, id)
	}
	s.RecentDeliveries = s.RecentDeliveries[max(0, len(s.RecentDeliveries)-recentDeliveries):]
}

// costBefore is what the conversation had cost before this run. The harness reports its cost over the whole conversation.
func (t trip) costBefore(out loop.Outcome) float64 {
	if t.Fresh || t.Session.CostUSD > out.CostUSD {
		return 0
	}
	return t.Session.CostUSD
}

// recentDeliveries is how many a session file lists.
const recentDeliveries = 32

// updateSession changes the record that a trip was made for, and reports whether it could.
func (d *Dispatcher) updateSession(t trip, f func(*loop.Session) error) bool {
	if t.Session.CreatedAt.IsZero() {
		return false // the record of a run from before a restart is gone
	}
	err := d.Sessions.Update(t.Session.WorkItem, t.Session.CreatedAt, f)
	if err != nil {
		d.Logger.Error("a session file could not be brought up to date", "item", t.item.Ref(), "err", err)
	}
	return err == nil
}

// record commits the fates of a run's deliveries. It tries until it can, or until ctx ends and it reports false.
func (d *Dispatcher) record(ctx context.Context, t trip, out loop.Outcome, fates []fate) bool {
	letters := d.endLetters(ctx, t, out, fates)
	for {
		err := d.Journal.Write(ctx, func(tx *journal.Tx) error {
			if err := d.Inbox.EndRun(tx, t.Run, out, time.Now()); err != nil {
				return err
			}
			return d.moveAll(tx, fates, letters)
		})
		if err == nil {
			return true
		}
		d.trouble(ctx, "cannot write how a run ended", err)
		if ctx.Err() != nil {
			return false
		}
	}
}

// account is what is known of a run's end, as the event log has it. A field that the harness did not tell is left out: of a turn
// in a terminal Loop knows neither how long it took nor what it cost.
func (t trip) account(out loop.Outcome, fates []fate) map[string]string {
	fields := map[string]string{
		"outcome": string(out.Kind), "deliveries": joinIDs(t.jobs),
		"state": string(fates[0].to.State), "attempts": strconv.Itoa(fates[0].to.Attempts),
	}
	if out.Reason != "" {
		fields["reason"] = out.Reason
	}
	if out.Duration > 0 {
		fields["duration_seconds"] = strconv.FormatFloat(out.Duration.Seconds(), 'f', 1, 64)
	}
	if out.Turns > 0 {
		fields["turns"] = strconv.Itoa(out.Turns)
	}
	if cost := out.CostUSD - t.costBefore(out); cost > 0 {
		fields["cost_usd"] = strconv.FormatFloat(cost, 'f', 6, 64)
	}
	if len(out.Denials) > 0 {
		fields["denials"] = strings.Join(out.Denials, " ")
	}
	return fields
}

// tell writes the run's end to the event log.
func (d *Dispatcher) tell(ctx context.Context, t trip, out loop.Outcome, fates []fate) {
	ev := loop.LogEvent{Item: t.item, Delivery: t.jobs[0].id, Run: t.Run, Message: out.Detail, Fields: t.account(out, fates)}
	switch out.Kind {
	case loop.RunHeld, loop.RunNever:
		return
	case loop.RunDeferred:
		d.tellWaiting(ctx, t.Session, t.jobs[0].id, out.Reason, out.Detail)
		return
	case loop.RunDone:
		ev.Type = loop.LogRunDone
	default:
		ev.Type = loop.LogRunFailed
		d.Logger.Warn("a run failed", "item", t.item.Ref(), "delivery", t.jobs[0].id, "run", t.Run, "outcome", out.Kind,
			"err", out.Detail, "next", string(fates[0].to.State))
	}
	d.Log.Log(ctx, ev)
	if out.Kind == loop.RunDone && t.starts() {
		d.Log.Log(ctx, loop.LogEvent{
			Type: loop.LogSessionSpawned, Item: t.item, Run: t.Run, Message: "a session works on " + t.item.Ref(),
			Fields: map[string]string{"harness": t.Session.Harness, "runner": string(t.Session.Runner)},
		})
	}
	if out.Kind != loop.RunDone && (t.Fresh || t.starts() || t.Session.WorkItem.IsZero()) && fates[0].to.State == loop.StateFailed {
		ev.Type = loop.LogSpawnFailed
		d.Log.Log(ctx, ev)
	}
}
