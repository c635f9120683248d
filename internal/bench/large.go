package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// largeState measures a daemon that has been used for long: how soon it takes deliveries, and how soon it answers.
func (b *bench) largeState(ctx context.Context) (_ []row, err error) {
	p, err := newPlace(b.bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	if err := b.fill(ctx, p); err != nil {
		return nil, fmt.Errorf("fill the state: %w", err)
	}
	// The first start brings the journal of another program into the form that loopd keeps.
	if _, err := p.start(ctx); err != nil {
		return nil, err
	}
	var ready []time.Duration
	for range b.rounds {
		if err := p.stop(ctx); err != nil {
			return nil, err
		}
		took, err := p.start(ctx)
		if err != nil {
			return nil, err
		}
		ready = append(ready, took)
	}
	journalSize, err := os.Stat(filepath.Join(p.state, "journal.db"))
	if err != nil {
		return nil, err
	}
	const aim = time.Second
	rows := []row{{
		what: fmt.Sprintf("start with %d sessions and %d finished deliveries (journal of %s), until ready", b.sessions, b.deliveries, mb(journalSize.Size())),
		loop: ms(median(ready)), aim: "< " + ms(aim), met: said(median(ready) < aim),
	}}
	more, err := b.answers(ctx, p)
	return append(rows, more...), err
}

// answers takes the time of what people ask.
func (b *bench) answers(ctx context.Context, p *place) ([]row, error) {
	var rows []row
	for _, args := range [][]string{
		{"sessions", "list"}, {"deliveries", "list"}, {"explain", reference(1)}, {"explain", deliveryID(1)}, {"status"},
	} {
		var took []time.Duration
		for range b.starts {
			one, err := p.loopctl(ctx, args...)
			if err != nil {
				return nil, err
			}
			took = append(took, one)
		}
		const aim = 100 * time.Millisecond
		what := "there: loopctl " + args[0]
		if len(args) > 1 && args[1] == "list" {
			what += " list"
		} else if len(args) > 1 && args[1] == reference(1) {
			what += " ITEM"
		} else if len(args) > 1 {
			what += " DELIVERY"
		}
		rows = append(rows, row{what: what, loop: "p50 " + ms(median(took)), aim: "< " + ms(aim), met: said(median(took) < aim)})
	}
	return rows, nil
}

func reference(item int) string { return fmt.Sprintf("github:acme/shop#%d", item) }

// deliveryID is that of the delivery of a number.
func deliveryID(n int) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "delivery %d", n)).String()
}

// fill writes the state that a loopd of long use would have left: a file for each session, and deliveries with their bodies and
// their entries in the event log. A tenth of them was handed to an agent, the others were dropped.
func (b *bench) fill(ctx context.Context, p *place) (err error) {
	if err := b.fillSessions(filepath.Join(p.state, "sessions")); err != nil {
		return err
	}
	db, err := journal.Open(ctx, filepath.Join(p.state, "journal.db"), inbox.Schema(), eventlog.Schema())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	in, log := inbox.New(db), eventlog.New(db, slog.New(slog.DiscardHandler))
	bodies := newStock(nil, small, 1).bodies
	var g errgroup.Group
	g.SetLimit(64)
	for i := range b.deliveries {
		g.Go(func() error {
			body := bodies[i%len(bodies)]
			d := delivered(i+1, b.sessions)
			d.Body = append(append(append(d.Body, body[0]...), d.ID[:8]...), body[1]...)
			handed := d.State == loop.StateReceived
			if _, err := in.Put(ctx, d); err != nil {
				return err
			}
			return db.Write(ctx, func(tx *journal.Tx) error {
				if handed {
					to := inbox.Transition{State: loop.StateDone, Attempts: 1, Item: d.Item, Decision: loop.Deliver, Fact: d.Fact, Summary: d.Summary}
					if err := in.Move(tx, d.ID, to); err != nil {
						return err
					}
				}
				return log.Append(tx, loop.LogEvent{
					Type: loop.LogDeliveryReceived, Item: d.Item, Delivery: d.ID, Message: d.Summary,
					Fields: map[string]string{"kind": d.Kind, "decision": string(d.Decision), "reason": d.Reason},
				})
			})
		})
	}
	return g.Wait()
}

// delivered is the delivery of a number, without its body.
func delivered(n, sessions int) loop.Delivery {
	item, _ := loop.ParseRef(reference(n%max(1, sessions) + 1)) // it has the form of one
	d := loop.Delivery{
		ID: loop.DeliveryID(deliveryID(n)), Source: loop.SourceWebhook, Kind: string(loop.KindIssueComment), Item: item,
		Fact: fmt.Sprintf("comment:github.com/%d", n), Summary: "a-passer-by commented on " + item.Ref(),
		State: loop.StateDropped, Reason: loop.DropUnauthorized, Decision: loop.Drop,
	}
	if n%10 == 0 {
		d.State, d.Reason, d.Decision = loop.StateReceived, "", ""
	}
	return d
}

func (b *bench) fillSessions(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for i := range b.sessions {
		item, err := loop.ParseRef(reference(i + 1))
		if err != nil {
			return err
		}
		at := time.Now().Add(-time.Hour).UTC()
		text, err := json.MarshalIndent(loop.Session{
			WorkItem: item, Harness: "claude", HarnessSessionID: loop.SessionID(uuid.NewString()), Cwd: folder, Runner: loop.RunnerHeadless,
			Status: loop.StatusActive, CreatedAt: at, LastEventAt: &at, RecentDeliveries: []loop.DeliveryID{}, PullRequests: []string{},
		}, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, item.Slug()+".json"), text, fs.FileMode(0o600)); err != nil {
			return err
		}
	}
	return nil
}
