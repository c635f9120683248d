package poll

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

const (
	// maxTries is in how many cycles an item is tried to be read before it is left alone for retryAfter, or until it changes again.
	maxTries   = 5
	retryAfter = time.Hour
)

// String says it to a person.
func (c Count) String() string {
	said := fmt.Sprintf("%d items changed, %d deliveries, %d of them closures, %d errors", c.Items, c.Deliveries, c.Closures, c.Errors)
	if c.Again > 0 {
		said += fmt.Sprintf("; %d webhook deliveries that had failed were asked for again", c.Again)
	}
	return said
}

func (c Count) fields(repo string) map[string]string {
	return map[string]string{
		"repo": repo, "items": strconv.Itoa(c.Items), "deliveries": strconv.Itoa(c.Deliveries), "closures": strconv.Itoa(c.Closures),
		"errors": strconv.Itoa(c.Errors), "again": strconv.Itoa(c.Again),
	}
}

// put puts what is new into the inbox, in order and in one commit with whatever else must be written.
func (r *round) put(ctx context.Context, found []finding, also func(*journal.Tx) error) error {
	var fresh []finding
	var packed []inbox.Packed
	for _, f := range found {
		f.delivery.ID = deliveryID(f.event)
		switch known, err := r.isKnown(ctx, f); {
		case err != nil:
			return err
		case !known:
			if err := r.label(ctx, &f); err != nil {
				return err
			}
			fresh, packed = append(fresh, f), append(packed, r.Inbox.Pack(f.delivery.Body))
		}
	}
	if len(fresh) == 0 && also == nil {
		return nil
	}
	count := r.count
	err := r.Journal.Write(ctx, func(tx *journal.Tx) error {
		count = r.count
		for i, f := range fresh {
			if err := r.putOne(tx, f, packed[i], &count); err != nil {
				return err
			}
		}
		if also == nil {
			return nil
		}
		return also(tx)
	})
	if err == nil {
		r.count = count
	}
	return err
}

// label writes on a delivery what people look for it by, which nobody else does where it is dropped at once or as a duplicate: in
// a line what it is, and which item it belongs to, that of a session before others.
func (r *round) label(ctx context.Context, f *finding) error {
	f.delivery.Summary, f.delivery.Item = r.Summary(f.event), f.event.WorkItem()
	refs, err := r.Refs(ctx, f.event)
	for _, w := range refs {
		if _, works := r.live[w.Key()]; works {
			f.delivery.Item = w
			break
		}
	}
	return err
}

func (r *round) putOne(tx *journal.Tx, f finding, body inbox.Packed, count *Count) error {
	result, err := r.Inbox.PutIn(tx, f.delivery, body)
	if err != nil || result.Verdict != inbox.Accepted {
		return err
	}
	count.Deliveries++
	if f.event.Action != "closed" {
		return nil
	}
	count.Closures++
	return r.Log.Append(tx, loop.LogEvent{
		Type: loop.LogPollClosure, Item: f.event.WorkItem(), Delivery: f.delivery.ID, Message: f.event.WorkItem().Ref() + " is closed",
		Fields: map[string]string{"merged": strconv.FormatBool(f.event.Item.Merged)},
	})
}

// isKnown reports whether a thing was put before, or has come by the webhook.
func (r *round) isKnown(ctx context.Context, f finding) (bool, error) {
	_, err := r.Inbox.Get(ctx, f.delivery.ID)
	if !errors.Is(err, loop.ErrNotFound) {
		return err == nil, err
	}
	return r.Inbox.Claimed(ctx, f.event.Fact)
}

// deliveryID makes the id under which a thing is put: always the same for the same.
func deliveryID(ev loop.Event) loop.DeliveryID {
	if ev.Action != "closed" {
		return loop.DeliveryID("poll-" + ev.Fact)
	}
	state, at := "closed", ev.At
	if ev.Item.Merged {
		state = "merged"
	}
	if !ev.Item.ClosedAt.IsZero() {
		at = ev.Item.ClosedAt
	}
	return loop.DeliveryID("poll-close-" + ev.WorkItem().Ref() + "-" + state + "-" + at.UTC().Format(time.RFC3339))
}

// failed notes that an item which changed at a time, zero where that is not known, could not be read, so that it is tried again. The
// error is of what concerns more than the item.
func (r *round) failed(ctx context.Context, w loop.WorkItem, at time.Time, cause error) error {
	if r.concernsAll(ctx, cause) {
		return cause
	}
	r.count.Errors++
	row, err := r.itemRow(ctx, w)
	if err != nil {
		return err
	}
	if !at.IsZero() && !row.failed.Equal(at) {
		row.tries, row.failed = 0, at
	}
	row.tries, row.tried = row.tries+1, r.now
	err = r.Journal.Write(ctx, func(tx *journal.Tx) error {
		if err := row.write(tx, w); err != nil {
			return err
		}
		return r.logFailure(tx, w, row.tries, cause)
	})
	if row.tries < maxTries && !at.IsZero() && (r.held.IsZero() || at.Before(r.held)) {
		r.held = at
	}
	return err
}

// logFailure tells of the first try that failed, and of the last.
func (r *round) logFailure(tx *journal.Tx, w loop.WorkItem, tries int, cause error) error {
	ev := loop.LogEvent{Type: loop.LogPollItemError, Item: w, Message: loop.Plain(cause), Fields: map[string]string{"attempt": strconv.Itoa(tries)}}
	switch tries {
	case 1:
		ev.Message += "; it is tried again"
	case maxTries:
		ev.Type = loop.LogPollGaveUp
		ev.Message += "; it is tried again every hour, and when it changes"
	default:
		return nil
	}
	return r.Log.Append(tx, ev)
}

// unreadable notes that a part of what a repository has could not be read, unless nothing could be.
func (r *round) unreadable(ctx context.Context, cause error) error {
	if r.concernsAll(ctx, cause) {
		return cause
	}
	r.count.Errors++
	r.Logger.Debug("a part of a repository cannot be read", "repo", strings.ToLower(repoName(r.target.repo)), "err", cause)
	return nil
}

// concernsAll reports whether an error says more than that one item cannot be read.
func (r *round) concernsAll(ctx context.Context, err error) bool {
	return ctx.Err() != nil || journal.Unavailable(err) || !r.Source.Limited(r.repo.Host).IsZero()
}
