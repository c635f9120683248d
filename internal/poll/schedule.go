package poll

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

const (
	// catchUp is how often repositories are asked about at least in which sessions work.
	catchUp = 5 * time.Minute
	// beat is how often Run looks whether the machine was asleep.
	beat = 30 * time.Second
	// slack is by how much the clock on the wall may run ahead of the running time before the machine was asleep.
	slack = 20 * time.Second
	// longestPause bounds how long a repository is left alone that could not be asked about.
	longestPause = 15 * time.Minute
	// longestSpread is within which time after the end of a limit all repositories of a host are asked about.
	longestSpread = 5 * time.Second
)

// Run asks about each repository in its time until ctx ends: at the start, after the machine was asleep, and at intervals
// which vary a little, so that not all are asked about in one second for ever.
func (p *Poller) Run(ctx context.Context) error {
	last := time.Now()
	for ctx.Err() == nil {
		if now := time.Now(); slept(now.Round(0).Sub(last.Round(0)), now.Sub(last)) {
			p.Logger.Info("the machine was asleep: all repositories are asked about")
			p.hurry()
		}
		last = time.Now()
		next := p.runDue(ctx)
		timer := time.NewTimer(min(time.Until(next), beat))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-p.poke:
		}
		timer.Stop()
	}
	return nil
}

// slept reports whether the machine stood still for a part of the time that passed on the wall.
func slept(wall, running time.Duration) bool { return wall-running > slack }

// hurry has every repository asked about at once.
func (p *Poller) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.paces)
}

// runDue asks about what is due, and returns when the next is.
func (p *Poller) runDue(ctx context.Context) time.Time {
	next := time.Now().Add(catchUp)
	for _, t := range p.targets() {
		if ctx.Err() != nil {
			return next
		}
		if time.Now().Before(p.report(t).Next) || !p.take(ctx) {
			continue
		}
		p.cycle(ctx, t, false)
		<-p.turn
	}
	for _, t := range p.targets() {
		if at := p.report(t).Next; at.Before(next) {
			next = at
		}
	}
	return next
}

// Poll runs one cycle over all repositories now, after the one that runs, and returns what each came to. A person asks for it, so
// that a token which was refused is looked for anew.
func (p *Poller) Poll(ctx context.Context) ([]Report, error) {
	if !p.take(ctx) {
		return nil, context.Cause(ctx)
	}
	defer func() {
		<-p.turn
		p.Refresh() // each repository is due at another time now
	}()
	p.Source.Renew()
	var all []Report
	for _, t := range p.targets() {
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		p.cycle(ctx, t, true)
		all = append(all, p.report(t))
	}
	return all, nil
}

// take waits until no other cycle runs; false when ctx has ended.
func (p *Poller) take(ctx context.Context) bool {
	select {
	case p.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// targets returns what is to be asked about: what is watched, and where sessions work.
func (p *Poller) targets() []target {
	all := map[string]target{}
	for _, w := range p.Settings().Watches {
		t := all[target{repo: w.Repo}.key()]
		t.repo, t.watches = w.Repo, append(t.watches, w)
		all[t.key()] = t
	}
	for _, s := range p.Sessions() {
		if !s.Open() || !p.Source.Owns(s.WorkItem) {
			continue
		}
		t := target{repo: loop.Repo{Host: s.WorkItem.Host, Owner: s.WorkItem.Owner, Name: s.WorkItem.Repo}}
		if known, there := all[t.key()]; there {
			t = known
		}
		t.worked = true
		all[t.key()] = t
	}
	var sorted []target
	for _, key := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[key])
	}
	return sorted
}

// cycle asks about one repository, and notes what came of it and when it is its turn again.
func (p *Poller) cycle(ctx context.Context, t target, asked bool) {
	count, err := p.ask(ctx, t, asked)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	last := p.paceOf(t)
	before := last.Trouble
	last.Count, last.Trouble = count, ""
	if err != nil {
		last.failures++
		if t.watched() || !errors.Is(err, loop.ErrDenied) { // else nobody asked for it: a missing token is no trouble
			last.Trouble = loop.Plain(err)
		}
	} else {
		last.failures, last.At = 0, time.Now()
	}
	last.ended, last.limited, last.spread = time.Now(), p.Source.Limited(t.repo.Host), rand.Float64() //nolint:gosec // it spreads requests
	trouble := last.Trouble
	p.mu.Unlock()
	p.tell(ctx, t, outcome{count, err, before, trouble, asked})
}

// paceOf returns how the asking about a repository goes. The caller holds mu.
func (p *Poller) paceOf(t target) *pace {
	if p.paces[t.key()] == nil {
		p.paces[t.key()] = &pace{}
	}
	return p.paces[t.key()]
}

// nextTime returns when a repository is asked about again: later with each failure, and when its host wants requests again where
// that has named a time. The zero time is at once.
func (p *Poller) nextTime(t target, last *pace) time.Time {
	if last.ended.IsZero() {
		return time.Time{}
	}
	every := catchUp
	if t.watched() {
		every = p.Settings().Interval
	}
	if t.worked || last.failures > 0 {
		every = min(every, catchUp)
	}
	if last.failures > 0 {
		every = min(every<<min(last.failures-1, 10), longestPause)
	}
	next := last.ended.Add(every + last.spreads(every/10))
	until := p.Source.Limited(t.repo.Host)
	if last.failures > 0 && until.IsZero() {
		until = last.limited
	}
	if until.After(next) || last.failures > 0 && !until.IsZero() {
		next = until.Add(last.spreads(longestSpread))
	}
	return next
}

// spreads returns a part of a time, another after each cycle.
func (p *pace) spreads(most time.Duration) time.Duration {
	return time.Duration(p.spread * float64(most))
}

// outcome is what came of a cycle.
type outcome struct {
	count           Count
	err             error
	before, trouble string // of the last cycle, and of this
	asked           bool   // by a person
}

// tell writes down how a cycle went: each, for those who look closely; what it found, and that it began to fail or to work
// again, for everybody.
func (p *Poller) tell(ctx context.Context, t target, o outcome) {
	repo := repoName(t.repo)
	p.Logger.Debug("a repository was asked about", "repo", repo, "items", o.count.Items, "deliveries", o.count.Deliveries,
		"closures", o.count.Closures, "errors", o.count.Errors, "again", o.count.Again, "err", o.err)
	switch {
	case o.err == nil && o.before != "":
		p.Logger.Info("a repository answers again", "repo", repo)
	case o.trouble != "" && o.before == "":
		p.Logger.Warn("a repository cannot be asked about", "repo", repo, "err", o.err)
		p.Log.Log(ctx, loop.LogEvent{Type: loop.LogPollProviderError, Message: o.trouble, Fields: map[string]string{"repo": repo}})
	}
	if o.err == nil && (o.asked || o.before != "" || o.count.Deliveries > 0 || o.count.Again > 0) {
		p.Log.Log(ctx, loop.LogEvent{Type: loop.LogPollCycle, Message: o.count.String(), Fields: o.count.fields(repo)})
	}
}
