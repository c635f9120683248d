package dispatch

import (
	"context"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

// proofTimeout bounds the question whether an item exists: all that arrives waits for the answer.
const proofTimeout = 10 * time.Second

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
		ctx, cancel := context.WithTimeout(ctx, proofTimeout)
		known := facts.Items[c.Item.Key()]
		known.Existence = d.Exists(ctx, c.Item)
		cancel()
		facts.Items[c.Item.Key()], asked = known, true
	}
	return asked
}
