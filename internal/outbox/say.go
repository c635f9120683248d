package outbox

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

const (
	// repeated is how long the same words on the same item are taken for a second try to say them.
	repeated = 10 * time.Minute
	// maxText is how many characters GitHub takes in a comment.
	maxText = 65536
)

// Say posts the words of an agent as a comment and returns when it is there. The same words on the same item within ten minutes are
// taken for another try: they are posted once, and the answer is the comment that is there. When the error is ErrConflict they may
// be there, and were not posted again; any other says that they are not.
func (o *Outbox) Say(ctx context.Context, topic Topic, w loop.WorkItem, text string) (Entry, error) {
	text = strings.TrimSpace(text)
	switch long := utf8.RuneCountInString(loop.AddMarker(text)); {
	case text == "":
		return Entry{}, fmt.Errorf("there is nothing to post on %s: %w", w, loop.ErrInvalid)
	case long > maxText:
		return Entry{}, fmt.Errorf("the text has %d characters with Loop's marker, and GitHub takes %d: %w", long, maxText, loop.ErrInvalid)
	}
	l := Letter{Key: fmt.Sprintf("say:%s:%x", w.Key(), sha256.Sum256([]byte(text))), Topic: topic, Item: w, Text: text}
	if err := o.open(w.Host); err != nil {
		return Entry{}, fmt.Errorf("nothing was posted on %s: %w", w, err)
	}
	end := o.await(l.Key)
	defer o.forsake(l.Key, end)
	e, err := o.speak(ctx, l)
	if err != nil {
		return Entry{}, err
	}
	if !e.State.final() {
		select {
		case e = <-end:
		case <-ctx.Done():
			return o.withdraw(ctx, l)
		}
	}
	return e, said(e)
}

// open says why a host takes nothing now.
func (o *Outbox) open(host string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.desk(host); d.paused.After(time.Now()) {
		return &LaterError{d.paused, d.why}
	}
	return nil
}

// speak owes a letter, unless its words were said or are being said.
func (o *Outbox) speak(ctx context.Context, l Letter) (e Entry, err error) {
	err = o.Journal.Write(ctx, func(tx *journal.Tx) error {
		e, err = scan(tx.QueryRow("SELECT "+columns+" FROM letter WHERE key = ?", l.Key))
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case !e.State.final(), (e.State == Posted || e.State == Unclear) && time.Since(e.MadeAt) < repeated:
			return nil
		default:
			if _, err := tx.Exec("DELETE FROM letter WHERE key = ?", l.Key); err != nil {
				return err
			}
		}
		e = Entry{Letter: l, State: Owed}
		return o.Put(tx, l)
	})
	if err != nil {
		return Entry{}, o.explain(fmt.Errorf("owe a %s to %s: %w", l.Topic, l.Item, err))
	}
	return e, nil
}

// withdraw takes a letter back that nobody waits for any more, unless it is on its way.
func (o *Outbox) withdraw(ctx context.Context, l Letter) (Entry, error) {
	var gone int64
	err := o.Journal.Write(context.WithoutCancel(ctx), func(tx *journal.Tx) error {
		res, err := tx.Exec("DELETE FROM letter WHERE key = ? AND state = ?", l.Key, Owed)
		if err != nil {
			return err
		}
		gone, err = res.RowsAffected()
		return err
	})
	switch {
	case err != nil:
		return Entry{}, o.explain(fmt.Errorf("take back a %s for %s: %w", l.Topic, l.Item, err))
	case gone > 0:
		return Entry{}, fmt.Errorf("nothing was posted on %s: its turn did not come in time: %w", l.Item, loop.ErrUnavailable)
	}
	return Entry{Letter: l, State: Unclear}, fmt.Errorf("GitHub has not answered yet, and the %s may be on %s: look at %s before you say it again: %w",
		l.Topic, l.Item, l.Item.URL(), loop.ErrConflict)
}

// said puts the end of a letter into words for the one who waited for it.
func said(e Entry) error {
	switch e.State {
	case Posted:
		return nil
	case Unclear:
		return fmt.Errorf("the %s may be on %s, and is not posted again (%s): look at %s, and say it in other words if it is missing: %w",
			e.Topic, e.Item, e.Error, e.Item.URL(), loop.ErrConflict)
	case Owed, Sending, Failed, Mute:
	}
	return fmt.Errorf("nothing was posted on %s: %s: %w", e.Item, e.Error, loop.ErrUnavailable)
}

// await returns a channel that gets the letter when it has ended.
func (o *Outbox) await(key string) chan Entry {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := make(chan Entry, 1)
	o.waiters[key] = append(o.waiters[key], c)
	return c
}

func (o *Outbox) forsake(key string, c chan Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiters[key] = slices.DeleteFunc(o.waiters[key], func(other chan Entry) bool { return other == c })
	if len(o.waiters[key]) == 0 {
		delete(o.waiters, key)
	}
}

// answer tells those who wait for a letter what became of it.
func (o *Outbox) answer(e Entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.waiters[e.Key] {
		select {
		case c <- e:
		default: // told before
		}
	}
}
