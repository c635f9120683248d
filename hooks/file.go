package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
)

const maxSettings = 16 << 20 // bytes of a file that is looked at

// Change says what became of a file of settings.
type Change struct {
	File    string // where it really is, with links followed
	Changed bool   // false where all was as it should be
	Made    bool   // it was not there before
	Removed bool   // it was Loop's altogether, and is gone
	Backup  string // a copy of what it was before; "" where there is none
}

// Install puts the fragment into a file of settings, which it makes for the user alone where it is not there, and in it once:
// what another Loop put there goes. What the file was before is kept beside it. The error is ErrConflict for a file that does not
// parse, or has no room for hooks, and ErrDenied for one that may not be written.
func (f Fragment) Install(name string) (Change, error) {
	s, err := open(name)
	if err != nil {
		return Change{}, err
	}
	if s.absent {
		return s.write(f.text)
	}
	text, err := f.merge(s.text)
	if err != nil {
		return Change{}, s.untouched(err)
	}
	if bytes.Equal(text, s.text) {
		return Change{File: s.name}, nil
	}
	if err := s.writable(); err != nil {
		return Change{}, err
	}
	backup, err := s.backup()
	if err != nil {
		return Change{}, err
	}
	c, err := s.write(text)
	c.Backup = backup
	return c, err
}

// Uninstall takes Loop's own entries out of a file of settings. One that was Loop's altogether goes, and so do the backups that
// are then no more than a copy. Errors are those of Install.
func Uninstall(name string) (Change, error) {
	s, err := open(name)
	if err != nil || s.absent {
		return Change{File: s.name}, err
	}
	text, whole, err := strip(s.text)
	if err != nil {
		return Change{}, s.untouched(conflict(err))
	}
	if bytes.Equal(text, s.text) {
		return Change{File: s.name}, nil
	}
	if err := s.writable(); err != nil {
		return Change{}, err
	}
	if whole {
		if err := os.Remove(s.name); err != nil {
			return Change{}, err
		}
		return Change{File: s.name, Changed: true, Removed: true}, nil
	}
	c, err := s.write(text)
	if err != nil {
		return c, err
	}
	return c, s.dropBackups(text)
}

// State says what of Loop is in a file of settings.
type State struct {
	File    string   // where it really is, with links followed
	Right   bool     // just what Install would put there
	Loopctl []string // the loopctl that its hooks call, each once; none where nothing is installed
	Off     string   // the key in it by which Claude Code runs none of its hooks; "" where they run
}

// Look says what of Loop is in a file of settings. The error is ErrConflict for one that does not parse.
func (f Fragment) Look(name string) (State, error) {
	s, err := open(name)
	if err != nil {
		return State{}, err
	}
	root, err := parse(s.text)
	if err != nil {
		return State{}, s.untouched(conflict(err))
	}
	ours, err := parse(f.text)
	if err != nil {
		return State{}, err
	}
	there, wanted := find(s.text, root), find(f.text, ours)
	return State{s.name, slices.Equal(there.entries, wanted.entries), there.loopctl, f.off(s.text, root)}, nil
}

// off returns the key of Claude Code's that is true at the top of a text and keeps hooks such as ours from running.
func (f Fragment) off(text []byte, root *node) string {
	if f.harness != "claude" || root == nil {
		return ""
	}
	for _, it := range root.items {
		if (it.name == "disableAllHooks" || it.name == "allowManagedHooksOnly") && string(text[it.value.start:it.value.end]) == "true" {
			return it.name
		}
	}
	return ""
}

// settings is a file that belongs to another program.
type settings struct {
	name   string // with links followed
	text   []byte
	perm   fs.FileMode
	absent bool
}

func open(name string) (settings, error) {
	name, err := follow(name)
	if err != nil {
		return settings{}, err
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return settings{name: name, perm: 0o600, absent: true}, nil
	case err != nil:
		return settings{}, err
	case !info.Mode().IsRegular():
		return settings{}, fmt.Errorf("%s is no regular file: %w", name, loop.ErrConflict)
	case info.Size() > maxSettings:
		return settings{}, fmt.Errorf("%s has more than %d bytes, and is left alone: %w", name, maxSettings, loop.ErrConflict)
	}
	text, err := os.ReadFile(name)
	return settings{name: name, text: text, perm: info.Mode().Perm()}, err
}

// follow returns what a link leads to, also when nothing is there.
func follow(name string) (string, error) {
	const most = 40
	for range most {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
			name = filepath.Join(dir, filepath.Base(name))
		}
		target, err := os.Readlink(name)
		if err != nil {
			return name, nil //nolint:nilerr // it is no link
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(name), target)
		}
		name = target
	}
	return "", fmt.Errorf("%s is a link that leads nowhere: %w", name, loop.ErrConflict)
}

func (s settings) untouched(err error) error {
	return fmt.Errorf("%s was not touched: %w", s.name, err)
}

// writable refuses a file that somebody has made read-only: to replace it would not even need leave.
func (s settings) writable() error {
	if s.perm&0o222 == 0 {
		return fmt.Errorf("%s is read-only; make it writable, or put the hooks where it comes from: %w", s.name, loop.ErrDenied)
	}
	return nil
}

func (s settings) write(text []byte) (Change, error) {
	if err := os.MkdirAll(filepath.Dir(s.name), 0o700); err != nil {
		return Change{}, fmt.Errorf("make the folder of %s: %w", s.name, err)
	}
	return Change{File: s.name, Changed: true, Made: s.absent}, s.put(s.name, text)
}

// put writes a file with the permissions of the settings, whatever the umask is.
func (s settings) put(name string, text []byte) (err error) {
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := atomicfile.Write(dir, filepath.Base(name), text, s.perm); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%s may not be written to: %w: %w", filepath.Dir(name), err, loop.ErrDenied)
		}
		return err
	}
	return dir.Chmod(filepath.Base(name), s.perm)
}
