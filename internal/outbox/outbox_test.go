package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// hub is GitHub as an outbox sees it.
type hub struct {
	mu     sync.Mutex
	posted []string
	fail   func(outbox.Letter) error // before it is there; nil: nothing fails
	lose   func(outbox.Letter) error // after it is there
}

func (h *hub) post(_ context.Context, l outbox.Letter) (outbox.Receipt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail != nil {
		if err := h.fail(l); err != nil {
			return outbox.Receipt{}, err
		}
	}
	h.posted = append(h.posted, l.Key)
	if h.lose != nil {
		if err := h.lose(l); err != nil {
			return outbox.Receipt{}, err
		}
	}
	if l.Topic == outbox.Reaction {
		return outbox.Receipt{}, nil
	}
	if !loop.HasMarker(l.Text) || strings.Count(l.Text, loop.Marker) != 1 {
		return outbox.Receipt{}, fmt.Errorf("a comment without the marker, or with two: %q: %w", l.Text, loop.ErrInvalid)
	}
	id := int64(len(h.posted))
	return outbox.Receipt{ID: id, URL: fmt.Sprintf("https://github.com/acme/shop/issues/15#issuecomment-%d", id)}, nil
}

func (h *hub) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.posted...)
}

// desk is an outbox on a journal of its own.
type desk struct {
	t   testing.TB
	hub *hub
	db  *journal.DB
	log *eventlog.Log
	out *outbox.Outbox
}

func newDesk(t testing.TB, dir string, h *hub) *desk {
	t.Helper()
	db, err := journal.Open(t.Context(), filepath.Join(dir, "journal.db"), outbox.Schema(), eventlog.Schema())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, hub: h, db: db, log: eventlog.New(db, slog.New(slog.DiscardHandler))}
	d.out = outbox.New(outbox.Options{Journal: db, Logger: slog.New(slog.DiscardHandler), Post: h.post, Report: d.log.Append})
	return d
}

// run starts the outbox; the function ends it and closes the journal.
func (d *desk) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.out.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			d.t.Errorf("Run: %v", err)
		}
		if err := d.db.Close(); err != nil {
			d.t.Error(err)
		}
	}
}

func (d *desk) put(letters ...outbox.Letter) {
	d.t.Helper()
	if err := d.db.Write(context.Background(), func(tx *journal.Tx) error { return d.out.Put(tx, letters...) }); err != nil {
		d.t.Fatal(err)
	}
}

// events returns the event log as "type state".
func (d *desk) events() (all []string) {
	d.t.Helper()
	events, err := d.log.Query(context.Background(), eventlog.Filter{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range events {
		all = append(all, string(e.Type)+" "+e.Fields["state"])
	}
	return all
}

func (d *desk) trouble() string {
	d.t.Helper()
	all, err := d.out.Trouble(context.Background())
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

func (d *desk) want(posted []string, events ...string) {
	d.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(posted, d.hub.all()); diff != "" {
		d.t.Errorf("posted: %s", diff)
	}
	if diff := cmp.Diff(events, d.events()); diff != "" {
		d.t.Errorf("events: %s", diff)
	}
}

// bubble runs a test in time of its own, with an outbox that runs.
func bubble(t *testing.T, h *hub, test func(t *testing.T, d *desk)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, dir, h)
		defer d.run()()
		test(t, d)
	})
}

var shop15 = mustItem("", 15)

func mustItem(host string, n int) loop.WorkItem {
	w, err := loop.NewWorkItem(host, "acme", "shop", n)
	if err != nil {
		panic(err)
	}
	return w
}

func announcement(key string) outbox.Letter {
	return outbox.Letter{Key: key, Topic: outbox.Announcement, Item: shop15, Text: outbox.Announce(shop15)}
}

func reaction(key string) outbox.Letter {
	return outbox.Letter{Key: key, Topic: outbox.Reaction, Item: shop15, Text: "eyes", Comment: 7}
}

func TestLettersArePostedOnceInOrder(t *testing.T) {
	t.Parallel()
	bubble(t, &hub{}, func(t *testing.T, d *desk) {
		d.put(announcement("a"), reaction("b"))
		d.put(announcement("a"), outbox.Letter{Key: "c", Topic: outbox.Answer, Item: shop15, Text: "Paused.\n\n" + loop.Marker})
		d.want([]string{"a", "b", "c"}, "session.announced posted", "outbox.posted posted")
		for id, want := range map[int64]bool{1: true, 2: false, 3: true, 4: false} {
			if got, err := d.out.Posted(t.Context(), "", id); err != nil || got != want {
				t.Errorf("comment %d is ours: %v (%v), want %v", id, got, err, want)
			}
		}
		if got, _ := d.out.Posted(t.Context(), "ghe.example.com", 1); got {
			t.Error("the comment of another host is taken for ours")
		}
		if s := d.trouble(); s != "" {
			t.Errorf("trouble: %s", s)
		}
	})
}

