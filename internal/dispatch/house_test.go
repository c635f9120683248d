package dispatch_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/route"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("rapid.checks", "25") // each opens a journal several times
	goleak.VerifyTestMain(m)
}

// house is a dispatcher with real stores on a temporary folder and a runner that a test plays.
type house struct {
	t        *testing.T
	dir      string
	settings dispatch.Settings
	runner   *stage
	step     func(string)
	unnamed  bool                                                         // the harness names its conversations itself
	post     func(context.Context, outbox.Letter) (outbox.Receipt, error) // to the ticket; nil: nothing is said there
	login    string                                                       // of loopd on GitHub

	db       *journal.DB
	inbox    *inbox.Inbox
	sessions *session.Store
	items    *item.Store
	live     *session.Live
	launch   string // of the terminal that every item has
	dead     []int  // processes that have ended
	d        *dispatch.Dispatcher
	stop     func()
}

// bubble runs a test in time of its own, with a house whose dispatcher runs.
func bubble(t *testing.T, test func(t *testing.T, h *house), change ...func(*dispatch.Settings)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, dir: dir, runner: newStage(), settings: settings()}
		for _, c := range change {
			c(&h.settings)
		}
		h.t = t
		h.open()
		defer func() { h.stop() }()
		test(t, h)
	})
}

func settings() dispatch.Settings {
	return dispatch.Settings{
		Route: route.Policy{
			RoutingEnabled: true, AuthorizedUsers: []string{"octocat"}, AutoExecuteLabel: "go", SpawnOnUnmatched: route.SpawnLabeled,
			CloseLinked: route.LinkedTrusted, ControlEnabled: true, ControlPrefix: "/loop",
		},
		DefaultHarness: "claude", Runner: loop.RunnerHeadless, SpawnWorkdir: "/", MaxConcurrent: 4, MaxRunsPerHour: 20, MaxAttempts: 3,
		Timeout: time.Hour, CloseSettle: 30 * time.Second, DeliverLive: true,
	}
}

func (h *house) open() {
	h.t.Helper()
	var err error
	h.db, err = journal.Open(h.t.Context(), filepath.Join(h.dir, "journal.db"), inbox.Schema(), item.Schema(), eventlog.Schema(), outbox.Schema())
	h.must(err)
	h.sessions, err = session.Open(filepath.Join(h.dir, "sessions"), slog.New(slog.DiscardHandler))
	h.must(err)
	h.inbox, h.items = inbox.New(h.db), item.New(h.db)
	h.live, err = session.OpenLive(h.processes())
	h.must(err)
	log := eventlog.New(h.db, slog.New(slog.DiscardHandler))
	var out *outbox.Outbox
	if h.post != nil {
		out = outbox.New(outbox.Options{Journal: h.db, Logger: slog.New(slog.DiscardHandler), Post: h.post, Report: log.Append})
	}
	h.d = dispatch.New(dispatch.Options{
		Outbox: out, Login: func(string) string { return h.login },
		Journal: h.db, Inbox: h.inbox, Sessions: h.sessions, Items: h.items, Live: h.live, Log: log, Runner: h.runner,
		Logger: slog.New(slog.NewTextHandler(h.t.Output(), nil)), Decode: github.Decode, Settings: func() dispatch.Settings { return h.settings },
		NewSessionID: h.newSessionID, Place: h.place, Launched: func(loop.WorkItem) string { return h.launch }, Available: func(string) error { return nil }, RetryBase: time.Minute, Step: func(name string) {
			if h.step != nil {
				h.step(name)
			}
		},
	})
	ctx, cancel := context.WithCancel(h.t.Context())
	var running errgroup.Group
	running.Go(func() error { return h.d.Run(ctx) })
	if out != nil {
		running.Go(func() error { return out.Run(ctx) })
	}
	h.stop = func() {
		cancel()
		if err := running.Wait(); err != nil {
			h.t.Errorf("Run: %v", err)
		}
		h.must(h.db.Close())
	}
	synctest.Wait()
}

// place hosts everything, terminals under the name of their item.
func (h *house) place(w loop.WorkItem, _ string, kind loop.RunnerKind) (string, error) {
	if kind != loop.RunnerTmux {
		return "", nil
	}
	return "loop-" + w.Slug(), nil
}

