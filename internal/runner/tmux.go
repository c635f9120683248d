package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
)

// Live tells what hooks told of the conversations that are live, hands prompts to those that wait for one, and lets a run have a
// conversation for itself that is live nowhere.
type Live interface {
	Presence(w loop.WorkItem) (loop.Presence, bool)
	Shown(run loop.RunID) bool
	Hand(w loop.WorkItem, launch string, wake loop.Wake) bool
	Watch(w loop.WorkItem) <-chan struct{}
	Forget(w loop.WorkItem, launch string)
	Lease(w loop.WorkItem, run loop.RunID) bool
	Release(w loop.WorkItem, run loop.RunID)
}

// TerminalSettings are the parts of the configuration that terminals go by. They may change at any time.
type TerminalSettings struct {
	KeepOnClose  bool          // the dead pane stays as a record when a session is closed
	RemainOnExit bool          // and when its harness ends by itself
	EndOnClose   bool          // a close ends the harness
	Grace        time.Duration // between TERM and KILL; 0 kills at once
	MaxLive      int           // harnesses that may be live at a time
	Trust        bool          // its first-run dialogs may be answered beforehand
	Hooks        string        // the settings file with our hooks, by which a harness tells what it does; "" has none
}

// TmuxOptions say where terminals are hosted. All are needed.
type TmuxOptions struct {
	Server      *tmux.Server
	Dir         string   // of what is known of each pane; made where it is missing
	Runs        string   // the folder of runs, which headless ones share
	Transcripts string   // the folder of what terminals showed
	Exec        []string // what starts a program in a pane: an absolute path and first arguments, such as /usr/bin/loopd pane-exec
	Agents      func(name string) (harness.Agent, error)
	Settings    func(harness string) TerminalSettings
	Live        Live
	Queued      func(w loop.WorkItem) bool // whether something waits for the session of an item
	Log         func(ctx context.Context, ev loop.LogEvent)
	Logger      *slog.Logger
}

// Tmux hosts agents with their terminal UI, one pane of a private tmux server for each session. Panes outlive loopd, and are found
// again by the mark that each launch leaves on its pane. Its methods may be called at the same time, between the start and the
// end of Run.
type Tmux struct {
	o TmuxOptions

	stops stops
	rooms sync.Mutex // held while a pane is opened, so that there are never more than may be

	mu    sync.Mutex
	ctx   context.Context   //nolint:containedctx // Run's own, for the watch over each pane
	wg    sync.WaitGroup    // those who watch; all end before Run does
	ends  map[string]ending // launches that are being ended by us
	deaf  map[string]string // by launch, what a harness shows that has not shown a paste of ours
	freed chan struct{}     // closed and made anew when a harness has ended
}

// ending is how a launch is ended by us.
type ending struct {
	keep bool // its pane stays as a record, whatever else is configured
}

// NewTmux returns a Tmux and makes its folders, which only their owner can enter. Nothing is started before Run.
func NewTmux(o TmuxOptions) (*Tmux, error) {
	for _, dir := range []string{o.Dir, filepath.Join(o.Dir, launchDir), o.Runs, o.Transcripts} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folders of terminals: %w", err)
		}
	}
	return &Tmux{o: o, ends: map[string]ending{}, deaf: map[string]string{}, freed: make(chan struct{})}, nil
}

// Place returns the name that the terminal of an item has. The error is ErrInvalid for a harness that has no terminal UI.
func (t *Tmux) Place(w loop.WorkItem, harness string) (string, error) {
	_, err := t.terminal(harness)
	return tmux.Name(w.Slug()), err
}

func (t *Tmux) terminal(name string) (harness.Terminal, error) {
	agent, err := t.o.Agents(name)
	if err != nil {
		return nil, err
	}
	if term, ok := agent.(harness.Terminal); ok {
		return term, nil
	}
	return nil, fmt.Errorf("harness %q has no terminal that Loop can host: use --runner headless, or routing.runner = \"headless\": %w", name, loop.ErrInvalid)
}

// launchDir holds what is about to be started, each in a file of its own until its starter has read it.
const launchDir = "launch"

// pane is what is known of the terminal of a session. It is on disk before anything is started in it.
type pane struct {
	Item      string         `json:"item"`
	Harness   string         `json:"harness"`
	SessionID loop.SessionID `json:"harnessSessionId"`
	Name      string         `json:"name"`   // of the tmux session
	Launch    string         `json:"launch"` // the mark on the pane
	Hooked    bool           `json:"hooked"` // it was started with our hooks
	StartedAt time.Time      `json:"startedAt"`
	Process   proc.Identity  `json:"process,omitzero"` // of the harness, once it is known
	Before    *pane          `json:"before,omitempty"` // what the pane held before this launch was made in it

	item loop.WorkItem
}

// cookie is the entry of the environment that everything in the pane inherits.
func (p pane) cookie() string { return "LOOP_LAUNCH=" + p.Launch }

// asMade is what the pane holds: a loopd may be about to make the launch that is on record, or was killed before it did.
func (p pane) asMade(panes tmux.Panes) pane {
	if p.Before == nil {
		return p
	}
	_, made := panes.Find(p.Launch)
	if at, ok := panes.Find(p.Before.Launch); made || !ok || !p.has(at) {
		return p
	}
	before := *p.Before
	before.item = p.item
	return before
}

