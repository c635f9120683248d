package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// Hosts hosts each session as its record says: headless, or in a terminal. It is safe for concurrent use.
type Hosts struct {
	*Headless
	panes     string
	terminals func() (*Tmux, error)
}

// NewHosts returns both hosts as one. Terminals says why there is none, where tmux is missing; panes is the folder of what is
// known of each (TmuxOptions.Dir).
func NewHosts(h *Headless, panes string, terminals func() (*Tmux, error)) *Hosts {
	return &Hosts{h, panes, terminals}
}

// Ready asks the session's own host.
func (h *Hosts) Ready(ctx context.Context, s loop.Session) loop.Readiness {
	if s.Runner != loop.RunnerTmux {
		return h.Headless.Ready(ctx, s)
	}
	t, err := h.terminals()
	if err != nil {
		return loop.Readiness{Wait: loop.WaitTerminal, Detail: loop.Plain(err)}
	}
	return t.Ready(ctx, s)
}

// Deliver hands a prompt to the session's own host.
func (h *Hosts) Deliver(ctx context.Context, ho loop.Handover) loop.Outcome {
	if ho.Session.Runner != loop.RunnerTmux {
		return h.Headless.Deliver(ctx, ho)
	}
	t, err := h.terminals()
	if err != nil {
		return unreached(err)
	}
	return t.Deliver(ctx, ho)
}

// Settle asks the host that had the run, which its folder tells: the session may have been replaced since.
func (h *Hosts) Settle(ctx context.Context, ho loop.Handover) loop.Outcome {
	if _, err := readHand(h.o.Dir, ho.Run); errors.Is(err, fs.ErrNotExist) {
		return h.Headless.Settle(ctx, ho)
	}
	t, err := h.terminals()
	if err != nil {
		return unreached(err)
	}
	return t.Settle(ctx, ho)
}

// Terminate ends a run of either host.
func (h *Hosts) Terminate(ctx context.Context, run loop.RunID) (loop.Termination, error) {
	if t, err := h.terminals(); err == nil {
		if ended, err := t.Terminate(ctx, run); err != nil || ended.Found {
			return ended, err
		}
	}
	return h.Headless.Terminate(ctx, run)
}

// End ends what hosts a session.
func (h *Hosts) End(ctx context.Context, s loop.Session, w loop.Wish) (loop.Termination, error) {
	if s.Runner != loop.RunnerTmux {
		return h.Headless.End(ctx, s, w)
	}
	t, err := h.terminals()
	if err != nil {
		if p, unread := readPane(paneFile(h.panes, s.WorkItem)); unread == nil && proc.Alive(p.Process) {
			return loop.Termination{}, fmt.Errorf("the agent of %s lives in a terminal, and there is no tmux to end it with: %w", s.WorkItem, err)
		}
		return loop.Termination{}, nil // without a terminal there is nothing to end
	}
	return t.End(ctx, s, w)
}

// Transcript writes what a session's own host has of it.
func (h *Hosts) Transcript(ctx context.Context, s loop.Session, follow bool, write func(text string) error) error {
	if s.Runner != loop.RunnerTmux {
		return h.Headless.Transcript(ctx, s, follow, write)
	}
	t, err := h.terminals()
	if err != nil {
		return err
	}
	return t.Transcript(ctx, s, follow, write)
}