func TestWhatFailsIsOneEventAndSeen(t *testing.T) {
	t.Parallel()
	denied := fmt.Errorf("403 forbidden: the token needs issues=write: %w", loop.ErrDenied)
	h := &hub{fail: func(outbox.Letter) error { return denied }}
	bubble(t, h, func(_ *testing.T, d *desk) {
		d.put(reaction("a"), reaction("b"), announcement("c"), reaction("d"))
		d.want(nil, "outbox.failed failed", "session.announce_failed failed")
		want := "the announcement is not on github:acme/shop#15: 403 forbidden: the token needs issues=write\n" +
			"the reaction is not on github:acme/shop#15: 403 forbidden: the token needs issues=write (and 2 more before)"
		if diff := cmp.Diff(want, d.trouble()); diff != "" {
			d.t.Error(diff)
		}
		h.mu.Lock()
		h.fail = nil
		h.mu.Unlock()
		d.put(reaction("e"), announcement("f"))
		synctest.Wait()
		if s := d.trouble(); s != "" {
			d.t.Errorf("trouble after it went well: %s", s)
		}
	})
}

func TestALimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	var limited atomic.Bool
	limited.Store(true)
	h := &hub{fail: func(l outbox.Letter) error {
		if limited.Load() && l.Item.Host == "" {
			return &outbox.LaterError{Until: time.Now().Add(2 * time.Minute), Err: errors.New("github.com limits our requests")}
		}
		return nil
	}}
	bubble(t, h, func(t *testing.T, d *desk) {
		d.put(announcement("a"), reaction("b"))
		synctest.Wait()
		_, err := d.out.Say(t.Context(), outbox.Comment, shop15, "done")
		if !errors.Is(err, loop.ErrUnavailable) || !strings.Contains(err.Error(), "limits our requests") {
			t.Errorf("error %v", err)
		}
		elsewhere := reaction("x")
		elsewhere.Item = mustItem("ghe.example.com", 15)
		d.put(elsewhere)
		d.want([]string{"x"})
		time.Sleep(time.Minute)
		d.want([]string{"x"})
		limited.Store(false)
		time.Sleep(time.Minute)
		d.want([]string{"x", "a", "b"}, "session.announced posted")
	})
}

func TestALimitWithoutEndIsGivenUp(t *testing.T) {
	t.Parallel()
	h := &hub{fail: func(outbox.Letter) error {
		return &outbox.LaterError{Until: time.Now().Add(2 * time.Hour), Err: errors.New("offline")}
	}}
	bubble(t, h, func(t *testing.T, d *desk) {
		d.put(announcement("a"))
		time.Sleep(30 * time.Hour)
		d.want(nil, "session.announce_failed failed")
	})
}

func TestWithoutATokenNothingIsSaidButOnce(t *testing.T) {
	t.Parallel()
	h := &hub{fail: func(outbox.Letter) error { return &outbox.MuteError{Err: errors.New("no token for github.com")} }}
	bubble(t, h, func(t *testing.T, d *desk) {
		d.put(reaction("a"), announcement("b"), reaction("c"))
		d.want(nil)
		if s := d.trouble(); strings.Count(s, "nothing is posted on GitHub") != 1 || !strings.Contains(s, "no token") {
			t.Errorf("trouble: %q", s)
		}
		if _, err := d.out.Say(t.Context(), outbox.Comment, shop15, "done"); err == nil || !strings.Contains(err.Error(), "no token") {
			t.Errorf("error %v", err)
		}
	})
}

func TestAnUnknownFateIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	h := &hub{lose: func(outbox.Letter) error { return fmt.Errorf("no answer: %w", loop.ErrUnavailable) }}
	bubble(t, h, func(t *testing.T, d *desk) {
		d.put(announcement("a"))
		time.Sleep(time.Hour)
		d.want([]string{"a"}, "session.announce_failed unclear")
		if ours, err := d.out.Doubtful(t.Context(), shop15); err != nil || !ours {
			t.Errorf("an announcement that may be there is not held for ours: %v", err)
		}
		d.put(reaction("b"))
		time.Sleep(time.Hour)
		d.want([]string{"a", "b", "b", "b"}, "session.announce_failed unclear", "outbox.failed failed")
	})
}

