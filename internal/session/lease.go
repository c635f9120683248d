package session

import "github.com/loop-daemon/loop/internal/loop"

// Lease gives a headless run the conversation of an item to write into, until Release. It is refused while the conversation is live
// anywhere, or another run has it: harnesses know no lock, and of two who write one turn would be lost in silence.
func (l *Live) Lease(item loop.WorkItem, run loop.RunID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	pl := l.at(item)
	l.prune(pl)
	if len(pl.programs) > 0 || pl.writer != "" && pl.writer != run {
		l.tidy(pl)
		return false
	}
	pl.writer = run
	return true
}

// Release takes the conversation back from a run that has ended. It does nothing where the run does not have it.
func (l *Live) Release(item loop.WorkItem, run loop.RunID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pl := l.at(item)
	if pl.writer == run {
		pl.writer = ""
	}
	l.changed(pl)
}

// Writer returns the headless run that has the conversation of an item; "" where none has.
func (l *Live) Writer(item loop.WorkItem) loop.RunID {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pl := l.places[item.Key()]; pl != nil {
		return pl.writer
	}
	return ""
}
