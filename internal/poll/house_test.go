package poll_test

import (
	"context"
	"flag"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/poll"
	"github.com/loop-daemon/loop/internal/prompt"
	"github.com/loop-daemon/loop/internal/route"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

const label = "go"

// house is a poller with real stores, which asks a GitHub in a process. Nobody takes up what it puts.
type house struct {
	t        *testing.T
	dir      string
	gh       *githubtest.Server
	shop     *githubtest.Repository
	settings poll.Settings
	env      []string
	step     func(string)

	db       *journal.DB
	inbox    *inbox.Inbox
	items    *item.Store
	log      *eventlog.Log
	sessions *session.Store
	client   *github.Client
	p        *poll.Poller
	last     int64 // the last delivery that news has told
}

// bubble runs a test in time of its own, with a house that watches acme/shop.
func bubble(t *testing.T, test func(t *testing.T, h *house)) {
	t.Helper()
	dir := t.TempDir()
	gh := githubtest.NewServer("")
	t.Cleanup(gh.Close)
	synctest.Test(t, func(t *testing.T) {
		h := &house{
			t: t, dir: dir, gh: gh, shop: gh.Repo("acme", "shop"), env: []string{"GITHUB_TOKEN=" + githubtest.Token},
			settings: poll.Settings{Interval: time.Minute, Watches: []poll.Watch{
				{Repo: loop.Repo{Owner: "acme", Name: "shop"}, Label: label, Issues: true, PullRequests: true},
			}},
		}
		gh.SetClock(time.Now)
		h.open()
		defer h.close()
		test(t, h)
	})
}

func (h *house) open() {
	h.t.Helper()
	var err error
	h.db, err = journal.Open(h.t.Context(), filepath.Join(h.dir, "journal.db"),
		inbox.Schema(), item.Schema(), eventlog.Schema(), github.Schema(), poll.Schema())
	h.must(err)
	quiet := slog.New(slog.NewTextHandler(h.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.sessions, err = session.Open(filepath.Join(h.dir, "sessions"), quiet)
	h.must(err)
	h.inbox, h.items, h.log = inbox.New(h.db), item.New(h.db), eventlog.New(h.db, quiet)
	h.client, err = github.New(github.Options{Journal: h.db, Log: quiet, APIURL: h.gh.API(), HTTP: h.gh.Transport(), Env: h.env})
	h.must(err)
	d := dispatch.New(dispatch.Options{Items: h.items, Sessions: h.sessions, Settings: func() dispatch.Settings { return dispatch.Settings{} }})
	h.p = poll.New(poll.Options{
		Journal: h.db, Inbox: h.inbox, Items: h.items, Log: h.log, Logger: quiet, Source: github.NewSource(func() *github.Client { return h.client }),
		Settings: func() poll.Settings { return h.settings }, Sessions: h.sessions.List, Identify: h.sessions.Identify,
		Decode: github.Decode, Refs: d.Refs, Summary: prompt.Summary,
		Command: func(ev loop.Event) bool {
			cmd, err := route.ParseCommand(ev.Comment.Body+ev.Review.Body, "/loop")
			return err == nil && cmd.Verb != "" && ev.Actor.Login == "octocat"
		},
		Step: func(name string) {
			if h.step != nil {
				h.step(name)
			}
		},
	})
}

func (h *house) close() {
	h.client.Close()
	h.must(h.sessions.Close())
	h.must(h.db.Close())
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// register adds a session for an item.
func (h *house) register(ref string) {
	h.t.Helper()
	w, err := loop.ParseAny(ref)
	h.must(err)
	h.must(h.sessions.Register(loop.Session{
		WorkItem: w, Harness: "claude", HarnessSessionID: loop.SessionID("s-" + w.Slug()), Cwd: "/", Runner: loop.RunnerHeadless,
		Status: loop.StatusActive, CreatedAt: time.Now(),
	}))
}

// cycle runs a cycle a while later, which is to go well, and returns what it found.
func (h *house) cycle() poll.Count {
	h.t.Helper()
	r := h.report()
	if r.Trouble != "" {
		h.t.Fatal(r.Trouble)
	}
	return r.Count
}

// report runs a cycle a while later, and returns how it went.
func (h *house) report() poll.Report {
	h.t.Helper()
	h.later(time.Minute)
	all, err := h.p.Poll(h.t.Context())
	h.must(err)
	if len(all) == 0 {
		h.t.Fatal("nothing was polled")
	}
	return all[0]
}

// later lets time pass.
func (h *house) later(d time.Duration) { time.Sleep(d) }

// eachNew calls do with what was put since it was called last, in order.
func (h *house) eachNew(do func(loop.Delivery, loop.Event)) {
	h.t.Helper()
	all, err := h.inbox.List(context.Background(), inbox.Filter{Limit: 1000})
	h.must(err)
	for _, d := range slices.Backward(all) {
		if d.Seq <= h.last {
			continue
		}
		h.last = d.Seq
		d.Body, err = h.inbox.Body(context.Background(), d.ID)
		h.must(err)
		ev, err := github.Decode(d)
		h.must(err)
		do(d, ev)
	}
}

// news returns the facts that were put since it was asked last, in order.
func (h *house) news() []string {
	h.t.Helper()
	facts := []string{}
	h.eachNew(func(d loop.Delivery, ev loop.Event) {
		what := ev.Fact
		if d.Reason != "" {
			what += " " + d.Reason
		}
		facts = append(facts, what)
	})
	return facts
}

// wants holds that a cycle, a while later, puts these facts.
func (h *house) wants(facts ...string) {
	h.t.Helper()
	h.cycle()
	if facts == nil {
		facts = []string{}
	}
	if diff := cmp.Diff(facts, h.news()); diff != "" {
		h.t.Errorf("what was put (-want +got):\n%s", diff)
	}
}

// logged returns how often the event log has a type.
func (h *house) logged(kind loop.LogType) int {
	h.t.Helper()
	all, err := h.log.Query(context.Background(), eventlog.Filter{Type: kind})
	h.must(err)
	return len(all)
}
