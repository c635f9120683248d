package poll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

const (
	// missedBack is for how long a provider can send a delivery again.
	missedBack = 72 * time.Hour
	// mostAsked is how often one delivery is asked for again before it is left to what polling finds.
	mostAsked = 5
	// mostAtOnce bounds how many are asked for after one cycle: each takes a second, in which nothing else is asked.
	mostAtOnce = 20
	// refusal is for how long a webhook is left alone about which the token may not ask.
	refusal = time.Hour
)

// hookKey names a webhook of a repository.
type hookKey struct{ name, hook string }

// catchMissed asks for what our webhooks could not bring, when it is time for that. That it cannot is no trouble: who has no
// right to a webhook has polling, which goes on as ever.
func (r *round) catchMissed(ctx context.Context) error {
	if !r.Settings().Webhook || !r.missedIsDue() {
		return nil
	}
	hooks, err := r.ownHooks(ctx)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		key := hookKey{r.target.key(), h.ID}
		if time.Now().Before(r.refused[key]) {
			continue
		}
		err := r.catch(ctx, key, h)
		switch {
		case err == nil:
		case ctx.Err() != nil || journal.Unavailable(err):
			return err
		case errors.Is(err, loop.ErrDenied), errors.Is(err, loop.ErrNotFound):
			r.refuse(key, err)
		default:
			r.Logger.Debug("what a webhook could not bring cannot be asked for now", "repo", key.name, "hook", key.hook, "err", err)
		}
	}
	return nil
}

// missedIsDue reports whether it is time to look at webhooks, and if so says when it is the next time.
func (r *round) missedIsDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	pace, now := r.paceOf(r.target), time.Now()
	if !r.asked && now.Before(pace.missed) {
		return false
	}
	pace.missed = now.Add(catchUp)
	return true
}

// ownHooks returns the webhooks that are known to bring us what happens in the repository, under whatever name.
func (r *round) ownHooks(ctx context.Context) ([]inbox.Hook, error) {
	all, err := r.Inbox.Hooks(ctx, r.repo)
	if err != nil || repoName(r.repo) == repoName(r.target.repo) {
		return all, err
	}
	before, err := r.Inbox.Hooks(ctx, r.target.repo)
	for _, h := range before {
		i := slices.IndexFunc(all, func(o inbox.Hook) bool { return o.ID == h.ID })
		switch {
		case i < 0:
			all = append(all, h)
		case h.Since.Before(all[i].Since):
			all[i].Since = h.Since
		}
	}
	return all, err
}

// refuse leaves a webhook alone for a while, and says so once.
func (r *round) refuse(key hookKey, cause error) {
	say := r.Logger.Debug
	if _, said := r.refused[key]; !said {
		say = r.Logger.Info
	}
	r.refused[key] = time.Now().Add(refusal)
	say("the token may not ask what a webhook could not bring: polling alone makes up for that", "repo", key.name, "hook", key.hook, "err", cause)
}

// catch looks at one webhook, and asks for what it could not bring.
func (r *round) catch(ctx context.Context, key hookKey, h inbox.Hook) error {
	if err := r.lookMissed(ctx, key, h); err != nil {
		return err
	}
	rows, err := r.missed(ctx, key)
	if err != nil {
		return err
	}
	for _, m := range rows {
		if err := r.goOn(ctx); err != nil {
			return err
		}
		if r.count.Again >= mostAtOnce {
			return nil
		}
		if err := r.settle(ctx, key, m); err != nil {
			return err
		}
	}
	return nil
}

// lookMissed writes down what a webhook could not bring since it was last looked at. What failed before it brought its first
// is no more replayed than anything else from before.
func (r *round) lookMissed(ctx context.Context, key hookKey, h inbox.Hook) error {
	looked, err := r.lookedAt(ctx, key)
	if err != nil {
		return err
	}
	from := latest(looked.Add(-overlap), h.Since.Truncate(time.Second), r.now.Add(-missedBack))
	failed, err := r.Source.Undelivered(ctx, r.repo, h.ID, from)
	if err != nil {
		return err
	}
	failed = slices.DeleteFunc(failed, func(u loop.Undelivered) bool { return !slices.Contains(loop.Kinds(), u.Kind) })
	err = r.Journal.Write(ctx, func(tx *journal.Tx) error {
		for _, u := range failed {
			if err := insertMissed(tx, key, u); err != nil {
				return err
			}
		}
		return writeLooked(tx, key, r.now)
	})
	r.step("poll-missed")
	return err
}

// settle does what is to be done about one delivery that failed.
func (r *round) settle(ctx context.Context, key hookKey, m missedRow) error {
	arrived, err := r.arrived(ctx, m.delivery)
	if err != nil {
		return err
	}
	now := time.Now()
	todo := m.todo(now, arrived)
	m.asked, m.due = m.asked+1, now.Add(m.pause())
	switch todo {
	case leave:
		return nil
	case forget:
		return r.Journal.Write(ctx, m.remove)
	case giveUp:
		return r.Journal.Write(ctx, func(tx *journal.Tx) error { return errors.Join(m.write(tx), r.Log.Append(tx, m.givenUp(key))) })
	}
	if err := r.Journal.Write(ctx, m.write); err != nil {
		return err
	}
	r.count.Again++
	err = r.Source.Redeliver(ctx, r.repo, loop.Undelivered{ID: m.delivery, Hook: key.hook, Try: m.try, At: m.at})
	r.step("poll-again")
	if isOfItAlone(err) {
		r.Logger.Debug("a delivery that failed cannot be asked for again", "repo", key.name, "hook", key.hook, "delivery", m.delivery, "err", err)
		return nil
	}
	return err
}

// isOfItAlone reports whether an error says no more than that one delivery is not sent again: it may be too old.
func isOfItAlone(err error) bool {
	return errors.Is(err, loop.ErrNotFound) || errors.Is(err, loop.ErrInvalid) || errors.Is(err, loop.ErrConflict)
}

// arrived reports whether a delivery came after all, whatever became of it.
func (p *Poller) arrived(ctx context.Context, id loop.DeliveryID) (bool, error) {
	_, err := p.Inbox.Get(ctx, id)
	if errors.Is(err, loop.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// todo is what is to be done about a delivery that failed.
type todo int

const (
	leave  todo = iota // as it is
	forget             // it: it came, or is too old
	ask                // for it again
	giveUp             // asking
)

// todo decides about a delivery. What was given up is remembered for as long as it could be listed as failed.
func (m missedRow) todo(now time.Time, arrived bool) todo {
	switch {
	case arrived || now.Sub(m.at) > missedBack:
		return forget
	case now.Before(m.due) || m.asked > mostAsked:
		return leave
	case m.asked == mostAsked:
		return giveUp
	}
	return ask
}

// pause returns how long is waited for a delivery once it is asked for again: five minutes at first, then longer and longer, for
// what keeps it away may take hours to mend.
func (m missedRow) pause() time.Duration { return catchUp << (2 * m.asked) }

func (m missedRow) givenUp(key hookKey) loop.LogEvent {
	return loop.LogEvent{
		Type: loop.LogPollGaveUp, Delivery: m.delivery,
		Message: fmt.Sprintf("webhook %s of %s could not bring it, though asked %d times: what polling finds remains", key.hook, key.name, mostAsked),
		Fields:  map[string]string{"repo": key.name, "hook": key.hook, "attempt": strconv.Itoa(mostAsked)},
	}
}

func latest(first time.Time, more ...time.Time) time.Time {
	for _, t := range more {
		if t.After(first) {
			first = t
		}
	}
	return first
}
