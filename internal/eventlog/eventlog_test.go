package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

var shop15 = loop.WorkItem{Provider: "github", Owner: "Acme", Repo: "Shop", Number: 15}

func TestLogKeepsEntriesAsTheyAre(t *testing.T) {
	t.Parallel()
	l, db, path := open(t)
	want := loop.LogEvent{
		At: time.Date(2026, 7, 2, 10, 0, 0, 5000, time.UTC), Type: loop.LogRunDone, Item: shop15, Delivery: "d", Run: "r", Message: "did it",
		Fields: map[string]string{"attempt": "1", "denials": `"Bash"`},
	}
	log(t, l, want)
	log(t, l, loop.LogEvent{Type: loop.LogConfigReloaded})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	l, _ = openAt(t, path)
	got, err := l.Query(t.Context(), eventlog.Filter{})
	if err != nil || len(got) != 2 {
		t.Fatalf("Query = %d entries, %v; want 2", len(got), err)
	}
	want.Seq = 1
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("first entry (-want +got):\n%s", diff)
	}
	if got[1].At.IsZero() || got[1].Seq != 2 {
		t.Errorf("second entry = %+v, want a time and its number", got[1])
	}
}

func TestQueryChooses(t *testing.T) {
	t.Parallel()
	l, _, _ := open(t)
	for i, ev := range []loop.LogEvent{
		{Type: loop.LogRunStarted, Item: shop15},
		{Type: loop.LogRunDone, Item: shop15},
		{Type: loop.LogRunStarted, Item: shop15.Sibling(1)},
		{Type: loop.LogConfigReloaded},
	} {
		ev.Message = fmt.Sprint(i + 1)
		log(t, l, ev)
	}
	acme := loop.WorkItem{Provider: "github", Owner: "acme", Repo: "shop", Number: 15}
	for _, tt := range []struct {
		filter eventlog.Filter
		want   string
	}{
		{eventlog.Filter{}, "1 2 3 4"},
		{eventlog.Filter{Limit: 2}, "1 2"},
		{eventlog.Filter{After: 2}, "3 4"},
		{eventlog.Filter{After: 9}, ""},
		{eventlog.Filter{Item: acme}, "1 2"},
		{eventlog.Filter{Type: loop.LogRunStarted}, "1 3"},
		{eventlog.Filter{Type: loop.LogRunStarted, Item: acme, After: 1}, ""},
	} {
		got, err := l.Query(t.Context(), tt.filter)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, messages(got)); diff != "" {
			t.Errorf("Query(%+v) (-want +got):\n%s", tt.filter, diff)
		}
	}
	if last, err := l.Last(t.Context()); err != nil || last != 4 {
		t.Errorf("Last = %d, %v; want 4", last, err)
	}
}

func TestWatchReplaysAndFollowsWithoutAGap(t *testing.T) {
	t.Parallel()
	l, db, _ := open(t)
	const old, writers, each = 450, 4, 100
	err := db.Write(t.Context(), func(tx *journal.Tx) error {
		for i := range old {
			if err := l.Append(tx, loop.LogEvent{Type: loop.LogRunStarted, Message: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			want := int64(11)
			for ev, err := range l.Watch(ctx, eventlog.Filter{After: 10}) {
				if err != nil || ev.Seq != want {
					t.Errorf("entry %d, %v; want %d", ev.Seq, err, want)
					break
				}
				if want++; want > old+writers*each {
					return
				}
			}
		})
	}
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range each {
				l.Log(ctx, loop.LogEvent{Type: loop.LogRunDone})
			}
		})
	}
	writing.Wait()
	wg.Wait()
	stop()
}

func TestWatchGivesOnlyWhatIsChosenAndLasts(t *testing.T) {
	t.Parallel()
	l, db, _ := open(t)
	got := make(chan string)
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	wg.Go(func() {
		defer close(got)
		for ev, err := range l.Watch(ctx, eventlog.Filter{Item: shop15, Type: loop.LogRunDone}) {
			if err != nil {
				t.Errorf("Watch: %v", err)
			}
			got <- ev.Message
		}
	})
	log(t, l, loop.LogEvent{Type: loop.LogRunStarted, Item: shop15, Message: "another type"})
	log(t, l, loop.LogEvent{Type: loop.LogRunDone, Item: shop15.Sibling(1), Message: "another item"})
	undone := errors.New("undone")
	err := db.Write(ctx, func(tx *journal.Tx) error {
		if err := l.Append(tx, loop.LogEvent{Type: loop.LogRunDone, Item: shop15, Message: "undone"}); err != nil {
			return err
		}
		return undone
	})
	if !errors.Is(err, undone) {
		t.Errorf("Write = %v", err)
	}
	for _, want := range []string{"first", "second"} {
		log(t, l, loop.LogEvent{Type: loop.LogRunDone, Item: shop15, Message: want})
		if message := <-got; message != want {
			t.Errorf("Watch gave %q, want %q", message, want)
		}
	}
	stop()
	wg.Wait()
	if message, more := <-got; more {
		t.Errorf("Watch gave %q after its context had ended", message)
	}
}

