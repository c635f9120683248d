package filewatch_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/sys/filewatch"
)

// Events settle before the file is read, but a folder that never rests must not keep a change from being seen.
func TestRunSettles(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name   string
		events []time.Duration // after the start
		want   []time.Duration // looks, after the start
	}{
		{"nothing happens", nil, []time.Duration{0}},
		{"one event", []time.Duration{500 * ms}, []time.Duration{0, 600 * ms}},
		{"several steps", []time.Duration{500 * ms, 550 * ms, 640 * ms}, []time.Duration{0, 740 * ms}},
		{"two edits", []time.Duration{500 * ms, 700 * ms}, []time.Duration{0, 600 * ms, 800 * ms}},
		{"no rest", every(90*ms, 2500*ms), []time.Duration{0, 1090 * ms, 2170 * ms, 2530 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				events, start := make(chan fsnotify.Event), time.Now()
				var got []time.Duration
				var running sync.WaitGroup
				running.Go(func() {
					filewatch.OnceSettled(ctx, events, nil, func() time.Duration {
						got = append(got, time.Since(start))
						return 0
					})
				})
				synctest.Wait()
				for _, at := range tt.events {
					time.Sleep(at - time.Since(start))
					events <- fsnotify.Event{}
				}
				time.Sleep(time.Minute)
				cancel()
				running.Wait()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("looks (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func every(d, until time.Duration) (times []time.Duration) {
	for at := d; at <= until; at += d {
		times = append(times, at)
	}
	return times
}

func TestRunLooksAgainWhenAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		looks := 0
		filewatch.OnceSettled(ctx, nil, nil, func() time.Duration {
			if looks++; looks == 3 {
				cancel()
			}
			return time.Second
		})
		if looks != 3 {
			t.Errorf("%d looks, want 3", looks)
		}
	})
}
