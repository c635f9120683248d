package dispatch

import (
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// lastProbe is the longest wait before a held harness is probed, where it does not name a time.
const lastProbe = 15 * time.Minute

// hold is a harness that cannot work now. When its time comes, one run goes ahead as a probe.
type hold struct {
	Hold
	wait    time.Duration // the last wait
	probing bool          // a run is finding out
}

func (h *hold) mayProbe(now time.Time) bool { return !h.probing && !h.Until.After(now) }

// again is when those who wait should look again: zero while a probe runs, whose end wakes them.
func (h *hold) again() time.Time {
	if h.probing {
		return time.Time{}
	}
	return h.Until
}

// holdHarness records that a harness said that it cannot work now, and reports whether that is news.
func (d *Dispatcher) holdHarness(harness string, out loop.Outcome, now time.Time) bool {
	defer d.pokeAll()
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.holds[harness]
	news := h == nil || h.Reason != out.Reason
	if h == nil {
		h = &hold{}
		d.holds[harness] = h
	}
	h.wait = min(max(d.ProbeBase, 2*h.wait), lastProbe)
	if news {
		h.wait = d.ProbeBase
	}
	h.Hold = Hold{Harness: harness, Reason: out.Reason, Detail: out.Detail, Until: now.Add(h.wait)}
	if out.Until.After(now) {
		h.Until = out.Until
	}
	h.probing = false
	return news
}

// freeHarness records that a harness works, and wakes those who waited for it.
func (d *Dispatcher) freeHarness(harness string) {
	d.mu.Lock()
	_, was := d.holds[harness]
	delete(d.holds, harness)
	d.mu.Unlock()
	if was {
		d.pokeAll()
	}
}

// probe marks that a run of the harness is about to find out whether it works again. It reports false when another one
// does so already.
func (d *Dispatcher) probe(harness string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.holds[harness]
	if h == nil {
		return true
	}
	if !h.mayProbe(now) {
		return false
	}
	h.probing = true
	return true
}

// probeSoon lets every held harness be probed now.
func (d *Dispatcher) probeSoon(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.holds {
		if h.Until.After(now) {
			h.Until = now
		}
	}
}

// unprobe takes back a probe that did not come to run, or whose run was ended before it told anything.
func (d *Dispatcher) unprobe(harness string) {
	d.mu.Lock()
	h := d.holds[harness]
	if h != nil {
		h.probing = false
	}
	d.mu.Unlock()
	if h != nil {
		d.pokeAll()
	}
}
