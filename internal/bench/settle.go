package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// settleLimit is for how long loopd may go on with what it has taken.
const settleLimit = 2 * time.Minute

// decided waits until loopd has decided all that it has taken, so that no round pays for another.
func (p *place) decided(ctx context.Context) error { return p.without(ctx, "received") }

// quiet waits until loopd has nothing to do.
func (p *place) quiet(ctx context.Context) error {
	return p.without(ctx, "received", "queued", "running", "waiting")
}

// without waits until no delivery is in any of the states.
func (p *place) without(ctx context.Context, states ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleLimit, fmt.Errorf("deliveries were still %v after %s", states, settleLimit))
	defer cancel()
	for {
		out, err := proc.Run(ctx, proc.Cmd{Path: filepath.Join(p.bin, "loopctl"), Args: []string{"status", "-o", "json"}, Env: p.env, Dir: p.dir})
		if err != nil {
			return err
		}
		var status struct{ Deliveries map[string]int64 }
		if err := json.Unmarshal(out.Stdout, &status); err != nil {
			return fmt.Errorf("read the status: %w", err)
		}
		var n int64
		for _, state := range states {
			n += status.Deliveries[state]
		}
		if n == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
