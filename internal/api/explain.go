package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// How far back an account looks.
const (
	explainedDeliveries = 20
	explainedRuns       = 200
	explainedCommands   = 1000
)

// Explain says why a delivery, or the deliveries of a work item, ended as they did.
func (d *deliveries) Explain(ctx context.Context, req *loopv1.ExplainRequest) (*loopv1.ExplainResponse, error) {
	id, err := deliveryID("subject", req.GetSubject())
	if err != nil {
		return nil, err
	}
	found, err := d.o.Inbox.Get(ctx, id)
	switch {
	case err == nil:
		a := account{o: d.o}
		err = a.delivery(ctx, found)
		return &loopv1.ExplainResponse{Lines: a.lines, Deliveries: deliveryMessages([]loop.Delivery{found})}, err
	case !errors.Is(err, loop.ErrNotFound):
		return nil, err
	case !strings.ContainsAny(string(id), "/#"): // nothing that names an item
		return nil, err
	}
	w, err := workItem("subject", string(id))
	if err != nil {
		return nil, err
	}
	return d.explainItem(ctx, w)
}

// explainItem tells of the item's session, and of the delivery that came last.
func (d *deliveries) explainItem(ctx context.Context, w loop.WorkItem) (*loopv1.ExplainResponse, error) {
	recent, err := d.o.Inbox.List(ctx, inbox.Filter{Item: w, Limit: explainedDeliveries})
	if err != nil {
		return nil, err
	}
	a := account{o: d.o}
	if len(recent) > 0 {
		a.say("This explains the last delivery for %s.%s", recent[0].Item, others(len(recent)-1))
	}
	if err := a.known(ctx, w); err != nil {
		return nil, err
	}
	if len(recent) > 0 {
		err = a.delivery(ctx, recent[0])
	} else {
		a.session(w, 0)
		a.say("No delivery for it is kept.")
		a.say("Next: see whether its repository's webhook reaches loopd: loopctl status, and the webhook's page on GitHub.")
	}
	if err != nil {
		return nil, err
	}
	return &loopv1.ExplainResponse{Lines: a.lines, Deliveries: deliveryMessages(recent)}, nil
}

// others points to the list that a client prints below the account.
func others(before int) string {
	if before == 0 {
		return " There is no other."
	}
	return " The ones before are listed with it below."
}

// account is what is told to a person, line by line, in the order in which things happened.
type account struct {
	o     Options
	lines []string
}

func (a *account) say(format string, args ...any) {
	a.lines = append(a.lines, text(fmt.Sprintf(format, args...)))
}

// delivery tells what arrived, what it concerned, which rule decided, which session it was for, what its runs came to, and
// what to do next.
func (a *account) delivery(ctx context.Context, d loop.Delivery) error {
	a.arrived(d)
	verb, err := a.verb(ctx, d)
	if err != nil {
		return err
	}
	a.decided(d, verb)
	if !d.Item.IsZero() {
		self := 0
		if d.State == loop.StateQueued || d.State == loop.StateWaiting {
			self = 1
		}
		a.session(d.Item, self)
	}
	if err := a.runs(ctx, d); err != nil {
		return err
	}
	a.state(d)
	return nil
}

// known tells what is remembered of an item beside its session.
func (a *account) known(ctx context.Context, w loop.WorkItem) error {
	facts, err := a.o.Items.Get(ctx, w)
	if err != nil {
		return err
	}
	if !facts.StoppedAt.IsZero() {
		a.say("Work on %s was stopped by command at %s: nothing is started for it until loopctl sessions start %s.", w, clock(facts.StoppedAt), w.Ref())
	}
	if facts.ClosedAt.After(facts.ReopenedAt) {
		a.say("%s was closed at %s.", w, clock(facts.ClosedAt))
	}
	pulls, err := a.o.Items.OpenPulls(ctx, w)
	if err != nil {
		return err
	}
	for _, p := range pulls {
		a.say("Pull request %s belongs to it: its events count for %s.", p.Item, w)
	}
	links, err := a.o.Items.Links(ctx, w)
	if err != nil {
		return err
	}
	for _, l := range links {
		a.say("It is a pull request that belongs to %s.", l.Item)
	}
	return nil
}

func (a *account) arrived(d loop.Delivery) {
	from := map[loop.Source]string{
		loop.SourceWebhook: "by webhook", loop.SourcePoll: "by polling", loop.SourceCommand: "by command of a person",
	}[d.Source]
	if d.Host != "" {
		from += " from " + d.Host
	}
	a.say("Delivery %s (number %d) arrived %s at %s: %s.", d.ID, d.Seq, from, clock(d.ReceivedAt), orElse(d.Summary, d.Kind))
}

// verb is the command that was found in a delivery, "" where there was none.
func (a *account) verb(ctx context.Context, d loop.Delivery) (string, error) {
	if d.Item.IsZero() || d.Decision == loop.Drop {
		return "", nil
	}
	said, err := a.o.Log.Query(ctx, eventlog.Filter{Item: d.Item, Type: loop.LogControlCommand, Limit: explainedCommands})
	for _, ev := range said {
		if ev.Delivery == d.ID {
			return ev.Fields["verb"], nil
		}
	}
	return "", err
}

// carriedOut is what each command does.
var carriedOut = map[loop.Verb]string{
	loop.VerbStart:  "lets work on the item begin again",
	loop.VerbStop:   "ends the item's session, and nothing is started for the item until the start command",
	loop.VerbPause:  "pauses the session",
	loop.VerbResume: "lets events reach the session again",
	loop.VerbStatus: "is taken, and has no answer in this release",
}

