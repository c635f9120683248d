package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
)

// turnLimit is for an agent in a terminal to begin a turn, and to end it.
const turnLimit = time.Minute

// terminals measures agents in tmux: how long after a 202 an idle one begins its turn, and what it costs to look at all of them.
func (b *bench) terminals(ctx context.Context) ([]row, error) {
	if _, err := tmux.New(ctx, tmux.Options{Dir: os.TempDir()}); err != nil {
		fmt.Fprintf(b.log, "bench: terminals are left out: %v\n", err)
		return nil, nil
	}
	var rows []row
	for _, way := range []struct {
		name   string
		hooked bool
	}{{"by hook", true}, {"by typing", false}} {
		took, err := b.turns(ctx, way.hooked)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		rows = append(rows, row{what: "from the 202 to a turn in an idle terminal, " + way.name, loop: "p50 " + ms(median(took))})
	}
	probes, err := b.probes(ctx)
	return append(rows, probes...), err
}

// turns measures one session whose agent is told one thing after the other.
func (b *bench) turns(ctx context.Context, hooked bool) (took []time.Duration, err error) {
	p, err := newPlace(b.bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	if err := p.installAgent(hooked); err != nil {
		return nil, err
	}
	if _, err := p.start(ctx); err != nil {
		return nil, err
	}
	if _, err := p.loopctl(ctx, append(registration(1), "--runner", "tmux")...); err != nil {
		return nil, err
	}
	for n := range b.starts + 1 {
		answered, err := p.comment(ctx, 1, int64(n+1))
		if err != nil {
			return nil, err
		}
		began, err := p.turn(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w\n%s", n+1, err, p.loopd.said())
		}
		if err := p.quiet(ctx); err != nil {
			return nil, err
		}
		if n > 0 { // the first has also started the agent
			took = append(took, began.Sub(answered))
		}
	}
	return took, nil
}

// installAgent makes the stand-in for Claude Code the harness, in a folder that it trusts.
func (p *place) installAgent(hooked bool) error {
	command, err := agenttest.Install(p.dir, "claude")
	if err != nil {
		return err
	}
	trust, err := json.Marshal(map[string]any{"projects": map[string]any{p.dir: map[string]bool{"hasTrustDialogAccepted": true}}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.in(".claude.json"), trust, 0o600); err != nil {
		return err
	}
	settings, err := os.ReadFile(p.in("loop.toml"))
	if err != nil {
		return err
	}
	text := strings.Replace(string(settings), p.in("harness"), command, 1)
	text = strings.Replace(text, "join_seconds = 0", "join_seconds = 0\nmax_runs_per_hour = 1000", 1)
	text += fmt.Sprintf("[harness.claude.env]\n%s = %q\n[hooks]\ndeliver_live = %t\n", agenttest.EnvRecord, p.in("record"), hooked)
	return os.WriteFile(p.in("loop.toml"), []byte(text), 0o600) //nolint:gosec // the file of furnish
}

// turn waits until a turn of the agent in the terminal has ended, and returns when it began.
func (p *place) turn(ctx context.Context, n int) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, turnLimit, fmt.Errorf("it had not ended after %s", turnLimit))
	defer cancel()
	for {
		runs, err := agenttest.ReadRuns(p.in("record"))
		if err != nil {
			return time.Time{}, err
		}
		if len(runs) > 0 && len(runs[0].Did(agenttest.ActAnswer)) > n {
			return runs[0].Did(agenttest.ActTurn)[n].At, nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// probes measures one look at all terminals, beside a tmux that only lists them.
func (b *bench) probes(ctx context.Context) (rows []row, err error) {
	p, err := newPlace(b.bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	dir := p.in("tmux")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	server, err := tmux.New(ctx, tmux.Options{Dir: dir, Environ: p.env})
	if err != nil {
		return nil, err
	}
	if err := server.Ensure(ctx); err != nil {
		return nil, err
	}
	list := proc.Cmd{Path: server.Binary(), Args: []string{"-S", server.Socket(), "list-panes", "-a"}, Env: p.env, Dir: p.dir}
	open := 0
	for _, panes := range b.panes {
		for ; open < panes; open++ {
			name := fmt.Sprintf("bench-%d", open)
			launch := tmux.Launch{Session: tmux.Name(name), Mark: fmt.Sprintf("%016x", open+1), Key: name, Argv: []string{"/bin/sleep", "1800"}}
			if _, err := server.Spawn(ctx, launch); err != nil {
				return nil, err
			}
		}
		var ours, bare []time.Duration
		for range b.starts {
			begun := time.Now()
			if _, err := server.Probe(ctx); err != nil {
				return nil, err
			}
			ours = append(ours, time.Since(begun))
			took, err := timed(ctx, list)
			if err != nil {
				return nil, err
			}
			bare = append(bare, took)
		}
		rows = append(rows, row{
			what: fmt.Sprintf("a look at all terminals, %d of them", panes), loop: "p50 " + ms(median(ours)),
			beside: "tmux list-panes -a: " + ms(median(bare)), ratio: fmt.Sprintf("%.1f", float64(median(ours))/float64(median(bare))),
		})
	}
	return rows, nil
}
