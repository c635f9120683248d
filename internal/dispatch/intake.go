package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/prompt"
	"github.com/loop-daemon/loop/internal/route"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// intakeBatch is how many deliveries are taken up between two looks at the inbox.
const intakeBatch = 100

// intake takes up what arrives, in order, until ctx ends.
func (d *Dispatcher) intake(ctx context.Context) {
	for ctx.Err() == nil {
		received, err := d.Inbox.Received(ctx, intakeBatch)
		if err != nil {
			d.trouble(ctx, "cannot read what has arrived", err)
			continue
		}
		for _, del := range received {
			for err := d.takeIn(ctx, del); err != nil && ctx.Err() == nil; err = d.takeIn(ctx, del) {
				d.trouble(ctx, "cannot write what becomes of a delivery", err)
			}
		}
		if len(received) == 0 {
			sleep(ctx, time.Time{}, d.Inbox.News())
		}
	}
}

// takeIn decides one delivery, commits the decision with all that it changes, and sets it going.
func (d *Dispatcher) takeIn(ctx context.Context, del loop.Delivery) error {
	v, err := d.verdict(ctx, del)
	if err != nil {
		return err
	}
	if err := d.Journal.Write(ctx, func(tx *journal.Tx) error { return d.commitVerdict(tx, &v) }); err != nil {
		return err
	}
	d.step("decided")
	d.setGoing(ctx, v)
	return nil
}

// verdict is what becomes of a delivery, and what is learned from it.
type verdict struct {
	delivery loop.Delivery
	event    loop.Event // zero of a command and of what cannot be read
	decision loop.Decision
	to       inbox.Transition
	claims   bool // it is the announcement of a Loop, on its item
}

// verdict decides a delivery.
func (d *Dispatcher) verdict(ctx context.Context, del loop.Delivery) (verdict, error) {
	v := verdict{delivery: del}
	body, err := d.Inbox.Body(ctx, del.ID)
	switch {
	case journal.Unavailable(err), ctx.Err() != nil:
		return verdict{}, errors.Join(err, ctx.Err())
	case err != nil:
		return v.unreadable(err), nil
	}
	del.Body, v.delivery.Body = body, body
	if del.Source == loop.SourceCommand {
		if v.event, v.decision, err = d.commanded(del); err != nil {
			return v.unreadable(err), nil
		}
		return v.state(), nil
	}
	if !slices.Contains(loop.Kinds(), loop.Kind(del.Kind)) {
		v.decision = loop.Decision{Kind: loop.Drop, Reason: loop.DropEventOff}
		return v.state(), nil
	}
	if v.event, err = d.Decode(del); err != nil {
		return v.unreadable(err), nil
	}
	if del.Decision != "" && del.Decision != loop.Drop {
		return d.again(ctx, v)
	}
	v.claims = d.claims(v.event)
	if v.decision, err = d.judge(ctx, v.event); err != nil {
		return verdict{}, err
	}
	if v.decision.Kind == loop.Control {
		if v.decision, err = d.obey(ctx, v.event, v.decision); err != nil {
			return verdict{}, err
		}
	}
	return v.state(), nil
}

func (v verdict) unreadable(err error) verdict {
	v.decision = loop.Decision{Kind: loop.Drop, Reason: loop.DropUndecodable}
	v = v.state()
	v.to.Error = loop.Plain(err)
	return v
}

// state puts the decision into the words of the inbox.
func (v verdict) state() verdict {
	v.to = inbox.Transition{
		State: loop.StateQueued, Item: v.decision.Item, Decision: v.decision.Kind, Closures: v.decision.Closures, Fact: v.event.Fact,
	}
	if refs := v.decision.Refs; v.to.Item.IsZero() && len(refs) > 0 {
		v.to.Item = refs[0] // so that whoever asks about the item is told of what was dropped, too
	}
	if v.event.Kind != "" {
		v.to.Summary = prompt.Summary(v.event)
	}
	if v.decision.Kind == loop.Drop {
		v.to.State, v.to.Reason = loop.StateDropped, v.decision.Reason
	}
	return v
}