func (a *account) decided(d loop.Delivery, verb string) {
	switch {
	case d.State == loop.StateReceived:
		a.say("It has not been looked at yet.")
		return
	case d.Item.IsZero():
		a.say("It concerns no work item that Loop acts on.")
	default:
		a.say("It concerns %s.", d.Item)
	}
	if verb != "" {
		a.say("It holds the command %s, which %s.", verb, carriedOut[loop.Verb(verb)])
	}
	switch d.Decision {
	case loop.Deliver:
		a.say("Decision: deliver it to the session that works on the item.")
	case loop.Spawn:
		a.say("Decision: no session worked on the item, so one is started.")
	case loop.Control:
		a.say("Decision: carry out the command.")
	case loop.Drop:
		a.say("Decision: drop it.")
	case loop.Close:
		a.say("Decision: %s.", closing(d, verb))
		for _, c := range d.Closures {
			a.say("It ends the session of %s (%s).", c.Item, c.Reason)
		}
	}
}

// closing says why sessions are ended.
func closing(d loop.Delivery, verb string) string {
	switch {
	case verb != "":
		return "carry out the command"
	case d.Source == loop.SourceCommand:
		return "a person ends the session"
	}
	return "the item is over, and so are sessions"
}

// session tells of the item's session. The delivery that is being explained may be one of its queue itself, and is not
// counted: self is then 1.
func (a *account) session(w loop.WorkItem, self int) {
	s, ok := a.o.Sessions.Find(w)
	if !ok {
		a.say("No session works on %s, now or before.", w)
		return
	}
	line := fmt.Sprintf("Session: %s conversation %s in %s (%s), %s",
		s.Harness, cmp.Or(string(s.HarnessSessionID), "yet to be named"), s.Cwd, s.Runner, s.Status)
	switch {
	case s.Status == loop.StatusPaused && s.PauseReason != "":
		line += " (" + s.PauseReason + ")"
	case s.Status == loop.StatusClosed && s.ClosedAt != nil:
		line += " since " + clock(*s.ClosedAt) + " (" + string(s.CloseReason) + ")"
	}
	if s.Ending != loop.EndingNone {
		line += ", ending: " + string(s.Ending)
	}
	a.say("%s.", line)
	if !s.Open() {
		return
	}
	here, _ := a.o.Presence(w)
	now := seen(a.o.Dispatcher.Activity(w), here, s.AskedAt != nil)
	line = "It is " + now.State + " now"
	switch now.Reason {
	case loop.WaitAnswer:
		line += " for an answer on the ticket (" + s.AskedURL + ")"
	case loop.WaitDialog:
		line += " for a person's answer " + here.Reach(w)
	}
	switch more := now.Queued - self; {
	case more > 0 && self > 0:
		line += fmt.Sprintf(", with %d more in its queue", more)
	case more > 0:
		line += fmt.Sprintf(", with %d in its queue", more)
	}
	a.say("%s.", line)
	for _, h := range a.o.Dispatcher.Holds() {
		if h.Harness == s.Harness {
			a.say("%s cannot work until about %s: %s (%s).", h.Harness, clock(h.Until), h.Reason, h.Detail)
		}
	}
}

func (a *account) runs(ctx context.Context, d loop.Delivery) error {
	if d.Run == "" {
		return nil
	}
	runs, err := a.o.Inbox.Runs(ctx, d.Item, explainedRuns)
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(runs) {
		if slices.Contains(r.Deliveries, d.ID) {
			a.run(r)
		}
	}
	return nil
}

func (a *account) run(r inbox.Run) {
	line := fmt.Sprintf("Run %s began at %s", r.ID, clock(r.StartedAt))
	if others := len(r.Deliveries) - 1; others > 0 {
		line += fmt.Sprintf(" with %d more", others)
	}
	if r.EndedAt.IsZero() {
		a.say("%s, and goes on.", line)
		return
	}
	o := r.Outcome
	line += fmt.Sprintf(", and ended after %s: %s", r.EndedAt.Sub(r.StartedAt).Round(time.Second), o.Kind)
	if o.Reason != "" {
		line += " (" + o.Reason + ")"
	}
	if o.Detail != "" {
		line += ": " + o.Detail
	}
	a.say("%s", line)
	if len(o.Denials) > 0 {
		a.say("The harness was refused these tools: %s. What it may do is set in harness.%s.args.", strings.Join(o.Denials, ", "), r.Harness)
	}
}

// state tells how the delivery stands, why, and what a person can do.
func (a *account) state(d loop.Delivery) {
	line := "State: " + string(d.State)
	if d.Reason != "" {
		line += " (" + d.Reason + ")"
	}
	m := meanings[d.Reason]
	if d.State == loop.StateQueued && d.Decision == loop.Close {
		m.why = "what it ends is being ended; a turn that runs gets its time first (routing.close_settle_seconds)"
	}
	if m.why != "" {
		line += ": " + m.why
	}
	if d.State == loop.StateWaiting && !d.DueAt.IsZero() {
		line += "; due at " + clock(d.DueAt)
	}
	if !d.EndedAt.IsZero() {
		line += "; ended at " + clock(d.EndedAt)
	}
	a.say("%s.", line)
	if d.Error != "" {
		a.say("The last error: %s", d.Error)
	}
	if next := a.next(d, m); next != "" {
		a.say("Next: %s.", strings.NewReplacer("{id}", string(d.ID), "{ref}", d.Item.Ref()).Replace(next))
	}
}

func (a *account) next(d loop.Delivery, m meaning) string {
	switch {
	case m.next != "":
		return m.next
	case d.State == loop.StateFailed:
		return "mend what the last error says, then loopctl deliveries redeliver {id}"
	case d.State == loop.StateRunning:
		return "loopctl logs {ref} -f shows the run"
	}
	return ""
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
