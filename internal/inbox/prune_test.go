package inbox_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

func TestPruneKeepsWhatIsOwed(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	states := []loop.State{
		loop.StateReceived, loop.StateQueued, loop.StateWaiting, loop.StateRunning, loop.StateDone, loop.StateFailed, loop.StateDropped,
	}
	for _, state := range states {
		put(t, in, loop.Delivery{ID: loop.DeliveryID(state), Body: []byte("{}")})
		move(t, in, loop.DeliveryID(state), inbox.Transition{State: state})
	}
	err := in.DB().Write(t.Context(), func(tx *journal.Tx) error {
		_, err := in.Claim(tx, "fact", "done")
		return errors.Join(err, in.BeginRun(tx, inbox.Run{ID: "ended", StartedAt: time.Now()}),
			in.EndRun(tx, "ended", loop.Outcome{Kind: loop.RunDone}, time.Now()), in.BeginRun(tx, inbox.Run{ID: "alive", StartedAt: time.Now()}))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		days     int
		want     inbox.Pruned
		rows     int
		noBodies []loop.State
	}{
		{6, inbox.Pruned{}, 7, nil},
		{8, inbox.Pruned{Bodies: 2}, 7, []loop.State{loop.StateDone, loop.StateDropped}},
		{34, inbox.Pruned{}, 7, []loop.State{loop.StateDone, loop.StateDropped}},
		{36, inbox.Pruned{Deliveries: 3, Facts: 1, Runs: 1}, 4, nil},
		{400, inbox.Pruned{}, 4, nil},
	} {
		got, err := in.Prune(t.Context(), time.Now().AddDate(0, 0, tt.days), 7, 1) // one day is less than may be asked for
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("after %d days (-want +got):\n%s", tt.days, diff)
		}
		rows, err := in.List(t.Context(), inbox.Filter{})
		if err != nil || len(rows) != tt.rows {
			t.Errorf("after %d days: %d deliveries, %v; want %d", tt.days, len(rows), err, tt.rows)
		}
		var noBodies []loop.State
		for _, state := range states {
			if _, err := in.Get(t.Context(), loop.DeliveryID(state)); err != nil {
				continue
			}
			if _, err := in.Body(t.Context(), loop.DeliveryID(state)); errors.Is(err, loop.ErrNotFound) {
				noBodies = append(noBodies, state)
			}
		}
		if diff := cmp.Diff(tt.noBodies, noBodies); diff != "" {
			t.Errorf("after %d days, deliveries without a body (-want +got):\n%s", tt.days, diff)
		}
	}
}

func TestPruneRemovesMoreThanOneStep(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	err := in.DB().Write(t.Context(), func(tx *journal.Tx) error {
		for i := range 501 {
			if _, err := in.Claim(tx, fmt.Sprint(i), "d"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := in.Prune(t.Context(), time.Now().AddDate(0, 0, 36), 7, 35)
	if err != nil || got.Facts != 501 {
		t.Errorf("Prune = %+v, %v; want 501 facts", got, err)
	}
}
