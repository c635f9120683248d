package session

import (
	"cmp"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

const (
	// maxShown is how many runs are remembered as shown. Whoever waits for one learns of it at once.
	maxShown = 4096
	// overtaking is how long ago at most something was that is told after what came later: hooks run beside each other. What seems
	// to be older was told before the clock was put back.
	overtaking = 10 * time.Second
)

// Live is what hooks told of the conversations that are live now, the wake hooks that wait in them, and which run of ours writes
// into a conversation that is live nowhere. A program counts while its process lives, which is looked at whenever it is asked for.
// It is safe for concurrent use, and nothing but Wait blocks.
type Live struct {
	o    LiveOptions
	root *os.Root // nil: nothing is kept

	mu     sync.Mutex // guards all below
	places map[loop.ItemKey]*place
	shown  map[loop.RunID]bool
	order  []loop.RunID // those of shown, the oldest first
}

// LiveOptions say where presence is kept and how processes are known. The zero LiveOptions keep it in memory alone.
type LiveOptions struct {
	// Dir is the folder where presence outlives loopd; made where it is missing.
	Dir    string
	Logger *slog.Logger // of what cannot be kept; needed with Dir

	// Wakes says whether wake hooks are used now. Nil: they are.
	Wakes func() bool
	// Prove names the process that a hook's caller claims to belong to, and whether it does. Nil: by the process table.
	Prove func(claimed, caller int) (loop.Process, bool)
	// Alive reports whether the very process runs. Nil: by the process table.
	Alive func(loop.Process) bool
}

// place is what is known of one work item.
type place struct {
	item     loop.WorkItem
	programs []*loop.Presence // in the order in which they came: the first is the one that is present
	waiters  []*waiter        // the newest last
	writer   loop.RunID       // the headless run that has the conversation; "" none has
	watch    chan struct{}    // closed at the next change; nil while nobody watches
	kept     []byte           // what its file says
}

// NewLive returns a Live that knows of nothing and keeps nothing.
func NewLive() *Live {
	return &Live{
		o:      LiveOptions{}.whole(),
		places: map[loop.ItemKey]*place{},
		shown:  map[loop.RunID]bool{},
	}
}

// OpenLive returns a Live that knows of the programs which an earlier one has left in the folder and which live on.
func OpenLive(o LiveOptions) (*Live, error) {
	l := NewLive()
	l.o = o.whole()
	if o.Dir == "" {
		return l, nil
	}
	return l, l.load()
}

func (o LiveOptions) whole() LiveOptions {
	if o.Wakes == nil {
		o.Wakes = func() bool { return true }
	}
	if o.Prove == nil {
		o.Prove = prove
	}
	if o.Alive == nil {
		o.Alive = func(p loop.Process) bool { return proc.Alive(proc.Identity(p)) }
	}
	return o
}

// prove looks for the claimed process among those that the caller descends from.
func prove(claimed, caller int) (loop.Process, bool) {
	for id := range proc.Lineage(caller) {
		if id.PID == claimed {
			return loop.Process(id), true
		}
	}
	return loop.Process{}, false
}

// Report takes in what a hook told. The program that came first is present until it is gone; another one that has the same
// conversation open follows it. A start in a pane of ours takes the place of the pane's earlier launches. What a headless run of ours
// tells changes nothing but for the runs that it shows; neither does a program outside of our panes whose process is not proven,
// since nobody could say later whether it lives. It returns whether the program now asks a person for something that it did not ask
// before.
func (l *Live) Report(r loop.Report) (asks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.show(r.Runs)
	if r.Item.IsZero() {
		return false
	}
	pl := l.at(r.Item)
	if r.Run == "" {
		asks = l.hear(pl, r)
	}
	l.changed(pl)
	return asks
}

// hear changes the program that a report is about, and returns whether that has asked for something new.
func (l *Live) hear(pl *place, r loop.Report) (asks bool) {
	from := l.origin(r.Launch, r.PID, r.Caller)
	i := slices.IndexFunc(pl.programs, from.made)
	switch {
	case r.Event == loop.HookEnd:
		if leaves(r) {
			l.remove(pl, from.made)
		}
		return false
	case i < 0 && from.launch == "" && !from.process.Proven():
		return false
	case i < 0:
		if from.launch != "" {
			l.remove(pl, func(p *loop.Presence) bool { return p.Launch != "" && p.Launch != from.launch })
		}
		l.leaveOthers(pl, from)
		i = len(pl.programs)
		pl.programs = append(pl.programs, &loop.Presence{Launch: from.launch})
	}
	p := pl.programs[i]
	if age := p.Since.Sub(r.When()); age > 0 && age < overtaking {
		return false // what came later was told first
	}
	p.Harness, p.SessionID, p.Where = r.Harness, r.SessionID, cmp.Or(r.Where, p.Where)
	if from.process.PID != 0 && !p.Process.Proven() {
		p.Process = from.process
	}
	asks = r.Event == loop.HookWaiting && (p.Turn != loop.TurnWaiting || r.Source == "")
	if turn, told := turnAfter(r); told {
		if p.Turn != turn {
			p.Turn, p.Since, p.Detail = turn, r.When(), ""
		}
		if turn == loop.TurnWaiting {
			p.Detail = cmp.Or(r.Detail, p.Detail)
		}
	}
	return asks
}

// leaves reports whether an end is one of the program, and not of a conversation that it leaves for another.
func leaves(r loop.Report) bool { return r.Source != "clear" && r.Source != "resume" }

// turnAfter says what a conversation does after what was told, if that says anything about it.
func turnAfter(r loop.Report) (loop.Turn, bool) {
	switch r.Event {
	case loop.HookPrompt:
		return loop.TurnBusy, true
	case loop.HookWaiting:
		return loop.TurnWaiting, true
	case loop.HookStart:
		return loop.TurnIdle, r.Source != "compact" // which happens within a turn too
	case loop.HookStop, loop.HookFailure:
		return loop.TurnIdle, true
	case loop.HookEnd:
	}
	return loop.TurnUnknown, false
}

// Presence returns where the conversation of an item is live; false where it is live nowhere, as far as hooks told.
func (l *Live) Presence(item loop.WorkItem) (loop.Presence, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pl := l.places[item.Key()]
	if pl == nil {
		return loop.Presence{}, false
	}
	l.prune(pl)
	if len(pl.programs) == 0 {
		l.tidy(pl)
		return loop.Presence{}, false
	}
	p := *pl.programs[0]
	p.Waker = l.waker(pl) != nil
	return p, true
}

// Known returns the program that made a report and the item that it works on; false where it was not heard of, or its process is
// not proven.
func (l *Live) Known(launch string, pid, caller int) (loop.WorkItem, loop.Presence, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.origin(launch, pid, caller)
	for _, pl := range l.places {
		for _, p := range pl.programs {
			if from.process.Proven() && from.made(p) {
				return pl.item, *p, true
			}
		}
	}
	return loop.WorkItem{}, loop.Presence{}, false
}

// Proven reports whether a report names the process of its harness, and rightly.
func (l *Live) Proven(r loop.Report) bool {
	return l.origin(r.Launch, r.PID, r.Caller).process.Proven()
}

// Keep forgets the programs of an item that are in another conversation than this one: what is for the item is no longer theirs.
func (l *Live) Keep(item loop.WorkItem, harness string, id loop.SessionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pl := l.at(item)
	l.remove(pl, func(p *loop.Presence) bool { return p.Harness != harness || p.SessionID != id })
	l.changed(pl)
}

// Shown reports whether a prompt hook has shown the token of a run. Of very many runs the oldest are forgotten.
func (l *Live) Shown(run loop.RunID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shown[run]
}

// Watch returns a channel that is closed at the next change of what is known of an item: its programs, its waiters, the runs
// that it has shown. That a program died without a word is no change: it is seen when its presence is asked for.
func (l *Live) Watch(item loop.WorkItem) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	pl := l.at(item)
	if pl.watch == nil {
		pl.watch = make(chan struct{})
	}
	return pl.watch
}

// Forget takes away what is known of a launch of an item's pane, which is gone without a word.
func (l *Live) Forget(item loop.WorkItem, launch string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pl := l.at(item)
	l.remove(pl, func(p *loop.Presence) bool { return p.Launch == launch })
	l.endWaiters(pl, func(w *waiter) bool { return w.from.launch == launch })
	l.changed(pl)
}

// show remembers runs as shown. mu is held.
func (l *Live) show(runs []loop.RunID) {
	for _, run := range runs {
		if l.shown[run] {
			continue
		}
		if len(l.order) == maxShown {
			delete(l.shown, l.order[0])
			l.order = slices.Delete(l.order, 0, 1)
		}
		l.shown[run] = true
		l.order = append(l.order, run)
	}
}
