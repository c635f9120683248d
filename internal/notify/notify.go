// Package notify calls a program of the operator's when a person is needed.
//
// It reads the event log beside everything else, so that no run ever waits for it. Events are told one at a time and in order, each
// once; those that happen while loopd is away are not told later. The program gets a deadline and a process group of its own; that
// it did not succeed is one event, and is never told itself.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// patience is how long the program may take.
const patience = 10 * time.Second

// Settings say what is called, and for which events. They may change at any time.
type Settings struct {
	Command []string // the argument vector; empty: nothing is called
	On      []loop.LogType
}

// Options are what a Notifier is made of. All are needed.
type Options struct {
	// Watch yields the events that happen from now on until ctx ends.
	Watch    func(ctx context.Context) iter.Seq2[loop.LogEvent, error]
	Settings func() Settings
	Log      func(ctx context.Context, ev loop.LogEvent)
	Logger   *slog.Logger
}

// told is an event as the program gets it on stdin, with the names that `loopctl events -o json` has.
type told struct {
	Seq        int64             `json:"seq"`
	At         time.Time         `json:"at"`
	Type       loop.LogType      `json:"type"`
	WorkItem   string            `json:"workItem"`
	DeliveryID loop.DeliveryID   `json:"deliveryId"`
	Run        loop.RunID        `json:"run"`
	Message    string            `json:"message"`
	Fields     map[string]string `json:"fields"`
}

// Run tells of events until ctx ends, or one happens while no program is called any more, and returns nil then. An event log that
// cannot be read is an error, and ends it too.
func Run(ctx context.Context, o Options) error {
	for ev, err := range o.Watch(ctx) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("watch for what a person is to be told: %w", err)
		}
		set := o.Settings()
		if len(set.Command) == 0 {
			return nil
		}
		if !slices.Contains(set.On, ev.Type) || !needsPerson(ev) {
			continue
		}
		if err := call(ctx, patience, set.Command, ev); err != nil && ctx.Err() == nil {
			o.Logger.Warn("the program that notifies did not succeed", "type", ev.Type, "err", err)
			o.Log(ctx, loop.LogEvent{
				Type: loop.LogNotifyFailed, Item: ev.Item, Message: fmt.Sprintf("nobody was told of %s: %v", ev.Type, err),
				Fields: map[string]string{"type": string(ev.Type)},
			})
		}
	}
	return nil
}

// passing are the waits that end without anybody's doing.
var passing = []string{loop.WaitBusy, loop.WaitStarting, loop.WaitRoom, loop.WaitUnconfirmed}

// needsPerson reports whether an event asks something of a person. Most waits end by themselves, a pause by hand is no news to who
// made it, and of the tries of a delivery only the last tells that it failed.
func needsPerson(ev loop.LogEvent) bool {
	switch ev.Type {
	case loop.LogSessionWaiting:
		return !slices.Contains(passing, ev.Fields["reason"])
	case loop.LogSessionPaused:
		return ev.Fields["reason"] != ""
	case loop.LogRunFailed:
		return ev.Fields["state"] == "" || ev.Fields["state"] == string(loop.StateFailed)
	case loop.LogNotifyFailed:
		return false // or it would go on for ever
	default:
		return true
	}
}

func call(ctx context.Context, within time.Duration, argv []string, ev loop.LogEvent) error {
	text, err := json.Marshal(told{ev.Seq, ev.At, ev.Type, ev.Item.Ref(), ev.Delivery, ev.Run, ev.Message, ev.Fields})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err = proc.Run(ctx, proc.Cmd{Path: argv[0], Args: argv[1:], Stdin: bytes.NewReader(append(text, '\n'))})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s had %s and was ended: %w", argv[0], within, err)
	}
	return err
}