func TestSlowReaderIsToldOfAGap(t *testing.T) {
	t.Parallel()
	l, _, _ := open(t)
	old := time.Now().AddDate(0, 0, -40)
	for range 3 {
		log(t, l, loop.LogEvent{At: old, Type: loop.LogRunDone})
	}
	var seen []int64
	var failed error
	for ev, err := range l.Watch(t.Context(), eventlog.Filter{}) {
		if err != nil {
			failed = err
			break
		}
		seen = append(seen, ev.Seq)
		if ev.Seq < 3 {
			continue
		}
		for range 3 { // the reader is busy for so long that what comes meanwhile is removed before it looks
			log(t, l, loop.LogEvent{At: old, Type: loop.LogRunDone})
		}
		if n, err := l.Prune(t.Context(), time.Now(), 35); err != nil || n != 5 {
			t.Fatalf("Prune = %d, %v; want all but the newest", n, err)
		}
	}
	if diff := cmp.Diff([]int64{1, 2, 3}, seen); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if !errors.Is(failed, loop.ErrConflict) || !strings.Contains(failed.Error(), "after 3") {
		t.Errorf("Watch ended with %v, want ErrConflict that names the last entry", failed)
	}
}

func TestPruneRemovesTheOldestAndGoesOnCounting(t *testing.T) {
	t.Parallel()
	l, db, path := open(t)
	now := time.Now()
	err := db.Write(t.Context(), func(tx *journal.Tx) error {
		for i := range 1200 {
			ev := loop.LogEvent{Type: loop.LogRunDone, At: now.AddDate(0, 0, -36)}
			if i == 1100 { // a clock that was set back: what stands behind it stays
				ev.At = now
			}
			if err := l.Append(tx, ev); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.Prune(t.Context(), now, 37); err != nil || n != 0 {
		t.Errorf("Prune of what is not old enough = %d, %v", n, err)
	}
	if n, err := l.Prune(t.Context(), now, 35); err != nil || n != 1100 {
		t.Errorf("Prune = %d, %v; want 1100", n, err)
	}
	if n, err := l.Prune(t.Context(), now.AddDate(0, 0, 40), 35); err != nil || n != 99 {
		t.Errorf("Prune of all = %d, %v; want 99 and the newest kept", n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	l, _ = openAt(t, path)
	log(t, l, loop.LogEvent{Type: loop.LogRunDone})
	if last, err := l.Last(t.Context()); err != nil || last != 1201 {
		t.Errorf("the next entry is %d, %v; want 1201", last, err)
	}
}

func TestNilLogDiscards(t *testing.T) {
	t.Parallel()
	_, db, _ := open(t)
	var l *eventlog.Log
	l.Log(t.Context(), loop.LogEvent{Type: loop.LogRunDone})
	err := db.Write(t.Context(), func(tx *journal.Tx) error { return l.Append(tx, loop.LogEvent{Type: loop.LogRunDone}) })
	if err != nil {
		t.Errorf("a nil Log refused an entry: %v", err)
	}
	if got, err := l.Query(t.Context(), eventlog.Filter{}); err != nil || len(got) != 0 {
		t.Errorf("Query = %v, %v", got, err)
	}
	for ev, err := range l.Watch(t.Context(), eventlog.Filter{}) {
		t.Errorf("Watch gave %v, %v", ev, err)
	}
	if n, err := l.Prune(t.Context(), time.Now(), 35); err != nil || n != 0 {
		t.Errorf("Prune = %d, %v", n, err)
	}
}

func TestLoggerHearsOfWhatLastsWithoutWhatWasSaid(t *testing.T) {
	t.Parallel()
	_, db, _ := open(t)
	var out bytes.Buffer
	l := eventlog.New(db, slog.New(slog.NewTextHandler(&out, nil)))
	said := loop.LogEvent{
		Type: loop.LogRunFailed, Item: shop15, Delivery: "d", Run: "r", Message: "words of an agent",
		Fields: map[string]string{"reason": "timeout", "other": "words of an agent"},
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Log(ctx, said)
	err := db.Write(t.Context(), func(tx *journal.Tx) error {
		return errors.Join(l.Append(tx, loop.LogEvent{Type: loop.LogRunHeld}), errors.New("undone"))
	})
	if err == nil {
		t.Fatal("the write was done")
	}
	got := out.String()
	if want := "level=WARN msg=event component=eventlog type=run.failed item=github:Acme/Shop#15 delivery=d run=r reason=timeout\n"; !strings.HasSuffix(got, want) {
		t.Errorf("logged %q, want it to end in %q", got, want)
	}
	if strings.Contains(got, "words") || strings.Count(got, "\n") != 1 {
		t.Errorf("logged %q, want one line without the message", got)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	l.Log(ctx, said)
	if got := out.String(); !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "could not be kept") {
		t.Errorf("logged %q, want the entry that could not be kept", got)
	}
}

func TestClosedJournalEndsWatch(t *testing.T) {
	t.Parallel()
	l, db, _ := open(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Prune(t.Context(), time.Now(), 35); !errors.Is(err, loop.ErrUnavailable) {
		t.Errorf("Prune = %v, want ErrUnavailable", err)
	}
	var failed error
	for _, err := range l.Watch(t.Context(), eventlog.Filter{}) {
		failed = err
	}
	if failed == nil {
		t.Error("Watch of a closed journal ended without an error")
	}
}

func open(t *testing.T) (*eventlog.Log, *journal.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	l, db := openAt(t, path)
	return l, db, path
}

func openAt(t *testing.T, path string) (*eventlog.Log, *journal.DB) {
	t.Helper()
	db, err := journal.Open(t.Context(), path, eventlog.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close journal: %v", err)
		}
	})
	return eventlog.New(db, slog.New(slog.DiscardHandler)), db
}

func log(t *testing.T, l *eventlog.Log, ev loop.LogEvent) {
	t.Helper()
	before, err := l.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Log(t.Context(), ev)
	if after, err := l.Last(t.Context()); err != nil || after != before+1 {
		t.Fatalf("after Log the last entry is %d, %v; want %d", after, err, before+1)
	}
}

func messages(events []loop.LogEvent) string {
	var out []string
	for _, ev := range events {
		out = append(out, ev.Message)
	}
	return strings.Join(out, " ")
}
