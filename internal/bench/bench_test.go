package main_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/app"
	bench "github.com/loop-daemon/loop/internal/bench"
	"github.com/loop-daemon/loop/internal/cli"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// TestMain lets this binary be each of the programs, so that nothing has to be built.
func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); {
	case agenttest.Is(os.Args):
		os.Exit(agenttest.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	case name == "loopd":
		os.Exit(app.Main(context.Background(), app.Process()))
	case name == "loopctl":
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	case len(os.Args) > 1 && os.Args[1] == "floor":
		os.Exit(bench.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestEveryBenchmarkRuns measures a little of everything and wants a table with all rows. What is in them is nobody's promise.
func TestEveryBenchmarkRuns(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("what a process uses is read on Linux alone")
	}
	if _, err := proc.LookPath("tmux", os.Environ()); err != nil {
		t.Skip("needs tmux: ", err)
	}
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"loopd", "loopctl"} {
		if err := linkOrCopy(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	stdout, err := os.Create(filepath.Join(bin, "table"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var stderr bytes.Buffer
	if code := bench.Run(ctx, []string{"--bin", bin}, stdout, &stderr); code != 0 {
		t.Fatalf("exit %d\n%s", code, &stderr)
	}
	table, err := os.ReadFile(stdout.Name())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"| ingress,": 4, "to the harness's process": 1, "sessions register": 1, "without a daemon": 1, "| idle daemon": 1, "wake-ups": 1,
		"| start with": 1, "| there:": 5, "turn in an idle terminal": 2, "| a look at all terminals": 2,
		"| hook latency,": 4, "| 2 waiting hooks": 2, "a cycle without news": 1,
	}
	for what, rows := range want {
		if got := strings.Count(string(table), what); got != rows {
			t.Errorf("%d rows of %q, want %d\n%s", got, what, rows, table)
		}
	}
}

// linkOrCopy makes a file of its own of the program: one that is only a symbolic link is known by the name of the other.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o700)
}
