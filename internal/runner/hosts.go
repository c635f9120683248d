package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// HostsOptions are the hosts that there are. All are needed.
type HostsOptions struct {
	Headless  *Headless
	Terminals func() (*Tmux, error) // the error says why there is none, where tmux is missing
	Panes     string                // the folder of what is known of each terminal (TmuxOptions.Dir)
	Runs      string                // the folder of runs
	Live      Live
	Agents    func(name string) (harness.Agent, error)
	Logger    *slog.Logger
}

// Hosts hosts each session as its record says, headless or in a terminal, but while its conversation is live somewhere else: then
// what is for it is brought there, and nothing is started beside it. It is safe for concurrent use.
type Hosts struct {
	*Headless
	o         HostsOptions
	elsewhere elsewhere
}

// NewHosts returns all hosts as one.
func NewHosts(o HostsOptions) *Hosts {
	return &Hosts{Headless: o.Headless, o: o, elsewhere: elsewhere{runs: o.Runs, live: o.Live, agents: o.Agents, logger: o.Logger}}
}

// abroad returns where a session's conversation is live, if that is not the terminal that Loop has for it.
func (h *Hosts) abroad(s loop.Session) (loop.Presence, bool) {
	here, ok := h.o.Live.Presence(s.WorkItem)
	if !ok {
		return here, false
	}
	if here.Launch == "" || s.Runner != loop.RunnerTmux {
		return here, true
	}
	p, err := readPane(paneFile(h.o.Panes, s.WorkItem))
	return here, err == nil && p.Launch != here.Launch
}

// unheard returns the process that has a session's conversation open by the harness's own list, where no hook tells of it. The one in
// the terminal that Loop has for it is none.
func (h *Hosts) unheard(s loop.Session) (proc.Identity, bool) {
	agent, err := h.o.Agents(s.Harness)
	if err != nil || s.HarnessSessionID == "" {
		return proc.Identity{}, false
	}
	list, ok := agent.(harness.Lister)
	if !ok {
		return proc.Identity{}, false
	}
	open, err := list.Opened(s.HarnessSessionID)
	if err != nil {
		h.o.Logger.Warn("whether a conversation is open in a terminal can't be told", "item", s.WorkItem.Ref(), "err", err)
	}
	own, _ := readPane(paneFile(h.o.Panes, s.WorkItem))
	open = slices.DeleteFunc(open, func(p proc.Identity) bool { return s.Runner == loop.RunnerTmux && p == own.Process })
	if len(open) == 0 {
		return proc.Identity{}, false
	}
	return open[0], true
}

func unheardDetail(s loop.Session, at proc.Identity) string {
	return fmt.Sprintf("the conversation is open in process %d, whose hooks do not tell of it: loopctl hooks install %s", at.PID, s.Harness)
}

// Ready asks the session's own host, unless the conversation is live elsewhere.
func (h *Hosts) Ready(ctx context.Context, s loop.Session) loop.Readiness {
	if here, ok := h.abroad(s); ok {
		return h.elsewhere.ready(s, here)
	}
	if at, ok := h.unheard(s); ok {
		return loop.Readiness{Wait: loop.WaitElsewhere, Detail: unheardDetail(s, at), Again: time.Now().Add(lookAgain), Changed: h.o.Live.Watch(s.WorkItem)}
	}
	if s.Runner != loop.RunnerTmux {
		return h.Headless.Ready(ctx, s)
	}
	t, err := h.o.Terminals()
	if err != nil {
		return loop.Readiness{Wait: loop.WaitTerminal, Detail: loop.Plain(err)}
	}
	return t.Ready(ctx, s)
}

// Deliver hands a prompt to where the conversation is live, else to the session's own host.
func (h *Hosts) Deliver(ctx context.Context, ho loop.Handover) loop.Outcome {
	if here, ok := h.abroad(ho.Session); ok {
		return h.elsewhere.deliver(ctx, ho, here)
	}
	if at, ok := h.unheard(ho.Session); ok {
		return loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitElsewhere, Detail: unheardDetail(ho.Session, at)}
	}
	if ho.Session.Runner != loop.RunnerTmux {
		return h.deliverHeadless(ctx, ho)
	}
	t, err := h.o.Terminals()
	if err != nil {
		return unreached(err)
	}
	return t.Deliver(ctx, ho)
}

// deliverHeadless starts a run once it has the conversation for itself.
func (h *Hosts) deliverHeadless(ctx context.Context, ho loop.Handover) loop.Outcome {
	if !h.o.Live.Lease(ho.Session.WorkItem, ho.Run) {
		return loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitElsewhere, Detail: "somebody has just opened the conversation in a terminal"}
	}
	defer h.o.Live.Release(ho.Session.WorkItem, ho.Run)
	return h.Headless.Deliver(ctx, ho)
}

// Settle asks the host that had the run, which its folder tells: the session may have been replaced since.
func (h *Hosts) Settle(ctx context.Context, ho loop.Handover) loop.Outcome {
	given, err := readHand(h.o.Runs, ho.Run)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h.settleHeadless(ctx, ho)
	case err == nil && given.Process != nil:
		return h.elsewhere.settle(ctx, ho, given)
	}
	t, err := h.o.Terminals()
	if err != nil {
		return unreached(err)
	}
	return t.Settle(ctx, ho)
}

// settleHeadless waits for a run that lives on, unless somebody has opened its conversation meanwhile: then it is ended.
func (h *Hosts) settleHeadless(ctx context.Context, ho loop.Handover) loop.Outcome {
	if h.o.Live.Lease(ho.Session.WorkItem, ho.Run) {
		defer h.o.Live.Release(ho.Session.WorkItem, ho.Run)
	} else if _, err := h.Headless.Terminate(ctx, ho.Run); err != nil && ctx.Err() == nil {
		h.o.Logger.Error("a run could not be ended for the person who has opened its conversation", "item", ho.Session.WorkItem.Ref(), "run", ho.Run, "err", err)
	}
	return h.Headless.Settle(ctx, ho)
}

// Terminate ends a run of any host.
func (h *Hosts) Terminate(ctx context.Context, run loop.RunID) (loop.Termination, error) {
	if h.elsewhere.stops.stop(run) {
		return loop.Termination{Found: true}, nil
	}
	if t, err := h.o.Terminals(); err == nil {
		if ended, err := t.Terminate(ctx, run); err != nil || ended.Found {
			return ended, err
		}
	}
	return h.Headless.Terminate(ctx, run)
}

// End ends what hosts a session. A program in a terminal that is not ours goes on.
func (h *Hosts) End(ctx context.Context, s loop.Session, w loop.Wish) (loop.Termination, error) {
	if s.Runner != loop.RunnerTmux {
		return h.Headless.End(ctx, s, w)
	}
	t, err := h.o.Terminals()
	if err != nil {
		if p, unread := readPane(paneFile(h.o.Panes, s.WorkItem)); unread == nil && proc.Alive(p.Process) {
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
	t, err := h.o.Terminals()
	if err != nil {
		return err
	}
	return t.Transcript(ctx, s, follow, write)
}
