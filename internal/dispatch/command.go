package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// kindStart is the kind of a delivery that a person's start travels as; its body is a sendBody.
const kindStart = string(loop.KindStart)

// Stop closes the session of an item, if it has one, and keeps any from being started for it until Start, also after a restart. It
// is a delivery, and returns as Close does, with wait and without.
func (d *Dispatcher) Stop(ctx context.Context, w loop.WorkItem, wait bool) (CloseResult, error) {
	if err := d.Sessions.Unreadable(w); err != nil {
		return CloseResult{}, err
	}
	s, ok := d.Sessions.Find(w)
	if !ok {
		s = loop.Session{WorkItem: w}
	}
	return d.putClose(ctx, s, closeBody{Reason: loop.CloseStopped}, wait)
}

// Start lifts a stop and starts a session for an item that has none, where the configuration lets events start one: else it is
// ErrConflict, and so it is for an item that is closed. A session that works already gets the text, if there is one.
func (d *Dispatcher) Start(ctx context.Context, m Message) (StartResult, error) {
	if err := d.Sessions.Unreadable(m.Item); err != nil {
		return StartResult{}, err
	}
	known, err := d.Items.Get(ctx, m.Item)
	if err != nil {
		return StartResult{}, err
	}
	s, ok := d.Sessions.Find(m.Item)
	res := StartResult{Lifted: !known.StoppedAt.IsZero(), Works: ok && s.Open()}
	if !res.Works {
		if err := d.mayStart(m.Item, known); err != nil {
			return StartResult{}, err
		}
	}
	if s.Status == loop.StatusPaused {
		return StartResult{}, fmt.Errorf("the session of %[1]s is paused: loopctl sessions resume %[1]s: %[2]w", m.Item, loop.ErrConflict)
	}
	m.Text = strings.TrimSpace(m.Text)
	if res.Works && m.Text == "" {
		return res, d.Journal.Write(ctx, func(tx *journal.Tx) error { return d.Items.Start(tx, m.Item) })
	}
	body, err := json.Marshal(sendBody{m.Item.Ref(), m.Text, m.By})
	if err != nil {
		return StartResult{}, err
	}
	res.Delivery = loop.DeliveryID("start-" + uuid.NewString())
	_, err = d.Inbox.Put(ctx, loop.Delivery{
		ID: res.Delivery, Source: loop.SourceCommand, Kind: kindStart, ReceivedAt: time.Now(), Body: body, State: loop.StateReceived,
	})
	return res, err
}

// mayStart says why no session may be started for an item; nil where one may.
func (d *Dispatcher) mayStart(w loop.WorkItem, known item.Facts) error {
	set := d.Settings()
	switch spawns := set.Route.SpawnOnUnmatched; {
	case known.ClosedAt.After(known.ReopenedAt):
		return fmt.Errorf("%s is closed: reopen it first: %w", w, loop.ErrConflict)
	case spawns != route.SpawnLabeled && spawns != route.SpawnAlways:
		return fmt.Errorf("loopd starts no sessions while routing.spawn_on_unmatched is %q: set it to labeled, or register a session of your own: %w",
			spawns, loop.ErrConflict)
	case set.SpawnWorkdir == "":
		return fmt.Errorf("no folder to start a session in: set routing.spawn_workdir: %w", loop.ErrConflict)
	}
	return nil
}

// startDecision decides a start by hand when its turn has come.
func (d *Dispatcher) startDecision(del loop.Delivery) (loop.Event, loop.Decision, error) {
	ev, w, err := readMessage(del)
	dec := loop.Decision{Kind: loop.Spawn, Reason: "by hand", Item: w, Refs: []loop.WorkItem{w}, Command: loop.Command{Verb: loop.VerbStart, Text: ev.Text}}
	if s, ok := d.Sessions.Find(w); ok && s.Open() {
		dec.Kind = loop.Deliver
	}
	return ev, dec, err
}

// LinkPullRequest declares a pull request as the work of an item's session, wherever it is, and returns the session and whether it
// was declared before. ErrConflict names the owner where it is another's whose session is open; ErrNotFound without a session.
func (d *Dispatcher) LinkPullRequest(ctx context.Context, w, pull loop.WorkItem) (loop.Session, bool, error) {
	s, err := d.openSession(w)
	switch {
	case err != nil:
		return s, false, err
	case pull.Key() == w.Key():
		return s, false, fmt.Errorf("%s is the item itself: %w", pull, loop.ErrInvalid)
	}
	links, err := d.Items.Links(ctx, pull)
	if err != nil {
		return s, false, err
	}
	before := false
	owners := []loop.WorkItem{pull} // its own number may have a session too
	for _, l := range links {
		before = before || l.Declared && l.Item.Key() == w.Key()
		owners = append(owners, l.Item)
	}
	for _, owner := range owners {
		if o, ok := d.Sessions.Find(owner); ok && o.Open() && owner.Key() != w.Key() && !before {
			return s, false, fmt.Errorf("%s belongs to the session of %s: close that first: %w", pull, owner, loop.ErrConflict)
		}
	}
	err = d.Journal.Write(ctx, func(tx *journal.Tx) error {
		return d.Items.Link(tx, pull, item.Link{Item: s.WorkItem, Declared: true, At: time.Now()})
	})
	if err != nil {
		return s, before, err
	}
	err = d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error {
		same := func(ref string) bool { return strings.EqualFold(ref, pull.Ref()) }
		if !slices.ContainsFunc(s.PullRequests, same) {
			s.PullRequests = append(s.PullRequests, pull.Ref())
		}
		return nil
	})
	s, _ = d.Sessions.Find(s.WorkItem)
	return s, before, err
}
