// Package poll asks about repositories again and again, and puts what happened there into the inbox, where it is the same as
// what a webhook brings: for machines that no webhook reaches, and as the safety net beside one.
//
// A cycle over a repository asks for what changed since the last one, in a number of requests that depends neither on how
// many items there are nor on how many sessions; only an item that changed is asked about alone. What it finds is put
// item by item, each in one commit with how far the item was read; a cycle that was cut off goes on where it was, and
// nothing is put twice or passed over. The cursor moves in one commit when the cycle is complete, and never past what could not be
// read. One item that cannot be read holds up no other.
//
// What was there before an item was first seen is not replayed, but for a command that nobody has carried out. That a
// session's item is closed is put like anything else, and never concluded from a listing that failed, or from silence.
//
// After a cycle, now and then, what our own webhooks could not bring is asked for again, so that it comes by their door.
//
// One cycle runs at a time. It stops between two items.
package poll

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Source is where items are, such as GitHub. Every listing is complete or an error, and an error of the class loop.ErrDenied
// says that nothing may be asked.
type Source interface {
	// Owns reports whether an item can be asked about there. A source that owns nothing is never asked whether one is closed.
	Owns(w loop.WorkItem) bool
	// Limited returns until when a host wants no requests; the zero time when it may be asked.
	Limited(host string) time.Time
	// Renew has what nobody was let in with before be looked for at once: a person has mended it.
	Renew()
	// Where returns a repository under its present name, with its number.
	Where(ctx context.Context, r loop.Repo) (loop.Repo, error)
	// Open lists the open items that have a label.
	Open(ctx context.Context, r loop.Repo, label string) ([]loop.Thread, error)
	// OpenPulls lists the open pull requests, with their branches.
	OpenPulls(ctx context.Context, r loop.Repo) ([]loop.Thread, error)
	// Changes lists what changed at or after a time.
	Changes(ctx context.Context, r loop.Repo, since time.Time) (loop.Changes, error)
	// Checks lists the results of checks that began at or after a time.
	Checks(ctx context.Context, r loop.Repo, since time.Time) ([]loop.Delivery, error)
	// Look asks for one item, a pull request with its branches.
	Look(ctx context.Context, w loop.WorkItem) (loop.Thread, error)
	// Undelivered lists what a webhook of a repository could not bring since a time, the oldest first.
	Undelivered(ctx context.Context, r loop.Repo, hook string, since time.Time) ([]loop.Undelivered, error)
	// Redeliver has a webhook try again, which is no promise that the delivery arrives.
	Redeliver(ctx context.Context, r loop.Repo, u loop.Undelivered) error
}

// Watch is a repository in which the items with a label are work.
type Watch struct {
	Repo         loop.Repo
	Label        string
	Issues       bool
	PullRequests bool
}

// Settings are the parts of the configuration that polling goes by. They may change between any two items.
type Settings struct {
	Watches  []Watch       // none while polling is off
	Interval time.Duration // between two cycles over a watched repository
	Webhook  bool          // deliveries of webhooks are taken, so those that failed are worth asking for again
}

// Options are what a Poller is made of. All fields are needed but Step.
type Options struct {
	Journal *journal.DB // opened with Schema
	Inbox   *inbox.Inbox
	Items   *item.Store
	Log     *eventlog.Log
	Logger  *slog.Logger
	Source  Source

	// Settings answers with the present settings; it is asked before every item.
	Settings func() Settings
	// Sessions returns the sessions; those that are not closed are followed.
	Sessions func() []loop.Session
	// Identify notes the provider's number of a session's repository in its record, so that it is found after a rename.
	Identify func(s loop.Session, repository int64) error
	// Decode reads the payload of a delivery.
	Decode func(loop.Delivery) (loop.Event, error)
	// Refs returns the items that an event concerns, as routing sees it.
	Refs func(ctx context.Context, ev loop.Event) ([]loop.WorkItem, error)
	// Summary says in one line what an event is.
	Summary func(ev loop.Event) string
	// Command reports whether an event is the command of a person who may give it.
	Command func(ev loop.Event) bool
	// Step, if set, is called after each durable step with its name, so that a test can stop the process there.
	Step func(name string)
}

// Count is what a cycle found.
type Count struct {
	Items      int // that had changed, and were asked about
	Deliveries int // that are new
	Closures   int // of these, those that tell of a session's item being closed
	Errors     int // items that could not be read, and are tried again
	Again      int // deliveries of webhooks that had failed, and were asked for again
}

// Report is how the asking about a repository goes.
type Report struct {
	Repo    string    // as it was named: OWNER/REPO or HOST/OWNER/REPO
	Watched bool      // it is configured; else it is followed because a session works there
	At      time.Time // of the last cycle that was complete; zero: none was
	Next    time.Time // of the next one
	Trouble string    // what went wrong in the last cycle; "" nothing
	Count   Count     // of the last cycle
}

// Poller asks. Its methods may be called from any goroutine.
type Poller struct {
	Options

	turn chan struct{} // held by the one cycle that runs
	poke chan struct{} // holds one value when something else may be due

	// Whoever has the turn may touch these.
	refused  map[hookKey]time.Time // until when a webhook is not asked about
	unlinked map[string]bool       // repositories, by their keys, with pull requests of which it is not known yet whose they are

	mu    sync.Mutex
	paces map[string]*pace // by the repository's name in lower case
}

// pace is when a repository is asked about, and how that goes. It is guarded by the Poller's mu.
type pace struct {
	Report             // but for Next, which is reckoned when it is asked for
	ended    time.Time // when the last cycle was over
	limited  time.Time // until when its host wanted no requests then
	spread   float64   // how late the next one is, so that not all are in one second for ever: from 0 to 1
	failures int       // in a row
	missed   time.Time // when what webhooks could not bring is asked for again
}

// New returns a Poller; nothing is asked before Run or Poll.
func New(o Options) *Poller {
	return &Poller{
		Options: o, turn: make(chan struct{}, 1), poke: make(chan struct{}, 1),
		refused: map[hookKey]time.Time{}, unlinked: map[string]bool{}, paces: map[string]*pace{},
	}
}

// Refresh has Run look again what is due. It is to be called when the settings have changed.
func (p *Poller) Refresh() {
	select {
	case p.poke <- struct{}{}:
	default: // it is told already
	}
}

// Reports says how the asking goes, repository by repository in the order of their names.
func (p *Poller) Reports() []Report {
	var all []Report
	for _, t := range p.targets() {
		all = append(all, p.report(t))
	}
	return all
}

func (p *Poller) report(t target) Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := Report{}
	if pace := p.paces[t.key()]; pace != nil {
		r = pace.Report
		r.Next = p.nextTime(t, pace)
	}
	r.Repo, r.Watched = repoName(t.repo), t.watched()
	return r
}

func (p *Poller) step(name string) {
	if p.Step != nil {
		p.Step(name)
	}
}

// target is a repository that is to be asked about.
type target struct {
	repo    loop.Repo // as it was named
	watches []Watch
	worked  bool // a session that is not closed works there
}

func (t target) key() string { return strings.ToLower(repoName(t.repo)) }

func (t target) watched() bool { return len(t.watches) > 0 }

func repoName(r loop.Repo) string {
	if r.Host != "" {
		return r.Host + "/" + r.Owner + "/" + r.Name
	}
	return r.Owner + "/" + r.Name
}
