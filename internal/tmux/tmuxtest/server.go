package tmuxtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
)

// New returns a client of a server that is this test's alone, in a folder with a short path. When the test ends, the server and
// every program in it are ended by their pids, and one that is left fails the test. Without tmux the test is skipped.
func New(t testing.TB, edits ...func(*tmux.Options)) *tmux.Server {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "loop") //nolint:usetesting // its path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	// Every process of the server has this HOME, and no other process has.
	tree := proc.Tree{Cookie: "HOME=" + dir}
	trees.Store(dir, tree)
	t.Cleanup(func() {
		defer trees.Delete(dir)
		if _, err := tree.Kill(); err != nil {
			t.Errorf("end tmux: %v", err)
		}
		if left, err := tree.Living(); err != nil || len(left) > 0 {
			t.Errorf("left of tmux: %v, %v", left, err)
		}
		_ = os.RemoveAll(dir)
	})
	o := tmux.Options{
		Dir: filepath.Join(dir, "t"), Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")},
		Patience: time.Minute, // on a machine under load
	}
	for _, edit := range edits {
		edit(&o)
	}
	s, err := tmux.New(t.Context(), o)
	if errors.Is(err, loop.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// trees are what New has started and not ended yet, by folder.
var trees sync.Map

// Main runs the tests for a TestMain. When somebody interrupts them, whose cleanups do not run then, the servers of New are ended.
func Main(m *testing.M) int {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-asked
		trees.Range(func(dir, tree any) bool {
			_, _ = tree.(proc.Tree).Kill()
			_ = os.RemoveAll(dir.(string))
			return true
		})
		os.Exit(1)
	}()
	return m.Run()
}

// Home is the home of the programs on a server of New. What is started there without it is not ended with the server.
func Home(s *tmux.Server) string { return filepath.Dir(filepath.Dir(s.Socket())) }

// Run runs tmux as a person would who has the socket's path, and returns what it printed.
func Run(t testing.TB, s *tmux.Server, stdin string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	res, err := proc.Run(ctx, proc.Cmd{
		Path: s.Binary(), Args: append([]string{"-u", "-S", s.Socket()}, args...), Stdin: strings.NewReader(stdin),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + Home(s)}, StdoutLimit: 64 << 20,
	})
	if err != nil {
		t.Fatalf("tmux %q: %v", args, err)
	}
	return string(res.Stdout)
}

// Command writes a program of sh that can be started by its path. Nothing forks meanwhile: a child would hold the file open for
// writing for a moment, and a file that somebody writes to can't be run.
func Command(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Overhear has a new server's tmux write down how it is called. Calls returns the arguments of each call so far, joined by spaces.
func Overhear(t testing.TB) (edit func(*tmux.Options), calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	Command(t, filepath.Join(dir, "tmux"), `echo "$*" >> '`+log+`'
PATH=${PATH#*:}
exec tmux "$@"`)
	edit = func(o *tmux.Options) {
		for i, entry := range o.Environ {
			if path, found := strings.CutPrefix(entry, "PATH="); found {
				o.Environ[i] = "PATH=" + dir + ":" + path
			}
		}
	}
	return edit, func() []string {
		text, _ := os.ReadFile(log)
		return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
}

// Mark returns a new launch's mark.
func Mark() string {
	mark := make([]byte, 16)
	_, _ = rand.Read(mark)
	return hex.EncodeToString(mark)
}

// Eventually waits until done says yes, and fails the test, saying what never came, when it has not within two minutes.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("never came: %s", what)
}
