package route

import (
	"fmt"
	"slices"

	"github.com/loop-daemon/loop/internal/loop"
)

// unmatched is the last rule: no session is there, and one may be started.
func (r *ruling) unmatched() loop.Decision {
	reason := r.refusal()
	var key Candidate
	if reason == "" {
		key, reason = r.spawnKey()
	}
	switch {
	case reason != "":
	case r.facts.of(key.Item).spentFor(r.ev, r.policy):
		reason = loop.DropSpawnedBefore
	default:
		return loop.Decision{Kind: loop.Spawn, Reason: r.spawnReason(), Item: key.Item, Via: key.via()}
	}
	d, _ := r.drop(reason)
	return d
}

// refusal says why the event starts no session, whichever item it would be for.
func (r *ruling) refusal() string {
	spawns := r.policy.SpawnOnUnmatched
	switch {
	case r.ev.Kind.CI() || spawns != SpawnLabeled && spawns != SpawnAlways:
		return loop.DropUnmatched
	case slices.ContainsFunc(r.candidates, r.stopped):
		return loop.DropStopped
	case spawns == SpawnLabeled && !r.policy.labeled(r.ev):
		return loop.DropNotLabeled
	case !asks(r.ev):
		return loop.DropNotDelivered
	case slices.ContainsFunc(r.candidates, r.claimed):
		return loop.DropClaimed
	case r.ev.Item.State == "closed":
		return loop.DropItemClosed
	}
	return ""
}

func (r *ruling) stopped(c Candidate) bool { return r.facts.of(c.Item).Stopped }
func (r *ruling) claimed(c Candidate) bool { return r.facts.of(c.Item).Claimed }

// asks reports whether an event can be a wish for work. A goodbye is none.
func asks(ev loop.Event) bool {
	switch ev.Action {
	case "closed", "deleted", "transferred", "unlabeled", "dismissed":
		return false
	}
	return !emptyApproval(ev)
}

// spawnKey returns the item that a session would be started for: the first in the order of keys that can have one. Where
// none can, it says why, and returns the last.
func (r *ruling) spawnKey() (Candidate, string) {
	var last Candidate
	reason := loop.DropUnproven
	for _, c := range spawnOrder(r.candidates) {
		switch {
		case r.unproven(c):
		case r.closedBefore(c):
			reason = loop.DropItemClosed
		default:
			return c, ""
		}
		last = c
	}
	return last, reason
}

// unproven reports whether nothing but a branch name says that an item exists.
func (r *ruling) unproven(c Candidate) bool {
	known := r.facts.of(c.Item).Existence
	return c.How == HowBranch && known != Proven && known != Unanswered
}

// closedBefore reports whether an item is known to be closed. The event's own item is open where the event is newer, or reopens it in
// the second in which it was closed.
func (r *ruling) closedBefore(c Candidate) bool {
	facts := r.facts.of(c.Item)
	if !facts.isClosed() {
		return false
	}
	open := r.ev.At.After(facts.ClosedAt) || r.ev.Action == "reopened" && r.ev.At.Equal(facts.ClosedAt)
	return c.How != HowOwn || !open
}

// spentFor reports whether the labelling that asks for a session has had its session already.
func (i ItemFacts) spentFor(ev loop.Event, policy Policy) bool {
	if i.SpawnedAt.IsZero() || i.ReopenedAt.After(i.SpawnedAt) || i.LabeledAt.After(i.SpawnedAt) {
		return false
	}
	again := policy.Arms(ev) || ev.Action == "reopened"
	return !again || !ev.At.After(i.SpawnedAt)
}

func (r *ruling) spawnReason() string {
	reason := "no session yet, and every event may start one"
	if r.policy.SpawnOnUnmatched == SpawnLabeled {
		reason = fmt.Sprintf("no session yet, and label %q is set", r.policy.AutoExecuteLabel)
	}
	for _, c := range r.candidates {
		switch {
		case !r.unproven(c):
		case r.facts.of(c.Item).Existence == Absent:
			reason += fmt.Sprintf("; not for %s: it does not exist", c.Item.Ref())
		default:
			reason += fmt.Sprintf("; not for %s: only the branch name says that it exists", c.Item.Ref())
		}
	}
	return reason
}
