package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var errEnded = errors.New("the write has ended: its Tx cannot be kept")

// Tx is what the function of one write sees: the committed journal, the writes before it in the same commit, and its own
// changes. It belongs to the goroutine that was given it, for as long as the function runs. Statements are prepared once
// for the life of the journal, so their text must be constant.
type Tx struct {
	c     *committer
	rows  []*sql.Rows
	after []func()
	lost  error // set when nothing may follow: SQLite may have rolled back, or the function has returned
}

// Exec carries out one statement.
func (tx *Tx) Exec(query string, args ...any) (sql.Result, error) {
	if tx.lost != nil {
		return nil, tx.lost
	}
	result, err := tx.c.execArgs(query, args)
	if endsTransaction(err) {
		tx.lost = err
	}
	return result, err
}

// Query reads rows, or changes some and reads what is RETURNING. They are closed with the write, if not before.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	if tx.lost != nil {
		return nil, tx.lost
	}
	stmt, err := tx.c.prepareQuery(query)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err == nil {
		tx.rows = append(tx.rows, rows)
	}
	return rows, err
}

// QueryRow reads the first row.
func (tx *Tx) QueryRow(query string, args ...any) Row {
	rows, err := tx.Query(query, args...)
	return Row{rows, err}
}

// OnCommit has f called once the changes are on disk, before Write returns; never when they are undone. f must be quick and
// must not write: others wait for it.
func (tx *Tx) OnCommit(f func()) { tx.after = append(tx.after, f) }

// Row is the answer of QueryRow.
type Row struct {
	rows *sql.Rows
	err  error
}

// Scan copies the columns into dest as sql.Row does; without a row it returns sql.ErrNoRows.
func (r Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	err := sql.ErrNoRows
	if r.rows.Next() {
		err = r.rows.Scan(dest...)
	} else if r.rows.Err() != nil {
		err = r.rows.Err()
	}
	if closed := r.rows.Close(); err == nil {
		err = closed
	}
	return err
}

// run calls do and makes its panic an error: do may run in the goroutine of another caller, who is not to blame.
func (tx *Tx) run(do func(*Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write to the journal: panic: %v\n%s", p, debug.Stack())
		}
		for _, rows := range tx.rows {
			err = errors.Join(err, rows.Close())
		}
	}()
	return do(tx)
}

// endsTransaction tells the errors after which SQLite may have rolled back more than the one statement.
func endsTransaction(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_INTERRUPT,
		sqlite3.SQLITE_CORRUPT:
		return true
	}
	return false
}
