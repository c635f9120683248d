package outbox

import (
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// Topic says what a letter is for.
type Topic string

// The topics of letters.
const (
	Reaction     Topic = "reaction"
	Announcement Topic = "announcement" // that a session was started
	Notice       Topic = "notice"       // that Loop has given something up
	Answer       Topic = "answer"       // to a command on the ticket
	Comment      Topic = "comment"      // by an agent
	Question     Topic = "question"     // by an agent, who waits for the answer
)

// spoken reports whether somebody waits to hear what became of a letter.
func (t Topic) spoken() bool { return t == Comment || t == Question }

// Letter is one thing that is to be put on the ticket.
type Letter struct {
	Key      string // names it: of letters with one key one is posted
	Topic    Topic
	Item     loop.WorkItem
	Text     string // of a comment, without the marker; of a reaction its name, such as "eyes"
	Comment  int64  // of a reaction: the comment that it is put on; 0 is the item itself
	Inline   bool   // that comment is on a line of a pull request
	Delivery loop.DeliveryID
}

// State says what became of a letter.
type State string

// The states of a letter.
const (
	Owed    State = "owed"
	Sending State = "sending" // on its way to GitHub
	Posted  State = "posted"
	Failed  State = "failed"  // it is not there, and is given up
	Unclear State = "unclear" // it may be there: nobody could say, and it is not posted again
	Mute    State = "mute"    // there is no token: it is not there
)

// final reports whether nothing more happens to a letter.
func (s State) final() bool { return s != Owed && s != Sending }

// Entry is a letter and what became of it.
type Entry struct {
	Letter

	State  State
	MadeAt time.Time
	At     time.Time // when it was posted, by GitHub's clock; zero for one that was posted before
	URL    string    // the page of a comment that was posted
	Error  string    // why it was not, for a person

	seq   int64
	tries int
}

// Receipt is what GitHub says of a comment that it took. A reaction has none.
type Receipt struct {
	ID  int64
	URL string
	At  time.Time // by GitHub's clock; zero where it does not say
}

// MuteError says that nothing was posted because Loop has no voice on a host: there is no token for it.
type MuteError struct{ Err error }

// Error says why.
func (e *MuteError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *MuteError) Unwrap() error { return e.Err }

// LaterError says that nothing was posted, and that it may be tried again at a time. It is of the class loop.ErrUnavailable.
type LaterError struct {
	Until time.Time
	Err   error
}

// Error says why, and when it may be tried again.
func (e *LaterError) Error() string {
	return fmt.Sprintf("%v (not before %s)", e.Err, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns the reason and the class.
func (e *LaterError) Unwrap() []error { return []error{e.Err, loop.ErrUnavailable} }
