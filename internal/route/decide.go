package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// ruling is one event on its way through the rules.
type ruling struct {
	ev         loop.Event
	candidates []Candidate
	facts      Facts
	policy     Policy
}

// Decide says what is to be done with an event whose candidates Refs returned. The first rule that has an answer decides:
// what is not looked at, our own voice, a close, who may ask, a command, the session that is there, a session to be
// started. A drop names its session in Item, and the link in Via, where one was found that the event does not reach: the
// link was used all the same.
func Decide(ev loop.Event, candidates []Candidate, facts Facts, policy Policy) loop.Decision {
	r := &ruling{ev, candidates, facts, policy}
	rules := []func() (loop.Decision, bool){
		r.ignored, r.ownVoice, r.over, r.unauthorized, r.command, r.owned,
	}
	for _, rule := range rules {
		if d, ok := rule(); ok {
			return r.withRefs(d)
		}
	}
	return r.withRefs(r.unmatched())
}

// Foregone answers for an event whose drop no fact could prevent, so that nothing has to be looked up for it: a comment on an
// issue that is not looked at, was written by a stranger or by Loop, or tells nothing new. The decision is that of Decide; ok is
// false for all else. Comments on pull requests are not among these, because whom they concern depends on what is remembered.
func Foregone(ev loop.Event, candidates []Candidate, policy Policy) (d loop.Decision, ok bool) {
	if ev.Kind != loop.KindIssueComment || ev.Item.PR {
		return loop.Decision{}, false
	}
	r := &ruling{ev: ev, candidates: candidates, policy: policy}
	for _, rule := range []func() (loop.Decision, bool){r.ignored, r.ownVoice, r.unauthorized} {
		if d, ok := rule(); ok {
			return r.withRefs(d), true
		}
	}
	return loop.Decision{}, false
}

func (r *ruling) withRefs(d loop.Decision) loop.Decision {
	for _, c := range r.candidates {
		d.Refs = append(d.Refs, c.Item)
	}
	return d
}

// drop ends the way of an event.
func (r *ruling) drop(reason string) (loop.Decision, bool) {
	return loop.Decision{Kind: loop.Drop, Reason: reason}, true
}

// dropFor drops an event that found a candidate.
func (r *ruling) dropFor(c Candidate, reason string) (loop.Decision, bool) {
	return loop.Decision{Kind: loop.Drop, Reason: reason, Item: c.Item, Via: c.via()}, true
}

// via returns the pull request that led to the candidate, zero where it is the candidate itself.
func (c Candidate) via() loop.WorkItem {
	if c.Pull.Key() == c.Item.Key() {
		return loop.WorkItem{}
	}
	return c.Pull
}

// ignored is the rule for what is not looked at.
func (r *ruling) ignored() (loop.Decision, bool) {
	switch {
	case !r.policy.RoutingEnabled:
		return r.drop(loop.DropRoutingOff)
	case !r.policy.takes(r.ev.Kind):
		return r.drop(loop.DropEventOff)
	case r.facts.Duplicate:
		return r.drop(loop.DropDuplicate)
	case len(r.candidates) == 0:
		return r.drop(loop.DropNoItem)
	}
	return loop.Decision{}, false
}

// ownVoice is the rule that no agent is told what Loop, an agent or the account they work as has done. Labels, closes and
// reopenings count: the operator often is that account.
func (r *ruling) ownVoice() (loop.Decision, bool) {
	if body, _, ok := text(r.ev); ok {
		if r.facts.Posted || loop.HasMarker(body) {
			return r.drop(loop.DropSelfAuthored)
		}
		return loop.Decision{}, false
	}
	switch r.ev.Action {
	case "labeled", "unlabeled", "closed", "reopened":
		return loop.Decision{}, false
	}
	if r.ev.Kind.CI() || r.facts.Login == "" || !strings.EqualFold(r.facts.Login, r.ev.Actor.Login) {
		return loop.Decision{}, false
	}
	if owner, ok := r.owner(); ok {
		return r.dropFor(owner, loop.DropOwnAction)
	}
	return r.drop(loop.DropOwnAction)
}

// command is the rule for comments that hold a command.
func (r *ruling) command() (loop.Decision, bool) {
	if !says(r.ev) {
		return loop.Decision{}, false
	}
	body, _, _ := text(r.ev)
	cmd, err := ParseCommand(body, r.policy.ControlPrefix)
	switch {
	case err == nil && cmd.Verb == "":
		return loop.Decision{}, false
	case !r.policy.ControlEnabled:
		return r.drop(loop.DropControlOff)
	case err != nil:
		return r.drop(loop.DropAmbiguous)
	}
	target := r.target()
	return loop.Decision{
		Kind: loop.Control, Reason: r.policy.ControlPrefix + " " + string(cmd.Verb), Item: target.Item, Via: target.via(), Command: cmd,
	}, true
}

// target returns whose command it is: the session's that is there, else the stopped item's, else that of the item which a
// session would be started for.
func (r *ruling) target() Candidate {
	if owner, ok := r.owner(); ok {
		return owner
	}
	if i := slices.IndexFunc(r.candidates, r.stopped); i >= 0 {
		return r.candidates[i]
	}
	key, _ := r.spawnKey()
	return key
}

// owner returns the first candidate with a session that is not closed.
func (r *ruling) owner() (Candidate, bool) {
	i := slices.IndexFunc(r.candidates, func(c Candidate) bool { return r.facts.open(c.Item) })
	if i < 0 {
		return Candidate{}, false
	}
	return r.candidates[i], true
}

// owned is the rule for events that a session is there for.
func (r *ruling) owned() (loop.Decision, bool) {
	owner, ok := r.owner()
	switch {
	case !ok:
		return loop.Decision{}, false
	case !r.policy.reaches(r.ev):
		return r.dropFor(owner, loop.DropNotDelivered)
	case r.facts.of(owner.Item).Session.Status == loop.StatusPaused:
		return r.dropFor(owner, loop.DropSessionPaused)
	}
	reason := "session of " + owner.Item.Ref()
	if via := owner.via(); !via.IsZero() {
		reason = fmt.Sprintf("%s, linked to %s (%s)", reason, via.Ref(), owner.How)
	}
	return loop.Decision{Kind: loop.Deliver, Reason: reason, Item: owner.Item, Via: owner.via()}, true
}
