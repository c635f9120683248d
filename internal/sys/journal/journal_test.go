package journal_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/sys/journal"
)

var notes = journal.Schema{Name: "notes", Steps: []string{
	"CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)",
}}

func TestReopenedJournalHoldsWhatWasWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a journal? 100% #1.db")
	db := open(t, path, notes)
	put(t, db, "one", "two")
	if err := db.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	db = open(t, path, notes)
	if diff := cmp.Diff([]string{"one", "two"}, texts(t, db)); diff != "" {
		t.Errorf("after reopening (-want +got):\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v; want only the owner to read it", info.Mode(), err)
	}
}

func TestWritesArePromisedToLast(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "j.db"), notes)
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "fullfsync": "1"}
	got := map[string]string{}
	for name := range want {
		err := db.Write(t.Context(), func(tx *journal.Tx) error {
			var value string
			err := tx.QueryRow("PRAGMA " + name).Scan(&value)
			got[name] = value
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings of the writer (-want +got):\n%s", diff)
	}
}

func TestReadPoolCannotWrite(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "j.db"), notes)
	if _, err := db.Read().ExecContext(t.Context(), "INSERT INTO note (text) VALUES ('x')"); err == nil {
		t.Error("the read pool wrote")
	}
	if got := texts(t, db); len(got) != 0 {
		t.Errorf("notes = %v, want none", got)
	}
}

func TestStepsRunOnceAndInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	if err := open(t, path, notes).Close(); err != nil {
		t.Fatal(err)
	}
	grown := journal.Schema{Name: "notes", Steps: append(notes.Steps[:1:1],
		"ALTER TABLE note ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody'; CREATE INDEX note_author ON note (author)",
		"INSERT INTO note (text, author) VALUES ('made by the third step', 'us')")}
	other := journal.Schema{Name: "other", Steps: []string{"CREATE TABLE other (id INTEGER PRIMARY KEY)"}}
	for range 2 {
		db := open(t, path, other, grown)
		if diff := cmp.Diff([]string{"made by the third step"}, texts(t, db)); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFailedStepLeavesTheJournalAsItWas(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j.db")
	if err := open(t, path, notes).Close(); err != nil {
		t.Fatal(err)
	}
	fine := journal.Schema{Name: "fine", Steps: []string{"CREATE TABLE fine (id INTEGER PRIMARY KEY)"}}
	bad := journal.Schema{Name: "bad", Steps: []string{"CREATE TABLE half (id INTEGER PRIMARY KEY)", "CREATE NONSENSE"}}
	_, err := journal.Open(t.Context(), path, notes, fine, bad)
	if err == nil || !strings.Contains(err.Error(), "step 2 of the bad tables") {
		t.Errorf("Open = %v, want an error that names the step", err)
	}
	db := open(t, path, notes)
	var tables int
	err = db.Read().QueryRowContext(t.Context(),
		"SELECT count(*) FROM sqlite_schema WHERE name IN ('fine', 'half')").Scan(&tables)
	if err != nil || tables != 0 {
		t.Errorf("%d tables of the failed open are there, %v; want none", tables, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		spoil   func(t *testing.T, path string)
		want    error
		advice  string
		schemas []journal.Schema
	}{
		{name: "damaged header", spoil: overwrite(0, 100), want: journal.ErrDamaged, advice: "aside"},
		{name: "not a database", spoil: replace(strings.Repeat("hello ", 1000)), want: journal.ErrDamaged, advice: "aside"},
		{name: "short text", spoil: replace("hello"), want: journal.ErrDamaged, advice: "aside"},
		{name: "truncated file", spoil: truncate(3), want: journal.ErrDamaged, advice: "aside"},
		{name: "log without its file", spoil: logAlone, want: journal.ErrDamaged, advice: "-wal"},
		{name: "damaged middle", spoil: overwrite(20*4096, 64<<10), want: journal.ErrDamaged, advice: "aside"},
		{name: "damaged middle after a crash", spoil: crashedMiddle, want: journal.ErrDamaged, advice: "aside"},
		{name: "a folder in its place", spoil: folderInstead, want: journal.ErrAccess, advice: "this user"},
		{name: "no folder", spoil: removeFolder, want: journal.ErrAccess, advice: "make its folder"},
		{name: "read-only folder", spoil: readOnly, want: journal.ErrAccess, advice: "this user"},
		{
			name: "newer tables", spoil: func(*testing.T, string) {}, want: journal.ErrNewer, advice: "start the newer version",
			schemas: []journal.Schema{{Name: "notes"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filled(t)
			tt.spoil(t, path)
			before := [][]byte{content(path), content(path + "-wal")}
			schemas := tt.schemas
			if schemas == nil {
				schemas = []journal.Schema{notes}
			}
			db, err := journal.Open(t.Context(), path, schemas...)
			if err == nil {
				_ = db.Close()
				t.Fatal("Open took it")
			}
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.advice) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open = %v\nwant %q, with the path and %q", err, tt.want, tt.advice)
			}
			if !slices.EqualFunc(before, [][]byte{content(path), content(path + "-wal")}, bytes.Equal) {
				t.Error("the refused journal or its log was changed")
			}
		})
	}
}

func TestALargeJournalIsCheckedBesideTheWork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, path string)
		want  error
	}{
		{"sound", func(*testing.T, string) {}, nil},
		{"damaged middle", overwrite(20*4096, 64<<10), journal.ErrDamaged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filled(t)
			tt.spoil(t, path)
			db, err := journal.OpenLarge(t.Context(), path, notes)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.Check(t.Context()); !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("Check = %v, want %v, with the path", err, tt.want)
			}
		})
	}
}

