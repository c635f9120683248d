package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/notify"
)

var shop15 = loop.WorkItem{Provider: loop.ProviderGitHub, Owner: "acme", Repo: "shop", Number: 15}

// run tells of events by a command of the shell, and returns the types that were logged.
func run(t *testing.T, script string, on []loop.LogType, events ...loop.LogEvent) []loop.LogEvent {
	t.Helper()
	var logged []loop.LogEvent
	err := notify.Run(t.Context(), notify.Options{
		Watch: func(context.Context) iter.Seq2[loop.LogEvent, error] {
			return func(yield func(loop.LogEvent, error) bool) {
				for _, ev := range events {
					if !yield(ev, nil) {
						return
					}
				}
			}
		},
		Settings: func() notify.Settings { return notify.Settings{Command: []string{"/bin/sh", "-c", script}, On: on} },
		Log:      func(_ context.Context, ev loop.LogEvent) { logged = append(logged, ev) },
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return logged
}

func TestThePersonIsToldOfWhatNeedsThem(t *testing.T) {
	t.Parallel()
	with := func(typ loop.LogType, name, value string) loop.LogEvent {
		return loop.LogEvent{Type: typ, Item: shop15, Message: string(typ) + " " + value, Fields: map[string]string{name: value}}
	}
	file := filepath.Join(t.TempDir(), "told")
	on := []loop.LogType{loop.LogSessionWaiting, loop.LogSessionPaused, loop.LogRunFailed, loop.LogNotifyFailed}
	logged := run(t, "cat >> "+file, on,
		with(loop.LogSessionWaiting, "reason", loop.WaitBusy), with(loop.LogSessionWaiting, "reason", loop.WaitElsewhere),
		with(loop.LogSessionWaiting, "reason", loop.WaitDialog), with(loop.LogSessionPaused, "reason", ""),
		with(loop.LogSessionPaused, "reason", loop.PausedRunaway), with(loop.LogRunFailed, "state", "waiting"),
		with(loop.LogRunFailed, "state", "failed"), with(loop.LogRunHeld, "reason", "offline"), with(loop.LogNotifyFailed, "type", "x"),
	)
	if len(logged) != 0 {
		t.Errorf("logged %+v", logged)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		var told struct{ WorkItem, Message string }
		if err := json.Unmarshal([]byte(line), &told); err != nil || told.WorkItem != "github:acme/shop#15" {
			t.Errorf("told %q, %v", line, err)
		}
		got = append(got, told.Message)
	}
	want := []string{"session.waiting elsewhere", "session.waiting dialog", "session.paused runaway", "run.failed failed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// A program that fails is one event, keeps nobody from being told of the next, and is in nobody's way.
func TestAFailureIsOneEvent(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "told")
	began := time.Now()
	logged := run(t, "read line; echo \"$line\" >> "+file+"; echo no mail >&2; exit 3", []loop.LogType{loop.LogRunHeld},
		loop.LogEvent{Type: loop.LogRunHeld, Item: shop15, Message: "one"}, loop.LogEvent{Type: loop.LogRunHeld, Item: shop15, Message: "two"})
	if len(logged) != 2 || logged[0].Type != loop.LogNotifyFailed || logged[0].Item != shop15 || !strings.Contains(logged[0].Message, "no mail") {
		t.Errorf("logged %+v after %s", logged, time.Since(began))
	}
	if text, _ := os.ReadFile(file); strings.Count(string(text), "\n") != 2 {
		t.Errorf("told\n%s", text)
	}
}

func TestAHungProgramIsSaidToBeEnded(t *testing.T) {
	t.Parallel()
	err := notify.Call(t.Context(), 20*time.Millisecond, []string{"sleep", "600"}, loop.LogEvent{Type: loop.LogRunHeld})
	if err == nil || !strings.Contains(err.Error(), "sleep had 20ms and was ended") {
		t.Errorf("a program that hangs: %v", err)
	}
}

func TestALogThatCannotBeReadIsToldOf(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	err := notify.Run(t.Context(), notify.Options{Watch: func(context.Context) iter.Seq2[loop.LogEvent, error] {
		return func(yield func(loop.LogEvent, error) bool) { yield(loop.LogEvent{}, broken) }
	}})
	if !errors.Is(err, broken) {
		t.Errorf("Run: %v", err)
	}
}
