package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// ingress measures how many deliveries loopd takes, each on disk before its answer, beside a receiver that keeps nothing. All
// of them are comments by a stranger, which are dropped: what more is done is an agent's work and not ingress.
func (b *bench) ingress(ctx context.Context) ([]row, error) {
	var rows []row
	for _, bytes := range []int{small, large} {
		for _, conns := range b.conns {
			r, err := b.ingressOf(ctx, conns, bytes)
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// aims of the ingress: the share of the yardstick's rate, the 99th percentile and the memory.
func ingressAims(conns, bytes int) (share float64, p99 time.Duration, memory int64) {
	switch {
	case conns == 16 && bytes == small:
		return 0.25, 25 * time.Millisecond, 0
	case conns == 16 && bytes == large:
		return 0.35, 60 * time.Millisecond, 0
	case conns == 64 && bytes == large:
		return 0, 0, 60e6
	}
	return 0, 0, 0
}

// loaded is what was seen in all rounds of one receiver.
type loaded struct {
	rates    []float64
	p50, p99 []time.Duration
	cpu      []time.Duration // for one delivery
	failed   int
}

func (l *loaded) add(s sample, cpu time.Duration) {
	l.rates = append(l.rates, s.rate())
	l.p50 = append(l.p50, s.quantile(0.50))
	l.p99 = append(l.p99, s.quantile(0.99))
	l.cpu = append(l.cpu, cpu/time.Duration(max(1, len(s.latencies))))
	l.failed += s.failed
}

func (l *loaded) String() string {
	return fmt.Sprintf("%.0f/s, p50 %s, p99 %s, CPU %.2f ms, %d failed",
		median(l.rates), ms(median(l.p50)), ms(median(l.p99)), float64(median(l.cpu))/1e6, l.failed)
}

func (b *bench) ingressOf(ctx context.Context, conns, bytes int) (_ row, err error) {
	p, err := newPlace(b.bin)
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, p.remove(ctx)) }()
	if _, err := p.start(ctx); err != nil {
		return row{}, err
	}
	floor, err := launch(proc.Program{Path: b.self, Args: []string{floorRole, p.secret}, Env: p.env, Dir: p.dir})
	if err != nil {
		return row{}, err
	}
	defer func() { err = errors.Join(err, floor.end(context.WithoutCancel(ctx))) }()
	floorAddr, err := floor.says(ctx, "")
	if err != nil {
		return row{}, err
	}
	from := newStock([]byte(p.secret), bytes, uint64(conns))
	perSecond := 8000
	if bytes == large {
		perSecond = 2000
	}
	var ours, theirs loaded
	var ratios []float64
	for range b.rounds {
		from.sign(int(float64(perSecond) * b.load.Seconds()))
		for _, one := range []struct {
			addr string
			pid  int
			into *loaded
		}{{floorAddr, floor.pid(), &theirs}, {p.addr, p.loopd.pid(), &ours}} {
			before, _ := cpuOf(one.pid) // where it cannot be read it is 0
			s, err := load(ctx, one.addr, conns, from, b.load)
			if err != nil {
				return row{}, err
			}
			after, _ := cpuOf(one.pid)
			one.into.add(s, after-before)
		}
		ratios = append(ratios, ours.rates[len(ours.rates)-1]/theirs.rates[len(theirs.rates)-1])
		if err := p.decided(ctx); err != nil {
			return row{}, err
		}
	}
	_, peak, _ := memoryOf(p.loopd.pid())
	return ingressRow(conns, bytes, &ours, &theirs, median(ratios), peak), nil
}

func ingressRow(conns, bytes int, ours, theirs *loaded, ratio float64, peak int64) row {
	share, p99, memory := ingressAims(conns, bytes)
	var aims []string
	met := true
	if share > 0 {
		aims, met = append(aims, fmt.Sprintf("≥ %.2f", share), "p99 < "+ms(p99)), ratio >= share && median(ours.p99) < p99
	}
	if memory > 0 {
		aims, met = append(aims, "< "+mb(memory)), met && peak < memory
	}
	if conns == 64 {
		aims, met = append(aims, "0 failed"), met && ours.failed == 0
	}
	r := row{
		what: fmt.Sprintf("ingress, %d × %d KB", conns, bytes>>10),
		loop: fmt.Sprintf("%v, peak %s", ours, mb(peak)), beside: theirs.String(), ratio: fmt.Sprintf("%.2f", ratio),
	}
	if len(aims) > 0 {
		r.aim, r.met = strings.Join(aims, ", "), said(met)
	}
	return r
}