// again is the verdict on a delivery that was decided, failed, and was received anew: what was decided holds, but nothing is
// started for an item that was stopped or closed since.
func (d *Dispatcher) again(ctx context.Context, v verdict) (verdict, error) {
	del := v.delivery
	v.decision = loop.Decision{Kind: del.Decision, Reason: "received anew", Item: del.Item, Closures: del.Closures}
	if del.Decision == loop.Spawn {
		known, err := d.Items.Get(ctx, del.Item)
		switch {
		case err != nil:
			return verdict{}, err
		case !known.StoppedAt.IsZero():
			v.decision = loop.Decision{Kind: loop.Drop, Reason: loop.DropStopped, Item: del.Item}
		case known.ClosedAt.After(known.ReopenedAt):
			v.decision = loop.Decision{Kind: loop.Drop, Reason: loop.DropItemClosed, Item: del.Item}
		}
	}
	return v.state(), nil
}

// Refs returns the items that an event concerns, in the order in which a session is looked for: its own number and what is
// remembered, declared or said to be linked to it, each under the name that a session has it by.
func (d *Dispatcher) Refs(ctx context.Context, ev loop.Event) ([]loop.WorkItem, error) {
	links, _, err := d.links(ctx, ev)
	if err != nil {
		return nil, err
	}
	var refs []loop.WorkItem
	for _, c := range route.Refs(ev, links) {
		refs = append(refs, d.renamed(ev, c.Item))
	}
	return refs, nil
}

// judge looks up what routing needs to know about an event, and asks it.
func (d *Dispatcher) judge(ctx context.Context, ev loop.Event) (loop.Decision, error) {
	links, pulls, err := d.links(ctx, ev)
	if err != nil {
		return loop.Decision{}, err
	}
	candidates := route.Refs(ev, links)
	facts := route.Facts{Items: map[loop.ItemKey]route.ItemFacts{}, Pulls: pulls}
	if err := d.ownVoice(ctx, ev, &facts); err != nil {
		return loop.Decision{}, err
	}
	for i := range candidates {
		candidates[i].Item = d.renamed(ev, candidates[i].Item)
		w := candidates[i].Item
		if facts.Items[w.Key()], err = d.itemFacts(ctx, ev, w); err != nil {
			return loop.Decision{}, err
		}
	}
	policy := d.Settings().Route
	dec := route.Decide(ev, candidates, facts, policy)
	if d.prove(ctx, candidates, facts, dec) {
		dec = route.Decide(ev, candidates, facts, policy)
	}
	return dec, nil
}

// links looks up the pull requests of an event, the items that they belong to, and what is known of them.
func (d *Dispatcher) links(ctx context.Context, ev loop.Event) (route.Links, map[loop.ItemKey]route.PullFacts, error) {
	var byHead []loop.WorkItem
	if ev.Kind.CI() {
		heads, err := d.Items.ByHead(ctx, ev.Repo, ev.CI.SHA, ev.CI.HeadRepo, ev.CI.Branch)
		if err != nil {
			return route.Links{}, nil, err
		}
		for _, p := range heads {
			byHead = append(byHead, p.Item)
		}
	}
	links := route.Links{
		ByHead: byHead, Declared: map[loop.ItemKey][]loop.WorkItem{}, Remembered: map[loop.ItemKey][]loop.WorkItem{},
	}
	facts := map[loop.ItemKey]route.PullFacts{}
	for _, pull := range route.Pulls(ev, byHead) {
		known, err := d.Items.Links(ctx, pull)
		if err != nil {
			return links, nil, err
		}
		for _, l := range known {
			into := links.Remembered
			if s, ok := d.Sessions.Find(l.Item); l.Declared && ok && s.Open() {
				into = links.Declared
			}
			into[pull.Key()] = append(into[pull.Key()], l.Item)
		}
		p, ok, err := d.Items.Pull(ctx, pull)
		if err != nil {
			return links, nil, err
		}
		if ok {
			facts[pull.Key()] = route.PullFacts{HeadSHA: p.HeadSHA, HeadRepo: p.HeadRepo, Acted: p.Acted}
		}
	}
	return links, facts, nil
}

