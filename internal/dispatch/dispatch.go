package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/prompt"
	"github.com/loop-daemon/loop/internal/route"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Settings are the parts of the configuration that dispatch goes by. They may change between any two steps.
type Settings struct {
	Route          route.Policy
	DefaultHarness string          // of sessions that are spawned
	Runner         loop.RunnerKind // of sessions that do not name one
	SpawnWorkdir   string          // where spawned sessions work; "" makes a spawn fail and say so
	MaxConcurrent  int             // runs at a time over all sessions
	MaxRunsPerHour int             // of one session; more pause it
	MaxAttempts    int             // tries of one delivery in all
	Join           time.Duration   // how long the first delivery of a burst waits for company
	Timeout        time.Duration   // of one run
	CloseSettle    time.Duration   // how long a running turn may go on after its item closed
	Templates      prompt.Templates
	DeliverLive    bool // hooks that wait in live conversations are used
	Voice          Voice
}

// Options are what a Dispatcher is made of. All fields are needed but Outbox, Login, Exists, Step, RetryBase and ProbeBase.
type Options struct {
	Journal  *journal.DB
	Inbox    *inbox.Inbox
	Sessions *session.Store
	Items    *item.Store
	Live     *session.Live
	Log      *eventlog.Log
	Runner   Runner
	Logger   *slog.Logger
	Outbox   *outbox.Outbox // nil: nothing is shown on the ticket

	// Decode reads the payload of a delivery that came from GitHub.
	Decode func(loop.Delivery) (loop.Event, error)
	// Settings answers with the present settings; it is asked at every step.
	Settings func() Settings
	// NewSessionID makes the id of a fresh conversation of a harness; "" for a harness that names its conversations itself.
	NewSessionID func(harness string) (loop.SessionID, error)
	// Place says where a session's harness will be hosted: the target of its terminal, "" where it has none. The error is
	// ErrInvalid for what cannot be, and ErrUnavailable for what is not there now.
	Place func(w loop.WorkItem, harness string, kind loop.RunnerKind) (target string, err error)
	// Launched names the launch that the terminal of an item has, if it has one that loopd hosts; "" where it has none.
	Launched func(w loop.WorkItem) string
	// Available says why a harness cannot be started by loopd, naming the way to get it; nil when it can.
	Available func(harness string) error

	// Login names the account that loopd acts as on a host ("" is github.com), "" where that is not known. It must not wait. Nil is
	// never known.
	Login func(host string) string
	// Exists asks whether an item is there that nothing but the name of a branch speaks of. Where it is nil, none is taken to be.
	Exists func(ctx context.Context, w loop.WorkItem) route.Existence

	// RetryBase is the wait before the second try of a delivery; later ones wait four times as long each. 0 is 15 s.
	RetryBase time.Duration
	// ProbeBase is the wait before a harness that cannot work is probed, where it does not name a time; each further one is
	// twice as long, up to 15 minutes. 0 is a minute.
	ProbeBase time.Duration
	// Step, if set, is called after each durable step with its name, so that a test can stop the process there.
	Step func(name string)
}

// Dispatcher carries deliveries from the inbox to harnesses. Its methods may be called at any time between the start and
// the end of Run, from any goroutine.
type Dispatcher struct {
	Options

	slots slots
	wg    sync.WaitGroup // workers, closes and found runs; all end before Run does

	silent map[string]time.Time // hosts that did not answer in time, and until when they are not asked; intake's own

	joining sync.Mutex // held while it is decided which conversation is an item's

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // Run's own, so that an operation can start work that Run waits for
	lanes   map[loop.ItemKey]*lane
	holds   map[string]*hold
	waiters map[loop.DeliveryID]chan CloseResult
	turns   map[loop.ItemKey][]shown // of live conversations, about what they are

	troubled   string    // what went wrong with the journal last
	troubledAt time.Time // and when
}

