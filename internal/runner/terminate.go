package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// starterMargin is what a starter gets beyond the grace of its program before it is ended itself.
const starterMargin = 5 * time.Second

// Terminate ends a run and everything it started, and returns when it is verified gone. A run that has not begun never will.
// Its Deliver or Settle then answers RunEnded, or with the answer that the harness had given before. The end of ctx cuts the
// grace short.
func (h *Headless) Terminate(ctx context.Context, run loop.RunID) (loop.Termination, error) {
	t, err := h.terminate(ctx, run)
	if err != nil {
		return t, fmt.Errorf("end run %s: %w", run, err)
	}
	return t, nil
}

func (h *Headless) terminate(ctx context.Context, run loop.RunID) (loop.Termination, error) {
	f, err := openFolder(h.o.Dir, run)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = makeFolder(h.o.Dir, run) // so that its Deliver, which is on its way, can't
	}
	if errors.Is(err, fs.ErrExist) {
		f, err = openFolder(h.o.Dir, run) // it just has
	}
	if err != nil {
		return loop.Termination{}, err
	}
	defer f.close()
	if err := f.forbid(abandonedStopped); err != nil {
		return loop.Termination{}, err
	}
	c, err := f.claimed()
	if err != nil {
		return loop.Termination{}, err
	}
	if c.Abandoned != "" {
		return loop.Termination{}, nil
	}
	if !proc.Alive(c.Identity) {
		return h.endLeftovers(ctx, f)
	}
	if err := f.mark(stopFile); err != nil {
		return loop.Termination{}, err
	}
	return h.endStarter(ctx, f, c)
}

// endLeftovers ends what a dead starter may have left: nothing, if it wrote down the end.
func (h *Headless) endLeftovers(ctx context.Context, f *folder) (loop.Termination, error) {
	if _, err := f.ended(); err == nil {
		return loop.Termination{}, nil
	}
	l, err := f.launch()
	if err != nil {
		return loop.Termination{}, err
	}
	tree := proc.Tree{Cookie: l.env()}
	left, err := tree.Living()
	if err != nil || len(left) == 0 {
		return loop.Termination{}, err
	}
	if err := f.mark(stopFile); err != nil {
		return loop.Termination{}, err
	}
	killed, err := tree.End(ctx, h.o.Grace)
	return loop.Termination{Found: true, Killed: killed}, err
}

// endStarter asks a starter to end its program, which it does with the grace. One that does not is killed with all of it.
func (h *Headless) endStarter(ctx context.Context, f *folder, c claim) (loop.Termination, error) {
	l, err := f.launch()
	if err != nil {
		return loop.Termination{}, err
	}
	tree := proc.Tree{Root: c.Identity, Cookie: l.env()}
	before, err := tree.Living()
	if err != nil {
		return loop.Termination{}, err
	}
	killed, err := tree.End(ctx, l.grace()+starterMargin)
	x, readErr := f.ended()
	if readErr != nil {
		h.o.Logger.Warn("a starter did not end its run and was killed with it", "run", f.id)
		// What it left was killed here, or by the Deliver or Settle that saw it die: these race.
		killed = killed || slices.ContainsFunc(before, func(id proc.Identity) bool { return id != c.Identity })
	}
	return loop.Termination{Found: true, Killed: killed || x.Killed}, err
}
