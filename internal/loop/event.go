package loop

import (
	"strings"
	"time"
)

// Kind is the type of an event, spelled as GitHub's webhook events are.
type Kind string

// The kinds that Loop understands (https://docs.github.com/webhooks/webhook-events-and-payloads).
const (
	KindIssues             Kind = "issues"
	KindIssueComment       Kind = "issue_comment"
	KindPullRequest        Kind = "pull_request"
	KindPullRequestReview  Kind = "pull_request_review"
	KindPullRequestComment Kind = "pull_request_review_comment"
	KindWorkflowRun        Kind = "workflow_run"
	KindCheckRun           Kind = "check_run"
	KindCheckSuite         Kind = "check_suite"
	KindStatus             Kind = "status"
)

// KindSend is the kind of what the person at this machine says to a session, through loopctl. It is none of GitHub's.
const KindSend Kind = "send"

// KindStart is the kind of a start that the person at this machine asked for without a word beside it.
const KindStart Kind = "start"

// Kinds returns all nine kinds, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{
		KindIssues, KindIssueComment, KindPullRequest, KindPullRequestReview, KindPullRequestComment,
		KindWorkflowRun, KindCheckRun, KindCheckSuite, KindStatus,
	}
}

// CI reports whether the kind tells the result of a check and so has no actor.
func (k Kind) CI() bool {
	return k == KindWorkflowRun || k == KindCheckRun || k == KindCheckSuite || k == KindStatus
}

// Event is a delivery decoded. Everything in it that a stranger could have written is data: it is fenced before an agent
// reads it, and never reaches a shell, an argument vector, a path or a tmux format.
type Event struct {
	Delivery DeliveryID
	Source   Source
	Kind     Kind
	Action   string    // "created", "labeled", "completed", …; "" where the kind has none
	At       time.Time // when it happened, by the payload; zero where it does not say
	Fact     string    // what is acted on once however often it is reported, such as "comment:1234"; "" if never acted on
	Actor    Actor     // who did the action, never who wrote the item; zero for CI
	Repo     Repo
	Item     Item // the issue or pull request; zero Number where the payload names none (CI)
	Label    string
	Comment  Comment
	Review   Review
	CI       CI
	URL      string // the page that shows what happened
	Text     string // of KindSend: what the person says, whose account of this machine is the actor
}

// Actor is an account on GitHub. A deleted account has no login and is nobody.
type Actor struct {
	Login string
	ID    int64
	Bot   bool
}

// Repo is a repository.
type Repo struct {
	Host  string // "" is github.com
	Owner string
	Name  string
	ID    int64 // GitHub's number, which a rename keeps; 0 unknown
}

// Same reports whether two repositories are one; a zero Repo is none. GitHub's numbers decide where both are known: a name can be
// given up and taken over.
func (r Repo) Same(o Repo) bool {
	if r.Owner == "" || !strings.EqualFold(r.Host, o.Host) {
		return false
	}
	if r.ID != 0 && o.ID != 0 {
		return r.ID == o.ID
	}
	return strings.EqualFold(r.Owner, o.Owner) && strings.EqualFold(r.Name, o.Name)
}

// Item is the issue or pull request of an event, as the payload shows it.
type Item struct {
	Number    int
	PR        bool
	Title     string
	Body      string
	Author    Actor
	Labels    []string
	State     string // "open" or "closed"
	ClosedAt  time.Time
	UpdatedAt time.Time
	URL       string

	// Of a pull request, where the payload carries it.
	Merged   bool
	Draft    bool
	HeadRef  string // branch name without refs/heads/
	HeadSHA  string
	HeadRepo Repo // zero when the fork is gone or the payload does not say
	BaseRef  string
}

// Comment is a conversation comment or an inline review comment.
type Comment struct {
	ID        int64
	Body      string
	Author    Actor
	Path      string // inline: the file
	Line      int    // inline: the line, 0 unknown
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Review is a pull request review.
type Review struct {
	ID     int64
	State  string // lower case: "approved", "changes_requested", "commented", "dismissed"
	Body   string
	Author Actor
}

// CI is the result of a check.
type CI struct {
	ID         int64
	Attempt    int
	Name       string
	Conclusion string // "failure", "success", …; for a status its state
	SHA        string
	Branch     string
	HeadRepo   Repo // zero when unknown
	App        string
	PRs        []PullHead // attached pull requests; empty for forks
	Summary    string
}

// PullHead is a pull request that GitHub attached to a check, and its head at that time.
type PullHead struct {
	Number int
	SHA    string // "" unknown
}

// WorkItem returns the item that the payload names itself, or the zero item where it names none or a wrong one.
func (e Event) WorkItem() WorkItem {
	w, err := NewWorkItem(e.Repo.Host, e.Repo.Owner, e.Repo.Name, e.Item.Number)
	if err != nil {
		return WorkItem{}
	}
	return w
}
