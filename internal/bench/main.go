// Command bench measures what Loop costs, and is what make bench runs:
//
//	bench [--bin DIR] [--only NAME] [--rounds N]
//
// It starts the real loopd and loopctl on a configuration and a state of its own, and prints one table in Markdown, which
// docs/performance.md explains. What others do on the same machine disturbs any figure, so each stands beside a yardstick that
// was measured in turn with it, round by round, and is the median of the rounds. It asserts nothing: it exits with 0 when it
// could measure, whatever it measured. It reads and writes nothing of the person's, and no process and no file is left when it
// returns.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// timeLimit bounds all of it.
const timeLimit = 30 * time.Minute

func main() {
	if agenttest.Is(os.Args) {
		os.Exit(agenttest.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	code := run(ctx, os.Args[1:], thorough, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// size says how much is measured.
type size struct {
	rounds     int
	load       time.Duration // of one round of a load
	conns      []int
	starts     int // of programs whose time is taken
	idle       int // sessions of a daemon that has nothing to do
	idleFor    time.Duration
	sessions   int // of a daemon that has been used for long
	deliveries int
	panes      []int // that are looked at
	waiters    int   // hooks that wait
}

var thorough = size{ //nolint:gochecknoglobals // never changes
	rounds: 3, load: 2 * time.Second, conns: []int{1, 16, 64}, starts: 40,
	idle: 100, idleFor: 10 * time.Second, sessions: 10_000, deliveries: 100_000, panes: []int{1, 50, 200}, waiters: 200,
}

// bench is one run of the program.
type bench struct {
	size
	bin  string // the folder of loopd and loopctl
	self string // this program, which is the yardstick too
	log  io.Writer
}

// measures in the order of the table.
func (b *bench) measures() []measure {
	return []measure{
		{"ingress", b.ingress},
		{"start", b.harnessStart},
		{"register", b.register},
		{"hooks", b.hooks},
		{"idle", b.idleDaemon},
		{"poll", b.steadyPoll},
		{"large", b.largeState},
		{"terminals", b.terminals},
	}
}

type measure struct {
	name string
	take func(context.Context) ([]row, error)
}

// run is the whole program. It returns the exit status.
func run(ctx context.Context, args []string, how size, stdout *os.File, stderr io.Writer) int {
	if len(args) == 2 && args[0] == floorRole {
		if err := serveFloor(ctx, []byte(args[1]), stdout); err != nil {
			fmt.Fprintln(stderr, "bench floor:", err)
			return 1
		}
		return 0
	}
	b := bench{size: how, log: stderr}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&b.bin, "bin", "bin", "`folder` with loopd and loopctl")
	only := fs.String("only", "", "`names` of what to measure, with commas: ingress, start, register, hooks, idle, poll, large, terminals; empty is all")
	fs.IntVar(&b.rounds, "rounds", b.rounds, "`times` that each thing is measured")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := b.measure(ctx, *only, stdout); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func (b *bench) measure(ctx context.Context, only string, stdout io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, fmt.Errorf("it took longer than %s", timeLimit))
	defer cancel()
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	var rows []row
	for _, m := range b.measures() {
		if only != "" && !strings.Contains(","+only+",", ","+m.name+",") {
			continue
		}
		fmt.Fprintf(b.log, "bench: %s\n", m.name)
		more, err := m.take(ctx)
		if err != nil {
			return fmt.Errorf("measure %s: %w", m.name, err)
		}
		rows = append(rows, more...)
	}
	writeTable(stdout, rows)
	return nil
}
