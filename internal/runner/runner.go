// Package runner hosts the processes of coding agents. Headless starts one process for each prompt.
//
// A run outlives loopd: it is the child of a small starter (`loopd exec`, ExecMain) in a session of its own, and everything
// that must be known of it is in its folder. The folder is a protocol that holds whoever of the two is killed when:
//
//	prompt.txt    the prompt, and launch.json, what to run: synced before the starter is started
//	started.json  the claim: linked into place by the starter before it runs anything, or by loopd when it must not run any
//	              more. There is one such file, so a run begins once or never
//	stdout        and stderr, as far as they are kept
//	stop          loopd wants the run to end
//	exit.json     how it ended, written when nothing of it is left
//	exec.log      what the starter itself had to say
//
// The prompt and the answers stay in the folder until Prune; the environment of a run, which may hold secrets, is never there.
// Only processes that loopd started are ever signalled.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// What Options stand for where they say nothing.
const (
	DefaultGrace       = 5 * time.Second
	DefaultAnswerGrace = 10 * time.Second
	DefaultOutputLimit = 64 << 20
)

// retryPause is between two tries of what must not be given up.
const retryPause = 5 * time.Second

// Options say where and how agents are hosted.
type Options struct {
	Dir         string                                   // of the run folders; made where it is missing
	Exec        []string                                 // the starter: an absolute path and first arguments, such as /usr/bin/loopd exec
	Agents      func(name string) (harness.Agent, error) // as configured now
	Logger      *slog.Logger
	Grace       time.Duration // between TERM and KILL; 0: DefaultGrace
	AnswerGrace time.Duration // that a program may stay once it has answered and gone quiet; 0: DefaultAnswerGrace
	OutputLimit int64         // bytes of stdout to keep; 0: DefaultOutputLimit
}

// Headless hosts agents without a terminal, one process for each prompt. Its methods may be called at the same time, for
// different runs and for the same one.
type Headless struct {
	o Options
}

// New returns a Headless and makes its folder, which only its owner can enter.
func New(o Options) (*Headless, error) {
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	o.AnswerGrace = cmp.Or(o.AnswerGrace, DefaultAnswerGrace)
	o.OutputLimit = cmp.Or(o.OutputLimit, DefaultOutputLimit)
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of runs: %w", err)
	}
	return &Headless{o: o}, nil
}

// Ready says that a session is ready: each prompt gets a process of its own.
func (h *Headless) Ready(context.Context, loop.Session) loop.Readiness { return loop.Readiness{} }

// End has nothing to end: between its runs a session has no process.
func (h *Headless) End(context.Context, loop.Session, loop.Wish) (loop.Termination, error) {
	return loop.Termination{}, nil
}

// Deliver hands a prompt to the harness and waits for the end of the run, and of everything that the harness started. When ctx
// ends first the run goes on and the outcome is RunDetached.
func (h *Headless) Deliver(ctx context.Context, ho loop.Handover) loop.Outcome {
	cmd, err := h.command(ho)
	switch {
	case errors.Is(err, loop.ErrNotFound):
		return loop.Outcome{Kind: loop.RunLost, Detail: loop.Plain(err)}
	case err != nil:
		return unreached(err)
	}
	if ctx.Err() != nil {
		return loop.Outcome{Kind: loop.RunDetached} // nothing was begun, as the next start will find
	}
	began(ho)
	f, err := h.prepare(ho, cmd)
	if errors.Is(err, fs.ErrExist) {
		return h.refused(ho.Run, err)
	}
	if err != nil {
		return unreached(fmt.Errorf("prepare run %s: %w", ho.Run, err))
	}
	defer f.close()
	child, err := h.startStarter(f, cmd.Env)
	if err != nil {
		return unreached(fmt.Errorf("start run %s: %w", ho.Run, err))
	}
	if err := child.Exited(ctx); ctx.Err() != nil {
		return loop.Outcome{Kind: loop.RunDetached}
	} else if err != nil {
		h.o.Logger.Warn("the end of a starter can't be waited for; its exit status is", "run", ho.Run, "err", err)
	}
	child.Reap()
	return h.conclude(ctx, f, ho.Session.Harness)
}

// Settle finds out what became of a run of an earlier loopd. It waits for one that is still alive, and makes sure that one that
// had not begun never will (RunNever). When ctx ends first the outcome is RunDetached. Settling twice answers the same.
func (h *Headless) Settle(ctx context.Context, ho loop.Handover) loop.Outcome {
	f, err := openFolder(h.o.Dir, ho.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return loop.Outcome{Kind: loop.RunNever, Detail: "the run had not been started"}
	}
	if err != nil {
		return failed(fmt.Errorf("settle run %s: %w", ho.Run, err))
	}
	defer f.close()
	if !h.insist(ctx, ho.Run, "forbid a run to begin", func() error { return f.forbid(abandonedSettled) }) {
		return loop.Outcome{Kind: loop.RunDetached}
	}
	if c, err := f.claimed(); err == nil {
		if err := proc.Wait(ctx, c.Identity); ctx.Err() != nil {
			return loop.Outcome{Kind: loop.RunDetached}
		} else if err != nil {
			h.o.Logger.Warn("a run that is alive can't be waited for and is ended", "run", ho.Run, "err", err)
		}
	}
	return h.conclude(ctx, f, ho.Session.Harness)
}

// command is the command line of a handover.
func (h *Headless) command(ho loop.Handover) (harness.Command, error) {
	agent, err := h.o.Agents(ho.Session.Harness)
	if err != nil {
		return harness.Command{}, err
	}
	turn := harness.Turn{
		Item: ho.Session.WorkItem, ID: ho.Session.HarnessSessionID, Cwd: ho.Session.Cwd, Prompt: ho.Prompt,
	}
	if ho.Fresh {
		return agent.Start(turn)
	}
	return agent.Resume(turn)
}

// startStarter starts the starter of a prepared run, with the harness's own environment, so that this is in no file.
func (h *Headless) startStarter(f *folder, env []string) (*proc.Child, error) {
	log, err := f.root.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	dir, err := filepath.Abs(h.o.Dir)
	if err != nil {
		return nil, err
	}
	if env == nil {
		env = []string{} // nil would be our own
	}
	args := append(h.o.Exec[1:len(h.o.Exec):len(h.o.Exec)], "--runs", dir, string(f.id))
	return proc.Detach(proc.Program{Path: h.o.Exec[0], Args: args, Env: env, Dir: dir, Stdout: log, Stderr: log})
}

// insist tries until it succeeds; false when ctx ended before.
func (h *Headless) insist(ctx context.Context, run loop.RunID, what string, try func() error) bool {
	for said := false; ; said = true {
		err := try()
		if err == nil {
			return true
		}
		if !said {
			h.o.Logger.Error("trying again until it succeeds", "what", what, "run", run, "err", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retryPause):
		}
	}
}

// began tells whoever wants to know that nothing is waited for any more.
func began(ho loop.Handover) {
	if ho.Began != nil {
		ho.Began()
	}
}

func unreached(err error) loop.Outcome {
	return loop.Outcome{Kind: loop.RunUnreached, Detail: loop.Plain(err)}
}

func failed(err error) loop.Outcome {
	return loop.Outcome{Kind: loop.RunFailed, Detail: loop.Plain(err)}
}
