// Package unixsock gives a program one private Unix socket, and gRPC over it that knows who is on the other side.
//
// Listen promises that at most one process serves a path, that a client meets either nobody or a server that is ready, and that
// what a killed server left behind is no obstacle to the next. Only the kernel's locks and credentials are trusted: no pid
// file, no age of a file. Server and client each check the other's user.
package unixsock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// PathError says that a path is too long for a socket on this platform.
type PathError struct {
	Path    string
	Limit   int
	Shorter string // a path that would do
}

// Error names the length, the limit and a path that would do.
func (e *PathError) Error() string {
	return fmt.Sprintf("socket path %s is %d bytes long and this system takes %d: use a shorter one, such as %s",
		e.Path, len(e.Path), e.Limit, e.Shorter)
}

// CheckPath says why a socket can't have this path; it is a *PathError when that is the length.
func CheckPath(path string) error {
	if !filepath.IsAbs(path) { // "@name" would be a socket without a file, which anybody could take
		return fmt.Errorf("socket path %q is not absolute", path)
	}
	if len(path) <= pathLimit {
		return nil
	}
	return &PathError{Path: path, Limit: pathLimit, Shorter: fmt.Sprintf("/tmp/loop-%d/loopd.sock", os.Geteuid())}
}

// Listen serves a path: it makes its folder (0700) where it is missing, takes <path>.lock for life, and puts a socket with
// mode 0600 in place only when it listens already. A folder that others can enter or own, and a file in place that is no
// socket, are refused with what to do. When another process serves the path the error is a *HeldError. Close takes the socket
// away and gives the lock back.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	lock, err := Lock(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l, err := place(ctx, path)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.lock = lock
	return l, nil
}

// listener is a socket in place and the lock that makes it ours.
type listener struct {
	*net.UnixListener
	path   string
	placed fs.FileInfo // the socket's file, to be known again
	lock   *FileLock
	once   sync.Once
	err    error
}

// place binds under a temporary name, which nobody dials, and renames the listening socket to its own. The lock is held, so
// the temporary name is ours alone.
func place(ctx context.Context, path string) (*listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, errors.New("there is a file that is no socket: move it away, or use another path")
	}
	temporary := path[:len(path)-1] + "~" // no longer than the path itself, which has a limit
	if temporary == path {
		temporary = path[:len(path)-1] + "-"
	}
	if info, err := os.Lstat(temporary); err == nil && info.Mode().Type() == fs.ModeSocket {
		_ = os.Remove(temporary) // of one who was killed right here; if it stays, binding says why
	}
	bound, err := new(net.ListenConfig).Listen(ctx, "unix", temporary)
	if err != nil {
		return nil, err
	}
	l, ok := bound.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("unexpected listener %T", bound)
	}
	l.SetUnlinkOnClose(false)
	placed, err := moveInto(temporary, path)
	if err != nil {
		_ = l.Close()
		_ = os.Remove(temporary)
		return nil, err
	}
	return &listener{UnixListener: l, path: path, placed: placed}, nil
}

func moveInto(temporary, path string) (fs.FileInfo, error) {
	if err := os.Chmod(temporary, 0o600); err != nil {
		return nil, err
	}
	if err := os.Rename(temporary, path); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

// Close stops listening, removes the socket if it is still the one that was put there, and gives the lock back last.
func (l *listener) Close() error {
	l.once.Do(func() {
		var removeErr error
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.placed) {
			removeErr = os.Remove(l.path)
		}
		l.err = errors.Join(l.UnixListener.Close(), removeErr, l.lock.Close())
	})
	return l.err
}

// PrivateFolder makes a folder that only we can enter, or checks that it is one. A link to one will do.
func PrivateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("folder %s belongs to user %d, not to you (%d): use another path", dir, stat.Uid, os.Geteuid())
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("folder %s is open to others (mode %04o): run chmod 700 %s, or use a folder of its own", dir, perm, dir)
	}
	return nil
}
