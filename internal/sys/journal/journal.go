// Package journal is one SQLite file that several stores share: what they change together is one commit.
//
// Durability: when Write returns nil, what it did is on disk and survives a crash of the program and a loss of power.
// Order: writes are carried out one at a time, in the order in which they were asked for. Blocking: a write waits for
// those before it; what waits together is committed together. Reads do not wait for writes and see what is committed.
//
// A journal that is damaged, not ours to write or newer than this program is refused with what to do about it. It is
// never deleted, moved or mended: what is in it was promised to somebody. Damage is looked for by reading all of it, before
// anything else or, where that takes long and the last close was in order, beside the work (Check).
package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
)

const readers = 4

// DB is an open journal. It is safe for concurrent use. Close it when nothing writes any more.
type DB struct {
	path      string
	opts      options
	unchecked bool // Check has still to read the file
	read      *sql.DB

	// lead is held by the one goroutine that commits, for itself and for all that wait; it owns the committer.
	lead chan struct{}
	committer

	mu     sync.Mutex
	queue  []*write // guarded by mu
	closed bool     // guarded by mu
}

// Open opens the journal at path, or makes it in a folder that is there, and carries out the steps of the schemas that
// it has not seen, all in one transaction. A journal that is there is checked first, which reads the whole file, some hundred
// megabytes a second; one that is large and was closed in order is opened at once, and the caller must see to Check. The errors are told apart by ErrDamaged, ErrBusy, ErrFull, ErrAccess and ErrNewer.
func Open(ctx context.Context, path string, schemas ...Schema) (*DB, error) {
	return open(ctx, path, options{busy: 5 * time.Second, checkFirst: 32 << 20}, schemas)
}

// options are what tests need to set.
type options struct {
	busy       time.Duration // how long to wait for another process
	maxPages   int           // of the file; 0: no limit
	checkFirst int64         // bytes of a file that Open itself checks, even after a close in order
}

func open(ctx context.Context, path string, opts options, schemas []Schema) (_ *DB, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	found, err := prepare(path)
	if err != nil {
		return nil, err
	}
	// A commit waits for the data alone, not for the file's times. Where there is no such call SQLite does what is right.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	db := &DB{path: path, opts: opts, unchecked: found.closed && found.size > opts.checkFirst, lead: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(explain(path, err), db.release())
		}
	}()
	if found.size > 0 && !db.unchecked {
		if err := check(ctx, path, opts); err != nil {
			return nil, err
		}
	}
	if err := db.connect(ctx, opts); err != nil {
		return nil, err
	}
	if err := db.migrate(schemas); err != nil {
		return nil, err
	}
	return db, nil
}

// Check reads the whole file as Open does, if Open has not, while others read and write, and returns ErrDamaged where a part
// of it is broken. What was written since is then as safe as the rest, and the journal must be closed.
func (db *DB) Check(ctx context.Context) error {
	if !db.unchecked {
		return nil
	}
	return explain(db.path, check(ctx, db.path, db.opts))
}

// Read is a pool of connections that can only read. An error of it is put into words by Explain.
func (db *DB) Read() *sql.DB { return db.read }

// Explain adds to an error that came out of Read what happened to which file and what to do, with its sentinel where it
// has one. Other errors, sql.ErrNoRows and nil among them, come back as they are.
func (db *DB) Explain(err error) error { return explain(db.path, err) }

// Close waits for the writes that were asked for, then closes the file; later writes are refused with ErrClosed. A
// second Close does nothing.
func (db *DB) Close() error {
	db.mu.Lock()
	closed := db.closed
	db.closed = true
	db.mu.Unlock()
	if closed {
		return nil
	}
	db.lead <- struct{}{} // never given back: nobody commits after this
	for db.commitWaiting() {
	}
	return explain(db.path, db.release())
}

// existing is what is known of a journal before it is opened.
type existing struct {
	size   int64 // 0 where there is none
	closed bool  // in order: its log was brought into the file and removed
}

// prepare sees to it that SQLite finds a file that only its owner can read, and tells what there was.
// SQLite would throw away the log of a journal that is gone or empty, and with it what was acknowledged.
func prepare(path string) (existing, error) {
	wal, err := size(path + "-wal")
	if err != nil {
		return existing{}, accessError(path, err)
	}
	main, err := size(path)
	if err != nil {
		return existing{}, accessError(path, err)
	}
	if wal > 0 && main == 0 {
		return existing{}, fmt.Errorf("open journal %s: %w: it is empty or gone while %s-wal is there: put it back, "+
			"or move its -wal and -shm files aside", path, ErrDamaged, path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return existing{}, accessError(path, err)
	}
	return existing{size: main, closed: wal == 0}, f.Close()
}

func size(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// check looks for pages that a crash, a full disk or a stranger has left broken. It reads through a connection of its own
// that cannot write, because the last one to close brings the log into the file, and a damaged one must stay as it is.
func check(ctx context.Context, path string, opts options) (err error) {
	db, err := sql.Open("sqlite", dsn(path, "ro", opts.pragmas()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return damaged(path, errors.New(strings.ReplaceAll(found, "\n", " ")))
	}
	return nil
}

// connect opens the one connection that writes and the pool that reads.
func (db *DB) connect(ctx context.Context, opts options) error {
	err := db.committer.connect(ctx, dsn(db.path, "rw", append(opts.pragmas(),
		"journal_mode(wal)", "synchronous(full)", "fullfsync(1)", "checkpoint_fullfsync(1)", "foreign_keys(1)")))
	if err != nil {
		return err
	}
	if db.read, err = sql.Open("sqlite", dsn(db.path, "rw", append(opts.pragmas(), "query_only(1)"))); err != nil {
		return err
	}
	db.read.SetMaxOpenConns(readers)
	db.read.SetMaxIdleConns(readers)
	return db.read.PingContext(ctx)
}

func (o options) pragmas() []string {
	pragmas := []string{fmt.Sprintf("busy_timeout(%d)", o.busy.Milliseconds()), "temp_store(memory)"}
	if o.maxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", o.maxPages))
	}
	return pragmas
}

func dsn(path, mode string, pragmas []string) string {
	query := url.Values{"mode": {mode}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String()
}

// release closes what is open. The writing connection goes last: it brings the log into the file and removes it.
func (db *DB) release() error {
	var err error
	if db.read != nil {
		err = db.read.Close()
	}
	return errors.Join(err, db.committer.close())
}
