package loop

import (
	"fmt"
	"regexp"
	"time"
)

// SessionID is a harness's own id of a conversation, such as Claude Code's UUID.
type SessionID string

var sessionIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$`)

// Check returns ErrInvalid for an id that could not stand in an argument vector: empty, too long, beginning with - or
// holding other characters than letters, digits and . _ : -.
func (id SessionID) Check() error {
	if !sessionIDPattern.MatchString(string(id)) {
		return fmt.Errorf("harness session id %q: letters, digits and . _ : - only, a letter or digit first: %w", string(id), ErrInvalid)
	}
	return nil
}

// RunnerKind says how a session's harness is hosted. It is fixed when the session is made.
type RunnerKind string

// The ways to host a harness.
const (
	RunnerHeadless RunnerKind = "headless" // one process per event
	RunnerTmux     RunnerKind = "tmux"     // a terminal UI in a tmux session that loopd owns
)

// SessionStatus says whether a session takes events.
type SessionStatus string

// The statuses of a session.
const (
	StatusActive SessionStatus = "active"
	StatusPaused SessionStatus = "paused" // events are dropped until it is resumed
	StatusClosed SessionStatus = "closed" // for good; a new session may take its item
)

// CloseReason says why a session was closed.
type CloseReason string

// The reasons of a close.
const (
	CloseIssue    CloseReason = "issue-closed"
	ClosePRMerged CloseReason = "pr-merged"
	ClosePRClosed CloseReason = "pr-closed"
	CloseManual   CloseReason = "manual"
	CloseStopped  CloseReason = "stopped"
	CloseReplaced CloseReason = "replaced"
)

// Ending says what of a closed session is not settled yet.
type Ending string

// What a closed session may still wait for.
const (
	EndingNone      Ending = ""
	EndingHarness   Ending = "harness"
	EndingWorkspace Ending = "workspace"
)

// PausedRunaway is the PauseReason of a session that had more runs in an hour than it may have.
const PausedRunaway = "runaway"

// Session is one conversation of one harness, linked to one work item; at most one that is not closed per item. Its JSON
// form is a file that people and scripts read: names are stable.
type Session struct {
	WorkItem         WorkItem      `json:"workItem"`
	RepositoryID     int64         `json:"repositoryId,omitzero"` // GitHub's number of the repository, which a rename keeps
	Harness          string        `json:"harness"`
	HarnessSessionID SessionID     `json:"harnessSessionId"`
	Cwd              string        `json:"cwd"`
	Runner           RunnerKind    `json:"runner"`
	TmuxTarget       string        `json:"tmuxTarget"`
	Status           SessionStatus `json:"status"`
	CreatedAt        time.Time     `json:"createdAt"`
	LastEventAt      *time.Time    `json:"lastEventAt"`      // when an event was last handled by the harness
	RecentDeliveries []DeliveryID  `json:"recentDeliveries"` // the last 32 that are done, oldest first; a copy, the journal decides
	PullRequests     []string      `json:"pullRequests"`     // refs that the session declared as its own

	Spawned            bool        `json:"spawned,omitzero"`         // loopd started the conversation
	ConversationAt     *time.Time  `json:"conversationAt,omitempty"` // when the harness first answered in it; nil: not begun
	PreviousSessionIDs []SessionID `json:"previousHarnessSessionIds,omitempty"`
	CostUSD            float64     `json:"costUsd,omitzero"` // of the conversation so far, as the harness reports it
	PauseReason        string      `json:"pauseReason,omitempty"`
	PausedAt           *time.Time  `json:"pausedAt,omitempty"`
	AskedAt            *time.Time  `json:"askedAt,omitempty"`     // since when its agent waits for an answer on the ticket
	AskedURL           string      `json:"askedUrl,omitempty"`    // the question
	Missed             int         `json:"missedEvents,omitzero"` // dropped during the last pause, until the agent is told
	ClosedAt           *time.Time  `json:"closedAt,omitempty"`
	CloseReason        CloseReason `json:"closeReason,omitempty"`
	Ending             Ending      `json:"ending,omitempty"`
}

// Open reports whether the session is active or paused.
func (s Session) Open() bool { return s.Status != StatusClosed && s.Status != "" }
