package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
)

const (
	settleLook = time.Second      // between two looks whether a turn has ended
	deathTime  = 10 * time.Second // for tmux to tell of the end of a process that is gone
)

// Run takes care of the panes until ctx ends: it finds those of an earlier loopd, saves what a harness showed when it ends, and at
// last what those show that live on. It ends no harness.
func (t *Tmux) Run(ctx context.Context) error {
	t.mu.Lock()
	t.ctx = ctx
	t.mu.Unlock()
	t.resume(ctx)
	<-ctx.Done()
	t.mu.Lock()
	t.ctx = nil
	t.mu.Unlock()
	t.wg.Wait()
	t.recordAll(context.WithoutCancel(ctx))
	return nil
}

// resume takes up the panes that an earlier loopd has left.
func (t *Tmux) resume(ctx context.Context) {
	t.dropLaunches(ctx)
	known := t.all()
	if len(known) == 0 {
		return
	}
	if err := t.o.Server.DropBuffers(ctx); err != nil {
		t.o.Logger.Warn("paste buffers of an earlier loopd may be left", "err", err)
	}
	for _, p := range known {
		f, err := t.find(ctx, p.session())
		switch {
		case err != nil:
			t.o.Logger.Warn("the terminal of a session can't be looked at; it is tried again at its next event", "item", p.Item, "err", err)
		case f.state == tmux.Live:
			if f.Process.PID == 0 {
				t.identify(&f)
			}
			t.watch(f.pane)
		case f.state == tmux.Dead:
			if err := t.record(ctx, f); err != nil {
				t.o.Logger.Warn("what a terminal showed could not be saved", "item", p.Item, "err", err)
			}
		}
	}
}

// recordAll saves what live terminals show, in the few seconds that a stop may take.
func (t *Tmux) recordAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	live, err := t.living(ctx)
	if err != nil {
		return
	}
	for _, f := range live {
		if err := t.record(ctx, f); err != nil {
			t.o.Logger.Warn("what a terminal shows could not be saved", "item", f.pane.Item, "err", err)
		}
	}
}

// End ends the harness in a session's pane, and everything that it started, after the time that a running turn gets; saves what
// the terminal showed; and leaves the dead pane as a record or removes it, as is configured or wished. The error is ErrUnavailable
// while tmux does not tell how the pane is: nothing was done then.
func (t *Tmux) End(ctx context.Context, s loop.Session, w loop.Wish) (loop.Termination, error) {
	f, err := t.find(ctx, s)
	if err != nil {
		return loop.Termination{}, err
	}
	set := t.o.Settings(s.Harness)
	if f.state == tmux.Live && w.OnlyBusy && !t.busy(ctx, f) {
		return loop.Termination{}, nil
	}
	if f.state == tmux.Live && !w.OnlyBusy && !set.EndOnClose && w.Terminal == loop.TerminalAsConfigured {
		return loop.Termination{Retained: f.Session}, nil
	}
	keep := w.Terminal == loop.TerminalKeep || w.Terminal == loop.TerminalAsConfigured && set.KeepOnClose
	switch f.state {
	case tmux.Live:
		t.settle(ctx, f, w.Settle)
	case tmux.Foreign:
		t.o.Logger.Warn("a tmux session that has the name of ours was left alone: it was not started by loopd", "item", s.WorkItem.Ref(),
			"session", f.Name, "look", t.o.Server.AttachLine(f.Name))
	case tmux.Dead:
		if err := t.record(ctx, f); err != nil {
			t.o.Logger.Warn("what a terminal showed could not be saved", "item", f.pane.Item, "err", err)
		}
	case tmux.Unknown, tmux.Absent:
	}
	ended, err := t.endPane(ctx, f, keep)
	if err != nil {
		return ended, err
	}
	now, err := t.find(ctx, s)
	switch {
	case err != nil:
		return ended, err
	case now.state == tmux.Dead && (keep || !t.remove(ctx, now)):
		ended.Retained = now.Session
	case now.state == tmux.Dead, f.state == tmux.Live && now.state == tmux.Absent:
		ended.Removed = f.Session
	}
	return ended, nil
}

