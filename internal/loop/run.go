package loop

import "time"

// RunID names one run and its folder: letters, digits and - only, rising with time.
type RunID string

// Handover is a prompt on its way to a harness.
type Handover struct {
	Run     RunID
	Session Session
	Fresh   bool   // start a conversation under Session.HarnessSessionID; else resume it
	Title   string // one line of ours for people: what it is about
	Prompt  string // whole, safe text
	Timeout time.Duration

	// Began is called when nothing is waited for any more: the harness is there, or its start is under way. Calls after the first
	// change nothing. Nil where nobody wants to know.
	Began func()

	// Handed is called, at most once, when the prompt is with a harness that goes on by itself: what is still waited for then
	// is only the word that it was seen. Nil where nobody wants to know.
	Handed func()
}

// OutcomeKind says how a run ended.
type OutcomeKind string

// How a run can end.
const (
	RunDone      OutcomeKind = "done"      // the harness answered
	RunFailed    OutcomeKind = "failed"    // it exited wrongly or answered nonsense: may be tried again
	RunUnreached OutcomeKind = "unreached" // the harness never began: may be tried again
	RunTimeout   OutcomeKind = "timeout"   // its time was up and it was ended: final
	RunHeld      OutcomeKind = "held"      // the harness as a whole can't work now: not counted
	RunLost      OutcomeKind = "lost"      // the harness does not know the conversation
	RunCutOff    OutcomeKind = "cut-off"   // it died with its host, without an answer: counted, and the retry says so
	RunDeferred  OutcomeKind = "deferred"  // it could not be handed over now, for a Wait reason: not counted
	RunNever     OutcomeKind = "never"     // settled after a restart: it had not been started; not counted
	RunEnded     OutcomeKind = "ended"     // ended at our own wish (close, pause, a person took over): not counted
	RunDetached  OutcomeKind = "detached"  // it goes on without us; the next start settles it
)

// Reasons of an outcome that something is done about.
const (
	HeldNotLoggedIn = "not-logged-in"
	HeldUsageLimit  = "usage-limit"
	HeldRateLimited = "rate-limited"
	HeldOverloaded  = "overloaded"
	HeldUnreachable = "unreachable" // the model's API does not answer: offline, most often

	// FailedIDInUse: a fresh start was refused because the conversation exists; it is to be resumed instead.
	FailedIDInUse = "id-in-use"
)

// Outcome is what became of a run.
type Outcome struct {
	Kind      OutcomeKind
	Reason    string    // held: one of the Held words; deferred: one of the Wait words; failed: FailedIDInUse or another stable word; else ""
	Detail    string    // one line for a person: the error, or the beginning of the answer
	Until     time.Time // held: when the harness said that it works again; zero if it did not say
	SessionID SessionID // the conversation as the harness named it; "" if it did not
	Denials   []string  // tools that were refused during a successful run
	Turns     int
	CostUSD   float64 // as the harness reports it; Claude Code counts over the whole conversation
	Duration  time.Duration
	Killed    bool // SIGKILL was needed to end it
}

// Readiness says whether a prompt can be handed to a session now.
type Readiness struct {
	Wait    string          // what it waits for, a Wait word; "" when it is ready
	Detail  string          // one line for a person
	Again   time.Time       // look again then at the latest
	Changed <-chan struct{} // closed when a look is worth it; nil never is
}

// Wish says how a session's harness is to be ended.
type Wish struct {
	Settle   time.Duration // how long a running turn may go on
	OnlyBusy bool          // leave a harness alone that does nothing
	Terminal TerminalWish  // what becomes of the terminal
}

// TerminalWish says what becomes of a session's terminal when it is closed.
type TerminalWish string

// What a person can want for the terminal of a session that is closed.
const (
	TerminalAsConfigured TerminalWish = ""
	TerminalKeep         TerminalWish = "keep" // as a record to read
	TerminalKill         TerminalWish = "kill"
)

// Termination says how a run, or the harness of a session, was ended at our wish.
type Termination struct {
	Found    bool   // something was running
	Killed   bool   // SIGKILL was needed
	Retained string // the terminal that stays as a record to read; "" where there is none
	Removed  string // the terminal that was removed; what it showed is saved
}
