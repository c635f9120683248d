package unixsock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// How long a lock is tried for while its holder can't be named: it is just being taken, or its holder has just ended.
const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

// HeldError says that another process holds a lock.
type HeldError struct {
	Path string
	PID  int // 0 when it did not say
}

// Error names the lock and its holder.
func (e *HeldError) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is held by %s: another one runs already; stop it first", e.Path, holder)
}

// FileLock is a lock that is held until Close, or until this process ends in whatever way.
type FileLock struct{ file *os.File }

// Lock takes the kernel's lock on a file, which is made where it is missing, in a folder that must be private (made so where it
// is missing). It does not wait for another holder: the error is then a *HeldError. The file holds the holder's pid, for people
// and for that error; it stays behind, and means nothing without the lock.
func Lock(path string) (*FileLock, error) {
	if err := PrivateFolder(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := take(file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return &FileLock{file}, nil
}

// Close gives the lock back at once, though a program that is being started may hold a copy of the file until it runs (flock(2)).
// The file stays: removing it would let two processes lock two files of one name.
func (l *FileLock) Close() error { return errors.Join(flock(l.file, syscall.LOCK_UN), l.file.Close()) }

func take(file *os.File) error {
	for try := 1; ; try++ {
		err := flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return sign(file)
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("lock %s: %w", file.Name(), err)
		}
		if pid := holder(file); pid > 0 || try == lockTries {
			return &HeldError{Path: file.Name(), PID: pid}
		}
		time.Sleep(lockPause)
	}
}

func flock(file *os.File, how int) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var lockErr error
	if err := conn.Control(func(fd uintptr) { lockErr = syscall.Flock(int(fd), how) }); err != nil {
		return err
	}
	return lockErr
}

// sign writes our pid over the last holder's.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if _, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// holder is the pid in the file if such a process lives, else 0: the file still names the last holder.
func holder(file *os.File) int {
	text := make([]byte, 32)
	n, _ := file.ReadAt(text, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil || pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0
	}
	return pid
}
