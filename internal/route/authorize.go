package route

import (
	"slices"

	"github.com/loop-daemon/loop/internal/loop"
)

// text returns what a person wrote in an event, and who wrote it: a comment or a review.
func text(ev loop.Event) (body string, author loop.Actor, ok bool) {
	switch ev.Kind {
	case loop.KindIssueComment, loop.KindPullRequestComment:
		return ev.Comment.Body, ev.Comment.Author, true
	case loop.KindPullRequestReview:
		return ev.Review.Body, ev.Review.Author, true
	}
	return "", loop.Actor{}, false
}

// says reports whether an event is somebody saying something for the first time.
func says(ev loop.Event) bool {
	_, _, ok := text(ev)
	return ok && (ev.Action == "created" || ev.Action == "submitted")
}

// unauthorized is the rule that only what a listed person did counts, and of checks only those of trusted pull requests.
func (r *ruling) unauthorized() (loop.Decision, bool) {
	if r.ev.Kind.CI() {
		return r.untrustedCheck()
	}
	_, author, isText := text(r.ev)
	switch {
	case !r.policy.lists(r.ev.Actor):
		return r.drop(loop.DropUnauthorized)
	case says(r.ev) && !r.policy.lists(author):
		return r.drop(loop.DropUnauthorized) // whoever brought it here, these are someone else's words
	case isText && (r.ev.Action == "edited" || r.ev.Action == "deleted"):
		return r.drop(loop.DropEdited)
	}
	return loop.Decision{}, false
}

// untrustedCheck keeps the candidates whose pull request is trusted and has the check's commit as its head. Somebody's
// fork can make a check say anything.
func (r *ruling) untrustedCheck() (loop.Decision, bool) {
	var trusted []Candidate
	reason := ""
	for _, c := range r.candidates {
		switch why := r.distrust(c.Pull); {
		case why == "":
			trusted = append(trusted, c)
		case reason == "":
			reason = why
		}
	}
	if len(trusted) == 0 {
		return r.drop(reason)
	}
	r.candidates = trusted
	return loop.Decision{}, false
}

func (r *ruling) distrust(pull loop.WorkItem) string {
	known, seen := r.facts.Pulls[pull.Key()]
	head := known.HeadRepo
	if !seen {
		head = r.ev.CI.HeadRepo
	}
	if !known.Acted && !r.declared(pull) && !head.Same(r.ev.Repo) {
		return loop.DropUntrustedCI
	}
	sha := known.HeadSHA
	for _, pr := range r.ev.CI.PRs {
		if sha == "" && pr.Number == pull.Number {
			sha = pr.SHA
		}
	}
	if sha == "" || sha != r.ev.CI.SHA {
		return loop.DropStaleSHA
	}
	return ""
}

// declared reports whether an open session said that a pull request is its own.
func (r *ruling) declared(pull loop.WorkItem) bool {
	return slices.ContainsFunc(r.candidates, func(c Candidate) bool {
		return c.How == HowDeclared && c.Pull.Key() == pull.Key() && r.facts.open(c.Item)
	})
}
