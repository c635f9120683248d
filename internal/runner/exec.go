package runner

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

const (
	reapInterval = 10 * time.Second       // between two rounds for orphans that ended
	drainLimit   = 2 * time.Second        // for the rest of the output, once nothing of the run is left
	endPatience  = time.Minute            // for processes that will not end
	stderrLimit  = 8 << 20                // bytes of stderr to keep from its beginning
	endPause     = 500 * time.Millisecond // between two tries to end them
)

// ExecMain is `loopd exec --runs DIR ID`, the starter of a run, and returns its exit code. It claims the run, or does nothing if
// that is claimed; runs the program in its own environment and LOOP_RUN; keeps its output; ends it when its time is up, when it
// answered and stays, or when ctx ends; and then all that the program left behind; and writes down how it ended. It needs no
// loopd for any of it. The caller makes ctx end on TERM.
func ExecMain(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("loopd exec", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("runs", "", "`folder` of the runs")
	if err := flags.Parse(args); err != nil || *dir == "" || flags.NArg() != 1 {
		_, _ = fmt.Fprintln(stderr, "usage: loopd exec --runs DIR ID (loopd starts it; it is not for people)")
		return 2
	}
	if err := execute(ctx, *dir, loop.RunID(flags.Arg(0)), stderr); err != nil {
		_, _ = fmt.Fprintln(stderr, "loopd exec:", err)
		return 1
	}
	return 0
}

func execute(ctx context.Context, dir string, id loop.RunID, log io.Writer) error {
	f, err := openFolder(dir, id)
	if err != nil {
		return fmt.Errorf("open run: %w", err)
	}
	defer f.close()
	l, err := f.launch()
	if err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	me, err := proc.Self()
	if err != nil {
		return err
	}
	if won, err := f.take(claim{Identity: me, StartedAt: time.Now().UTC()}); err != nil {
		return fmt.Errorf("claim run: %w", err)
	} else if !won {
		return nil // another starter has it, or loopd gave it up
	}
	s := starter{folder: f, launch: l, me: me, log: log}
	x := s.run(ctx)
	if err := f.write(exitFile, x); err != nil {
		return fmt.Errorf("write down how the run ended: %w", err)
	}
	return nil
}

// starter hosts one program.
type starter struct {
	*folder
	launch launch
	me     proc.Identity
	log    io.Writer
	stdout *capture
	stderr *capture
}

// run starts the program, watches it to its end and ends what it leaves.
func (s *starter) run(ctx context.Context) exit {
	began := time.Now()
	s.note(proc.BecomeReaper())
	x, err := s.host(ctx)
	if err != nil {
		x = exit{StartError: err.Error()}
	}
	x.EndedAt = time.Now().UTC()
	x.TookMS = time.Since(began).Milliseconds()
	return x
}

func (s *starter) host(ctx context.Context) (exit, error) {
	var err error
	if s.stdout, err = newCapture(s.root, stdoutFile, s.launch.OutputLimit); err != nil {
		return exit{}, err
	}
	defer s.stdout.close()
	if s.stderr, err = newCapture(s.root, stderrFile, stderrLimit); err != nil {
		return exit{}, err
	}
	defer s.stderr.close()
	child, err := s.start()
	if err != nil {
		return exit{}, err
	}
	why := s.watch(ctx, child)
	killed := s.end(ctx, child)
	s.note(s.stdout.finish(drainLimit), s.stderr.finish(drainLimit))
	x := exit{End: why, Killed: killed && why != endExited, Cut: s.stdout.cut()}
	if proc.Alive(child.ID()) {
		return x, nil // it can't be reaped, and was told in the log
	}
	if how := child.Reap(); why == endExited {
		x.Code, x.Signal = how.Code, how.Signal
	}
	return x, nil
}

func (s *starter) start() (*proc.Child, error) {
	program := proc.Program{
		Path: s.launch.Path, Args: s.launch.Args, Env: append(os.Environ(), s.launch.env()), Dir: s.launch.Dir,
		Stdout: s.stdout.in, Stderr: s.stderr.in,
	}
	if !s.launch.PromptInArgs {
		prompt, err := s.root.Open(promptFile)
		if err != nil {
			return nil, err
		}
		defer func() { _ = prompt.Close() }()
		program.Stdin = prompt
	}
	child, err := proc.Start(program)
	s.stdout.flow()
	s.stderr.flow()
	return child, err
}

// watch returns when the program has ended or must, and says why.
func (s *starter) watch(ctx context.Context, child *proc.Child) end {
	exited := make(chan error, 1)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waitCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	waiting.Go(func() { exited <- child.Exited(waitCtx) })

	over := time.NewTimer(s.launch.timeout())
	defer over.Stop()
	quiet := time.NewTimer(s.launch.answerGrace())
	defer quiet.Stop()
	reap := time.NewTicker(reapInterval)
	defer reap.Stop()
	for {
		select {
		case err := <-exited:
			s.note(err)
			return endExited
		case <-s.stdout.wrote:
			quiet.Reset(s.launch.answerGrace())
		case <-reap.C:
			s.note(proc.ReapOrphans(child))
		case <-quiet.C:
			if s.answered() {
				return endAnswered
			}
		case <-over.C:
			return endTimedOut
		case <-ctx.Done():
			if s.has(stopFile) {
				return endStopped
			}
			return endCutOff // by somebody else's TERM, such as a shutdown of the machine
		}
	}
}

// answered says whether what the program printed is a whole answer. It does not depend on the configuration, which a starter
// does not read.
func (s *starter) answered() bool {
	return harness.Complete(s.launch.Harness, s.launch.Format, s.stdout.recent())
}

// end ends the program, if it has not ended, and everything that it left behind. It says whether KILL was needed.
func (s *starter) end(ctx context.Context, child *proc.Child) (killed bool) {
	ctx = context.WithoutCancel(ctx) // which may be why it is ended
	tree := proc.Tree{Root: child.ID(), Group: child.ID().PID, Cookie: s.launch.env(), Under: s.me}
	grace := s.launch.grace()
	for stop := time.Now().Add(endPatience); ; time.Sleep(endPause) {
		needed, err := tree.End(ctx, grace)
		killed = killed || needed
		if err == nil || time.Now().After(stop) {
			s.note(err)
			return killed
		}
		grace = 0
	}
}

// note writes errors that change nothing for the run into the starter's log.
func (s *starter) note(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		_, _ = fmt.Fprintln(s.log, "loopd exec:", err)
	}
}
