package loop

import "time"

// DeliveryID identifies a delivery: GitHub's UUID for a webhook, a text derived from the fact for the poller and for
// commands. One id is accepted once.
type DeliveryID string

// Source says where a delivery came from.
type Source string

// The sources of deliveries.
const (
	SourceWebhook Source = "webhook"
	SourcePoll    Source = "poll"
	SourceCommand Source = "command" // a person, through loopctl
)

// State says what became of a delivery. It is on disk at every step.
type State string

// The states of a delivery, in the order of its life.
const (
	StateReceived State = "received" // stored, not looked at yet
	StateQueued   State = "queued"   // decided; its turn has not come
	StateWaiting  State = "waiting"  // held back for the reason beside it
	StateRunning  State = "running"  // handed to a harness
	StateDone     State = "done"
	StateFailed   State = "failed"  // given up; can be redelivered
	StateDropped  State = "dropped" // nothing to do, for the reason beside it
)

// Final reports whether nothing more happens to a delivery by itself.
func (s State) Final() bool { return s == StateDone || s == StateFailed || s == StateDropped }

// Delivery is one fact as it arrived, and what became of it.
type Delivery struct {
	Seq        int64 // order of arrival, given by the inbox
	ID         DeliveryID
	Source     Source
	Kind       string // event type as the source names it: "issue_comment", "close", …
	Host       string // GitHub Enterprise host; "" is github.com
	HookID     string // which webhook sent it, where its signature proves that the webhook is ours
	ReceivedAt time.Time
	Body       []byte // JSON as it came; nil once it was pruned, and in listings

	State    State
	Reason   string       // why dropped, waiting or failed, as one of the stable words
	Error    string       // what went wrong the last time, for a person
	Item     WorkItem     // whose queue it is in, once decided
	Decision DecisionKind // what routing said, once decided
	Closures []Closure    // what a close ends; decided once, so that it is carried out the same after a crash
	Fact     string       // Event.Fact, once decoded
	Attempts int          // runs that began with it
	DueAt    time.Time    // not before; zero: at once
	Run      RunID        // the last run that carried it
	Summary  string       // one line for lists, such as "comment by octocat"; set when decided
	EndedAt  time.Time    // when it became final
}

// Reasons that a delivery waits for.
const (
	WaitBackoff = "backoff" // after a failed try, until it is due
	WaitHarness = "harness-held"
	WaitRun     = "run-found" // a run from before a restart is still alive
	WaitEnding  = "ending"    // of a close: what it ends could not be ended yet

	// Of a conversation that is live in a terminal.
	WaitBusy        = "busy"          // a turn runs
	WaitDialog      = "dialog"        // it asks a person for something
	WaitDraft       = "draft"         // somebody is writing there
	WaitStarting    = "starting"      // it does not take text yet
	WaitUnconfirmed = "unconfirmed"   // it did not show what it was given
	WaitTerminal    = "tmux-unknown"  // tmux does not say how the terminal is
	WaitOccupied    = "occupied"      // another conversation is live in its terminal
	WaitRoom        = "live-sessions" // as many harnesses are live as may be
	WaitAnswer      = "answer"        // of a session: its agent has asked something on the ticket
	WaitElsewhere   = "elsewhere"     // the terminal is not ours, and no hook waits in it
)

// Reasons that a delivery is dropped for. They are stable: people and programs read them.
const (
	DropRoutingOff    = "routing-off"
	DropEventOff      = "event-off"
	DropDuplicate     = "duplicate"
	DropNoItem        = "no-work-item"
	DropUndecodable   = "undecodable"
	DropPing          = "ping"
	DropSelfAuthored  = "self-authored"
	DropOwnAction     = "own-action"
	DropUnauthorized  = "unauthorized-actor"
	DropUntrustedCI   = "untrusted-ci"
	DropStaleSHA      = "stale-sha"
	DropEdited        = "edited-or-deleted"
	DropEditedByOther = "edited-by-other" // these are not its author's words any more
	DropAmbiguous     = "ambiguous-command"
	DropControlOff    = "control-off"
	DropSuperseded    = "superseded" // a command that was given before one that was carried out already
	DropNotDelivered  = "not-delivered"
	DropSessionPaused = "session-paused"
	DropUnmatched     = "unmatched"
	DropNotLabeled    = "not-labeled"
	DropSpawnedBefore = "already-spawned"
	DropStopped       = "stopped"
	DropClaimed       = "claimed-elsewhere" // another Loop has announced that it works on the item
	DropItemClosed    = "item-closed"
	DropStaleClose    = "stale-close"
	DropNoSession     = "no-session" // a close or command for an item without one
	DropUnproven      = "unproven-ref"
	DropUntrustedLink = "untrusted-link"   // a closed pull request that may not end the sessions of the issues it names
	DropOtherPull     = "other-pull-open"  // the session goes on for another open pull request
	DropLinkedOff     = "close-linked-off" // the configuration does not let this pull request end them
	DropSessionGone   = "session-gone"     // the session it was queued for was replaced or closed by hand
)

// Reasons that a delivery is failed for.
const (
	FailTimeout  = "timeout"
	FailAttempts = "attempts-used-up"
	FailClose    = "close-failed"
)
