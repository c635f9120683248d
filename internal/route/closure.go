package route

import (
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// closeSlack is how much later than a close a session may have been made and still be ended by it: clocks differ.
const closeSlack = 10 * time.Minute

// over is the rule for an item that was closed: its session ends, whoever closed it, and with a pull request those of the
// issues that it is linked to, where the link is to be trusted. It is never a prompt and never starts anything.
func (r *ruling) over() (loop.Decision, bool) {
	if r.ev.Action != "closed" || r.ev.Kind != loop.KindIssues && r.ev.Kind != loop.KindPullRequest {
		return loop.Decision{}, false
	}
	reason, title := r.closeReason()
	d := loop.Decision{Kind: loop.Close, Reason: title}
	var spared *Candidate
	var why string
	for _, c := range r.ownFirst() {
		if !r.facts.open(c.Item) {
			continue
		}
		if word := r.spares(c); word != "" {
			if spared == nil {
				spared, why = &c, word
			}
			continue
		}
		if d.Item.IsZero() {
			d.Item, d.Via = c.Item, c.via()
		}
		d.Closures = append(d.Closures, loop.Closure{Item: c.Item, Reason: reason, Merged: r.ev.Item.Merged, ClosedAt: r.closedAt()})
	}
	switch {
	case len(d.Closures) > 0:
		return d, true
	case spared != nil:
		return r.dropFor(*spared, why)
	}
	return r.drop(loop.DropNoSession)
}

func (r *ruling) closeReason() (loop.CloseReason, string) {
	switch {
	case !r.ev.Item.PR:
		return loop.CloseIssue, "issue closed"
	case r.ev.Item.Merged:
		return loop.ClosePRMerged, "pull request merged"
	}
	return loop.ClosePRClosed, "pull request closed"
}

func (r *ruling) closedAt() time.Time {
	if at := r.ev.Item.ClosedAt; !at.IsZero() {
		return at
	}
	return r.ev.At
}

// ownFirst returns the candidates with the closed item itself in front.
func (r *ruling) ownFirst() []Candidate {
	ordered := slices.Clone(r.candidates)
	slices.SortStableFunc(ordered, func(a, b Candidate) int { return behind(a) - behind(b) })
	return ordered
}

func behind(c Candidate) int {
	if c.isOwn() {
		return 0
	}
	return 1
}

// isOwn reports whether the candidate is the event's own item, however it was found.
func (c Candidate) isOwn() bool { return c.via().IsZero() }

// spares says why the close does not end a candidate's session, and "" where it does.
func (r *ruling) spares(c Candidate) string {
	switch {
	case r.stale(c):
		return loop.DropStaleClose
	case c.isOwn():
		return ""
	case r.policy.CloseLinked != LinkedTrusted && r.policy.CloseLinked != LinkedMerged,
		r.policy.CloseLinked == LinkedMerged && !r.ev.Item.Merged:
		return loop.DropLinkedOff
	case !r.ev.Item.Merged && c.How != HowDeclared && !r.headRepo().Same(r.ev.Repo):
		return loop.DropUntrustedLink
	case r.facts.of(c.Item).OtherPull:
		return loop.DropOtherPull
	}
	return ""
}

// stale reports whether the close is older than what is known: the item or the candidate was reopened since, or the
// candidate's session is a later one. GitHub's times have the grain of a second: of a close and a reopening within one, the
// reopening is taken for the later: scripts do that to start checks anew, and a session that was ended for nothing is lost work.
func (r *ruling) stale(c Candidate) bool {
	at := r.closedAt()
	if at.IsZero() {
		return false
	}
	facts := r.facts.of(c.Item)
	return !r.facts.of(r.ev.WorkItem()).ReopenedAt.Before(at) || !facts.ReopenedAt.Before(at) ||
		facts.Session.CreatedAt.After(at.Add(closeSlack))
}

// headRepo returns the repository of the pull request's branch, from memory where the payload does not show it.
func (r *ruling) headRepo() loop.Repo {
	if head := r.ev.Item.HeadRepo; head != (loop.Repo{}) {
		return head
	}
	return r.facts.Pulls[r.ev.WorkItem().Key()].HeadRepo
}