// busy reports whether a turn runs in a live pane, or may.
func (t *Tmux) busy(ctx context.Context, f found) bool {
	if here := t.presence(f.pane); here.Turn == loop.TurnIdle {
		return false
	}
	screen, err := t.screen(ctx, f)
	return err != nil || screen.Busy || screen.Dialog != "" || !screen.Composer
}

// settle waits until no turn runs, for at most so long.
func (t *Tmux) settle(ctx context.Context, f found, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for ctx.Err() == nil {
		changed := t.o.Live.Watch(f.item)
		if now, err := t.find(ctx, f.session()); err == nil && now.state != tmux.Live || !t.busy(ctx, f) {
			return
		}
		pauseFor(ctx, settleLook, changed)
	}
}

// endPane saves what a pane shows, which is to stay or not, and ends the harness in it with all that it started, also what outlived
// its pane. The pane outlives its program in any case, so that the last that it showed can be saved. The end of ctx does not stop it
// half way.
func (t *Tmux) endPane(ctx context.Context, f found, keep bool) (loop.Termination, error) {
	ctx = context.WithoutCancel(ctx)
	if f.state != tmux.Live {
		return t.endRest(ctx, f.pane)
	}
	t.mu.Lock()
	t.ends[f.pane.Launch] = ending{keep}
	t.mu.Unlock()
	if err := t.record(ctx, f); err != nil {
		t.o.Logger.Warn("what a terminal shows could not be saved", "item", f.pane.Item, "err", err)
	}
	if err := t.o.Server.Retain(ctx, f.Target()); keep && err != nil {
		t.o.Logger.Warn("a terminal may not stay as a record: what it showed is in loopctl logs", "item", f.pane.Item, "err", err)
	}
	id, ours, err := f.running()
	if err == nil && !ours {
		t.o.Logger.Warn("a terminal runs something else than was started in it, which was left alone", "item", f.pane.Item, "pid", id.PID)
	}
	if err != nil || !ours {
		return t.endRest(ctx, f.pane) // it has ended since
	}
	tree := proc.Tree{Root: id, Group: id.PID, Cookie: f.cookie()}
	killed, err := tree.End(ctx, t.o.Settings(f.Harness).Grace)
	if err != nil {
		return loop.Termination{Found: true, Killed: killed}, fmt.Errorf("end the harness in %s: %w", f.Session, err)
	}
	t.o.Live.Forget(f.item, f.pane.Launch)
	return loop.Termination{Found: true, Killed: killed}, t.awaitDeath(ctx, f)
}

// endRest ends what a launch has left that has no pane any more.
func (t *Tmux) endRest(ctx context.Context, p pane) (loop.Termination, error) {
	if p.Launch == "" {
		return loop.Termination{}, nil
	}
	tree := proc.Tree{Cookie: p.cookie()}
	left, err := tree.Living()
	if err != nil || len(left) == 0 {
		return loop.Termination{}, err
	}
	killed, err := tree.End(ctx, t.o.Settings(p.Harness).Grace)
	return loop.Termination{Found: true, Killed: killed}, err
}

// awaitDeath waits until tmux knows that the process of a pane is gone, and saves the last that it showed.
func (t *Tmux) awaitDeath(ctx context.Context, f found) error {
	for until := time.Now().Add(deathTime); ; {
		now, err := t.find(ctx, f.session())
		switch {
		case err == nil && now.state == tmux.Dead:
			if err := t.record(ctx, now); err != nil {
				t.o.Logger.Warn("what a terminal showed could not be saved", "item", f.pane.Item, "err", err)
			}
			return nil
		case err == nil && now.state != tmux.Live:
			return nil
		case time.Now().After(until):
			return errors.Join(err, fmt.Errorf("tmux says that the harness in %s still runs: %w", f.Session, loop.ErrUnavailable))
		}
		pauseFor(ctx, evidenceLook)
	}
}
