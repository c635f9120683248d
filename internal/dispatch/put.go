package dispatch

import (
	"context"
	"fmt"
	"slices"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Put takes a delivery as inbox.Inbox.Put does, and in the same commit drops what would be dropped whatever else is known: most
// of what a busy repository sends. All else is received, and decided in its turn.
func (d *Dispatcher) Put(ctx context.Context, del loop.Delivery) (inbox.PutResult, error) {
	v, ok := d.foregone(del)
	if !ok {
		return d.Inbox.Put(ctx, del)
	}
	body := d.Inbox.Pack(del.Body)
	v.claims = d.claims(v.event)
	v.delivery.Body, v.event.Item.Body, v.event.Comment.Body = nil, "", "" // many wait for the disk, and need not hold these
	var result inbox.PutResult
	err := d.Journal.Write(ctx, func(tx *journal.Tx) (err error) {
		result, err = d.putDropped(tx, v, body)
		return err
	})
	if journal.Unavailable(err) {
		err = fmt.Errorf("%w: %w", err, loop.ErrUnavailable)
	}
	return result, err
}

// foregone decides a delivery if that needs nothing but the delivery itself.
func (d *Dispatcher) foregone(del loop.Delivery) (verdict, bool) {
	v := verdict{delivery: del}
	if del.Source != loop.SourceWebhook || del.State.Final() {
		return v, false
	}
	if !slices.Contains(loop.Kinds(), loop.Kind(del.Kind)) {
		v.decision = loop.Decision{Kind: loop.Drop, Reason: loop.DropEventOff}
		return v.state(), true
	}
	if loop.Kind(del.Kind) != loop.KindIssueComment {
		return v, false
	}
	var err error
	if v.event, err = d.Decode(del); err != nil {
		return v, false
	}
	candidates := route.Refs(v.event, route.Links{})
	for i := range candidates {
		candidates[i].Item = d.renamed(v.event, candidates[i].Item)
	}
	var ok bool
	v.decision, ok = route.Foregone(v.event, candidates, d.Settings().Route)
	return v.state(), ok
}

// putDropped writes a delivery with the verdict on it. One that is there already stays as it is, or is received anew.
func (d *Dispatcher) putDropped(tx *journal.Tx, v verdict, body inbox.Packed) (inbox.PutResult, error) {
	if err := d.claim(tx, &v); err != nil {
		return inbox.PutResult{}, err
	}
	del := v.delivery
	del.State, del.Reason, del.Item, del.Decision, del.Fact, del.Summary = v.to.State, v.to.Reason, v.to.Item, v.to.Decision, v.to.Fact, v.to.Summary
	result, err := d.Inbox.PutIn(tx, del, body)
	if err != nil || result.Verdict != inbox.Accepted {
		return result, err
	}
	if err := d.rememberClaim(tx, v); err != nil {
		return result, err
	}
	return result, d.Log.Append(tx, v.logEvent())
}
