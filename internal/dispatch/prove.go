package dispatch

import (
	"context"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

const (
	// proofTimeout bounds the question whether an item exists: all that arrives waits for the answer.
	proofTimeout = 5 * time.Second
	// proofPause is how long a host is not asked after one of its answers did not come in time.
	proofPause = time.Minute
)

// prove asks whether the items exist that only a branch name speaks of, where a session would be started for another one
// because nobody knows, and reports whether it has asked.
func (d *Dispatcher) prove(ctx context.Context, candidates []route.Candidate, facts route.Facts, dec loop.Decision) bool {
	starts := dec.Kind == loop.Spawn || dec.Kind == loop.Control || dec.Reason == loop.DropUnproven
	if d.Exists == nil || !starts || facts.Items[dec.Item.Key()].Session.Open() {
		return false
	}
	asked := false
	for _, c := range candidates {
		switch {
		case c.How == route.HowKeyword, c.How == route.HowRemembered, c.How == route.HowDeclared:
			return asked // it is started for this one
		case c.How != route.HowBranch:
			continue
		}
		known := facts.Items[c.Item.Key()]
		known.Existence = d.existence(ctx, c.Item)
		facts.Items[c.Item.Key()], asked = known, true
	}
	return asked
}

// existence asks whether an item is there, unless its host has just left such a question without an answer.
func (d *Dispatcher) existence(ctx context.Context, w loop.WorkItem) route.Existence {
	if time.Now().Before(d.silent[w.Host]) {
		return route.Unanswered
	}
	within, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	answer := d.Exists(within, w)
	if within.Err() != nil {
		d.silent[w.Host] = time.Now().Add(proofPause)
	}
	return answer
}