func (h *house) newSessionID(string) (loop.SessionID, error) {
	if h.unnamed {
		return "", nil
	}
	return loop.SessionID(uuid.NewString()), nil
}

// restart stops the dispatcher as a graceful stop does, and starts another on the same state.
func (h *house) restart() {
	h.stop()
	h.open()
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

var shop15 = mustItem("acme", "shop", 15)

func mustItem(owner, repo string, n int) loop.WorkItem {
	w, err := loop.NewWorkItem("", owner, repo, n)
	if err != nil {
		panic(err)
	}
	return w
}

func (h *house) register(w loop.WorkItem) loop.Session {
	h.t.Helper()
	s, _, err := h.d.Register(h.t.Context(), dispatch.Registration{
		Item: w, Harness: "claude", SessionID: loop.SessionID(uuid.NewString()), Cwd: "/",
	})
	h.must(err)
	return s
}

// arrive puts a delivery and lets everything come to rest.
func (h *house) arrive(kind string, body []byte) loop.DeliveryID {
	h.t.Helper()
	id := loop.DeliveryID(uuid.NewString())
	h.put(id, kind, body)
	synctest.Wait()
	return id
}

func (h *house) put(id loop.DeliveryID, kind string, body []byte) inbox.PutResult {
	h.t.Helper()
	res, err := h.inbox.Put(h.t.Context(), loop.Delivery{
		ID: id, Source: loop.SourceWebhook, Kind: kind, ReceivedAt: time.Now(), Body: body,
	})
	h.must(err)
	return res
}

// comment is a comment by octocat on an item of acme/shop, with an id that no other has.
func (h *house) comment(n int, text string) loop.DeliveryID {
	h.t.Helper()
	return h.arrive("issue_comment", commentBody(n, text))
}

var comments struct {
	sync.Mutex
	last int64
}

func commentBody(n int, text string) []byte {
	comments.Lock()
	defer comments.Unlock()
	comments.last++
	return githubtest.IssueComment("created", "octocat", githubtest.Item{Number: n}, githubtest.Comment{ID: comments.last, Body: text})
}

// is wants a delivery in a state, with a reason.
func (h *house) is(id loop.DeliveryID, state loop.State, reason string) loop.Delivery {
	h.t.Helper()
	synctest.Wait()
	d, err := h.inbox.Get(h.t.Context(), id)
	h.must(err)
	if d.State != state || d.Reason != reason {
		h.t.Fatalf("delivery is %s (%s) after %d tries, want %s (%s); error: %s", d.State, d.Reason, d.Attempts, state, reason, d.Error)
	}
	return d
}

// stage is a runner whose runs a test ends. It remembers what it was handed, as the harness would.
type stage struct {
	mu        sync.Mutex
	handovers []loop.Handover
	live      map[loop.RunID]*scene
	lost      bool // whoever comes from before a restart has died without an answer
	readiness map[loop.ItemKey]loop.Readiness
	hosted    map[loop.ItemKey]loop.Termination // what End finds
	wishes    []loop.Wish
}

type scene struct {
	loop.Handover
	end        chan loop.Outcome
	terminated atomic.Bool
}

func newStage() *stage { return &stage{live: map[loop.RunID]*scene{}} }

func (s *stage) Ready(_ context.Context, sess loop.Session) loop.Readiness {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readiness[sess.WorkItem.Key()]
}

// waits makes an item's prompts wait for a reason; "" for none.
func (s *stage) waits(w loop.WorkItem, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readiness == nil {
		s.readiness = map[loop.ItemKey]loop.Readiness{}
	}
	s.readiness[w.Key()] = loop.Readiness{Wait: reason, Again: time.Now().Add(30 * time.Second)}
}

func (s *stage) End(_ context.Context, sess loop.Session, w loop.Wish) (loop.Termination, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wishes = append(s.wishes, w)
	t := s.hosted[sess.WorkItem.Key()]
	delete(s.hosted, sess.WorkItem.Key())
	return t, nil
}

func (s *stage) Deliver(ctx context.Context, h loop.Handover) loop.Outcome {
	s.mu.Lock()
	s.handovers = append(s.handovers, h)
	sc := &scene{Handover: h, end: make(chan loop.Outcome, 1)}
	s.live[h.Run] = sc
	s.mu.Unlock()
	return s.wait(ctx, sc)
}

func (s *stage) wait(ctx context.Context, sc *scene) loop.Outcome {
	select {
	case out := <-sc.end:
		s.mu.Lock()
		delete(s.live, sc.Run)
		s.mu.Unlock()
		return out
	case <-ctx.Done():
		return loop.Outcome{Kind: loop.RunDetached}
	}
}

func (s *stage) Settle(ctx context.Context, h loop.Handover) loop.Outcome {
	s.mu.Lock()
	sc := s.live[h.Run]
	s.mu.Unlock()
	if sc == nil {
		return loop.Outcome{Kind: loop.RunNever}
	}
	if s.lost {
		return loop.Outcome{Kind: loop.RunCutOff, Detail: "died with its host"}
	}
	return s.wait(ctx, sc)
}

func (s *stage) Terminate(_ context.Context, run loop.RunID) (loop.Termination, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.live[run]
	if sc == nil {
		return loop.Termination{}, nil
	}
	if sc.terminated.CompareAndSwap(false, true) {
		sc.end <- loop.Outcome{Kind: loop.RunEnded}
	}
	return loop.Termination{Found: true}, nil
}

// forget makes that no run lives, as if none had been started.
func (s *stage) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.live)
}

