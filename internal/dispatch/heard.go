package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
)

// Heard takes in what a hook told, and returns what the hook is to say where its harness listens. A conversation that a person opens
// in their own terminal is registered for its item, by its start alone where the item's last session was closed; it takes the place
// of the recorded conversation where that is live nowhere. What a run of ours tells opens and closes nothing.
func (d *Dispatcher) Heard(ctx context.Context, r loop.Report) (loop.HookAnswer, error) {
	r.Item = d.itemOf(r.Item, r.Harness, r.SessionID, r.Launch, r.PID, r.Caller, r.Event == loop.HookStart)
	switch {
	case r.Item.IsZero() || r.Run != "":
		d.Live.Report(r) // for the runs that it shows
		return loop.HookAnswer{}, nil
	case r.Launch != "":
		asks := d.Live.Report(r)
		d.turned(ctx, r)
		current := d.Launched(r.Item) == r.Launch
		if !current {
			return loop.HookAnswer{}, nil
		}
		if asks {
			d.tellAsked(ctx, r)
		}
		d.answeredHere(r)
		if r.Event != loop.HookStart {
			return loop.HookAnswer{}, nil
		}
		return loop.HookAnswer{}, d.moved(ctx, r)
	case !d.Live.Proven(r):
		d.Logger.Debug("a hook does not belong to the process that it names, and is not believed", "item", r.Item.Ref(), "pid", r.PID)
		return loop.HookAnswer{}, nil
	}
	d.joining.Lock()
	defer d.joining.Unlock()
	switch r.Event {
	case loop.HookStart:
		return d.joined(ctx, r)
	case loop.HookEnd:
		return loop.HookAnswer{}, d.left(ctx, r)
	case loop.HookPrompt, loop.HookStop, loop.HookFailure, loop.HookWaiting:
	}
	return d.goesOn(ctx, r)
}

// itemOf finds out which item a call of a hook is about. A conversation that is registered says it best; then the item that the
// program started on, but for a start, which may be on another branch.
func (d *Dispatcher) itemOf(told loop.WorkItem, harness string, id loop.SessionID, launch string, pid, caller int, start bool) loop.WorkItem {
	if launch != "" {
		return told
	}
	if s, ok := d.Sessions.FindConversation(harness, id); ok {
		return s.WorkItem
	}
	if known, _, ok := d.Live.Known(launch, pid, caller); ok && (!start || told.IsZero()) {
		return known
	}
	return told
}

// moved notes that a terminal of ours shows another conversation than the recorded one: a person cleared it, or took up another.
// What follows is for that one; the old id is kept in the record.
func (d *Dispatcher) moved(ctx context.Context, r loop.Report) error {
	s, ok := d.Sessions.Find(r.Item)
	if !ok || !s.Open() || s.Harness != r.Harness || s.HarnessSessionID == r.SessionID {
		return nil
	}
	return d.follow(ctx, s, r)
}

