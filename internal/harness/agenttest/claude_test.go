package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

func TestMain(m *testing.M) {
	if agenttest.Is(os.Args) {
		os.Exit(agenttest.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(tmuxtest.Main(m))
}

// resume is the command line of a turn, but for the program.
func resume(prompt string, env ...string) proc.Cmd {
	return proc.Cmd{
		Args:  []string{"-p", "--resume", "abc", "--output-format", "json"},
		Env:   env,
		Stdin: strings.NewReader(prompt),
	}
}

func install(t *testing.T) string {
	t.Helper()
	program, err := agenttest.Install(t.TempDir(), "claude")
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestRunsAreRecorded(t *testing.T) {
	t.Parallel()
	record, dir := filepath.Join(t.TempDir(), "runs"), t.TempDir()
	if runs, err := agenttest.ReadRuns(record); err != nil || runs != nil {
		t.Errorf("before the first run: got %v, %v", runs, err)
	}
	for _, prompt := range []string{"first", "second [[claude silent exit=4]]"} {
		cmd := resume(prompt, agenttest.EnvRecord+"="+record, "COLOUR=blue")
		cmd.Path, cmd.Dir = install(t), dir
		if _, err := proc.Run(t.Context(), cmd); (err != nil) != strings.Contains(prompt, "exit") {
			t.Fatal(err)
		}
	}
	runs, err := agenttest.ReadRuns(record)
	if err != nil || len(runs) != 2 {
		t.Fatalf("got %d runs, %v", len(runs), err)
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := runs[0]
	want := agenttest.Run{
		PID: first.PID, Args: resume("").Args, Dir: dir, Env: []string{agenttest.EnvRecord + "=" + record, "COLOUR=blue"},
		Prompt: "first", Began: first.Began, Ended: first.Ended,
	}
	first.Env = slices.DeleteFunc(first.Env, func(kv string) bool { return strings.HasPrefix(kv, "PWD=") })
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if first.Ended.Before(first.Began) || runs[1].Code != 4 || runs[1].Began.Before(first.Ended) {
		t.Errorf("got %+v", runs)
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	program := install(t)
	for _, args := range [][]string{
		{}, {"-p"}, {"-p", "--resume", "abc"}, {"--resume", "abc", "--output-format", "json"}, {"-p", "--resume", "abc", "--output-format", "text"},
	} {
		result, err := proc.Run(t.Context(), proc.Cmd{Path: program, Args: args, Stdin: strings.NewReader("x")})
		if bad, ok := errors.AsType[*proc.ExitError](err); !ok || bad.Code != 1 || len(result.Stdout) != 0 {
			t.Errorf("%q: got %v, %q", args, err, result.Stdout)
		}
	}
	empty := resume("  ")
	empty.Path = program
	if _, err := proc.Run(t.Context(), empty); err == nil || !strings.Contains(err.Error(), "Input must be provided") {
		t.Errorf("no prompt: got %v", err)
	}
}

// started is a run that thinks until it is ended.
type started struct {
	child  *proc.Child
	stdout string // the file that it prints to
	record string
}

// startRun starts a run with its output in a file, and returns when it has written itself down.
func startRun(ctx context.Context, t *testing.T, prompt string) started {
	t.Helper()
	dir := t.TempDir()
	s := started{stdout: filepath.Join(dir, "stdout"), record: filepath.Join(dir, "runs")}
	input := filepath.Join(dir, "prompt")
	if err := os.WriteFile(input, []byte(prompt), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(input)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := os.Create(s.stdout)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	s.child, err = proc.Start(proc.Program{
		Path: install(t), Args: resume("").Args, Env: []string{agenttest.EnvRecord + "=" + s.record}, Stdin: stdin, Stdout: stdout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := (proc.Tree{Root: s.child.ID()}).Kill(); err != nil {
			t.Error(err)
		}
		s.child.Reap()
	})
	await(ctx, t, func() bool { runs, err := agenttest.ReadRuns(s.record); return err == nil && len(runs) == 1 })
	return s
}

func await(ctx context.Context, t *testing.T, happened func() bool) {
	t.Helper()
	for tick := time.Tick(5 * time.Millisecond); !happened(); {
		select {
		case <-tick:
		case <-ctx.Done():
			t.Fatal("it did not happen in time")
		}
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prompt string
		signal       syscall.Signal
		code         int
		subtype      string // of the answer; "" for none
	}{
		{"terminated", "[[claude hang]]", syscall.SIGTERM, 143, ""},
		{"hung up", "[[claude hang]]", syscall.SIGHUP, 129, ""},
		{"interrupted", "[[claude hang]]", syscall.SIGINT, 0, "error_during_execution"},
		{"terminated after its answer", "[[claude linger]]", syscall.SIGTERM, 143, "success"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := startRun(ctx, t, tt.prompt)
			if strings.Contains(tt.prompt, "linger") {
				await(ctx, t, func() bool { text, err := os.ReadFile(s.stdout); return err == nil && len(text) > 0 })
			}
			if err := proc.Signal(s.child.ID(), tt.signal); err != nil {
				t.Fatal(err)
			}
			if err := s.child.Exited(ctx); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(s.stdout)
			if err != nil {
				t.Fatal(err)
			}
			var answer struct{ Subtype string }
			if err := json.Unmarshal(text, &answer); (err != nil) != (tt.subtype == "") || answer.Subtype != tt.subtype {
				t.Errorf("printed %q, want subtype %q", text, tt.subtype)
			}
			runs, err := agenttest.ReadRuns(s.record)
			if err != nil || len(runs) != 1 || runs[0].Code != tt.code {
				t.Errorf("got %+v, %v, want code %d", runs, err, tt.code)
			}
		})
	}
}

func TestDeafRunIsOnlyKilled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := startRun(ctx, t, "[[claude hang deaf]]")
	killed, err := proc.Tree{Root: s.child.ID()}.End(ctx, 200*time.Millisecond)
	if err != nil || !killed {
		t.Errorf("killed %v, %v", killed, err)
	}
}

// The brood is two children; they outlive the run and are ended with its tree.
func TestBroodIsLeftBehind(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := startRun(ctx, t, "[[claude brood hang]]")
	tree := proc.Tree{Root: s.child.ID()}
	var living []proc.Identity
	await(ctx, t, func() bool {
		var err error
		living, err = tree.Living()
		return err == nil && len(living) == 3
	})
	if _, err := tree.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, id := range living {
		if proc.Alive(id) {
			t.Errorf("%d is still there", id.PID)
		}
	}
}
