// Package dispatch makes decisions so: one queue per session, a cap over all, retries, holds and closes.
//
// Deliveries of one session run in the order of their arrival, one run at a time; sessions run beside each other up to a
// cap. Every step is committed to the inbox before the next one begins, so a crash at any point is settled at the next
// start: nothing accepted is lost, and nothing is run twice while its first run lives.
package dispatch

import (
	"context"

	"github.com/loop-daemon/loop/internal/loop"
)

// Runner hosts the runs of a session's harness.
type Runner interface {
	// Deliver hands a prompt to the harness and waits for the end of the run. When ctx ends first the run goes on and the
	// outcome is RunDetached.
	Deliver(ctx context.Context, h loop.Handover) loop.Outcome

	// Settle finds out what became of a run of an earlier loopd. It waits for one that is still alive, and makes sure that
	// one that had not begun never will (RunNever).
	Settle(ctx context.Context, h loop.Handover) loop.Outcome

	// Terminate ends a run and everything it started, and returns when it is verified gone. Its Deliver or Settle then
	// answers RunEnded, or with the answer that the harness had given before.
	Terminate(ctx context.Context, run loop.RunID) (loop.Termination, error)
}
