package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/app"
	"github.com/loop-daemon/loop/internal/cli"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// TestMain lets this binary be each of the programs, by the name that it is started under, so that all of them run with
// the race detector and nothing has to be built.
func TestMain(m *testing.M) {
	switch {
	case agenttest.Is(os.Args):
		os.Exit(agenttest.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	case filepath.Base(os.Args[0]) == "loopd":
		os.Exit(loopd())
	case filepath.Base(os.Args[0]) == "loopctl":
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", "8") // they wait for one another's processes more than they work
	}
	os.Exit(m.Run())
}

// loopd is loopd with short waits, which ends itself as a crash would at the step that LOOP_E2E_KILL_AT names, and goes no
// further at that which LOOP_E2E_STALL_AT names.
func loopd() int {
	e := app.Process()
	e.RetryBase, e.ProbeBase = 100*time.Millisecond, time.Second
	killAt, stallAt := os.Getenv("LOOP_E2E_KILL_AT"), os.Getenv("LOOP_E2E_STALL_AT")
	e.Step = func(name string) {
		switch name {
		case killAt:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case stallAt:
			fmt.Fprintln(os.Stderr, "stalled at", name)
			select {}
		}
	}
	return app.Main(context.Background(), e)
}
