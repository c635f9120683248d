package filewatch_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/sys/filewatch"
)

// Files are watched in real time: inotify and kqueue know nothing of a clock of ours. Nothing here depends on how fast.
const patience = 30 * time.Second

// TestRun holds that each way of changing a file brings a look that finds the new content.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		linked bool // whether the file is a link to one in another folder
		change func(file, target string) error
	}{
		{"written", false, func(file, _ string) error { return os.WriteFile(file, []byte("new"), 0o600) }},
		{"replaced", false, replace},
		{"written behind a link", true, func(_, target string) error { return os.WriteFile(target, []byte("new"), 0o600) }},
		{"replaced behind a link", true, func(_, target string) error { return replace(target, "") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "file")
			target := filepath.Join(t.TempDir(), "target")
			must(t, os.WriteFile(target, []byte("old"), 0o600))
			if tt.linked {
				must(t, os.Symlink(target, file))
			} else {
				must(t, os.WriteFile(file, []byte("old"), 0o600))
			}
			seen := run(t, file)
			waitFor(t, seen, "old")
			must(t, tt.change(file, target))
			waitFor(t, seen, "new")
		})
	}
}

// TestRunBeforeTheFolderExists holds that a file is seen although even its folder is made later.
func TestRunBeforeTheFolderExists(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a", "b", "file")
	seen := run(t, file)
	waitFor(t, seen, "")
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(t, os.WriteFile(file, []byte("new"), 0o600))
	waitFor(t, seen, "new")
}

// run watches until the test ends, and says what each look finds.
func run(t *testing.T, file string) <-chan string {
	t.Helper()
	seen := make(chan string)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- filewatch.Run(ctx, file, slog.New(slog.DiscardHandler), func(ctx context.Context) {
			content, _ := os.ReadFile(file) // nothing where there is none
			select {
			case seen <- string(content):
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return seen
}

func waitFor(t *testing.T, seen <-chan string, want string) {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case got := <-seen:
			if got == want {
				return
			}
		case <-timeout:
			t.Fatalf("no look found %q", want)
		}
	}
}

func replace(file, _ string) error {
	if err := os.WriteFile(file+".tmp", []byte("new"), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".tmp", file)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
