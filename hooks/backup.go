package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/loop-daemon/loop/internal/loop"
)

const (
	backupSuffix = ".before-loop"
	maxBackups   = 100
)

// backupName is where the nth backup lies; only the first has no number.
func (s settings) backupName(n int) string {
	if n == 0 {
		return s.name + backupSuffix
	}
	return s.name + backupSuffix + "." + strconv.Itoa(n)
}

// backup keeps what the file is, and returns where: in the first place that is free, or holds no more than the file does but for
// Loop's own entries. What else lies there may be wanted.
func (s settings) backup() (string, error) {
	without, _, err := strip(s.text)
	if err != nil {
		return "", s.untouched(conflict(err))
	}
	for n := range maxBackups {
		name := s.backupName(n)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) || isCopy(name, without) {
			return name, s.put(name, s.text)
		}
	}
	return "", s.untouched(fmt.Errorf("there are %d backups of it beside it; remove those that you do not want: %w", maxBackups, loop.ErrConflict))
}

// dropBackups removes the backups that hold no more than the file itself does now.
func (s settings) dropBackups(text []byte) (err error) {
	for n := range maxBackups {
		if name := s.backupName(n); isCopy(name, text) {
			err = errors.Join(err, os.Remove(name))
		}
	}
	return err
}

// isCopy reports whether a file holds this text, but for Loop's own entries.
func isCopy(name string, text []byte) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return false
	}
	held, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	rest, _, err := strip(held)
	return err == nil && bytes.Equal(rest, text)
}
