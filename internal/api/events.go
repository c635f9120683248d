package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"

	"google.golang.org/grpc"

	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

const (
	// lastShown is how many events a caller gets who asks for the last ones.
	lastShown = 100

	// eventPage is how many events are read at a time.
	eventPage = 500
)

// Events streams the event log from a point on, and with follow what comes until the caller or loopd ends it. Nothing is
// queued for a slow reader: each one reads the log at its own pace, and only retention can overtake it.
func (d *daemon) Events(req *loopv1.EventsRequest, stream grpc.ServerStreamingServer[loopv1.EventsResponse]) error {
	ctx := stream.Context()
	filter, err := eventFilter(req)
	if err != nil {
		return err
	}
	if filter.After < 0 {
		if filter.After, err = d.beforeLast(ctx, filter); err != nil {
			return err
		}
	}
	events := d.kept(ctx, filter)
	if req.GetFollow() {
		events = d.o.Log.Watch(ctx, filter)
	}
	last := filter.After
	for e, err := range events {
		if errors.Is(err, loop.ErrConflict) {
			return &lagError{last}
		}
		if err != nil {
			return err
		}
		if err := stream.Send(eventMessage(e)); err != nil {
			return err
		}
		last = e.Seq
	}
	return ctx.Err()
}

var typePattern = regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`)

func eventFilter(req *loopv1.EventsRequest) (f eventlog.Filter, err error) {
	if f.Item, err = optionalItem(req.GetWorkItem()); err != nil {
		return f, err
	}
	f.Type = loop.LogType(req.GetType())
	if f.Type != "" && !typePattern.MatchString(req.GetType()) {
		return f, invalid("type", fmt.Sprintf("%q is no event type; it is something like run.failed", f.Type))
	}
	f.After = req.GetAfterSeq()
	if f.After < -1 {
		return f, invalid("after_seq", fmt.Sprintf("%d is below -1", f.After))
	}
	return f, nil
}

// kept are the events that a filter chooses and that are there already.
func (d *daemon) kept(ctx context.Context, f eventlog.Filter) iter.Seq2[loop.LogEvent, error] {
	f.Limit = eventPage
	return func(yield func(loop.LogEvent, error) bool) {
		for {
			page, err := d.o.Log.Query(ctx, f)
			if err != nil {
				yield(loop.LogEvent{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				f.After = e.Seq
			}
			if len(page) < eventPage {
				return
			}
		}
	}
}

// beforeLast returns the number after which a filter chooses the last events, so many as lastShown.
func (d *daemon) beforeLast(ctx context.Context, f eventlog.Filter) (int64, error) {
	f.After = 0
	if f.Item.IsZero() && f.Type == "" {
		newest, err := d.o.Log.Last(ctx)
		return max(0, newest-lastShown), err // numbers have no gaps
	}
	var tail []int64
	for e, err := range d.kept(ctx, f) {
		if err != nil {
			return 0, err
		}
		if tail = append(tail, e.Seq); len(tail) > lastShown {
			tail = tail[1:]
		}
	}
	if len(tail) == 0 {
		return d.o.Log.Last(ctx)
	}
	return tail[0] - 1, nil
}
