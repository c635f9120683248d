package route

import (
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// Facts is what the caller looked up about an event and its candidates. What is missing is not known.
type Facts struct {
	Duplicate bool   // the event's fact was acted on before
	Posted    bool   // Loop itself posted the event's comment or review
	Login     string // of the account that loopd acts as on the event's host
	Items     map[loop.ItemKey]ItemFacts
	Pulls     map[loop.ItemKey]PullFacts
}

// ItemFacts is what is known of a candidate.
type ItemFacts struct {
	Session loop.Session // the one that is not closed; zero where there is none
	Stopped bool         // by a person's command: nothing is started until they say so
	Claimed bool         // another Loop announced that it works on it

	// SpawnedAt is the Event.At of the event that a session was last started for, since the item was last closed, or started
	// by hand: there is one spawn per labelling. LabeledAt is when Policy.AutoExecuteLabel was last seen being set, ReopenedAt
	// and ClosedAt when the item was last seen being reopened and closed, each by Event.At.
	SpawnedAt, LabeledAt, ReopenedAt, ClosedAt time.Time

	OtherPull bool      // another pull request than the event's is known to be open for the item
	Existence Existence // of an item that was found by a branch name
}

// Existence says whether an item that was only named exists.
type Existence int

// What can be known of an item's existence.
const (
	Unproven   Existence = iota // nobody asked: nothing is started for it
	Unanswered                  // somebody asked, and there was no answer: it is taken to exist, so that no event is lost
	Proven
	Absent
)

// PullFacts is what is known of a pull request.
type PullFacts struct {
	HeadSHA  string    // "" unknown
	HeadRepo loop.Repo // zero where it is unknown or gone
	Acted    bool      // an authorized person did something on it
}

func (f Facts) of(item loop.WorkItem) ItemFacts { return f.Items[item.Key()] }

// open reports whether an item has a session that is not closed.
func (f Facts) open(item loop.WorkItem) bool { return f.of(item).Session.Open() }

// isClosed reports whether an item was closed and, as far as is known, not reopened since.
func (i ItemFacts) isClosed() bool { return !i.ClosedAt.IsZero() && i.ReopenedAt.Before(i.ClosedAt) }