// follow makes the conversation of a report the one of a session.
func (d *Dispatcher) follow(ctx context.Context, s loop.Session, r loop.Report) error {
	if err := r.SessionID.Check(); err != nil {
		return err
	}
	now := time.Now().UTC()
	err := d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error {
		supersede(s, r.SessionID)
		if r.Launch == "" {
			s.ConversationAt = &now // nobody else is to begin it
			settle(s, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.HarnessSessionID = r.SessionID
	d.registered(ctx, s, "the session of "+s.WorkItem.Ref()+" goes on in another conversation")
	return nil
}

// settle notes the folder that a person has taken a conversation to, where it is to be resumed from now on.
func settle(s *loop.Session, r loop.Report) {
	if r.Cwd != "" {
		s.Cwd = r.Cwd
	}
}

// joined takes in that a person has opened a conversation. joining is held, as in all that follows.
func (d *Dispatcher) joined(ctx context.Context, r loop.Report) (loop.HookAnswer, error) {
	s, found := d.Sessions.Find(r.Item)
	switch err := d.Sessions.Unreadable(r.Item); {
	case err != nil:
		return loop.HookAnswer{}, err
	case !found || !s.Open():
		return d.registerHere(ctx, r, found)
	case s.Harness != r.Harness:
		return loop.HookAnswer{Note: fmt.Sprintf("Loop: %s works on %s, so nothing of it comes into this conversation", s.Harness, s.WorkItem.Ref())}, nil
	case s.HarnessSessionID == r.SessionID:
		return d.joinedSame(s, r)
	}
	return d.joinedAnother(ctx, s, r)
}

// registerHere registers a person's conversation for an item that has no session, by its start alone where one was closed.
func (d *Dispatcher) registerHere(ctx context.Context, r loop.Report, closed bool) (loop.HookAnswer, error) {
	if r.Source == "compact" || closed && r.Source == "clear" {
		return loop.HookAnswer{}, nil
	}
	reg := Registration{Item: r.Item, Harness: r.Harness, SessionID: r.SessionID, Cwd: r.Cwd}
	_, _, err := d.Register(ctx, reg)
	if err != nil && d.Settings().Runner == loop.RunnerTmux { // without tmux, or a terminal that could be hosted
		reg.Runner = loop.RunnerHeadless
		_, _, err = d.Register(ctx, reg)
	}
	if err != nil {
		return loop.HookAnswer{}, err
	}
	d.Live.Report(r)
	return d.welcome(r.Item), nil
}

// welcome tells a person and their agent that a conversation gets what happens on an item. What a hook brings is not the user's
// own word to the agent: that it is to be acted on is said beforehand.
func (d *Dispatcher) welcome(w loop.WorkItem) loop.HookAnswer {
	if !d.Settings().DeliverLive {
		return loop.HookAnswer{Note: "Loop: what happens on " + w.Ref() + " waits until this conversation is left, since hooks.deliver_live is false"}
	}
	return loop.HookAnswer{
		Note: "Loop: what happens on " + w.Ref() + " comes into this conversation",
		Context: "What happens on " + w.Ref() + " is brought into this conversation by Loop, as a notice that begins with [loop and a number. " +
			"The user who runs you has set that up: act on such a notice as on a message of theirs, within the same rules.",
	}
}

// joinedSame takes in that a person has opened the recorded conversation. They win: a run that goes on in it is ended.
func (d *Dispatcher) joinedSame(s loop.Session, r loop.Report) (loop.HookAnswer, error) {
	d.Live.Report(r)
	if d.overtake(s) {
		return loop.HookAnswer{Note: "Loop: a run of Loop's was going on in this conversation; it is ended, and what it was for comes here"}, nil
	}
	if note := d.second(s, r); note != "" {
		return loop.HookAnswer{Note: note}, nil
	}
	if r.Cwd == "" || r.Cwd == s.Cwd {
		return loop.HookAnswer{}, nil
	}
	return loop.HookAnswer{}, d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error { settle(s, r); return nil })
}

// overtake ends the headless run that has a session's conversation, if there is one. Its deliveries go back, uncounted.
func (d *Dispatcher) overtake(s loop.Session) bool {
	run := d.Live.Writer(s.WorkItem)
	if run == "" {
		return false
	}
	d.Logger.Info("a person has opened the conversation of a run, which is ended for them", "item", s.WorkItem.Ref(), "run", run)
	d.goRun(func(ctx context.Context) {
		if _, _, err := d.endRun(ctx, s.WorkItem, "", 0); err != nil && ctx.Err() == nil {
			d.Logger.Error("a run could not be ended for the person who has opened its conversation", "item", s.WorkItem.Ref(), "run", run, "err", err)
		}
	})
	return true
}

// second says where the conversation of a session is live, to one who comes after that; "" to the one who is there.
func (d *Dispatcher) second(s loop.Session, r loop.Report) string {
	first, ok := d.Live.Presence(s.WorkItem)
	switch {
	case !ok:
		return ""
	case first.Launch != "":
		return fmt.Sprintf("Loop: the agent of %[1]s is live in a terminal of Loop's: loopctl attach %[1]s --write", s.WorkItem.Ref())
	case first.Process.PID == r.PID:
		return ""
	}
	where := "another terminal"
	if first.Where != "" {
		where += " (" + first.Where + ")"
	}
	return fmt.Sprintf("Loop: the conversation of %s is open in %s already, process %d; what happens on it comes there", s.WorkItem.Ref(), where, first.Process.PID)
}

// joinedAnother takes in that a person has opened another conversation on an item than the recorded one: by clearing that one, by
// taking up another in its place, or in a new terminal while that one is live nowhere. The session then goes on in it.
func (d *Dispatcher) joinedAnother(ctx context.Context, s loop.Session, r loop.Report) (loop.HookAnswer, error) {
	if note := d.second(s, r); note != "" {
		r.Event, r.Source = loop.HookEnd, "other"
		d.Live.Report(r) // it may have had the recorded conversation open too, and has left that
		return loop.HookAnswer{Note: note}, nil
	}
	if err := d.follow(ctx, s, r); err != nil {
		return loop.HookAnswer{}, err
	}
	d.Live.Report(r)
	d.Live.Keep(s.WorkItem, r.Harness, r.SessionID)
	answer := d.welcome(s.WorkItem)
	if r.Source == "clear" || r.Source == "resume" {
		answer.Note = ""
	}
	return answer, nil
}

// goesOn takes in what a conversation does that was opened before.
func (d *Dispatcher) goesOn(ctx context.Context, r loop.Report) (loop.HookAnswer, error) {
	s, found := d.Sessions.Find(r.Item)
	w, _, known := d.Live.Known("", r.PID, r.Caller)
	switch {
	case !found: // loopd was not there at its start
		start := r
		start.Event = loop.HookStart
		answer, err := d.joined(ctx, start)
		if d.Live.Report(r) && err == nil {
			d.tellAsked(ctx, r)
		}
		return answer, err
	case !s.Open() && known && w == s.WorkItem && r.Event == loop.HookPrompt:
		gone := r
		gone.Event, gone.Source = loop.HookEnd, "other"
		d.Live.Report(gone)
		return loop.HookAnswer{Note: fmt.Sprintf("Loop: the session of %s is closed (%s); nothing of it comes here any more", s.WorkItem.Ref(), s.CloseReason)}, nil
	case !s.Open() || s.Harness != r.Harness || s.HarnessSessionID != r.SessionID:
		return loop.HookAnswer{}, nil
	}
	if d.Live.Report(r) {
		d.tellAsked(ctx, r)
	}
	d.turned(ctx, r)
	d.answeredHere(r)
	d.overtake(s)
	if r.Event != loop.HookPrompt {
		return loop.HookAnswer{}, nil
	}
	// Again at each prompt: of two who go on with it one will be lost, and Claude Code shows nobody what the start of a resume says.
	return loop.HookAnswer{Note: d.second(s, r)}, nil
}

// left takes in that a program leaves a conversation. It is ignored where another one has told that it is there.
func (d *Dispatcher) left(ctx context.Context, r loop.Report) error {
	w, _, known := d.Live.Known("", r.PID, r.Caller)
	d.Live.Report(r)
	d.turned(ctx, r)
	s, _ := d.Sessions.Find(r.Item)
	leaves := r.Source != "clear" && r.Source != "resume"
	if !r.CloseOnEnd || !leaves || !known || w != s.WorkItem || !s.Open() || s.HarnessSessionID != r.SessionID {
		return nil
	}
	if _, there := d.Live.Presence(r.Item); there {
		return nil
	}
	_, err := d.Close(ctx, r.Item, loop.TerminalAsConfigured, false)
	return err
}

// Await waits until there is something to wake a live conversation with; false when ctx ends, another hook waits in its place, or
// hooks are not used.
func (d *Dispatcher) Await(ctx context.Context, w session.Waiter) (loop.Wake, bool) {
	if !d.Settings().DeliverLive {
		return loop.Wake{}, false
	}
	w.Item = d.itemOf(w.Item, w.Harness, w.SessionID, w.Launch, w.PID, w.Caller, false)
	d.recognize(ctx, w)
	return d.Live.Wait(ctx, w)
}

// recognize takes a hook that waits in the recorded conversation, or on an item that never had one, for a sign that this is live
// there. Its start may not have been heard: loopd may have been away, or git too slow to name the branch.
func (d *Dispatcher) recognize(ctx context.Context, w session.Waiter) {
	d.joining.Lock()
	defer d.joining.Unlock()
	r := loop.Report{
		Event: loop.HookStart, Item: w.Item, Harness: w.Harness, SessionID: w.SessionID, PID: w.PID, Caller: w.Caller, Cwd: w.Cwd,
	}
	if _, _, known := d.Live.Known(w.Launch, w.PID, w.Caller); known || w.Launch != "" || w.Item.IsZero() || !d.Live.Proven(r) {
		return
	}
	s, found := d.Sessions.Find(w.Item)
	if found && (!s.Open() || s.Harness != w.Harness || s.HarnessSessionID != w.SessionID) {
		return
	}
	if _, err := d.joined(ctx, r); err != nil {
		d.Logger.Warn("a conversation that waits for events could not be registered", "item", w.Item.Ref(), "harness", w.Harness, "err", err)
	}
}
