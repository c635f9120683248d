package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Voice is what Loop shows on the ticket of what it does. A reaction is named as GitHub names it; "" is none.
type Voice struct {
	Started, Completed, Error string
	Announce                  bool // one comment when an agent is started
}

// tellWith writes an entry to the event log, and in the same commit what is owed to the ticket because of it.
func (d *Dispatcher) tellWith(ctx context.Context, ev loop.LogEvent, letters []outbox.Letter) {
	err := d.Journal.Write(context.WithoutCancel(ctx), func(tx *journal.Tx) error {
		if err := d.Log.Append(tx, ev); err != nil {
			return err
		}
		return d.Outbox.Put(tx, letters...)
	})
	if err != nil {
		d.Logger.Error("an event could not be kept", "type", ev.Type, "item", ev.Item.Ref(), "err", err)
	}
}

// startLetters is what the ticket is shown when a run begins.
func (d *Dispatcher) startLetters(ctx context.Context, t trip) []outbox.Letter {
	voice := d.Settings().Voice
	letters := d.reactions(ctx, ids(t.jobs), voice.Started)
	if s := t.Session; voice.Announce && t.starts() {
		letters = append(letters, outbox.Letter{
			Key: "announce:" + sessionKey(s), Topic: outbox.Announcement, Item: s.WorkItem, Text: outbox.Announce(s.WorkItem), Delivery: t.jobs[0].id,
		})
	}
	return letters
}

// endLetters is what the ticket is shown of the deliveries of a run that have ended.
func (d *Dispatcher) endLetters(ctx context.Context, t trip, out loop.Outcome, fates []fate) []outbox.Letter {
	var done, failed []*job
	for _, f := range fates {
		switch {
		case f.to.State == loop.StateDone && out.Duration > 0: // else the prompt was seen, and the turn goes on: see turned
			done = append(done, f.job)
		case f.to.State == loop.StateFailed:
			failed = append(failed, f.job)
		}
	}
	voice := d.Settings().Voice
	letters := append(d.reactions(ctx, ids(done), voice.Completed), d.reactions(ctx, ids(failed), voice.Error)...)
	if len(failed) > 0 {
		letters = append(letters, d.gaveUp(ctx, t, failed[0])...)
	}
	return letters
}

// gaveUp is the notice that a delivery has failed. Until the session has worked again one is enough.
func (d *Dispatcher) gaveUp(ctx context.Context, t trip, j *job) []outbox.Letter {
	del, err := d.Inbox.Get(ctx, j.id)
	if err != nil || del.Source == loop.SourceCommand {
		return nil
	}
	since := string(j.id)
	if s, ok := d.Sessions.Find(t.item); ok {
		since = sessionKey(s)
		if s.LastEventAt != nil {
			since += ":" + stamp(*s.LastEventAt)
		}
	}
	return []outbox.Letter{{
		Key: "failed:" + since, Topic: outbox.Notice, Item: t.item, Text: outbox.GaveUp(t.item, del.Summary, max(1, j.attempts)), Delivery: j.id,
	}}
}

// runaway is the notice that a session had too many runs in an hour.
func runaway(s loop.Session, runs int, pausedAt time.Time) []outbox.Letter {
	return []outbox.Letter{{
		Key: "runaway:" + sessionKey(s) + ":" + stamp(pausedAt), Topic: outbox.Notice, Item: s.WorkItem, Text: outbox.Runaway(s.WorkItem, runs),
	}}
}

// sessionKey names a session among all that an item ever has.
func sessionKey(s loop.Session) string { return string(s.WorkItem.Key()) + ":" + stamp(s.CreatedAt) }

