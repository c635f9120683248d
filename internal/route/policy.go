package route

import (
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// SpawnPolicy says which events may start a session for an item that has none.
type SpawnPolicy string

// The spawn policies. Any other value is as SpawnNever.
const (
	SpawnNever   SpawnPolicy = "never"
	SpawnLabeled SpawnPolicy = "labeled" // when the item carries Policy.AutoExecuteLabel, or just got it
	SpawnAlways  SpawnPolicy = "always"
)

// LinkedPolicy says which closing pull requests end the sessions of the issues that they are linked to.
type LinkedPolicy string

// The policies for linked sessions. Any other value is as LinkedNever.
const (
	LinkedTrusted LinkedPolicy = "trusted" // merged, or from a branch of the same repository, or declared by the session
	LinkedMerged  LinkedPolicy = "merged"
	LinkedNever   LinkedPolicy = "never"
)

// Policy is what the operator wants. The zero Policy drops everything.
type Policy struct {
	RoutingEnabled   bool
	Events           []loop.Kind // those that are looked at; empty is all
	AuthorizedUsers  []string    // logins whose actions count, in any case; empty is nobody
	AutoExecuteLabel string
	SpawnOnUnmatched SpawnPolicy
	Deliver          map[loop.Kind][]string // the actions, or of checks the conclusions, that reach an agent; nil is DefaultDeliver
	CloseLinked      LinkedPolicy
	ControlEnabled   bool
	ControlPrefix    string // of command lines, such as /loop
}

// DefaultDeliver returns what reaches an agent where nothing else is configured: what asks for an answer, and checks that
// failed. Two things never do, whatever the table says: an approval without a word, and check runs of GitHub Actions,
// whose workflow run tells the same once.
func DefaultDeliver() map[loop.Kind][]string {
	failed := []string{"failure", "timed_out", "startup_failure"}
	return map[loop.Kind][]string{
		loop.KindIssues:             {"reopened"},
		loop.KindIssueComment:       {"created"},
		loop.KindPullRequest:        {"reopened", "ready_for_review"},
		loop.KindPullRequestReview:  {"submitted"},
		loop.KindPullRequestComment: {"created"},
		loop.KindWorkflowRun:        failed,
		loop.KindCheckRun:           slices.Clone(failed),
		loop.KindCheckSuite:         {},
		loop.KindStatus:             {"failure", "error"},
	}
}

func (p Policy) takes(kind loop.Kind) bool {
	return len(p.Events) == 0 || slices.Contains(p.Events, kind)
}

// reaches reports whether an agent is told of an event.
func (p Policy) reaches(ev loop.Event) bool {
	word := ev.Action
	switch {
	case emptyApproval(ev), ev.Kind == loop.KindCheckRun && ev.CI.App == "github-actions":
		return false
	case ev.Kind.CI() && ev.Kind != loop.KindStatus && ev.Action != "completed":
		return false
	case ev.Kind.CI():
		word = ev.CI.Conclusion
	}
	table := p.Deliver
	if table == nil {
		table = DefaultDeliver()
	}
	return slices.Contains(table[ev.Kind], word)
}

func emptyApproval(ev loop.Event) bool {
	return ev.Kind == loop.KindPullRequestReview && ev.Review.State == "approved" && strings.TrimSpace(ev.Review.Body) == ""
}

// Authorizes reports whether whoever did what an event tells is listed. A check has no actor, and passes: whether it may be
// believed is for Decide.
func (p Policy) Authorizes(ev loop.Event) bool { return ev.Kind.CI() || p.lists(ev.Actor) }

// lists reports whether a person may act. A deleted account, which some of GitHub's answers call ghost, is nobody.
func (p Policy) lists(a loop.Actor) bool {
	if a.Login == "" || strings.EqualFold(a.Login, "ghost") {
		return false
	}
	return slices.ContainsFunc(p.AuthorizedUsers, func(login string) bool { return strings.EqualFold(login, a.Login) })
}

// Arms reports whether the event just set the label that starts sessions.
func (p Policy) Arms(ev loop.Event) bool {
	return p.AutoExecuteLabel != "" && ev.Action == "labeled" && strings.EqualFold(ev.Label, p.AutoExecuteLabel)
}

// labeled reports whether the event's item carries that label, or just got it.
func (p Policy) labeled(ev loop.Event) bool {
	return p.Arms(ev) || p.AutoExecuteLabel != "" && slices.ContainsFunc(ev.Item.Labels, func(label string) bool {
		return strings.EqualFold(label, p.AutoExecuteLabel)
	})
}
