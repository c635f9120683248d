package main

import (
	"context"
	"io"
	"os"
	"time"
)

// Run is the whole program, measuring as little as can be.
func Run(ctx context.Context, args []string, stdout *os.File, stderr io.Writer) int {
	return run(ctx, args, size{
		rounds: 1, load: 100 * time.Millisecond, conns: []int{1, 2}, starts: 1,
		idle: 1, idleFor: 10 * time.Millisecond, sessions: 20, deliveries: 50, panes: []int{1, 2}, waiters: 2,
	}, stdout, stderr)
}
