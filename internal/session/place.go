package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// origin is the program that something comes from.
type origin struct {
	launch  string
	process loop.Process // its PID alone where that is only claimed
}

// origin finds out which program a call of a hook comes from.
func (l *Live) origin(launch string, pid, caller int) origin {
	if p, ok := l.o.Prove(pid, caller); ok {
		return origin{launch, p}
	}
	return origin{launch, loop.Process{PID: pid}}
}

// made reports whether p is the program, as far as both tell.
func (o origin) made(p *loop.Presence) bool { return o.same(origin{p.Launch, p.Process}) }

func (o origin) same(p origin) bool {
	switch {
	case o.launch != p.launch:
		return false
	case o.process.Proven() && p.process.Proven():
		return o.process == p.process
	}
	return o.process.PID == p.process.PID || o.process.PID == 0 || p.process.PID == 0
}

// at returns the place of an item, made if need be. mu is held, as in all that follows.
func (l *Live) at(item loop.WorkItem) *place {
	pl := l.places[item.Key()]
	if pl == nil {
		pl = &place{item: item}
		l.places[item.Key()] = pl
	}
	return pl
}

// prune removes the programs that have died. Those of our panes whose process is not known are told of by Forget.
func (l *Live) prune(pl *place) {
	before := len(pl.programs)
	l.remove(pl, func(p *loop.Presence) bool { return p.Process.Proven() && !l.o.Alive(p.Process) })
	if len(pl.programs) != before {
		l.tell(pl)
	}
}

// remove takes programs away, and ends those who wait in them.
func (l *Live) remove(pl *place, picked func(*loop.Presence) bool) {
	pl.programs = slices.DeleteFunc(pl.programs, func(p *loop.Presence) bool {
		if !picked(p) {
			return false
		}
		l.endWaiters(pl, func(w *waiter) bool { return w.from.made(p) })
		return true
	})
}

// leaveOthers takes a program away from the items that it worked on before it came to this one.
func (l *Live) leaveOthers(to *place, from origin) {
	if !from.process.Proven() {
		return
	}
	for _, pl := range l.places {
		if pl == to || !slices.ContainsFunc(pl.programs, from.made) {
			continue
		}
		l.remove(pl, from.made)
		l.changed(pl)
	}
}

// changed wakes those who watch a place, keeps what is now known of it, and forgets it where that is nothing.
func (l *Live) changed(pl *place) {
	l.tell(pl)
	l.tidy(pl)
}

func (l *Live) tell(pl *place) {
	if pl.watch != nil {
		close(pl.watch)
		pl.watch = nil
	}
	l.keep(pl)
}

// tidy forgets a place of which nothing is known and that nobody watches.
func (l *Live) tidy(pl *place) {
	if len(pl.programs) == 0 && len(pl.waiters) == 0 && pl.writer == "" && pl.watch == nil {
		delete(l.places, pl.item.Key())
	}
}

// placeFile is what is kept of a place.
type placeFile struct {
	WorkItem string         `json:"workItem"`
	Programs []programEntry `json:"programs"`
}

// programEntry is a program in it. Only a proven process is kept: of another nobody could say later whether it lives.
type programEntry struct {
	Harness   string         `json:"harness"`
	SessionID loop.SessionID `json:"harnessSessionId"`
	Launch    string         `json:"launch,omitempty"`
	Process   processEntry   `json:"process"`
	Turn      loop.Turn      `json:"turn,omitempty"`
	Since     time.Time      `json:"since,omitzero"` // of the turn
	Detail    string         `json:"detail,omitempty"`
	Where     string         `json:"where,omitempty"`
}

type processEntry struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// keep writes what is known of a place to its file, if that says something else. It is not brought to the disk itself: a loss of
// power ends the programs too.
func (l *Live) keep(pl *place) {
	if l.root == nil {
		return
	}
	text, err := encodePlace(pl)
	if err != nil || slices.Equal(text, pl.kept) {
		return
	}
	if err := l.writePlace(pl.item.Slug()+".json", text); err != nil {
		l.o.Logger.Warn("where a conversation is live could not be written, and a restart of loopd would forget it", "item", pl.item.Ref(), "err", err)
		return
	}
	pl.kept = text
}

func (l *Live) writePlace(name string, text []byte) error {
	if text == nil {
		if err := l.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	temp := "." + name + ".tmp"
	if err := l.root.WriteFile(temp, text, 0o600); err != nil {
		return err
	}
	return l.root.Rename(temp, name)
}

// encodePlace returns nil for a place without a program that could be known again.
func encodePlace(pl *place) ([]byte, error) {
	f := placeFile{WorkItem: pl.item.Ref()}
	for _, p := range pl.programs {
		if p.Process.Proven() {
			f.Programs = append(f.Programs, programEntry{
				p.Harness, p.SessionID, p.Launch, processEntry(p.Process), p.Turn, p.Since.UTC().Round(0), p.Detail, p.Where,
			})
		}
	}
	if len(f.Programs) == 0 {
		return nil, nil
	}
	text, err := json.MarshalIndent(f, "", "  ")
	return append(text, '\n'), err
}

// load reads what an earlier loopd has kept. A file that cannot be read is told and removed: what is in it comes again with the
// next hooks.
func (l *Live) load() error {
	if err := os.MkdirAll(l.o.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of live conversations: %w", err)
	}
	var err error
	if l.root, err = os.OpenRoot(l.o.Dir); err != nil {
		return fmt.Errorf("open the folder of live conversations: %w", err)
	}
	names, err := fs.Glob(l.root.FS(), "*.json")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := l.loadPlace(name); err != nil {
			l.o.Logger.Warn("what is known of a live conversation cannot be read and is forgotten", "file", filepath.Join(l.o.Dir, name), "err", err)
			_ = l.root.Remove(name)
		}
	}
	return nil
}

func (l *Live) loadPlace(name string) error {
	text, err := l.root.ReadFile(name)
	if err != nil {
		return err
	}
	var f placeFile
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	item, err := loop.ParseRef(f.WorkItem)
	if err != nil {
		return err
	}
	pl := l.at(item)
	pl.kept = text
	for _, p := range f.Programs {
		if err := p.SessionID.Check(); err != nil {
			return err
		}
		pl.programs = append(pl.programs, &loop.Presence{
			Harness: p.Harness, SessionID: p.SessionID, Launch: p.Launch, Process: loop.Process(p.Process), Turn: p.Turn,
			Since: p.Since, Detail: p.Detail, Where: p.Where,
		})
	}
	l.prune(pl)
	l.keep(pl)
	l.tidy(pl)
	return nil
}
