// Package filewatch tells when a file may have changed.
//
// It watches folders, because editors and deployments replace files rather than write them: the file's own, and that of what
// the file links to. It promises a look after every change, soon after things are quiet and soon in a folder that never is. It
// does not promise that there was a change: whoever looks compares what it read last.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settle    = 100 * time.Millisecond // of silence before the file is looked at: editors write in several steps
	atMost    = time.Second            // after the first event, whatever else goes on in the folder
	unwatched = 5 * time.Second        // between looks at a file whose folder cannot be watched
)

// Run calls look at once, which finds what changed before, and then whenever the file may have changed, one call at a time,
// until the context ends; it then returns nil. The file need not exist, and neither need its folder. A folder that cannot be
// watched is a warning, not an end: the file is then looked at now and then.
func Run(ctx context.Context, file string, log *slog.Logger, look func(context.Context)) error {
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("file is not watched, only looked at when asked to", "file", file, "err", err)
		return nil
	}
	defer func() { _ = watch.Close() }()
	onceSettled(ctx, watch.Events, watch.Errors, func() (again time.Duration) {
		if err := follow(watch, file); err != nil {
			log.Warn("file is not watched, only looked at now and then", "file", file, "err", err)
			again = unwatched
		}
		look(ctx)
		return again
	})
	return nil
}

// onceSettled calls look at once, and then whenever events have settled, until the context ends. Where look answers with a
// time it is called again after it, event or not. Events count whatever their name and kind: what swaps a link need not name
// the file. An error is an event too, because some were lost.
func onceSettled(ctx context.Context, events <-chan fsnotify.Event, errs <-chan error, look func() (again time.Duration)) {
	var first time.Time // event since the last look
	timer := time.NewTimer(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			first = time.Time{}
			if again := look(); again > 0 {
				timer.Reset(again)
			}
			continue
		case <-events:
		case <-errs: //nolint:errcheck // whatever it says, the look that follows makes up for it
		}
		if first.IsZero() {
			first = time.Now()
		}
		timer.Reset(min(settle, time.Until(first.Add(atMost))))
	}
}

// follow watches the folders that matter to the file now, and no others. A folder that is watched already is added again,
// because another may have taken its name; in place of one that does not exist, what is to contain it is watched.
func follow(watch *fsnotify.Watcher, file string) error {
	wanted := []string{existing(filepath.Dir(file))}
	if info, err := os.Lstat(wanted[0]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		wanted = append(wanted, filepath.Dir(wanted[0]))
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		wanted = append(wanted, filepath.Dir(target))
	}
	for _, dir := range watch.WatchList() {
		if !slices.Contains(wanted, dir) {
			_ = watch.Remove(dir) // gone already, perhaps
		}
	}
	var errs []error
	for _, dir := range wanted {
		if err := watch.Add(dir); err != nil {
			errs = append(errs, fmt.Errorf("watch %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// existing is the folder, else the nearest one above it that exists.
func existing(dir string) string {
	for dir != filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}