// New returns a Dispatcher; nothing happens before Run.
func New(o Options) *Dispatcher {
	if o.RetryBase <= 0 {
		o.RetryBase = 15 * time.Second
	}
	if o.ProbeBase <= 0 {
		o.ProbeBase = time.Minute
	}
	d := &Dispatcher{
		Options: o,
		lanes:   map[loop.ItemKey]*lane{},
		holds:   map[string]*hold{},
		waiters: map[loop.DeliveryID]chan CloseResult{},
		silent:  map[string]time.Time{},
		turns:   map[loop.ItemKey][]shown{},
	}
	d.slots.max = func() int { return d.Settings().MaxConcurrent }
	return d
}

// Run takes up what the inbox still owes, then what arrives, until ctx ends. It then takes nothing new, leaves runs going
// for the next start to settle, and returns nil when all its own work has ended.
func (d *Dispatcher) Run(ctx context.Context) error {
	d.mu.Lock()
	d.ctx = ctx
	d.mu.Unlock()
	defer d.rest()
	if err := d.recover(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	d.intake(ctx)
	return nil
}

// rest waits for all work of Run; none begins any more.
func (d *Dispatcher) rest() {
	d.mu.Lock()
	d.ctx = nil
	d.mu.Unlock()
	d.wg.Wait()
}

// Refresh has those who wait look at the settings again, which may have mended a held harness too: it is probed at once. It
// is to be called when they have changed.
func (d *Dispatcher) Refresh() {
	d.slots.admit()
	d.probeSoon(time.Now())
	d.pokeAll()
}

// Holds returns the harnesses that cannot work now.
func (d *Dispatcher) Holds() []Hold {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Hold
	for _, h := range d.holds {
		out = append(out, h.Hold)
	}
	return out
}

// Activity says what the session of an item does now.
func (d *Dispatcher) Activity(w loop.WorkItem) Activity {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[w.Key()]
	if l == nil {
		return Activity{State: ActivityIdle}
	}
	a := Activity{State: ActivityIdle, Queued: len(l.jobs)}
	if len(l.jobs) > 0 {
		a.Reason = l.jobs[0].waits
	}
	switch {
	case l.run != "":
		a.State, a.Reason = ActivityRunning, ""
	case len(l.jobs) > 0 && d.holds[d.harnessOf(l.item)] != nil:
		a.State = ActivityHeld
	case len(l.jobs) > 0:
		a.State = ActivityWaiting
	}
	return a
}

// Waits returns what the next delivery of each item waits for, of those whose next one does: few, however many sessions there
// are.
func (d *Dispatcher) Waits() map[loop.ItemKey]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	waits := map[loop.ItemKey]string{}
	for key, l := range d.lanes {
		if l.run == "" && len(l.jobs) > 0 && l.jobs[0].waits != "" {
			waits[key] = l.jobs[0].waits
		}
	}
	return waits
}

// Trouble says what keeps the dispatcher from writing what it did, while that lasts; "" when nothing does.
func (d *Dispatcher) Trouble() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.troubledAt) > troubleLasts {
		return ""
	}
	return d.troubled
}

// troubleLasts is for how long a trouble is told of after it was last met. It is met again every second.
const troubleLasts = 5 * time.Second

// harnessOf names the harness that runs for an item: that of its session, else the one that a spawn would get.
func (d *Dispatcher) harnessOf(w loop.WorkItem) string {
	if s, ok := d.Sessions.Find(w); ok && s.Open() {
		return s.Harness
	}
	return d.Settings().DefaultHarness
}

// goRun starts f as part of Run. It does nothing once Run is ending, or has not begun.
func (d *Dispatcher) goRun(f func(ctx context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx == nil || d.ctx.Err() != nil {
		return
	}
	ctx := d.ctx
	d.wg.Go(func() { f(ctx) })
}

func (d *Dispatcher) step(name string) {
	if d.Step != nil {
		d.Step(name)
	}
}
