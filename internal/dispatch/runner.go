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

// Runner hosts the harnesses of sessions and their runs.
type Runner interface {
	// Ready says whether a prompt can be handed to a session now. It costs little and changes nothing but this: to make room it
	// may end the harness of another session, which is resumed on its next event.
	Ready(ctx context.Context, s loop.Session) loop.Readiness

	// Deliver hands a prompt to the harness and waits for the end of the run. When ctx ends first the run goes on and the
	// outcome is RunDetached. RunDeferred says that the session was not ready after all, and that the harness has seen nothing.
	Deliver(ctx context.Context, h loop.Handover) loop.Outcome

	// Settle finds out what became of a run of an earlier loopd. It waits for one that is still alive, and makes sure that
	// one that had not begun never will (RunNever).
	Settle(ctx context.Context, h loop.Handover) loop.Outcome

	// Terminate ends a run and everything it started, and returns when it is verified gone. Its Deliver or Settle then
	// answers RunEnded, or with the answer that the harness had given before.
	Terminate(ctx context.Context, run loop.RunID) (loop.Termination, error)

	// End ends the harness that hosts a session between its runs, where one does, saves what its terminal shows, and returns when
	// it is verified gone.
	End(ctx context.Context, s loop.Session, w loop.Wish) (loop.Termination, error)
}
