package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// maxShown is how many runs of an item are remembered whose turn has not ended: more than one turn ever takes up.
const maxShown = 32

// shown is a run whose prompt a live conversation has shown, and whose turn goes on.
type shown struct {
	run    loop.RunID
	launch string // of the program that showed it
	pid    int
	at     time.Time
}

// in reports whether the program of a report showed it, by the time of the report.
func (s shown) in(r loop.Report) bool {
	return s.launch == r.Launch && s.pid == r.PID && !s.at.After(r.When())
}

// turned takes in how the turn of a live conversation goes, and owes the ticket how one has ended that was about something from
// there. A restart of loopd within the turn forgets it.
func (d *Dispatcher) turned(ctx context.Context, r loop.Report) {
	reaction := ""
	switch voice := d.Settings().Voice; r.Event {
	case loop.HookPrompt:
		d.showing(r)
		return
	case loop.HookStop:
		reaction = voice.Completed
	case loop.HookFailure:
		reaction = voice.Error
	case loop.HookEnd: // nobody knows how it would have ended
	case loop.HookStart, loop.HookWaiting:
		return
	}
	var letters []outbox.Letter
	for _, run := range d.turnOf(r) {
		told, err := d.Inbox.Run(ctx, run)
		if err != nil {
			d.Logger.Warn("the ticket is not shown how a turn ended", "item", r.Item.Ref(), "run", run, "err", err)
			continue
		}
		letters = append(letters, d.reactions(ctx, told.Deliveries, reaction)...)
	}
	if len(letters) == 0 {
		return
	}
	if err := d.Journal.Write(ctx, func(tx *journal.Tx) error { return d.Outbox.Put(tx, letters...) }); err != nil {
		d.Logger.Warn("the ticket is not shown how a turn ended", "item", r.Item.Ref(), "err", err)
	}
}

// showing remembers the runs that a prompt shows.
func (d *Dispatcher) showing(r loop.Report) {
	d.mu.Lock()
	defer d.mu.Unlock()
	turn := d.turns[r.Item.Key()]
	for _, run := range r.Runs {
		turn = append(turn, shown{run, r.Launch, r.PID, r.When()})
	}
	if len(turn) > 0 {
		d.turns[r.Item.Key()] = turn[max(0, len(turn)-maxShown):]
	}
}

// turnOf forgets the runs of the turn that ended with a report, and returns them in order.
func (d *Dispatcher) turnOf(r loop.Report) []loop.RunID {
	d.mu.Lock()
	defer d.mu.Unlock()
	var runs []loop.RunID
	d.turns[r.Item.Key()] = slices.DeleteFunc(d.turns[r.Item.Key()], func(s shown) bool {
		if s.in(r) {
			runs = append(runs, s.run)
		}
		return s.in(r)
	})
	if len(d.turns[r.Item.Key()]) == 0 {
		delete(d.turns, r.Item.Key())
	}
	return runs
}

// forgetTurns forgets what the conversation of an item was about.
func (d *Dispatcher) forgetTurns(w loop.WorkItem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.turns, w.Key())
}
