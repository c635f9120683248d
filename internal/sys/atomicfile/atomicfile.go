// Package atomicfile writes files that are whole or not there. A reader, or a machine that lost its power in the middle,
// finds either the old content or the new, never a part; when Write returns nil, the new one is on disk.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

const tempSuffix = ".tmp"

// Write replaces the content of the file name below root, or makes it with the given permissions. The folder must be
// there. What stands at name and is no regular file (a folder, a link, a device) is left alone and is an error. Two
// writers of one name do not harm each other: one of them is last.
func Write(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	if err := replaceable(root, name); err != nil {
		return err
	}
	temp := path.Join(path.Dir(name), "."+path.Base(name)+"."+rand.Text()+tempSuffix)
	if err := writeSynced(root, temp, data, perm); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), discard(root, temp))
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(fmt.Errorf("replace %s: %w", name, err), discard(root, temp))
	}
	if err := SyncDir(root, path.Dir(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// IsTemp reports whether name is what a Write left behind that was cut off: no data, and safe to remove while nobody
// writes.
func IsTemp(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") && strings.HasSuffix(base, tempSuffix)
}

// SyncDir makes what was created, renamed or removed in the folder name below root survive a loss of power.
func SyncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func replaceable(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s before writing it: %w", name, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("write %s: it is no regular file (%s), move it away", name, info.Mode().Type())
	}
	return nil
}

func writeSynced(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Sync(), f.Close())
}

func discard(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
