package app

import (
	"context"
	"iter"
	"time"

	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/notify"
)

// notifyAgain is how long after the event log could not be read it is tried again.
const notifyAgain = 5 * time.Second

// notify tells the operator's program of what happens from now on, until ctx ends. While there is no such program nobody looks.
func (d *daemon) notify(ctx context.Context) {
	o := notify.Options{Watch: d.fromNow, Settings: d.notifySettings, Log: d.events.Log, Logger: d.log}
	for ctx.Err() == nil {
		if len(o.Settings().Command) == 0 {
			select {
			case <-ctx.Done():
			case <-d.reconfigured:
			}
			continue
		}
		if err := notify.Run(ctx, o); err != nil {
			d.log.Warn("a person may not be told of what needs them", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(notifyAgain):
			}
		}
	}
}

// fromNow yields the events that are written from now on.
func (d *daemon) fromNow(ctx context.Context) iter.Seq2[loop.LogEvent, error] {
	last, err := d.events.Last(ctx)
	if err != nil {
		return func(yield func(loop.LogEvent, error) bool) { yield(loop.LogEvent{}, err) }
	}
	return d.events.Watch(ctx, eventlog.Filter{After: last})
}

// notifySettings puts the configuration in force into the words of notify.
func (d *daemon) notifySettings() notify.Settings {
	n := d.live.Load().config.Notify
	set := notify.Settings{Command: n.Command}
	for _, typ := range n.On {
		set.On = append(set.On, loop.LogType(typ))
	}
	return set
}