// on returns the runs that go on, in the order in which they began.
func (s *stage) on() []*scene {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*scene
	for _, sc := range s.live {
		out = append(out, sc)
	}
	slices.SortFunc(out, func(a, b *scene) int {
		return slices.IndexFunc(s.handovers, is(a)) - slices.IndexFunc(s.handovers, is(b))
	})
	return out
}

func is(sc *scene) func(loop.Handover) bool {
	return func(h loop.Handover) bool { return h.Run == sc.Run }
}

// only returns the one run that goes on.
func (h *house) only() *scene {
	h.t.Helper()
	on := h.runner.on()
	if len(on) != 1 {
		h.t.Fatalf("%d runs go on, want 1", len(on))
	}
	return on[0]
}

// idle wants no run to go on.
func (h *house) idle() {
	h.t.Helper()
	if on := h.runner.on(); len(on) != 0 {
		h.t.Fatalf("%d runs go on, want none; the first is told:\n%s", len(on), on[0].Prompt)
	}
}

func (sc *scene) done() {
	sc.ends(loop.Outcome{Kind: loop.RunDone, SessionID: sc.Session.HarnessSessionID, Turns: 1})
}

func (sc *scene) fails() { sc.ends(loop.Outcome{Kind: loop.RunFailed, Detail: "exit status 1"}) }

func (sc *scene) ends(out loop.Outcome) {
	sc.end <- out
	synctest.Wait()
}

// told wants each of the texts in the run's prompt, in this order.
func (h *house) told(sc *scene, texts ...string) {
	h.t.Helper()
	rest := sc.Prompt
	for _, text := range texts {
		i := strings.Index(rest, text)
		if i < 0 {
			h.t.Fatalf("%q is not in the prompt, or not in order:\n%s", text, sc.Prompt)
		}
		rest = rest[i+len(text):]
	}
}

// session returns the newest session of an item.
func (h *house) session(w loop.WorkItem) loop.Session {
	h.t.Helper()
	s, ok := h.sessions.Find(w)
	if !ok {
		h.t.Fatalf("no session of %s", w)
	}
	return s
}

func (h *house) fails(err, want error) {
	h.t.Helper()
	if !errors.Is(err, want) {
		h.t.Fatalf("error %v, want %v", err, want)
	}
}

// label is the delivery of a label being set, at a time of its own.
func label(n int, name string, at time.Time) []byte {
	return githubtest.Issues("labeled", "octocat", githubtest.Item{Number: n, Labels: []string{name}, At: at}, githubtest.Label(name))
}

func closed(n int, at time.Time) []byte {
	return githubtest.Issues("closed", "mallory", githubtest.Item{Number: n, Closed: true, At: at})
}

func nth(i int) string { return fmt.Sprintf("comment number %d", i) }
