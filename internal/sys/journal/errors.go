package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What can be wrong with a journal, to be told apart with errors.Is. The error that carries one of them names the file
// and says what to do.
var (
	// ErrDamaged says that the file is no journal, or that a part of it is broken. Nothing that was read before is
	// wrong, but somebody must put back a copy or start without it.
	ErrDamaged = errors.New("the journal is damaged")
	// ErrBusy says that another process kept the file to itself for longer than we wait. Trying again may help.
	ErrBusy = errors.New("the journal is locked by another process")
	// ErrFull says that there is no room for what was to be written; nothing of it was. Trying again helps once there is.
	ErrFull = errors.New("the journal cannot grow")
	// ErrAccess says that the file or its folder cannot be opened, read or written.
	ErrAccess = errors.New("the journal cannot be reached")
	// ErrNewer says that the journal has tables of a version that this program does not know.
	ErrNewer = errors.New("the journal was written by a newer version")
	// ErrClosed says that the journal was closed before the write was asked for.
	ErrClosed = errors.New("the journal is closed")
)

// Unavailable reports whether err says that the journal as a whole could not do what was asked, so that it is neither done
// nor refused, and may be asked for again.
func Unavailable(err error) bool {
	for _, class := range []error{ErrDamaged, ErrBusy, ErrFull, ErrAccess, ErrClosed} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// explain puts an error of SQLite into words that a person can act on; others come back as they are.
func explain(path string, err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok || errors.Is(err, ErrDamaged) || errors.Is(err, ErrAccess) {
		return err
	}
	switch e.Code() {
	case sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE: // a quota or a limit; SQLite calls only a full disk FULL
		return fullError(path, err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return damaged(path, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return fmt.Errorf("journal %s: %w: end the program that has it open (%w)", path, ErrBusy, err)
	case sqlite3.SQLITE_FULL:
		return fullError(path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR:
		return accessError(path, err)
	}
	return err
}

func damaged(path string, err error) error {
	return fmt.Errorf("journal %s: %w: put back a copy, or move it aside together with its -wal and -shm files "+
		"and start without it; it is never deleted for you (%w)", path, ErrDamaged, err)
}

func fullError(path string, err error) error {
	return fmt.Errorf("journal %s: %w: make room on its disk, or raise the quota or limit that stops it (%w)", path, ErrFull, err)
}

func accessError(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fullError(path, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal %s: %w: make its folder first (%w)", path, ErrAccess, err)
	}
	return fmt.Errorf("journal %s: %w: see to it that the file and its folder can be read and written by this user (%w)",
		path, ErrAccess, err)
}