func TestSay(t *testing.T) {
	t.Parallel()
	h := &hub{}
	bubble(t, h, func(t *testing.T, d *desk) {
		first, err := d.out.Say(t.Context(), outbox.Question, shop15, "Which colour?\n")
		if err != nil || !strings.HasPrefix(first.URL, "https://") {
			t.Fatalf("posted at %q: %v", first.URL, err)
		}
		again, err := d.out.Say(t.Context(), outbox.Question, shop15, "Which colour?")
		if err != nil || again.URL != first.URL || len(h.all()) != 1 {
			t.Errorf("the second try is at %q after %d posts: %v", again.URL, len(h.all()), err)
		}
		time.Sleep(11 * time.Minute)
		if later, err := d.out.Say(t.Context(), outbox.Question, shop15, "Which colour?"); err != nil || later.URL == first.URL {
			t.Errorf("the same words later are at %q: %v", later.URL, err)
		}
		for _, text := range []string{" \n", strings.Repeat("x", 65536)} {
			if _, err := d.out.Say(t.Context(), outbox.Comment, shop15, text); !errors.Is(err, loop.ErrInvalid) {
				t.Errorf("%d characters: error %v", len(text), err)
			}
		}
	})
}

func TestSayAfterAFailureTriesAgain(t *testing.T) {
	t.Parallel()
	h := &hub{fail: func(outbox.Letter) error { return fmt.Errorf("403 forbidden: %w", loop.ErrDenied) }}
	bubble(t, h, func(t *testing.T, d *desk) {
		if _, err := d.out.Say(t.Context(), outbox.Comment, shop15, "done"); err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("error %v", err)
		}
		h.fail, h.lose = nil, func(outbox.Letter) error { return errors.New("no answer") }
		for range 2 { // once it may be there it is not said again
			if _, err := d.out.Say(t.Context(), outbox.Comment, shop15, "done"); !errors.Is(err, loop.ErrConflict) {
				t.Errorf("error %v", err)
			}
		}
		if n := len(h.all()); n != 1 {
			t.Errorf("posted %d times", n)
		}
	})
}

func TestWhoeverGivesUpWaitingLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, dir, &hub{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := d.out.Say(ctx, outbox.Comment, shop15, "done"); !errors.Is(err, loop.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		stop := d.run()
		time.Sleep(time.Hour)
		d.want(nil)
		stop()
	})
}

func TestPruneKeepsWhatIsOurs(t *testing.T) {
	t.Parallel()
	bubble(t, &hub{}, func(t *testing.T, d *desk) {
		d.put(announcement("a"))
		synctest.Wait()
		for days, want := range map[int]int{34: 0, 36: 1} {
			if n, err := d.out.Prune(t.Context(), time.Now().AddDate(0, 0, days), 35); err != nil || n != want {
				t.Errorf("after %d days %d are removed (%v), want %d", days, n, err, want)
			}
		}
		if ours, err := d.out.Posted(t.Context(), "", 1); err != nil || !ours {
			t.Errorf("what was posted is forgotten: %v", err)
		}
	})
}

func TestPruneKeepsWhatMayBeOurs(t *testing.T) {
	t.Parallel()
	h := &hub{lose: func(outbox.Letter) error { return fmt.Errorf("no answer: %w", loop.ErrUnavailable) }}
	bubble(t, h, func(t *testing.T, d *desk) {
		d.put(announcement("a"))
		synctest.Wait()
		if n, err := d.out.Prune(t.Context(), time.Now().AddDate(1, 0, 0), 35); err != nil || n != 0 {
			t.Errorf("%d letters are removed (%v), want none", n, err)
		}
		if ours, err := d.out.Doubtful(t.Context(), shop15); err != nil || !ours {
			t.Errorf("an announcement that may be there is taken for another Loop's after a year: %v", err)
		}
	})
}

func TestAnnouncements(t *testing.T) {
	t.Parallel()
	text := outbox.Announce(shop15)
	if !strings.Contains(text, "loopctl attach github:acme/shop#15") {
		t.Errorf("the announcement does not say how to look: %s", text)
	}
	for body, want := range map[string]bool{
		loop.AddMarker(text):        true,
		text:                        false,
		"> " + loop.AddMarker(text): false,
		loop.AddMarker("I have started an agent on it"): false,
	} {
		if got := outbox.IsAnnouncement(body); got != want {
			t.Errorf("%q is an announcement: %v, want %v", body, got, want)
		}
	}
}
