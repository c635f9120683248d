package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// register measures what a hook waits for: loopctl sessions register, with a daemon that is there and with none.
func (b *bench) register(ctx context.Context) (_ []row, err error) {
	p, err := newPlace(b.bin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	without, alone, err := b.registerTimes(ctx, p, 0)
	if err != nil {
		return nil, err
	}
	if _, err := p.start(ctx); err != nil {
		return nil, err
	}
	with, aloneToo, err := b.registerTimes(ctx, p, b.starts)
	if err != nil {
		return nil, err
	}
	const aim = 15 * time.Millisecond
	return []row{
		besideTrue("loopctl sessions register, whole process", with, aloneToo, aim),
		besideTrue("the same without a daemon", without, alone, aim),
	}, nil
}

// registerTimes takes the time of registering one item after the other, and in turn that of /bin/true.
func (b *bench) registerTimes(ctx context.Context, p *place, first int) (ours, alone []time.Duration, err error) {
	for i := range b.starts {
		took, err := p.loopctl(ctx, registration(first+i+1)...)
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

// besideTrue is the row of a program whose yardstick is true, which does nothing.
func besideTrue(what string, ours, alone []time.Duration, aim time.Duration) row {
	return row{
		what: what, loop: "p50 " + ms(median(ours)), beside: "true: " + ms(median(alone)),
		ratio: fmt.Sprintf("%.1f", float64(median(ours))/float64(median(alone))), aim: "p50 < " + ms(aim), met: said(median(ours) < aim),
	}
}