func stamp(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// reactions puts a reaction on what brought each delivery: the comment, else the item. What a person said at this machine is
// on no ticket.
func (d *Dispatcher) reactions(ctx context.Context, deliveries []loop.DeliveryID, name string) []outbox.Letter {
	if name == "" || d.Outbox == nil {
		return nil
	}
	var letters []outbox.Letter
	for _, id := range deliveries {
		ev, err := d.event(ctx, id)
		if err != nil || ev.Source == loop.SourceCommand {
			continue // its body was pruned: it is too old to react to
		}
		l := outbox.Letter{
			Key: fmt.Sprintf("react:%s:%s", id, name), Topic: outbox.Reaction, Item: ev.WorkItem(), Text: name, Delivery: id,
			Comment: ev.Comment.ID, Inline: ev.Kind == loop.KindPullRequestComment,
		}
		if l.Item.IsZero() { // a check
			l.Item = d.itemOfDelivery(ctx, id)
		}
		if !l.Item.IsZero() {
			letters = append(letters, l)
		}
	}
	return letters
}

func (d *Dispatcher) itemOfDelivery(ctx context.Context, id loop.DeliveryID) loop.WorkItem {
	del, err := d.Inbox.Get(ctx, id)
	if err != nil {
		return loop.WorkItem{}
	}
	return del.Item
}

// reply is the answer to a command on the ticket; none where there is nothing to say, or where what follows says it.
func (d *Dispatcher) reply(v verdict) []outbox.Letter {
	w := v.event.WorkItem()
	if v.delivery.Source == loop.SourceCommand || w.IsZero() {
		return nil
	}
	return answer(w, v.delivery.ID, d.answerTo(v.decision))
}

func answer(w loop.WorkItem, to loop.DeliveryID, text string) []outbox.Letter {
	if text == "" {
		return nil
	}
	return []outbox.Letter{{Key: "answer:" + string(to), Topic: outbox.Answer, Item: w, Text: text, Delivery: to}}
}

// answerTo says what is known of a command when it is decided. What is carried out later is answered then.
func (d *Dispatcher) answerTo(dec loop.Decision) string {
	prefix := d.Settings().Route.ControlPrefix
	switch verb := dec.Command.Verb; {
	case dec.Reason == loop.DropAmbiguous:
		return "Nothing is done: the comment holds two different commands. Write a comment with one of them."
	case verb == "":
		return ""
	case dec.Kind == loop.Drop:
		return fmt.Sprintf("`%s %s` is not carried out: %s.", prefix, verb, refusal(dec.Reason))
	case verb == loop.VerbStop && len(dec.Closures) > 0:
		return fmt.Sprintf("Stopped. The session is closed, and none is started for this until `%s start`.", prefix)
	case verb == loop.VerbStop:
		return fmt.Sprintf("Stopped. No session works on this, and none is started until `%s start`.", prefix)
	case verb == loop.VerbStart && dec.Kind == loop.Control:
		return "A session works on this already."
	}
	return ""
}

// refusal says in words for the ticket why a command is not carried out.
func refusal(reason string) string {
	return cmp.Or(map[string]string{
		loop.DropNoSession:  "no session works on this",
		loop.DropUnproven:   "it is not sure which item is meant",
		loop.DropItemClosed: "this is closed; reopen it first",
		loop.DropUnmatched:  "Loop is configured to start no sessions",
		loop.DropSuperseded: "a command that was given later has been carried out already",
	}[reason], reason)
}

// report says on the ticket how an item's session is.
func (d *Dispatcher) report(w loop.WorkItem, stopped bool) string {
	prefix := d.Settings().Route.ControlPrefix
	s, ok := d.Sessions.Find(w)
	switch {
	case (!ok || !s.Open()) && stopped:
		return fmt.Sprintf("No session works on this, and none is started until `%s start`.", prefix)
	case !ok:
		return "No session works on this."
	case !s.Open():
		return fmt.Sprintf("No session works on this; the last one was closed (%s).", s.CloseReason)
	}
	a := d.Activity(s.WorkItem)
	text := fmt.Sprintf("%s works on this and is %s", s.Harness, a.State)
	if s.Status == loop.StatusPaused {
		text = fmt.Sprintf("The session of %s is paused: what comes does not reach it until `%s resume`", s.Harness, prefix)
	} else if a.Reason != "" {
		text += " (" + a.Reason + ")"
	}
	if a.Queued > 0 {
		text += fmt.Sprintf("; queued: %d", a.Queued)
	}
	if s.LastEventAt != nil {
		text += "; it last handled something at " + s.LastEventAt.UTC().Format("2006-01-02 15:04 UTC")
	}
	return text + "."
}
