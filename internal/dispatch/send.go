package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

// kindSend is the kind of a delivery that carries the words of the person at this machine.
const kindSend = string(loop.KindSend)

// Message is what the person at this machine says to a session.
type Message struct {
	Item loop.WorkItem
	Text string
	By   string // the name of their account; "" unknown
}

// sendBody is the body of a delivery that carries a message.
type sendBody struct {
	WorkItem string `json:"workItem"`
	Text     string `json:"text"`
	By       string `json:"by,omitempty"`
}

// Send puts a message into the queue of an item's session, behind what is there, and returns the session and the delivery that
// carries it, which is on disk then. ErrNotFound without an open session, ErrConflict while it is paused.
func (d *Dispatcher) Send(ctx context.Context, m Message) (loop.Session, loop.DeliveryID, error) {
	if strings.TrimSpace(m.Text) == "" {
		return loop.Session{}, "", fmt.Errorf("nothing to say to the session of %s: %w", m.Item, loop.ErrInvalid)
	}
	s, err := d.openSession(m.Item)
	if err != nil {
		return loop.Session{}, "", err
	}
	if err := reachable(s); err != nil {
		return s, "", err
	}
	body, err := json.Marshal(sendBody{s.WorkItem.Ref(), m.Text, m.By})
	if err != nil {
		return s, "", err
	}
	id := loop.DeliveryID("send-" + uuid.NewString())
	_, err = d.Inbox.Put(ctx, loop.Delivery{
		ID: id, Source: loop.SourceCommand, Kind: kindSend, ReceivedAt: time.Now(), Body: body, State: loop.StateReceived,
	})
	return s, id, err
}

// commanded reads a delivery that came from a person through loopctl, and decides it: their word is an order.
func (d *Dispatcher) commanded(del loop.Delivery) (loop.Event, loop.Decision, error) {
	switch del.Kind {
	case kindSend:
	case kindStart:
		return d.startDecision(del)
	default:
		dec, err := commandDecision(del)
		return loop.Event{}, dec, err
	}
	ev, w, err := readMessage(del)
	return ev, loop.Decision{Kind: loop.Deliver, Reason: "by hand", Item: w, Refs: []loop.WorkItem{w}}, err
}

func readMessage(del loop.Delivery) (loop.Event, loop.WorkItem, error) {
	var body sendBody
	if err := json.Unmarshal(del.Body, &body); err != nil {
		return loop.Event{}, loop.WorkItem{}, fmt.Errorf("a message cannot be read: %w: %w", err, loop.ErrInvalid)
	}
	w, err := loop.ParseRef(body.WorkItem)
	if body.Text == "" { // of a start, which says enough by itself
		return loop.Event{
			Delivery: del.ID, Source: del.Source, Kind: loop.KindStart, At: del.ReceivedAt, Repo: loop.Repo{Host: w.Host, Owner: w.Owner, Name: w.Repo},
			Item: loop.Item{Number: w.Number}, URL: w.URL(),
		}, w, err
	}
	return loop.Event{
		Delivery: del.ID, Source: del.Source, Kind: loop.KindSend, At: del.ReceivedAt, Actor: loop.Actor{Login: body.By}, Text: body.Text,
	}, w, err
}

// decode reads the event of a delivery, whoever it came from.
func (d *Dispatcher) decode(del loop.Delivery) (loop.Event, error) {
	if del.Source == loop.SourceCommand && (del.Kind == kindSend || del.Kind == kindStart) {
		ev, _, err := readMessage(del)
		return ev, err
	}
	return d.Decode(del)
}

// mayAsk reports whether an event's actor may ask something of an agent. Who can reach our socket may: it is their machine.
func (d *Dispatcher) mayAsk(ev loop.Event) bool {
	return ev.Source == loop.SourceCommand || d.Settings().Route.Authorizes(ev)
}

// reachable says why nothing reaches a session that is paused.
func reachable(s loop.Session) error {
	if s.Status != loop.StatusPaused {
		return nil
	}
	why := "by a person"
	if s.PauseReason == loop.PausedRunaway {
		why = "it had too many runs in an hour"
	}
	return fmt.Errorf("the session of %[1]s is paused (%[2]s), so nothing reaches it: loopctl sessions resume %[1]s: %[3]w",
		s.WorkItem, why, loop.ErrConflict)
}
