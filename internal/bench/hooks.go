package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

const hookStdin = `{"session_id":"bench-1","cwd":"/","hook_event_name":"Stop"}`

// hooks measures what an agent waits for at every turn, in whatever state the daemon is, and what hooks that wait cost the daemon.
func (b *bench) hooks(ctx context.Context) (_ []row, err error) {
	p, err := newPlace(b.bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	if _, err := p.start(ctx); err != nil {
		return nil, err
	}
	waiting, err := b.waitingHooks(ctx, p)
	if err != nil {
		return nil, err
	}
	const soon, limit = 25 * time.Millisecond, time.Second
	var rows []row
	for _, state := range []struct {
		name  string
		enter func() error
		hooks int
		aim   time.Duration // of the median
	}{
		{"the daemon up", func() error { return nil }, b.starts, soon},
		{"the daemon hung", func() error { return proc.Signal(p.loopd.child.ID(), syscall.SIGSTOP) }, min(b.starts, 10), limit},
		{"the daemon down", func() error {
			return errors.Join(proc.Signal(p.loopd.child.ID(), syscall.SIGCONT), p.stop(ctx))
		}, b.starts, soon},
		{"the socket's folder gone", func() error {
			p.env = append(p.env, "LOOP_SOCKET="+p.in("gone/loopd.sock"))
			return nil
		}, b.starts, soon},
	} {
		if err := state.enter(); err != nil {
			return nil, fmt.Errorf("%s: %w", state.name, err)
		}
		ours, alone, err := p.hookTimes(ctx, state.hooks)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", state.name, err)
		}
		r := besideTrue("hook latency, "+state.name, ours, alone, state.aim)
		r.loop += ", p99 " + ms(late(ours))
		r.aim += ", p99 < " + ms(limit)
		r.met = said(median(ours) < state.aim && late(ours) < limit)
		rows = append(rows, r)
	}
	return append(rows, waiting...), nil
}

// hookTimes takes the time of one hook after the other, and in turn that of /bin/true.
func (p *place) hookTimes(ctx context.Context, n int) (ours, alone []time.Duration, err error) {
	env := append(p.env, "LOOP_WORK_ITEM=github:acme/shop#1")
	for range n {
		took, err := timed(ctx, proc.Cmd{
			Path: filepath.Join(p.bin, "loopctl"), Args: []string{"hook", "claude"}, Env: env, Dir: p.dir, Stdin: strings.NewReader(hookStdin),
		})
		if err != nil {
			return nil, nil, err
		}
		ours = append(ours, took)
		if took, err = timed(ctx, proc.Cmd{Path: "true", Env: p.env}); err != nil {
			return nil, nil, err
		}
		alone = append(alone, took)
	}
	return ours, alone, nil
}

// waitingHooks measures a daemon that many hooks wait for.
func (b *bench) waitingHooks(ctx context.Context, p *place) ([]row, error) {
	var hooks []*proc.Child
	defer func() {
		for _, hook := range hooks {
			_, _ = proc.Tree{Root: hook.ID()}.Kill()
			hook.Reap()
		}
	}()
	if err := p.startWaiting(ctx, &hooks, 1); err != nil { // what the first call of all costs is no hook's
		return nil, err
	}
	without, _, err := memoryOf(p.loopd.pid())
	if err != nil {
		return nil, err
	}
	if err := p.startWaiting(ctx, &hooks, b.waiters); err != nil {
		return nil, err
	}
	before, err := cpuOf(p.loopd.pid())
	if err != nil {
		return nil, err
	}
	if err := b.rest(ctx); err != nil {
		return nil, err
	}
	after, err := cpuOf(p.loopd.pid())
	if err != nil {
		return nil, err
	}
	with, _, err := memoryOf(p.loopd.pid())
	if err != nil {
		return nil, err
	}
	const aim = 10e6
	what := fmt.Sprintf("%d waiting hooks: ", b.waiters)
	return []row{
		{what: what + "memory of the daemon", loop: mb(with-without) + " more", aim: "< " + mb(aim), met: said(with-without < aim)},
		{what: what + "its processor time", loop: fmt.Sprintf("%s in %s", ms(after-before), b.idleFor), aim: "none", met: said(after == before)},
	}, nil
}

// startWaiting starts n more hooks that wait, each of another conversation, one after the other: so many at once would take longer
// to start than a hook may. They end with this program at the latest.
func (p *place) startWaiting(ctx context.Context, hooks *[]*proc.Child, n int) error {
	if err := os.WriteFile(p.in("told"), []byte(hookStdin), 0o600); err != nil {
		return err
	}
	for range n {
		stdin, err := os.Open(p.in("told"))
		if err != nil {
			return err
		}
		hook, err := proc.Start(proc.Program{
			Path: filepath.Join(p.bin, "loopctl"), Args: []string{"hook", "claude", "wait"}, Dir: p.dir, Stdin: stdin,
			Env: append(p.env, fmt.Sprintf("LOOP_WORK_ITEM=github:acme/shop#%d", len(*hooks)+1)),
		})
		if err := errors.Join(err, stdin.Close()); err != nil {
			return err
		}
		*hooks = append(*hooks, hook)
		if err := p.awaitSockets(ctx, listeners+len(*hooks)); err != nil {
			return err
		}
	}
	return nil
}

// listeners are loopd's own: for the webhook and for loopctl.
const listeners = 2

// awaitSockets waits until the daemon has so many.
func (p *place) awaitSockets(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("a hook did not wait within %s", startLimit))
	defer cancel()
	dir := fmt.Sprintf("/proc/%d/fd", p.loopd.pid())
	for {
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		open := 0
		for _, file := range files {
			if to, err := os.Readlink(filepath.Join(dir, file.Name())); err == nil && strings.HasPrefix(to, "socket:") {
				open++
			}
		}
		if open >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
