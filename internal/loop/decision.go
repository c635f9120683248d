package loop

import "time"

// DecisionKind is what is to be done with an event.
type DecisionKind string

// What routing can say of an event.
const (
	Deliver DecisionKind = "deliver" // to the session of Item
	Spawn   DecisionKind = "spawn"   // a session for Item
	Close   DecisionKind = "close"   // the sessions that Closures name
	Control DecisionKind = "command" // a person's command word in a comment
	Drop    DecisionKind = "drop"
)

// Decision is what routing says of an event. Reason is always set: for a drop one of the Drop words, else a short text.
type Decision struct {
	Kind     DecisionKind
	Reason   string
	Item     WorkItem   // whose session or whose spawn, also of a drop that found one; zero where there is none
	Refs     []WorkItem // every item the event concerns, in order of preference
	Via      WorkItem   // the pull request through which Item was found, when it is not Item; a used link is remembered
	Closures []Closure
	Command  Command
}

// Closure says that a work item is over, and what that ends.
type Closure struct {
	Item     WorkItem
	Reason   CloseReason
	Merged   bool
	ClosedAt time.Time
	Terminal TerminalWish `json:",omitempty"` // of a close by hand
}

// Verb is a command word.
type Verb string

// The command words.
const (
	VerbStart  Verb = "start"
	VerbStop   Verb = "stop"
	VerbPause  Verb = "pause"
	VerbResume Verb = "resume"
	VerbStatus Verb = "status"
)

// Command is a command word from a comment, and the text that stood beside it.
type Command struct {
	Verb Verb
	Text string
}
