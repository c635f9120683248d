package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// idleDaemon measures a daemon that has sessions and nothing to do: its memory, and how often it is woken by nobody.
func (b *bench) idleDaemon(ctx context.Context) (_ []row, err error) {
	p, err := newPlace(b.bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	if _, err := p.start(ctx); err != nil {
		return nil, err
	}
	for i := range b.idle {
		if _, err := p.loopctl(ctx, registration(i+1)...); err != nil {
			return nil, err
		}
	}
	before, err := wakeUpsOf(p.loopd.pid())
	if err != nil {
		return nil, err
	}
	if err := b.rest(ctx); err != nil {
		return nil, err
	}
	after, err := wakeUpsOf(p.loopd.pid())
	if err != nil {
		return nil, err
	}
	now, _, err := memoryOf(p.loopd.pid())
	if err != nil {
		return nil, err
	}
	const aim = 40e6
	woken := float64(after-before) / b.idleFor.Seconds()
	return []row{
		{what: fmt.Sprintf("idle daemon, %d sessions: memory", b.idle), loop: mb(now), aim: "< " + mb(aim), met: said(now < aim)},
		{
			what: "the same: wake-ups of all threads", loop: fmt.Sprintf("%.1f/s over %s", woken, b.idleFor),
			aim: "no polling", met: said(woken < 1),
		},
	}, nil
}

// rest lets a daemon be that has nothing to do.
func (b *bench) rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(b.idleFor):
		return nil
	}
}
