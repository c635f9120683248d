package unixsock_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/loop-daemon/loop/internal/sys/unixsock"
)

func TestListenIsPrivateAndTidy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "a", "b", "loopd.sock")
	for range 2 { // the second time over what the first left
		l, err := unixsock.Listen(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		wantMode(t, filepath.Dir(path), fs.ModeDir|0o700)
		wantMode(t, path, fs.ModeSocket|0o600)
		wantMode(t, path+".lock", 0o600)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("the second Close: %v", err)
		}
		wantFiles(t, filepath.Dir(path), "loopd.sock.lock")
	}
}

func TestListenReplacesWhatAKilledServerLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "d", "loopd.sock")
	first, out := start(t, 0, "serve", path)
	wantLine(t, out, "ready")
	if got := call(t.Context(), dial(t, path)); got != "OK " {
		t.Fatalf("call: %s", got)
	}

	_, err := unixsock.Listen(t.Context(), path)
	held, ok := errors.AsType[*unixsock.HeldError](err)
	if !ok || held.PID != first.Process.Pid || !strings.Contains(err.Error(), fmt.Sprint(first.Process.Pid)) {
		t.Fatalf("beside a server: err = %v, want one that names process %d", err, first.Process.Pid)
	}
	if got := call(t.Context(), dial(t, path)); got != "OK " {
		t.Errorf("the refused one disturbed the server: %s", got)
	}

	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	wantMode(t, path, fs.ModeSocket|0o600) // stale
	if err := os.Rename(path, path[:len(path)-1]+"~"); err != nil {
		t.Fatal(err) // as if it had been killed before the socket was in place
	}
	l, err := unixsock.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	server := newServer()
	t.Cleanup(server.Stop)
	go func() { _ = server.Serve(l) }()
	if got := call(t.Context(), dial(t, path)); got != "OK " {
		t.Errorf("call: %s", got)
	}
}

func TestOneOfManyRacersWins(t *testing.T) {
	t.Parallel()
	const racers = 100
	path := filepath.Join(shortDir(t), "d", "loopd.sock")
	listeners := make([]net.Listener, racers)
	errs := make([]error, racers)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range racers {
		wg.Go(func() {
			<-begin
			listeners[i], errs[i] = unixsock.Listen(t.Context(), path)
		})
	}
	close(begin)
	wg.Wait()
	winners := 0
	for i, l := range listeners {
		if errs[i] == nil {
			winners++
			t.Cleanup(func() { _ = l.Close() })
			continue
		}
		if held, ok := errors.AsType[*unixsock.HeldError](errs[i]); !ok || held.PID != os.Getpid() {
			t.Errorf("a loser's err = %v, want one that names process %d", errs[i], os.Getpid())
		}
	}
	if winners != 1 {
		t.Errorf("%d racers listen, want 1", winners)
	}
}

// A client that comes in the very moment of the start finds no socket, or one that answers.
func TestSocketIsReadyWhenItIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "d", "loopd.sock")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := net.Dial("unix", path)
				if err == nil {
					_ = conn.Close()
				} else if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("dial: %v", err)
					return
				}
			}
		})
	}
	for range 20 {
		l, err := unixsock.Listen(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil { // so that none of the four comes too late for this listener
			t.Fatal(err)
		}
		_ = l.Close()
	}
	close(stop)
	wg.Wait()
}

func TestCloseLeavesAnotherFileAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "d", "loopd.sock")
	l, err := unixsock.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, filepath.Dir(path), "loopd.sock", "loopd.sock.lock")
}

func TestListenRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		path string // below the test's folder
		make func(t *testing.T, dir string)
		want string
	}{
		{"a folder that others can enter", "open/s", func(t *testing.T, dir string) { mkdir(t, dir+"/open", 0o755) }, "chmod 700"},
		{"a folder that others can list", "open/s", func(t *testing.T, dir string) { mkdir(t, dir+"/open", 0o704) }, "chmod 700"},
		{"a file for a folder", "file/s", func(t *testing.T, dir string) { write(t, dir+"/file") }, "not a directory"},
		{"a file for a socket", "d/s", func(t *testing.T, dir string) { mkdir(t, dir+"/d", 0o700); write(t, dir+"/d/s") }, "no socket"},
		{"a lock that leads elsewhere", "d/s", func(t *testing.T, dir string) {
			mkdir(t, dir+"/d", 0o700)
			if err := os.Symlink("../elsewhere", dir+"/d/s.lock"); err != nil {
				t.Fatal(err)
			}
		}, "symbolic link"},
		{"another user's folder", "d/s", func(t *testing.T, dir string) {
			needRoot(t)
			mkdir(t, dir+"/d", 0o700)
			if err := os.Chown(dir+"/d", nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}, "belongs to user 65534"},
		{"a path too long", "d/" + strings.Repeat("x", 100), func(*testing.T, string) {}, "use a shorter one, such as /tmp/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := shortDir(t)
			tt.make(t, dir)
			l, err := unixsock.Listen(t.Context(), filepath.Join(dir, tt.path))
			if err == nil {
				_ = l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want one that says %q", err, tt.want)
			}
			wantNoSocket(t, dir)
		})
	}
}

func TestPathLimit(t *testing.T) {
	t.Parallel()
	dir := shortDir(t) + "/"
	_, err := unixsock.Listen(t.Context(), dir+strings.Repeat("x", 200))
	long, ok := errors.AsType[*unixsock.PathError](err)
	if !ok {
		t.Fatalf("err = %v, want a *PathError", err)
	}
	if err := unixsock.CheckPath(long.Shorter); err != nil {
		t.Errorf("the suggestion is no better: %v", err)
	}
	if !strings.Contains(err.Error(), fmt.Sprint(len(dir)+200)) || !strings.Contains(err.Error(), fmt.Sprint(long.Limit)) {
		t.Errorf("%q names no lengths", err)
	}
	// The longest path that is allowed works.
	mkdir(t, dir+"d", 0o700)
	for _, last := range []string{"k", "~"} {
		path := dir + "d/" + strings.Repeat("x", long.Limit-len(dir+"d/")-1) + last
		l, err := unixsock.Listen(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		wantMode(t, path, fs.ModeSocket|0o600)
		_ = l.Close()
	}
	for _, path := range []string{"", "loopd.sock", "@loopd"} {
		if err := unixsock.CheckPath(path); err == nil {
			t.Errorf("%q is allowed", path)
		}
	}
}

func TestLockEndsWithItsHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "state", "loopd.lock")
	holder, out := start(t, 0, "lock", path)
	wantLine(t, out, "ready")
	_, err := unixsock.Lock(path)
	if held, ok := errors.AsType[*unixsock.HeldError](err); !ok || held.PID != holder.Process.Pid {
		t.Fatalf("err = %v, want one that names process %d", err, holder.Process.Pid)
	}
	if err := holder.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	for range 2 { // again after Close
		lock, err := unixsock.Lock(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A program that is being started holds a copy of every file of ours until it runs.
func TestLockEndsWithCloseWhoeverHasACopy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "state", "loopd.lock")
	lock, err := unixsock.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := copyOf(t, path)
	defer func() { _ = syscall.Close(copied) }()
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := unixsock.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

// copyOf is a second descriptor of the file that this process has open, as a fork makes one.
func copyOf(t *testing.T, path string) int {
	t.Helper()
	var want, got syscall.Stat_t
	if err := syscall.Stat(path, &want); err != nil {
		t.Fatal(err)
	}
	for fd := range 1 << 10 {
		if syscall.Fstat(fd, &got) != nil || got.Dev != want.Dev || got.Ino != want.Ino {
			continue
		}
		copied, err := syscall.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		return copied
	}
	t.Fatalf("%s is not open", path)
	return -1
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
	}
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("files %v, want %v", got, want)
	}
}

func wantNoSocket(t *testing.T, dir string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type() == fs.ModeSocket {
			t.Errorf("%s was left", path)
		}
		return nil
	})
}

func mkdir(t *testing.T, dir string, mode fs.FileMode) {
	t.Helper()
	if err := os.Mkdir(dir, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
