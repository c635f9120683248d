package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
)

const name15 = "github-acme-shop-15.json"

func TestUnreadableFileIsNamedOnceAndLeftAlone(t *testing.T) {
	t.Parallel()
	good := stored(t)
	for name, spoil := range map[string]func(path string) error{
		"cut in half":    write(good[:len(good)/2]),
		"empty":          write(nil),
		"no JSON":        write([]byte("hello")),
		"a list":         write([]byte("[]")),
		"null":           write([]byte("null")),
		"deeply nested":  write(bytes.Repeat([]byte("["), 1<<20-1)),
		"huge":           write(append(bytes.Repeat([]byte(" "), 1<<20), good...)),
		"another item":   write(bytes.ReplaceAll(bytes.ReplaceAll(good, []byte("#15"), []byte("#16")), []byte(": 15"), []byte(": 16"))),
		"two items":      write(bytes.ReplaceAll(good, []byte(": 15"), []byte(": 16"))),
		"id is a flag":   change(good, "harnessSessionId", "--help"),
		"cwd relative":   change(good, "cwd", "../shop"),
		"runner unknown": change(good, "runner", "screen"),
		"runner missing": change(good, "runner", nil),
		"status unknown": change(good, "status", "resting"),
		"no time":        change(good, "createdAt", nil),
		"wrong type":     change(good, "harness", 7),
		"a folder":       func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":         func(path string) error { return os.Symlink("elsewhere.json", path) },
		"a pipe":         func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			register(t, openAt(t, dir, slog.New(slog.DiscardHandler)), made(shop15.Sibling(1)))
			path := filepath.Join(dir, name15)
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			before := look(path)
			var out bytes.Buffer
			s := openAt(t, dir, slog.New(slog.NewTextHandler(&out, nil)))
			if _, ok := s.Find(shop15.Sibling(1)); !ok || len(s.List()) != 1 {
				t.Errorf("List = %v, want the other session", s.List())
			}
			for range 2 {
				if err := s.Register(made(shop15)); !errors.Is(err, loop.ErrConflict) || !strings.Contains(err.Error(), path) {
					t.Errorf("Register = %v, want ErrConflict that names the file", err)
				}
			}
			if n := strings.Count(out.String(), "level=WARN"); n != 1 || !strings.Contains(out.String(), path) {
				t.Errorf("%d warnings, want one that names the file:\n%s", n, &out)
			}
			if p := s.Problems(); len(p) != 1 || !strings.Contains(p[0], path) {
				t.Errorf("Problems = %q, want one that names the file", p)
			}
			if diff := cmp.Diff(before, look(path)); diff != "" {
				t.Errorf("the file was changed (-before +after):\n%s", diff)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := s.Register(made(shop15)); err != nil || len(s.Problems()) != 0 {
				t.Errorf("Register once it is moved away = %v; problems %q", err, s.Problems())
			}
		})
	}
}

func TestMendedFileIsReadAgain(t *testing.T) {
	t.Parallel()
	good := stored(t)
	for name, spoil := range map[string]func(path string) error{
		"cut in half": write(good[:len(good)/2]),
		"a folder":    func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, name15)
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			s := openAt(t, dir, slog.New(slog.DiscardHandler))
			if err := errors.Join(os.Remove(path), os.WriteFile(path, good, 0o600)); err != nil {
				t.Fatal(err)
			}
			if err := s.Register(made(shop15)); !errors.Is(err, loop.ErrExists) || len(s.Problems()) != 0 {
				t.Errorf("Register once it is mended = %v, want ErrExists; problems %q", err, s.Problems())
			}
		})
	}
}

