package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// obey turns a command from a comment into what is to be done. Start is a delivery or a spawn with the text beside the word,
// stop is a close; what cannot be done is a drop that says why. Comments may be told of in any order, hours late: a command that was
// given before the last one that was carried out undoes nothing.
func (d *Dispatcher) obey(ctx context.Context, ev loop.Event, dec loop.Decision) (loop.Decision, error) {
	known, err := d.Items.Get(ctx, dec.Item)
	if err != nil {
		return dec, err
	}
	if dec.Command.Verb != loop.VerbStatus && !ev.At.IsZero() && ev.At.Before(known.CommandedAt) {
		dec.Kind, dec.Reason = loop.Drop, loop.DropSuperseded
		return dec, nil
	}
	return d.comply(ev, dec), nil
}

// comply is obey of a command that is in time.
func (d *Dispatcher) comply(ev loop.Event, dec loop.Decision) loop.Decision {
	s, open := d.Sessions.Find(dec.Item)
	open = open && s.Open()
	reject := func(reason string) loop.Decision {
		dec.Kind, dec.Reason = loop.Drop, reason
		return dec
	}
	switch dec.Command.Verb {
	case loop.VerbStart:
		return d.obeyStart(ev, dec, open)
	case loop.VerbStop:
		dec.Kind = loop.Close
		if open {
			dec.Closures = []loop.Closure{{Item: dec.Item, Reason: loop.CloseStopped, ClosedAt: ev.At}}
		}
	case loop.VerbPause, loop.VerbResume:
		if !open {
			return reject(loop.DropNoSession)
		}
	}
	return dec
}

func (d *Dispatcher) obeyStart(ev loop.Event, dec loop.Decision, open bool) loop.Decision {
	spawns := d.Settings().Route.SpawnOnUnmatched
	switch {
	case dec.Item.IsZero():
		dec.Kind, dec.Reason = loop.Drop, loop.DropUnproven
	case open && dec.Command.Text != "":
		dec.Kind = loop.Deliver
	case open: // it works already
	case ev.Item.State == "closed":
		dec.Kind, dec.Reason = loop.Drop, loop.DropItemClosed
	case spawns != route.SpawnLabeled && spawns != route.SpawnAlways:
		dec.Kind, dec.Reason = loop.Drop, loop.DropUnmatched
	default:
		dec.Kind = loop.Spawn
	}
	return dec
}

// rememberCommand writes what a command changes for good.
func (d *Dispatcher) rememberCommand(tx *journal.Tx, v verdict) error {
	verb := v.decision.Command.Verb
	if v.decision.Kind == loop.Drop || verb == "" {
		return nil
	}
	if verb != loop.VerbStatus && v.delivery.Source != loop.SourceCommand { // by hand it is of another clock
		if err := d.Items.Commanded(tx, v.decision.Item, v.event.At); err != nil {
			return err
		}
	}
	switch {
	case verb == loop.VerbStop:
		at := v.event.At
		if at.IsZero() { // by hand
			at = v.delivery.ReceivedAt
		}
		return d.Items.Stop(tx, v.decision.Item, at)
	case verb == loop.VerbStart:
		return d.Items.Start(tx, v.decision.Item)
	}
	return nil
}

// controlling carries out a command that is neither a delivery nor a close, and ends its delivery.
func (d *Dispatcher) controlling(ctx context.Context, del loop.Delivery) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := d.carryOut(ctx, del)
		if err == nil || ctx.Err() != nil {
			return
		}
		d.Logger.Warn("a command is not carried out and is tried again", "delivery", del.ID, "item", del.Item.Ref(), "err", err)
		sleep(ctx, time.Now().Add(wait))
	}
}

func (d *Dispatcher) carryOut(ctx context.Context, del loop.Delivery) error {
	ev, err := d.event(ctx, del.ID)
	if err != nil {
		return err
	}
	cmd, err := route.ParseCommand(said(ev), d.Settings().Route.ControlPrefix)
	if err != nil {
		return err
	}
	text, err := d.command(ctx, del.Item, cmd.Verb)
	switch {
	case errors.Is(err, loop.ErrNotFound): // closed meanwhile: nothing is left to be done
		text = "No session works on this any more."
	case err != nil:
		return err
	}
	return d.Journal.Write(ctx, func(tx *journal.Tx) error {
		if err := d.Outbox.Put(tx, answer(ev.WorkItem(), del.ID, text)...); err != nil {
			return err
		}
		return d.Inbox.Move(tx, del.ID, inbox.Transition{State: loop.StateDone})
	})
}

// command carries out a command for an item, and returns what is to be said of it on the ticket.
func (d *Dispatcher) command(ctx context.Context, w loop.WorkItem, verb loop.Verb) (string, error) {
	prefix := d.Settings().Route.ControlPrefix
	switch verb {
	case loop.VerbPause:
		res, err := d.Pause(ctx, w)
		return fmt.Sprintf("Paused. What comes does not reach the agent until `%s resume`; dropped: %d.", prefix, res.Dropped), err
	case loop.VerbResume:
		res, err := d.Resume(ctx, w)
		return fmt.Sprintf("Resumed. Missed while it was paused: %d.", res.Missed), err
	case loop.VerbStatus:
		known, err := d.Items.Get(ctx, w)
		return d.report(w, !known.StoppedAt.IsZero()), err
	case loop.VerbStart, loop.VerbStop:
	}
	return "", nil
}

// said returns what a person wrote in an event.
func said(ev loop.Event) string {
	if ev.Kind == loop.KindPullRequestReview {
		return ev.Review.Body
	}
	return ev.Comment.Body
}
