package dispatch

import (
	"context"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
)

// Comment posts the words of an agent on an item, as outbox.Outbox.Say does.
func (d *Dispatcher) Comment(ctx context.Context, w loop.WorkItem, text string) (outbox.Entry, error) {
	return d.Outbox.Say(ctx, outbox.Comment, w, text)
}

// Ask posts a question of an item's agent there, as Comment does, and marks the session as waiting until an answer has reached it.
// ErrNotFound without an open session, ErrConflict for one that is paused, which no answer would reach.
func (d *Dispatcher) Ask(ctx context.Context, w loop.WorkItem, text string) (outbox.Entry, error) {
	s, err := d.openSession(w)
	if err != nil {
		return outbox.Entry{}, err
	}
	if err := reachable(s); err != nil {
		return outbox.Entry{}, err
	}
	e, err := d.Outbox.Say(ctx, outbox.Question, s.WorkItem, text)
	if err != nil {
		return e, err
	}
	at := e.At
	if at.IsZero() {
		at = e.MadeAt
	}
	at = at.UTC()
	err = d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error {
		s.AskedAt, s.AskedURL = &at, e.URL
		return nil
	})
	if err != nil {
		return e, err
	}
	d.Log.Log(ctx, loop.LogEvent{
		Type: loop.LogSessionWaiting, Item: s.WorkItem, Message: "the agent of " + s.WorkItem.Ref() + " waits for an answer: " + e.URL,
		Fields: map[string]string{"reason": loop.WaitAnswer, "url": e.URL},
	})
	return e, nil
}

// answered notes that what a run brings to a session answers its question.
func (d *Dispatcher) answered(ctx context.Context, t trip) {
	if s, ok := d.Sessions.Find(t.item); ok && s.AskedAt != nil && d.answers(ctx, t, *s.AskedAt) {
		d.settleAsked(s)
	}
}

// answeredHere notes that somebody at the terminal has said something to an agent that had asked: a prompt without a token of ours.
func (d *Dispatcher) answeredHere(r loop.Report) {
	if s, ok := d.Sessions.Find(r.Item); ok && s.AskedAt != nil && r.Event == loop.HookPrompt && len(r.Runs) == 0 {
		d.settleAsked(s)
	}
}

func (d *Dispatcher) settleAsked(s loop.Session) {
	err := d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error {
		s.AskedAt, s.AskedURL = nil, ""
		return nil
	})
	if err != nil {
		d.Logger.Error("a session file could not be brought up to date", "item", s.WorkItem.Ref(), "err", err)
	}
}

// answers reports whether one of the deliveries of a run is somebody's word after a question. Strangers' words are no deliveries.
func (d *Dispatcher) answers(ctx context.Context, t trip, asked time.Time) bool {
	for _, j := range t.jobs {
		ev, err := d.event(ctx, j.id)
		if err != nil {
			continue
		}
		switch ev.Kind { //nolint:exhaustive // the others are nobody's words
		case loop.KindSend:
			return true
		case loop.KindIssueComment, loop.KindPullRequestComment, loop.KindPullRequestReview:
			if ev.At.IsZero() || !ev.At.Before(asked) {
				return true
			}
		}
	}
	return false
}
