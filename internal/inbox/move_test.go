package inbox_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

func TestMoveAllowsOnlyTheStepsOfALife(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	states := []loop.State{
		loop.StateReceived, loop.StateQueued, loop.StateWaiting, loop.StateRunning, loop.StateDone, loop.StateFailed, loop.StateDropped,
	}
	for _, from := range states {
		for _, to := range append(slices.Clone(states), "", "nonsense") {
			id := loop.DeliveryID(from + "-" + to)
			put(t, in, loop.Delivery{ID: id})
			move(t, in, id, inbox.Transition{State: from})
			err := tryMove(t, in, id, inbox.Transition{State: to})
			allowed := !from.Final() && slices.Contains(states, to) && (to != loop.StateReceived || from == loop.StateReceived)
			if allowed != (err == nil) || err != nil && !errors.Is(err, loop.ErrConflict) {
				t.Errorf("%s → %q: %v, want allowed %v", from, to, err, allowed)
			}
			want := from
			if allowed {
				want = to
			}
			if got := delivery(t, in, id).State; got != want {
				t.Errorf("%s → %q: the state is %s, want %s", from, to, got, want)
			}
		}
	}
	if err := tryMove(t, in, "unknown", inbox.Transition{State: loop.StateDone}); !errors.Is(err, loop.ErrNotFound) {
		t.Errorf("Move of an unknown delivery = %v, want ErrNotFound", err)
	}
}

func TestMoveKeepsWhatItIsNotGiven(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	put(t, in, loop.Delivery{ID: "d"})
	due := time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
	closures := []loop.Closure{{Item: shop15, Reason: loop.ClosePRMerged, Merged: true, ClosedAt: due}}
	move(t, in, "d", inbox.Transition{
		State: loop.StateQueued, Item: shop15, Decision: loop.Close, Closures: closures, Fact: "close:x", Summary: "closed by octocat",
	})
	move(t, in, "d", inbox.Transition{State: loop.StateRunning, Attempts: 1, Run: "r1"})
	move(t, in, "d", inbox.Transition{State: loop.StateWaiting, Reason: loop.WaitBackoff, Attempts: 1, DueAt: due, Error: "exit status 1"})
	want := loop.Delivery{
		ID: "d", State: loop.StateWaiting, Reason: loop.WaitBackoff, Error: "exit status 1", Item: shop15, Decision: loop.Close,
		Closures: closures, Fact: "close:x", Attempts: 1, DueAt: due, Run: "r1", Summary: "closed by octocat",
	}
	got := delivery(t, in, "d")
	want.Seq, want.ReceivedAt = got.Seq, got.ReceivedAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("while it waits (-want +got):\n%s", diff)
	}
	move(t, in, "d", inbox.Transition{State: loop.StateDone, Attempts: 2})
	want.State, want.Reason, want.Error, want.Attempts, want.DueAt, want.EndedAt = loop.StateDone, "", "", 2, time.Time{}, time.Now()
	if diff := cmp.Diff(want, delivery(t, in, "d"), sameMoment); diff != "" {
		t.Errorf("when it is done (-want +got):\n%s", diff)
	}
}

func TestWhatIsWrittenTogetherFailsTogether(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	put(t, in, loop.Delivery{ID: "d"})
	err := in.DB().Write(t.Context(), func(tx *journal.Tx) error {
		return errors.Join(
			in.BeginRun(tx, inbox.Run{ID: "r", Item: shop15}),
			in.Move(tx, "d", inbox.Transition{State: loop.StateRunning, Run: "r"}),
			in.Move(tx, "unknown", inbox.Transition{State: loop.StateRunning, Run: "r"}),
		)
	})
	if !errors.Is(err, loop.ErrNotFound) {
		t.Fatalf("Write = %v, want ErrNotFound", err)
	}
	if d := delivery(t, in, "d"); d.State != loop.StateReceived {
		t.Errorf("the delivery is %s, want it as it was", d.State)
	}
	if _, err := in.Run(t.Context(), "r"); !errors.Is(err, loop.ErrNotFound) {
		t.Errorf("Run = %v, want no run", err)
	}
}

func TestListChooses(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	other := shop15.Sibling(1)
	for _, d := range []loop.Delivery{
		{ID: "1", State: loop.StateDropped, Item: shop15, Reason: loop.DropSessionPaused, ReceivedAt: time.Unix(1000, 0)},
		{ID: "2", State: loop.StateDropped, Item: shop15, Reason: loop.DropSessionPaused},
		{ID: "3", Item: other},
		{ID: "4"},
		{ID: "5", Item: loop.WorkItem{Provider: "github", Owner: "acme", Repo: "shop", Number: 15}},
	} {
		put(t, in, d)
	}
	for _, tt := range []struct {
		filter inbox.Filter
		want   []loop.DeliveryID
	}{
		{inbox.Filter{}, []loop.DeliveryID{"5", "4", "3", "2", "1"}},
		{inbox.Filter{Limit: 2}, []loop.DeliveryID{"5", "4"}},
		{inbox.Filter{Limit: 2, Before: 4}, []loop.DeliveryID{"3", "2"}},
		{inbox.Filter{Item: shop15}, []loop.DeliveryID{"5", "2", "1"}},
		{inbox.Filter{Item: shop15, State: loop.StateDropped}, []loop.DeliveryID{"2", "1"}},
		{inbox.Filter{State: loop.StateFailed}, nil},
	} {
		got, err := in.List(t.Context(), tt.filter)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, ids(got)); diff != "" {
			t.Errorf("List(%+v) (-want +got):\n%s", tt.filter, diff)
		}
	}
	counts, err := in.CountByState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[loop.State]int64{loop.StateReceived: 3, loop.StateDropped: 2}, counts); diff != "" {
		t.Errorf("CountByState (-want +got):\n%s", diff)
	}
	missed, err := in.CountDropped(t.Context(), shop15, loop.DropSessionPaused, time.Unix(2000, 0))
	if err != nil || missed != 1 {
		t.Errorf("CountDropped = %d, %v; want 1", missed, err)
	}
}
