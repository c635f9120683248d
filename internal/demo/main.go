// Command demo shows a person all of Loop at work, and is what make demo runs:
//
//	demo [--bin DIR] [--harness demo|claude]
//
// It starts the real loopd on a configuration and a state of its own, steers it with the real loopctl, and posts signed
// deliveries to the real receiver, as GitHub would. It tells what was sent, what the harness was given and how each delivery
// ended, and checks all of it: the exit status is 0 only if everything came out as promised.
//
// With the demo harness, which this program is itself, nothing of the person's is read or written. With claude the real
// Claude Code answers, under the person's own login. Either way no process and no file is left when it returns, also after
// a failure or a signal, and nothing is waited for without a bound.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/harness/claudetest"
)

// limit is how long all of it may take. It takes seconds, but a model thinks, and a machine may have much else to do.
const limit = 10 * time.Minute

func main() {
	if claudetest.IsClaude(os.Args) {
		os.Exit(claudetest.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

var errUsage = errors.New("wrong usage")

// options are the command line.
type options struct {
	bin    string // the folder of loopd and loopctl
	claude bool   // the real harness
}

// run is the whole program. It returns the exit status.
func run(ctx context.Context, args []string, stdout *os.File, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	// PIPE is among them so that a reader who leaves, as head does, does not end this program before it has cleaned up.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	t := newTeller(stdout, os.Getenv)
	if err := demonstrate(ctx, t, o); err != nil {
		t.failed(err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.bin, "bin", "bin", "`folder` with loopd and loopctl")
	name := fs.String("harness", "demo", "who answers: demo, a small program of our own, or claude, the real Claude Code")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	o.claude = *name == "claude"
	if !o.claude && *name != "demo" || fs.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "demo: there is no harness %q here: use HARNESS=demo or HARNESS=claude\n", *name)
		return o, errUsage
	}
	return o, nil
}

// demonstrate tells the story on a stage that is gone when it returns.
func demonstrate(ctx context.Context, t *teller, o options) (err error) {
	a, err := findActor(ctx, o.claude)
	if err != nil {
		return err
	}
	st, err := newStage(ctx, o.bin, a)
	if err != nil {
		return err
	}
	begun := time.Now()
	s := story{stage: st, tell: t}
	err = s.play(ctx)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case ctx.Err() != nil:
		err = fmt.Errorf("it was ended: %w", context.Cause(ctx))
	}
	if err := errors.Join(err, st.strike(ctx)); err != nil {
		return err
	}
	t.done("%d promises were kept in %.1f seconds. loopd has stopped, and %s is removed.", s.kept, time.Since(begun).Seconds(), st.dir)
	return nil
}
