package inbox_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

func TestRunOutlivesARestart(t *testing.T) {
	t.Parallel()
	in, path := open(t)
	start := time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
	want := inbox.Run{
		ID: "r1", Item: shop15, Harness: "claude", SessionID: "s", Fresh: true, Deliveries: []loop.DeliveryID{"b", "a"}, StartedAt: start,
	}
	begin := func(tx *journal.Tx) error { return in.BeginRun(tx, want) }
	if err := in.DB().Write(t.Context(), begin); err != nil {
		t.Fatal(err)
	}
	if err := in.DB().Write(t.Context(), begin); !errors.Is(err, loop.ErrExists) {
		t.Errorf("BeginRun of the same id = %v, want ErrExists", err)
	}
	in = reopen(t, in, path)
	got, err := in.Run(t.Context(), "r1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Run after a restart (-want +got):\n%s", diff)
	}

	out := loop.Outcome{Kind: loop.RunDone, Detail: "did it", SessionID: "s2", Denials: []string{"Bash"}, Turns: 3, CostUSD: 0.25}
	end := func(id loop.RunID, out loop.Outcome) error {
		return in.DB().Write(t.Context(), func(tx *journal.Tx) error { return in.EndRun(tx, id, out, start.Add(time.Minute)) })
	}
	if err := end("r1", loop.Outcome{Kind: loop.RunDetached}); !errors.Is(err, loop.ErrInvalid) {
		t.Errorf("EndRun of one that goes on = %v, want ErrInvalid", err)
	}
	if err := end("r1", out); err != nil {
		t.Fatal(err)
	}
	if err := end("r1", out); !errors.Is(err, loop.ErrConflict) {
		t.Errorf("second EndRun = %v, want ErrConflict", err)
	}
	if err := end("r2", out); !errors.Is(err, loop.ErrNotFound) {
		t.Errorf("EndRun of an unknown run = %v, want ErrNotFound", err)
	}
	want.EndedAt, want.Outcome = start.Add(time.Minute), out
	if got, err = in.Run(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Run (-want +got):\n%s", diff)
	}
}

func TestRunsAreCountedByItemAndTime(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	start := time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
	err := in.DB().Write(t.Context(), func(tx *journal.Tx) error {
		var errs []error
		begin := func(id loop.RunID, w loop.WorkItem, after time.Duration, kind loop.OutcomeKind) {
			errs = append(errs, in.BeginRun(tx, inbox.Run{ID: id, Item: w, StartedAt: start.Add(after)}))
			if kind != "" {
				errs = append(errs, in.EndRun(tx, id, loop.Outcome{Kind: kind}, start.Add(after)))
			}
		}
		begin("early", shop15, -time.Second, loop.RunDone)
		begin("first", shop15, 0, loop.RunDone)
		begin("other", shop15.Sibling(16), 0, loop.RunDone)
		begin("never", shop15, time.Minute, loop.RunNever)
		begin("unreached", shop15, time.Minute, loop.RunUnreached)
		begin("held", shop15, time.Minute, loop.RunHeld)
		begin("failed", shop15, 2*time.Minute, loop.RunFailed)
		begin("alive", shop15, 3*time.Minute, "")
		return errors.Join(errs...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := in.RunsSince(t.Context(), shop15, start); err != nil || n != 3 {
		t.Errorf("RunsSince = %d, %v; want first, failed and alive", n, err)
	}
	runs, err := in.Runs(t.Context(), shop15, 2)
	if err != nil || len(runs) != 2 || runs[0].ID != "alive" || runs[1].ID != "failed" {
		t.Errorf("Runs = %+v, %v; want alive, failed", runs, err)
	}
}