// has reports whether a pane of the server was opened for the same item.
func (p pane) has(at tmux.Pane) bool { return at.Key == p.item.Slug() }

func paneFile(dir string, w loop.WorkItem) string { return filepath.Join(dir, w.Slug()+".json") }

// load returns what is known of an item's pane; the zero pane where nothing is.
func (t *Tmux) load(w loop.WorkItem) (pane, error) {
	p, err := readPane(paneFile(t.o.Dir, w))
	if errors.Is(err, fs.ErrNotExist) {
		return pane{item: w, Item: w.Ref(), Name: tmux.Name(w.Slug())}, nil
	}
	if err == nil && p.item.Key() != w.Key() {
		err = fmt.Errorf("%s is of %s; remove it: %w", paneFile(t.o.Dir, w), p.Item, loop.ErrInvalid)
	}
	return p, err
}

func readPane(path string) (pane, error) {
	var p pane
	b, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("read %s: %w", path, err)
	}
	p.item, err = loop.ParseRef(p.Item)
	return p, err
}

func (t *Tmux) save(p pane) error {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	root, err := privateRoot(t.o.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return atomicfile.Write(root, p.item.Slug()+".json", append(b, '\n'), 0o600)
}

// all returns what is known of every pane. What cannot be read is told and left out.
func (t *Tmux) all() []pane {
	names, _ := filepath.Glob(filepath.Join(t.o.Dir, "*.json"))
	var out []pane
	for _, name := range names {
		p, err := readPane(name)
		if err != nil {
			t.o.Logger.Warn("what is known of a terminal can't be read; remove the file if that is so for ever", "err", err)
			continue
		}
		out = append(out, p)
	}
	return out
}

// held returns the panes of ours that there are, live or dead.
func (t *Tmux) held(ctx context.Context) ([]found, error) {
	panes, err := t.o.Server.Probe(ctx)
	if err != nil {
		return nil, err
	}
	var out []found
	for _, p := range t.all() {
		p = p.asMade(panes)
		if at, ok := panes.Find(p.Launch); ok && p.has(at) {
			out = append(out, found{pane: p, Pane: at, state: panes.State(p.Name, p.Launch)})
		}
	}
	return out, nil
}

// newMark makes the mark of a launch.
func newMark() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// found is a pane as tmux has it now.
type found struct {
	pane
	tmux.Pane
	state tmux.State
}

// running is the process that runs in a live pane, and whether it is the harness that was started there, as far as that is known. A
// person can start another program in its place; the pane keeps our marks. The error says that it has just ended.
func (f found) running() (id proc.Identity, ours bool, err error) {
	id, err = proc.Of(f.PID)
	return id, f.Process.PID == 0 || f.Process == id, err
}

// session is what is known of the session that a pane is of.
func (p pane) session() loop.Session {
	return loop.Session{WorkItem: p.item, Harness: p.Harness, HarnessSessionID: p.SessionID}
}

// find asks tmux for the pane of a session. The error says why the state is unknown.
func (t *Tmux) find(ctx context.Context, s loop.Session) (found, error) {
	p, err := t.load(s.WorkItem)
	if err != nil {
		return found{}, err
	}
	panes, err := t.o.Server.Probe(ctx)
	if err != nil {
		return found{pane: p}, err
	}
	p = p.asMade(panes)
	if at, ok := panes.Find(p.Launch); ok && !p.has(at) {
		p.Launch = "" // somebody edited it: that launch is another item's
	}
	if p.Launch == "" {
		p = t.adopt(p, s, panes)
	}
	at, _ := panes.Find(p.Launch)
	return found{pane: p, Pane: at, state: panes.State(p.Name, p.Launch)}, nil
}

// adopt takes up a pane that carries our marks for a session of which nothing is known any more: it was started by us, on our
// server.
func (t *Tmux) adopt(p pane, s loop.Session, panes tmux.Panes) pane {
	for _, at := range panes {
		if at.Session != p.Name || !p.has(at) || at.Launch == "" {
			continue
		}
		p.Launch, p.StartedAt, p.Harness, p.SessionID = at.Launch, time.Now().UTC(), s.Harness, s.HarnessSessionID
		if id, err := proc.Of(at.PID); err == nil && !at.Dead {
			p.Process = id
			t.watch(p)
		}
		t.o.Logger.Warn("what was known of a terminal is lost; it is taken up again by its marks", "item", p.Item)
		if err := t.save(p); err != nil {
			t.o.Logger.Error("what is known of a terminal could not be written", "item", p.Item, "err", err)
		}
	}
	return p
}

// privateRoot opens a folder of ours, made anew where somebody removed it.
func privateRoot(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// Launched returns the mark of the launch that an item's pane has, "" where it has none.
func (t *Tmux) Launched(w loop.WorkItem) string {
	p, err := t.load(w)
	if err != nil {
		return ""
	}
	return p.Launch
}

// said is the last line that a program has left on its screen.
func said(screen string) (last string) {
	for line := range strings.Lines(screen) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	return last
}