// renamed returns the name under which a session works on an item of the event's repository, where that was renamed since.
func (d *Dispatcher) renamed(ev loop.Event, w loop.WorkItem) loop.WorkItem {
	here, err := loop.NewWorkItem(ev.Repo.Host, ev.Repo.Owner, ev.Repo.Name, w.Number)
	if err != nil || here.Key() != w.Key() || ev.Repo.ID == 0 {
		return w
	}
	if s, ok := d.Sessions.Find(w); ok && s.Open() {
		return w
	}
	if s, ok := d.Sessions.FindRenamed(ev.Repo.ID, w); ok && s.Open() {
		return s.WorkItem
	}
	return w
}

func (d *Dispatcher) itemFacts(ctx context.Context, ev loop.Event, w loop.WorkItem) (route.ItemFacts, error) {
	known, err := d.Items.Get(ctx, w)
	if err != nil {
		return route.ItemFacts{}, err
	}
	pulls, err := d.Items.OpenPulls(ctx, w)
	if err != nil {
		return route.ItemFacts{}, err
	}
	own := ev.WorkItem().Key()
	claimed, err := d.claimed(ctx, w, known)
	if err != nil {
		return route.ItemFacts{}, err
	}
	f := route.ItemFacts{
		Claimed: claimed, Stopped: !known.StoppedAt.IsZero(), SpawnedAt: known.SpawnedAt, LabeledAt: known.LabeledAt,
		ReopenedAt: known.ReopenedAt, ClosedAt: known.ClosedAt,
		OtherPull: slices.ContainsFunc(pulls, func(p item.Pull) bool { return p.Item.Key() != own }),
	}
	switch s, ok := d.Sessions.Find(w); {
	case ok && s.Open():
		f.Session = s
	case d.Sessions.Unreadable(w) != nil: // it may be open: what is for it must not be dropped
		f.Session = loop.Session{WorkItem: w, Status: loop.StatusActive}
	}
	return f, nil
}

// commitVerdict writes a verdict with all that is learned from its event. A fact that another delivery has brought already
// turns it into a drop.
func (d *Dispatcher) commitVerdict(tx *journal.Tx, v *verdict) error {
	if err := d.claim(tx, v); err != nil {
		return err
	}
	if err := d.Inbox.Move(tx, v.delivery.ID, v.to); err != nil {
		return err
	}
	if err := d.remember(tx, *v); err != nil {
		return err
	}
	if err := d.Outbox.Put(tx, d.reply(*v)...); err != nil {
		return err
	}
	return d.Log.Append(tx, v.logEvent())
}

// claim makes the verdict's fact that of its delivery, unless nobody looks at it, or another delivery has it.
func (d *Dispatcher) claim(tx *journal.Tx, v *verdict) error {
	if v.event.Fact == "" || v.decision.Reason == loop.DropRoutingOff || v.decision.Reason == loop.DropEventOff {
		return nil
	}
	owner, err := d.Inbox.Claim(tx, v.event.Fact, v.delivery.ID)
	if err != nil {
		return err
	}
	if owner != v.delivery.ID {
		v.decision = loop.Decision{Kind: loop.Drop, Reason: loop.DropDuplicate, Item: v.decision.Item, Refs: v.decision.Refs}
		*v = v.state()
	}
	return nil
}

