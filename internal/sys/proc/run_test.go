package proc_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

func TestRunReturnsOutput(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		cmd  proc.Cmd
		want proc.Result
	}{
		{
			"stdin is handed over whole",
			proc.Cmd{Args: []string{"helper=cat"}, Stdin: strings.NewReader("-x\n\"ü\"\x00")},
			proc.Result{Stdout: []byte("-x\n\"ü\"\x00")},
		},
		{"no stdin is an empty one", proc.Cmd{Args: []string{"helper=cat"}}, proc.Result{}},
		{
			"stdin that nobody reads",
			proc.Cmd{Args: []string{"helper=flood", "2"}, Stdin: strings.NewReader(strings.Repeat("y", 1<<20))},
			proc.Result{Stdout: []byte("xx")},
		},
		{
			"folder and exact environment",
			proc.Cmd{Args: []string{"helper=where"}, Dir: dir, Env: []string{"WORD=of mouth"}},
			proc.Result{Stdout: []byte(dir + " " + dir + " of mouth\n")},
		},
		{"output at the limit", proc.Cmd{Args: []string{"helper=flood", "5"}, StdoutLimit: 5}, proc.Result{Stdout: []byte("xxxxx")}},
		{
			"output over the limit",
			proc.Cmd{Args: []string{"helper=flood", "3000000"}, StdoutLimit: 5},
			proc.Result{Stdout: []byte("xxxxx"), StdoutTruncated: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.cmd.Path = self(t)
			got, err := proc.Run(within(t, time.Minute), tt.cmd)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(tt.want.Stdout), string(got.Stdout)); diff != "" {
				t.Error(diff)
			}
			if got.StdoutTruncated != tt.want.StdoutTruncated {
				t.Errorf("StdoutTruncated = %v, want %v", got.StdoutTruncated, tt.want.StdoutTruncated)
			}
		})
	}
}

func TestRunNamesFailure(t *testing.T) {
	t.Parallel()
	_, err := proc.Run(within(t, time.Minute), proc.Cmd{Path: self(t), Args: []string{"helper=fail"}, StderrLimit: 100})
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		t.Fatalf("err = %v, want an *ExitError", err)
	}
	if exit.Code != 7 || len(exit.Stderr) != 100 || !strings.HasSuffix(exit.Stderr, "noise \nfatal: no such thing\n") {
		t.Errorf("got %+v", exit)
	}
	if want := "exit status 7: fatal: no such thing"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%q does not end in %q", err, want)
	}
}

func TestRunCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := []struct {
		name string
		cmd  proc.Cmd
		want error
		says string
	}{
		{"no such path", proc.Cmd{Path: filepath.Join(dir, "nope")}, proc.ErrNoProgram, "nope"},
		{"not in PATH", proc.Cmd{Path: "nope-nope", Env: []string{"PATH=" + dir}}, proc.ErrNoProgram, dir},
		{"PATH relative", proc.Cmd{Path: "run_test.go", Env: []string{"PATH=."}}, proc.ErrNoProgram, "PATH"},
		{"a folder", proc.Cmd{Path: dir}, proc.ErrNoProgram, dir},
		{"no name", proc.Cmd{}, proc.ErrNoProgram, "PATH"},
		{"no such folder", proc.Cmd{Path: "true", Dir: filepath.Join(dir, "gone")}, fs.ErrNotExist, "working folder"},
		{"folder is a file", proc.Cmd{Path: "true", Dir: self(t)}, syscall.ENOTDIR, "working folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := proc.Run(t.Context(), tt.cmd)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("err = %v, want one of %v that names %q", err, tt.want, tt.says)
			}
		})
	}
}

// A cancelled run takes everything with it: here a program and tools that don't obey, in sessions of their own too.
func TestRunCancelledLeavesNothing(t *testing.T) {
	t.Parallel()
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	mark := newCookie()
	tree := proc.Tree{Cookie: mark}
	done := make(chan error, 1)
	go func() {
		_, err := proc.Run(ctx, proc.Cmd{
			Path: self(t), Args: []string{"helper=stubborn-family"}, Env: append(os.Environ(), mark), Grace: 100 * time.Millisecond,
		})
		done <- err
	}()
	family := waitForLiving(t, tree, 4)
	cancel(stop)
	if err := <-done; !errors.Is(err, stop) {
		t.Errorf("err = %v, want %v", err, stop)
	}
	for _, id := range family {
		if proc.Alive(id) {
			t.Errorf("process %d lives on", id.PID)
		}
	}
}

func TestRunIsNotHeldUpByWhatAProgramLeaves(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"group", "session"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			mark := newCookie()
			t.Cleanup(func() { _, _ = proc.Tree{Cookie: mark}.Kill() })
			_, err := proc.Run(within(t, 30*time.Second), proc.Cmd{Path: self(t), Args: []string{"helper=leave", where}, Env: []string{mark}})
			if err != nil {
				t.Fatal(err)
			}
			living, err := proc.Tree{Cookie: mark}.Living()
			if err != nil {
				t.Fatal(err)
			}
			if got, want := len(living), map[string]int{"group": 0, "session": 1}[where]; got != want {
				t.Errorf("%d processes left, want %d", got, want)
			}
		})
	}
}

func TestRunLosesNothingThatIsReadLate(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("0123456789abcdef", 4<<10) // as much as a pipe holds
	if got, err := proc.ReadLate(want); err != nil || got != want {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
}

func TestRunRefusesADoneContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := proc.Run(ctx, proc.Cmd{Path: "true"}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
}
