package dispatch

import (
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// Registration links a conversation that exists already to a work item.
type Registration struct {
	Item      loop.WorkItem
	Harness   string
	SessionID loop.SessionID  // the harness's own id of the conversation
	Cwd       string          // absolute
	Runner    loop.RunnerKind // "" takes the configured one
	Force     bool            // close the session that has the item, as replaced, and take its place
}

// CloseResult says what closing a session by hand ended.
type CloseResult struct {
	Session      loop.Session    // after it
	Delivery     loop.DeliveryID // the delivery that carries the close; "" for a session that was closed before
	HarnessEnded bool            // a harness process was running and was ended
	Killed       bool            // SIGKILL was needed for it
	Dropped      int             // deliveries that were dropped: queued, or handed over and not answered
	Retained     string          // the terminal that stays as a record to read; "" where there is none
	Removed      string          // the terminal that was removed; what it showed can still be read
}

// PauseResult says what a pause did.
type PauseResult struct {
	Session  loop.Session // after it
	Dropped  int          // deliveries that were dropped: queued, or handed over and not answered
	RunEnded bool         // a running turn was ended
}

// ResumeResult says what a session missed while it was paused.
type ResumeResult struct {
	Session loop.Session // after it
	Missed  int          // deliveries that were dropped meanwhile
}

// Hold says that a harness as a whole cannot work now. Its deliveries wait, uncounted, until it is tried again.
type Hold struct {
	Harness string
	Reason  string    // not-logged-in, usage-limit, rate-limited or overloaded
	Detail  string    // what the harness said, one line
	Until   time.Time // when it is tried again
}

// Activity says what a session does now.
type Activity struct {
	State  string // one of the Activity words
	Reason string // what the next delivery waits for, as the inbox says; "" where it does not
	Queued int    // deliveries that are queued or waiting
}

// The words of Activity.State.
const (
	ActivityIdle    = "idle"    // nothing is on its way
	ActivityRunning = "running" // a harness has a prompt of ours
	ActivityWaiting = "waiting" // the next delivery waits for a slot or for its time
	ActivityHeld    = "held"    // its harness cannot work now
)

// StartResult says what comes of a start by hand.
type StartResult struct {
	Delivery loop.DeliveryID // that starts the session, or carries the text to it; "" where there is nothing to do
	Lifted   bool            // the item had been stopped
	Works    bool            // a session works on it already
}
