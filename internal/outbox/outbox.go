// Package outbox is what Loop owes GitHub: reactions, and comments of Loop's own and of agents.
//
// A letter is put into the journal, in one commit with what it tells of, and posted later, outside of everybody's way: a GitHub
// that hangs, fails or limits us delays nobody but the one who waits for a comment of theirs. The letters of one host go out one at
// a time, in their order.
//
// Each is posted at most once. That it is about to be sent is on disk before it is; a comment whose fate is not known then, after a
// crash or an answer that never came, is not sent again, and is shown as unclear. A reaction that is there already stays, so it may
// be. What was posted is remembered for good, by the number that GitHub gave it, so that Loop knows its own voice. A comment's
// last line is the marker, whoever wrote it.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

const (
	maxTries  = 3               // of a reaction that a host does not answer
	retryWait = time.Minute     // after one that was not answered
	patience  = 24 * time.Hour  // what is older than that is no news any more
	lastWords = 3 * time.Second // what is on its way at a stop has this long to end
)

// Options are what an Outbox is made of. All are needed but Step.
type Options struct {
	Journal *journal.DB // opened with Schema
	Logger  *slog.Logger

	// Post puts a letter on GitHub: a reaction, or its text as a comment. A *LaterError, a *MuteError, and an error of the classes
	// loop.ErrDenied, ErrNotFound, ErrInvalid and ErrConflict say that it is not there; every other leaves that open.
	Post func(ctx context.Context, l Letter) (Receipt, error)
	// Report adds an entry to the event log as a part of a write.
	Report func(tx *journal.Tx, ev loop.LogEvent) error

	// Step, if set, is called with the name of a step and of the topic when a letter is about to be sent, when GitHub has answered, and
	// when what became of it is on disk, so that a test can stop the process there.
	Step func(name string)
}

// Outbox is the letters of one journal. It is safe for concurrent use. A nil Outbox owes nothing and has posted nothing.
type Outbox struct {
	Options

	news chan struct{} // holds one value while something may have become due

	mu      sync.Mutex
	hosts   map[string]*desk
	waiters map[string][]chan Entry // who waits for the end of a letter, by its key
}

// desk is the way to one host.
type desk struct {
	busy   bool      // a worker sends its letters
	paused time.Time // nothing is sent before
	why    error     // what it is paused for
}

// New returns the outbox of a journal; nothing is posted before Run.
func New(o Options) *Outbox {
	return &Outbox{Options: o, news: make(chan struct{}, 1), hosts: map[string]*desk{}, waiters: map[string][]chan Entry{}}
}

// Run posts what is owed until ctx ends. What is on its way then has some seconds to arrive.
func (o *Outbox) Run(ctx context.Context) error {
	if err := o.settle(ctx); err != nil {
		return err
	}
	var working sync.WaitGroup
	defer working.Wait()
	for ctx.Err() == nil {
		hosts, err := o.owing(ctx)
		if err != nil {
			o.Logger.Error("cannot read what is owed to GitHub", "err", err, "next", "tried again in a second")
			sleep(ctx, time.Now().Add(time.Second), nil)
			continue
		}
		now := time.Now()
		var again time.Time
		for _, host := range hosts {
			free, at := o.take(host, now)
			if free {
				working.Go(func() { o.work(ctx, host) })
			}
			if !at.IsZero() && (again.IsZero() || at.Before(again)) {
				again = at
			}
		}
		sleep(ctx, again, o.news)
	}
	return nil
}

// take makes the caller the worker of a host, unless there is one or the host is paused, until the time that is returned.
func (o *Outbox) take(host string, now time.Time) (free bool, paused time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.desk(host)
	switch {
	case d.busy:
		return false, time.Time{}
	case d.paused.After(now):
		return false, d.paused
	}
	d.busy = true
	return true, time.Time{}
}

// desk returns the way to a host. mu is held.
func (o *Outbox) desk(host string) *desk {
	if o.hosts[host] == nil {
		o.hosts[host] = &desk{}
	}
	return o.hosts[host]
}

