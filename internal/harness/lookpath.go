package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loop-daemon/loop/internal/loop"
)

// lookPath finds command as the agent itself would find it: in the PATH that the agent gets, not in loopd's. Entries that
// are not absolute are passed over, for they would mean the working folder, where strangers' files may lie.
func lookPath(command, searchPath string) (string, error) {
	if filepath.Base(command) != command {
		if !filepath.IsAbs(command) {
			return "", fmt.Errorf("%s is neither a plain name nor an absolute path: %w", command, loop.ErrInvalid)
		}
		return command, executable(command)
	}
	var denied error
	for _, dir := range filepath.SplitList(searchPath) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, command)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if denied == nil && !errors.Is(err, fs.ErrNotExist) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", fmt.Errorf("%s is not on the PATH that it would be given (%s): %w", command, searchPath, loop.ErrUnavailable)
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", err, loop.ErrUnavailable)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not a program: %w", file, loop.ErrUnavailable)
	}
	return nil
}