func (v verdict) logEvent() loop.LogEvent {
	ev := loop.LogEvent{
		Type: loop.LogDeliveryReceived, Item: v.to.Item, Delivery: v.delivery.ID, Message: v.to.Summary,
		Fields: map[string]string{"kind": v.delivery.Kind, "decision": string(v.decision.Kind), "reason": v.decision.Reason},
	}
	switch {
	case v.decision.Reason == loop.DropAmbiguous:
		ev.Type = loop.LogControlAmbiguous
	case v.decision.Kind == loop.Drop && v.decision.Command.Verb != "":
		ev.Type = loop.LogControlRejected
	case v.decision.Kind == loop.Drop:
		ev.Type = loop.LogDeliveryDropped
	case v.decision.Command.Verb != "":
		ev.Type = loop.LogControlCommand
	}
	if verb := v.decision.Command.Verb; verb != "" {
		ev.Fields["verb"] = string(verb)
	}
	return ev
}

// remember writes what an event taught about items and pull requests.
func (d *Dispatcher) remember(tx *journal.Tx, v verdict) error {
	ev, own := v.event, v.event.WorkItem()
	if own.IsZero() || v.decision.Reason == loop.DropDuplicate || v.decision.Reason == loop.DropRoutingOff {
		return d.rememberCommand(tx, v)
	}
	policy := d.Settings().Route
	listed := !ev.Kind.CI() && policy.Authorizes(ev)
	errs := []error{d.rememberCommand(tx, v), d.rememberClaim(tx, v)}
	if ev.Item.PR && ev.Item.HeadSHA != "" {
		errs = append(errs, d.Items.See(tx, item.Pull{
			Item: own, HeadSHA: ev.Item.HeadSHA, HeadRef: ev.Item.HeadRef, HeadRepo: ev.Item.HeadRepo, Open: ev.Item.State != "closed", SeenAt: ev.At,
		}))
	}
	if ev.Item.PR && listed {
		errs = append(errs, d.Items.Act(tx, own))
	}
	switch {
	case ev.Action == "closed" && (ev.Kind == loop.KindIssues || ev.Kind == loop.KindPullRequest):
		errs = append(errs, d.Items.Closed(tx, own, closedAt(ev)))
	case ev.Action == "reopened":
		errs = append(errs, d.Items.Reopened(tx, own, ev.At))
	case ev.Action == "labeled" && listed && policy.Arms(ev):
		errs = append(errs, d.Items.Labeled(tx, own, ev.At))
	}
	if via := v.decision.Via; !via.IsZero() && !v.decision.Item.IsZero() {
		errs = append(errs, d.Items.Link(tx, via, item.Link{Item: v.decision.Item, At: ev.At}))
	}
	if v.decision.Kind == loop.Spawn && v.delivery.Decision == "" {
		errs = append(errs, d.Items.Spawned(tx, v.decision.Item, ev.At))
	}
	return errors.Join(errs...)
}

func closedAt(ev loop.Event) time.Time {
	if ev.Item.ClosedAt.IsZero() {
		return ev.At
	}
	return ev.Item.ClosedAt
}

// setGoing does what was decided.
func (d *Dispatcher) setGoing(ctx context.Context, v verdict) {
	del := v.delivery
	del.State, del.Item, del.Decision, del.Closures = v.to.State, v.to.Item, v.to.Decision, v.to.Closures
	del.Attempts, del.DueAt, del.Body = 0, time.Time{}, nil
	switch v.decision.Kind {
	case loop.Deliver, loop.Spawn:
		j := jobOf(del)
		if j.spawn { // the record is there from now on, so that a close finds it; what is in its way counts when it runs
			_, _ = d.sessionFor(ctx, del.Item, j)
		}
		d.enqueue(del.Item, j)
	case loop.Close:
		d.beginClose(ctx, del)
	case loop.Control:
		d.goRun(func(ctx context.Context) { d.controlling(ctx, del) })
	case loop.Drop:
		d.Logger.Debug("a delivery is dropped", "delivery", del.ID, "reason", v.decision.Reason)
	}
}
