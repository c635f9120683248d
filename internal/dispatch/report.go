package dispatch

import (
	"context"

	"github.com/loop-daemon/loop/internal/loop"
)

// Moved notes that a terminal of ours shows another conversation than the recorded one: a person cleared it, or took up another.
// What follows is for that one; the old id is kept in the record. It does nothing where the conversation is the same, or no
// session is open.
func (d *Dispatcher) Moved(ctx context.Context, w loop.WorkItem, harness string, id loop.SessionID) error {
	s, ok := d.Sessions.Find(w)
	if !ok || !s.Open() || s.Harness != harness || s.HarnessSessionID == id {
		return nil
	}
	if err := id.Check(); err != nil {
		return err
	}
	err := d.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error { supersede(s, id); return nil })
	if err != nil {
		return err
	}
	d.registered(ctx, s, "the session of "+w.Ref()+" goes on in another conversation")
	return nil
}
