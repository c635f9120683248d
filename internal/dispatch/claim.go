package dispatch

import (
	"context"
	"strings"

	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/route"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// ownVoice finds out what Loop's own part in an event is.
func (d *Dispatcher) ownVoice(ctx context.Context, ev loop.Event, facts *route.Facts) (err error) {
	facts.Login = d.login(ev.Repo.Host)
	if ev.Kind == loop.KindIssueComment {
		facts.Posted, err = d.Outbox.Posted(ctx, ev.Repo.Host, ev.Comment.ID)
	}
	return err
}

func (d *Dispatcher) login(host string) string {
	if d.Login == nil {
		return ""
	}
	return d.Login(host)
}

// claims reports whether an event is the announcement that some Loop, maybe this one, has started an agent on an item. Only that of
// somebody who may steer agents here counts, so that no stranger can keep us from work.
func (d *Dispatcher) claims(ev loop.Event) bool {
	if ev.Kind != loop.KindIssueComment || ev.Action != "created" || !outbox.IsAnnouncement(ev.Comment.Body) {
		return false
	}
	me := d.login(ev.Repo.Host)
	return d.Settings().Route.Authorizes(ev) || me != "" && strings.EqualFold(me, ev.Actor.Login)
}

func (d *Dispatcher) rememberClaim(tx *journal.Tx, v verdict) error {
	if !v.claims || v.decision.Reason == loop.DropDuplicate || v.decision.Reason == loop.DropRoutingOff {
		return nil
	}
	return d.Items.Claim(tx, v.event.WorkItem(), v.event.Comment.ID, v.event.At)
}

// claimed reports whether another Loop works on an item: somebody announced it, and it was not us.
func (d *Dispatcher) claimed(ctx context.Context, w loop.WorkItem, known item.Facts) (bool, error) {
	if known.Claim == 0 {
		return false, nil
	}
	ours, err := d.Outbox.Posted(ctx, w.Host, known.Claim)
	if ours || err != nil {
		return false, err
	}
	ours, err = d.Outbox.Doubtful(ctx, w)
	return !ours, err
}