func TestALargeJournalIsCheckedFirstAfterACrash(t *testing.T) {
	t.Parallel()
	path := filled(t)
	crashedMiddle(t, path)
	if db, err := journal.OpenLarge(t.Context(), path, notes); !errors.Is(err, journal.ErrDamaged) {
		if err == nil {
			_ = db.Close()
		}
		t.Errorf("Open = %v, want %v", err, journal.ErrDamaged)
	}
}

func TestOpenWaitsForAnotherProcessAndThenGivesUp(t *testing.T) {
	t.Parallel()
	path := filled(t)
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	_, err = journal.OpenWith(t.Context(), path, 10*time.Millisecond, 0, notes)
	if !errors.Is(err, journal.ErrBusy) {
		t.Errorf("Open of a locked journal = %v, want ErrBusy", err)
	}
	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, open(t, path, notes)); len(got) != 200 {
		t.Errorf("%d notes once the lock is gone, want 200", len(got))
	}
}

func TestReadErrorsAreExplained(t *testing.T) {
	t.Parallel()
	path := filled(t)
	db := open(t, path, notes)
	overwrite(20*4096, 64<<10)(t, path)
	var n int
	err := db.Read().QueryRowContext(t.Context(), "SELECT count(*) FROM note WHERE length(text) > 3").Scan(&n)
	if err == nil {
		t.Fatal("the damaged pages were read")
	}
	if err := db.Explain(err); !errors.Is(err, journal.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("Explain = %v, want ErrDamaged with the path", err)
	}
	for _, plain := range []error{nil, sql.ErrNoRows, context.Canceled} {
		if got := db.Explain(plain); got != plain { //nolint:errorlint // the very same value is promised
			t.Errorf("Explain(%v) = %v, want it unchanged", plain, got)
		}
	}
}

// filled is a journal of some pages that was closed in order.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sub", "j.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := journal.Open(t.Context(), path, notes)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), func(tx *journal.Tx) error {
		for i := range 200 {
			if _, err := tx.Exec("INSERT INTO note (id, text) VALUES (?, ?)", i, strings.Repeat(string(rune('a'+i)), 1000)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func overwrite(from int64, n int) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, n), from)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func replace(text string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func truncate(pages int64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		if err := os.Truncate(path, pages*4096); err != nil {
			t.Fatal(err)
		}
	}
}

// crash makes the files look as a killed process leaves them: the log is still there.
func crash(t *testing.T, path string) {
	t.Helper()
	db, err := journal.Open(t.Context(), path, notes)
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, "written before the crash")
	saved := map[string][]byte{path: content(path), path + "-wal": content(path + "-wal")}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, data := range saved {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func crashedMiddle(t *testing.T, path string) {
	t.Helper()
	crash(t, path)
	overwrite(20*4096, 4096)(t, path)
}

func logAlone(t *testing.T, path string) {
	t.Helper()
	crash(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func folderInstead(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
}

func removeFolder(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
}

func readOnly(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	if err := errors.Join(os.Chmod(path, 0o400), os.Chmod(filepath.Dir(path), 0o500)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o700) })
}

// content is the file's bytes, or nil where there is no file.
func content(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []byte(err.Error())
	}
	return data
}

func open(t *testing.T, path string, schemas ...journal.Schema) *journal.DB {
	t.Helper()
	db, err := journal.Open(t.Context(), path, schemas...)
	if err != nil {
		t.Fatalf("Open(%s): %v", path, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

func put(t *testing.T, db *journal.DB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := db.Write(t.Context(), insert(text)); err != nil {
			t.Fatalf("Write(%s): %v", text, err)
		}
	}
}

func insert(text string) func(*journal.Tx) error {
	return func(tx *journal.Tx) error {
		_, err := tx.Exec("INSERT INTO note (text) VALUES (?)", text)
		return err
	}
}

func texts(t *testing.T, db *journal.DB) []string {
	t.Helper()
	rows, err := db.Read().QueryContext(t.Context(), "SELECT text FROM note ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}
