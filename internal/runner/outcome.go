package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// stderrTail is how much of stderr an agent gets to judge by, and a person to read.
const stderrTail = 64 << 10

// refused is the outcome of a run whose folder is there already: it was stopped before it could begin, or its id is used.
func (h *Headless) refused(run loop.RunID, err error) loop.Outcome {
	f, openErr := openFolder(h.o.Dir, run)
	if openErr != nil {
		return unreached(errors.Join(err, openErr))
	}
	defer f.close()
	if !f.has(launchFile) { // only Terminate makes a folder without
		return abandoned(claim{Abandoned: abandonedStopped})
	}
	return unreached(fmt.Errorf("start run %s: it was started before: %w", run, err))
}

// abandoned is the outcome of a run that was given up before it began.
func abandoned(c claim) loop.Outcome {
	kind := loop.RunNever
	if c.Abandoned == abandonedStopped {
		kind = loop.RunEnded
	}
	return loop.Outcome{Kind: kind, Detail: "not started: " + c.Abandoned}
}

// conclude reads the outcome of a run whose starter has ended, and makes sure that nothing of the run is left.
func (h *Headless) conclude(ctx context.Context, f *folder, harnessName string) loop.Outcome {
	if !f.has(claimFile) {
		// The starter died before it began, and another must not begin behind our back.
		if !h.insist(ctx, f.id, "give up a run", func() error { return f.forbid(abandonedDead) }) {
			return loop.Outcome{Kind: loop.RunDetached}
		}
	}
	c, err := f.claimed()
	switch {
	case err == nil && c.Abandoned == abandonedDead:
		return unreached(fmt.Errorf("start run %s: its starter ended early: %s", f.id, strings.TrimSpace(string(f.tail(logFile, 2000)))))
	case err == nil && c.Abandoned != "":
		return abandoned(c)
	}
	x, err := f.ended()
	if err != nil {
		var ok bool
		if x, ok = h.endCutOff(ctx, f, c); !ok {
			return loop.Outcome{Kind: loop.RunDetached}
		}
	}
	if x.StartError != "" {
		return unreached(errors.New(x.StartError))
	}
	agent, agentErr := h.o.Agents(harnessName)
	seen, err := f.seen(x)
	if err := errors.Join(agentErr, err); err != nil {
		return failed(fmt.Errorf("read what run %s answered: %w", f.id, err))
	}
	return agent.Read(seen)
}

// endCutOff ends what is left of a run whose starter died without writing down the end.
func (h *Headless) endCutOff(ctx context.Context, f *folder, c claim) (exit, bool) {
	x := f.cutOff(c)
	ok := h.insist(ctx, f.id, "end what is left of a run", func() error {
		l, err := f.launch()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // so nothing was started either
		}
		if err != nil {
			return err
		}
		killed, err := proc.Tree{Root: c.Identity, Cookie: l.env()}.End(ctx, h.o.Grace)
		x.Killed = x.Killed || killed
		return err
	})
	return x, ok
}

// cutOff is what can be said of a run that died with its starter. Its last output is the last sign of life.
func (f *folder) cutOff(c claim) exit {
	x := exit{End: endCutOff, EndedAt: time.Now()}
	if f.has(stopFile) {
		x.End = endStopped
	}
	if info, err := f.root.Stat(stdoutFile); err == nil && !c.StartedAt.IsZero() {
		x.EndedAt = info.ModTime()
		x.TookMS = max(0, x.EndedAt.Sub(c.StartedAt).Milliseconds())
	}
	return x
}

// seen is what the agent gets to judge by.
func (f *folder) seen(x exit) (harness.Exit, error) {
	stdout, err := f.root.ReadFile(stdoutFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return harness.Exit{}, err
	}
	return harness.Exit{
		End: x.End.harness(), Code: x.Code, Signal: x.Signal, Stdout: stdout, Stderr: f.tail(stderrFile, stderrTail), Cut: x.Cut,
		At: x.EndedAt, Took: time.Duration(x.TookMS) * time.Millisecond, Killed: x.Killed,
	}, nil
}
