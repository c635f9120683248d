package journal_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/sys/journal"
)

func TestFailingWriteDoesNotHarmItsNeighbours(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "j.db"), notes)
	mine := errors.New("mine")
	fail := func(tx *journal.Tx) error {
		if err := insert("undone by an error")(tx); err != nil {
			return err
		}
		return mine
	}
	panics := func(tx *journal.Tx) error {
		if err := insert("undone by a panic")(tx); err != nil {
			return err
		}
		panic("oh")
	}
	leaves := func(tx *journal.Tx) error {
		rows, err := tx.Query("SELECT id FROM note")
		if err != nil {
			return err
		}
		rows.Next() // and is not closed
		return rows.Err()
	}
	errs := inOneCommit(t, db, insert("before"), fail, insert("between"), panics, leaves, insert("before"), insert("after"))

	for i, want := range []string{"", "mine", "", "panic: oh", "", "UNIQUE constraint failed", ""} {
		if got := fmt.Sprint(errs[i]); want == "" && errs[i] != nil || !strings.Contains(got, want) {
			t.Errorf("write %d = %v, want %q", i, errs[i], want)
		}
	}
	if !errors.Is(errs[1], mine) {
		t.Errorf("the write's own error came back as %v", errs[1])
	}
	if diff := cmp.Diff([]string{"before", "between", "after"}, texts(t, db)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestWriteSeesTheWritesBeforeIt(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "j.db"), notes)
	var seen []int
	count := func(tx *journal.Tx) error {
		var n int
		if err := tx.QueryRow("SELECT count(*) FROM note").Scan(&n); err != nil {
			return err
		}
		seen = append(seen, n)
		return insert(fmt.Sprint("note ", n))(tx)
	}
	for _, err := range inOneCommit(t, db, count, count, count) {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]int{0, 1, 2}, seen); diff != "" {
		t.Errorf("notes seen by each write (-want +got):\n%s", diff)
	}
}

func TestWriteEndsWithItsContextOnlyBeforeItsTurn(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "j.db"), notes)
	begun, finish := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		first <- db.Write(ctx, func(tx *journal.Tx) error {
			close(begun)
			<-finish
			return insert("begun")(tx)
		})
	}()
	<-begun
	cancel()
	if err := db.Write(ctx, insert("never")); !errors.Is(err, context.Canceled) {
		t.Errorf("Write with an ended context = %v", err)
	}
	waiting, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if err := db.Write(waiting, insert("waited")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Write that waited for too long = %v", err)
	}
	close(finish)
	if err := <-first; err != nil {
		t.Errorf("the write that had begun = %v, want it done", err)
	}
	put(t, db, "later")
	if diff := cmp.Diff([]string{"begun", "later"}, texts(t, db)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestCloseWaitsForWhatWasQueued(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	db := open(t, path, notes)
	begun, finish := make(chan struct{}), make(chan struct{})
	var writes sync.WaitGroup
	writes.Go(func() {
		err := db.Write(t.Context(), func(*journal.Tx) error { close(begun); <-finish; return nil })
		if err != nil {
			t.Errorf("first write: %v", err)
		}
	})
	<-begun
	for i := range 100 {
		writes.Go(func() {
			if err := db.Write(t.Context(), insert(fmt.Sprint(i))); err != nil && !errors.Is(err, journal.ErrClosed) {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	queued := db.AwaitQueue(100)
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	close(finish)
	writes.Wait()
	if err := <-closed; err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := db.Write(t.Context(), insert("late")); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Write after Close = %v, want ErrClosed", err)
	}
	if got := len(texts(t, open(t, path, notes))); got != queued {
		t.Errorf("%d notes after Close, want the %d that were queued", got, queued)
	}
}

func TestCloseCarriesOutWhatNobodyElseDoes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	db := open(t, path, notes)
	var done []<-chan struct{}
	for i := range 40 { // more than one commit takes
		done = append(done, db.Enqueue(insert(fmt.Sprint(i))))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for i, d := range done {
		select {
		case <-d:
		default:
			t.Errorf("write %d was not carried out", i)
		}
	}
	if got := len(texts(t, open(t, path, notes))); got != 40 {
		t.Errorf("%d notes after Close, want 40", got)
	}
}

func TestFullJournalRefusesAndRecovers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	db, err := journal.OpenWith(t.Context(), path, time.Second, 20, notes)
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, "small")
	big := insert(strings.Repeat("x", 200<<10))
	swallows := func(tx *journal.Tx) error {
		_ = big(tx)
		return insert("behind it")(tx)
	}
	for i, err := range append(inOneCommit(t, db, swallows), inOneCommit(t, db, big, insert("beside it"))...) {
		if !errors.Is(err, journal.ErrFull) || !strings.Contains(err.Error(), "make room") {
			t.Errorf("write %d to a full journal = %v, want ErrFull", i, err)
		}
	}
	if diff := cmp.Diff([]string{"small"}, texts(t, db)); diff != "" {
		t.Errorf("notes after the refused writes (-want +got):\n%s", diff)
	}
	put(t, db, "small again")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, path, notes)
	if err := db.Write(t.Context(), big); err != nil {
		t.Errorf("Write once there is room: %v", err)
	}
}

func TestOnCommitIsCalledOnceItLasts(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "j.db"), notes)
	var seen [][]string
	look := func(text string, err error) func(*journal.Tx) error {
		return func(tx *journal.Tx) error {
			tx.OnCommit(func() { seen = append(seen, texts(t, db)) })
			return errors.Join(insert(text)(tx), err)
		}
	}
	inOneCommit(t, db, look("one", nil), look("undone", errors.New("no")), look("two", nil))
	if diff := cmp.Diff([][]string{{"one", "two"}, {"one", "two"}}, seen); diff != "" {
		t.Errorf("what the read pool showed at each call (-want +got):\n%s", diff)
	}
}

func TestKeptTxIsRefused(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "j.db"), notes)
	var kept *journal.Tx
	if err := db.Write(t.Context(), func(tx *journal.Tx) error { kept = tx; return nil }); err != nil {
		t.Fatal(err)
	}
	var n int
	_, execErr := kept.Exec("INSERT INTO note (text) VALUES ('late')")
	if err := kept.QueryRow("SELECT count(*) FROM note").Scan(&n); err == nil || execErr == nil {
		t.Errorf("a kept Tx still works: %v, %v", execErr, err)
	}
}

// inOneCommit asks for all the writes while another one holds the journal, in order, so that they share a commit.
func inOneCommit(t *testing.T, db *journal.DB, writes ...func(*journal.Tx) error) []error {
	t.Helper()
	begun, finish := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(writes))
	var all sync.WaitGroup
	all.Go(func() {
		if err := db.Write(t.Context(), func(*journal.Tx) error { close(begun); <-finish; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-begun
	for i, do := range writes {
		all.Go(func() { errs[i] = db.Write(t.Context(), do) })
		db.AwaitQueue(i + 1)
	}
	close(finish)
	all.Wait()
	return errs
}