func TestBadEntryDoesNotLoseTheRecord(t *testing.T) {
	t.Parallel()
	good := stored(t)
	for name, tt := range map[string]struct {
		key   string
		value any
		check func(loop.Session) any
		want  any
	}{
		"pull requests": {
			"pullRequests",
			[]any{"github:acme/shop#16", 7, "../..#1", nil, map[string]any{}, "github:acme/shop#17"},
			func(s loop.Session) any { return s.PullRequests },
			[]string{"github:acme/shop#16", "github:acme/shop#17"},
		},
		"deliveries": {
			"recentDeliveries",
			[]any{"a", 7, "", "b"},
			func(s loop.Session) any { return s.RecentDeliveries },
			[]loop.DeliveryID{"a", "b"},
		},
		"earlier ids": {
			"previousHarnessSessionIds",
			[]any{"--flag", "old"},
			func(s loop.Session) any { return s.PreviousSessionIDs },
			[]loop.SessionID{"old"},
		},
		"no list": {
			"pullRequests", "github:acme/shop#16", func(s loop.Session) any { return s.PullRequests }, []string{},
		},
		"a target of somebody else": {
			"tmuxTarget", "main:0.1", func(s loop.Session) any { return s.TmuxTarget }, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := change(good, tt.key, tt.value)(filepath.Join(dir, name15)); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			s := openAt(t, dir, slog.New(slog.NewTextHandler(&out, nil)))
			got, ok := s.Find(shop15)
			if !ok {
				t.Fatalf("the record is lost: %q", s.Problems())
			}
			if diff := cmp.Diff(tt.want, tt.check(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.key, diff)
			}
			if !strings.Contains(out.String(), tt.key) || !strings.Contains(out.String(), name15) {
				t.Errorf("logged %q, want the file and %s named", &out, tt.key)
			}
		})
	}
}

func TestNeighboursAreNotLookedAt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := stored(t)
	neighbours := []string{
		"notes.txt", "settings.json", "github-acme-shop-15.json.bak", "github-acme-shop-15-copy.json", ".github-acme-shop-15.json",
		".other.tmp", "jira-KEY-1.json", "closed/notes.json", "closed/github-acme-shop-15.json",
	}
	for _, name := range append([]string{name15, ".github-acme-shop-15.json.AAAA.tmp"}, neighbours...) {
		content := []byte("no session at all")
		if name == name15 {
			content = good
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s := reopen(t, dir)
	if len(s.List()) != 1 || len(s.Problems()) != 0 {
		t.Errorf("List = %v, Problems = %q; want one session and no problem", s.List(), s.Problems())
	}
	for _, name := range neighbours {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("neighbour: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".github-acme-shop-15.json.AAAA.tmp")); !os.IsNotExist(err) {
		t.Errorf("what a cut-off write of ours left is still there: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(stored(f))
	f.Add([]byte(`{"workItem":{"ref":"github:a/b#1"},"recentDeliveries":{},"pullRequests":[[]]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _, err := session.Decode(data)
		if err != nil {
			return
		}
		if s.HarnessSessionID != "" && s.HarnessSessionID.Check() != nil || !filepath.IsAbs(s.Cwd) ||
			s.TmuxTarget != "" && !strings.HasPrefix(s.TmuxTarget, "loop-") || strings.HasPrefix(s.Harness, "-") {
			t.Errorf("took %+v", s)
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		same, faults, err := session.Decode(again)
		if err != nil || len(faults) > 0 {
			t.Fatalf("what was read and written again is refused: %v, %v\n%s", err, faults, again)
		}
		if diff := cmp.Diff(s, same); diff != "" {
			t.Errorf("written and read again (-first +second):\n%s", diff)
		}
	})
}

// stored is the file of a session of shop15.
func stored(t testing.TB) []byte {
	t.Helper()
	data, err := json.MarshalIndent(made(shop15), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(data []byte) func(string) error {
	return func(path string) error { return os.WriteFile(path, data, 0o600) }
}

// change writes the file with one value replaced, or removed where it is nil.
func change(good []byte, key string, value any) func(string) error {
	return func(path string) error {
		var fields map[string]any
		if err := json.Unmarshal(good, &fields); err != nil {
			return err
		}
		if fields[key] = value; value == nil {
			delete(fields, key)
		}
		data, err := json.Marshal(fields)
		return errors.Join(err, os.WriteFile(path, data, 0o600))
	}
}

func look(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	if !info.Mode().IsRegular() {
		return info.Mode().String()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