// work sends the letters of a host until none is left or the host is paused.
func (o *Outbox) work(ctx context.Context, host string) {
	defer o.tell()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.desk(host).busy = false
	}()
	for ctx.Err() == nil {
		e, ok, err := o.begin(ctx, host)
		if err != nil {
			o.Logger.Error("cannot write that something is to be posted", "err", err, "next", "tried again in a minute")
			o.pause(host, &LaterError{time.Now().Add(retryWait), err})
			return
		}
		if !ok {
			return
		}
		if later := o.send(ctx, e); later != nil {
			o.pause(host, later)
			return
		}
	}
}

func (o *Outbox) pause(host string, later *LaterError) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.desk(host)
	d.paused, d.why = later.Until, later.Err
}

// send posts one letter and writes down what became of it. It returns why the host is not to be asked for a while.
func (o *Outbox) send(ctx context.Context, e Entry) *LaterError {
	posting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		sleep(posting, time.Now().Add(lastWords), nil)
		end()
	})()
	l := e.Letter
	if l.Topic != Reaction {
		l.Text = loop.AddMarker(l.Text)
	}
	o.step("sending", e)
	receipt, err := o.Post(posting, l)
	o.step("answered", e)
	later := o.judge(&e, receipt, err)
	if err := o.end(ctx, e, receipt); err != nil {
		// It is on disk that it was about to be sent: it is not sent again.
		o.Logger.Error("cannot write what became of something that was posted", "item", e.Item.Ref(), "topic", e.Topic, "err", err)
		later = &LaterError{time.Now().Add(retryWait), err}
	}
	o.step("written", e)
	return later
}

func (o *Outbox) step(name string, e Entry) {
	if o.Step != nil {
		o.Step(name + " " + string(e.Topic))
	}
}

// judge says what has become of a letter, and why its host is not to be asked for a while.
func (o *Outbox) judge(e *Entry, r Receipt, err error) *LaterError {
	e.Error = loop.Plain(err)
	later, isLater := errors.AsType[*LaterError](err)
	_, isMute := errors.AsType[*MuteError](err)
	switch {
	case err == nil:
		e.State, e.URL, e.At = Posted, r.URL, r.At
	case isLater && e.Topic.spoken(): // who waits is told, and asks again
		e.State = Failed
		return later
	case isLater:
		e.State = Owed
		return later
	case isMute:
		e.State = Mute
	case isAbsent(err):
		e.State = Failed
	case e.Topic == Reaction && e.tries < maxTries:
		e.State = Owed
		return &LaterError{time.Now().Add(retryWait), err}
	case e.Topic == Reaction:
		e.State = Failed
	default:
		e.State = Unclear
	}
	return nil
}

// isAbsent reports whether an error says that what was to be posted is not there.
func isAbsent(err error) bool {
	for _, class := range []error{loop.ErrDenied, loop.ErrNotFound, loop.ErrInvalid, loop.ErrConflict} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// tell has Run look again.
func (o *Outbox) tell() {
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// sleep waits for a time, a wake-up, or the end of ctx. The zero time never comes.
func sleep(ctx context.Context, at time.Time, wake <-chan struct{}) {
	var alarm <-chan time.Time
	if !at.IsZero() {
		t := time.NewTimer(time.Until(at))
		defer t.Stop()
		alarm = t.C
	}
	select {
	case <-ctx.Done():
	case <-wake:
	case <-alarm:
	}
}

// event is what the event log has of the end of a letter.
func (e Entry) event() loop.LogEvent {
	ev := loop.LogEvent{
		Type: loop.LogOutboxPosted, Item: e.Item, Delivery: e.Delivery, Message: "posted: " + e.URL,
		Fields: map[string]string{"topic": string(e.Topic), "state": string(e.State)},
	}
	if e.URL != "" {
		ev.Fields["url"] = e.URL
	}
	if e.State != Posted {
		ev.Type, ev.Message = loop.LogOutboxFailed, e.complaint()
	}
	switch {
	case e.Topic == Announcement && e.State == Posted:
		ev.Type = loop.LogSessionAnnounced
	case e.Topic == Announcement:
		ev.Type = loop.LogAnnounceFailed
	}
	return ev
}

// complaint says that a letter is not on the ticket, and why.
func (e Entry) complaint() string {
	if e.State == Unclear {
		return fmt.Sprintf("the %s may not be on %s, and is not posted again: %s", e.Topic, e.Item.Ref(), e.Error)
	}
	return fmt.Sprintf("the %s is not on %s: %s", e.Topic, e.Item.Ref(), e.Error)
}
