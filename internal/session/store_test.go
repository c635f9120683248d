package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
)

var shop15 = ref("github:acme/shop#15")

func TestRegisteredSessionIsAReadableFile(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	register(t, s, loop.Session{
		WorkItem: shop15, Harness: "claude", HarnessSessionID: "3f9a", Cwd: "/home/user/shop", Runner: loop.RunnerHeadless,
		Status: loop.StatusActive, CreatedAt: time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC), RecentDeliveries: []loop.DeliveryID{"uuid-1"},
	})
	want := `{
  "workItem": {
    "ref": "github:acme/shop#15",
    "provider": "github",
    "owner": "acme",
    "repo": "shop",
    "number": 15
  },
  "harness": "claude",
  "harnessSessionId": "3f9a",
  "cwd": "/home/user/shop",
  "runner": "headless",
  "tmuxTarget": "",
  "status": "active",
  "createdAt": "2026-07-02T10:00:00Z",
  "lastEventAt": null,
  "recentDeliveries": [
    "uuid-1"
  ],
  "pullRequests": []
}
`
	name := filepath.Join(dir, "github-acme-shop-15.json")
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v; want only the owner to read it", info.Mode(), err)
	}
}

func TestReopenedStoreHasTheSameSessions(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	at := time.Now()
	full := made(shop15)
	full.RepositoryID, full.TmuxTarget, full.Runner, full.Spawned = 7, "loop-github-acme-shop-15", loop.RunnerTmux, true
	full.LastEventAt, full.ConversationAt, full.PausedAt, full.PauseReason = &at, &at, &at, loop.PausedRunaway
	full.Status, full.CostUSD = loop.StatusPaused, 1.25
	full.PullRequests, full.PreviousSessionIDs = []string{"github:acme/shop#16"}, []loop.SessionID{"old"}
	register(t, s, full)
	for _, w := range []string{"github:a-b/c#1", "github:a/b-c#1", "github:ghe.example.com/acme/shop#15", "github:acme/shop.js#15"} {
		register(t, s, made(ref(w)))
	}
	before := s.List()
	if len(before) != 5 {
		t.Fatalf("%d sessions, want 5", len(before))
	}
	if diff := cmp.Diff(before, reopen(t, dir).List()); diff != "" {
		t.Errorf("after reopening (-before +after):\n%s", diff)
	}
}

func TestFindIgnoresCase(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	register(t, s, made(ref("github:Acme/Shop#15")))
	if got, ok := s.Find(shop15); !ok || got.WorkItem.Ref() != "github:Acme/Shop#15" {
		t.Errorf("Find = %v, %v", got.WorkItem, ok)
	}
	if err := s.Register(made(shop15)); !errors.Is(err, loop.ErrExists) {
		t.Errorf("Register in another case = %v, want ErrExists", err)
	}
	if _, ok := s.Find(ref("github:acme/shop#1")); ok {
		t.Error("Find found another item")
	}
}

func TestFindRenamed(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	old := made(shop15)
	register(t, s, old)
	for _, id := range []int64{7, 9} { // the first one counts
		if err := s.Identify(old, id); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		id   int64
		item string
		want bool
	}{
		{7, "github:acme/store#15", true},
		{7, "github:acme/store#16", false},
		{8, "github:acme/store#15", false},
		{0, "github:acme/store#15", false},
		{7, "github:ghe.example.com/acme/store#15", false},
	} {
		if got, ok := s.FindRenamed(tt.id, ref(tt.item)); ok != tt.want || ok && got.WorkItem != shop15 {
			t.Errorf("FindRenamed(%d, %s) = %v, %v", tt.id, tt.item, got.WorkItem, ok)
		}
	}
}

func TestOneOpenSessionPerItemAndConversation(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	first := made(shop15)
	first.HarnessSessionID = "one"
	register(t, s, first)
	for _, status := range []loop.SessionStatus{loop.StatusActive, loop.StatusPaused} {
		update(t, s, first, func(s *loop.Session) { s.Status = status })
		if err := s.Register(made(shop15)); !errors.Is(err, loop.ErrExists) {
			t.Errorf("Register beside an %s session = %v, want ErrExists", status, err)
		}
	}
	same := made(ref("github:acme/shop#16"))
	same.HarnessSessionID = "one"
	if err := s.Register(same); !errors.Is(err, loop.ErrExists) || !strings.Contains(err.Error(), shop15.Ref()) {
		t.Errorf("Register of the same conversation = %v, want ErrExists that names the owner", err)
	}
	now := time.Now()
	update(t, s, first, func(s *loop.Session) {
		s.Status, s.ClosedAt, s.CloseReason, s.Ending = loop.StatusClosed, &now, loop.CloseReplaced, loop.EndingHarness
	})
	second := made(shop15)
	second.CreatedAt = first.CreatedAt.Add(time.Second)
	register(t, s, second)
	s = reopen(t, dir)
	if got, ok := s.Find(shop15); !ok || !got.CreatedAt.Equal(second.CreatedAt) {
		t.Errorf("Find = %v, want the new session", got)
	}
	update(t, s, first, func(s *loop.Session) { s.Ending = loop.EndingNone })
	all := s.List()
	if len(all) != 2 || all[0].CloseReason != loop.CloseReplaced || all[0].Ending != loop.EndingNone || all[1].Status != loop.StatusActive {
		t.Errorf("List = %+v, want the old one and the new one", all)
	}
	moved := filepath.Join(dir, "closed", "github-acme-shop-15-"+first.CreatedAt.UTC().Format("20060102T150405.000000000Z")+".json")
	if _, err := os.Stat(moved); err != nil {
		t.Errorf("the old record: %v", err)
	}
}

func TestWhatCouldNotBeReadAgainIsNotWritten(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	register(t, s, made(shop15))
	before, _ := s.Find(shop15)
	now := time.Now()
	for name, spoil := range map[string]func(*loop.Session){
		"id with a dash":     func(s *loop.Session) { s.HarnessSessionID = "-p" },
		"begun without id":   func(s *loop.Session) { s.HarnessSessionID, s.ConversationAt = "", &now },
		"old id with a dash": func(s *loop.Session) { s.PreviousSessionIDs = []loop.SessionID{"-p"} },
		"no harness":         func(s *loop.Session) { s.Harness = "" },
		"harness as a flag":  func(s *loop.Session) { s.Harness = "-x" },
		"relative cwd":       func(s *loop.Session) { s.Cwd = "shop" },
		"cwd with a NUL":     func(s *loop.Session) { s.Cwd = "/shop\x00" },
		"no runner":          func(s *loop.Session) { s.Runner = "" },
		"foreign target":     func(s *loop.Session) { s.TmuxTarget = "mine" },
		"no status":          func(s *loop.Session) { s.Status = "" },
		"no item":            func(s *loop.Session) { s.WorkItem = loop.WorkItem{} },
	} {
		bad := made(ref("github:acme/shop#16"))
		spoil(&bad)
		if err := s.Register(bad); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("%s: Register = %v, want ErrInvalid", name, err)
		}
		err := s.Update(shop15, before.CreatedAt, func(s *loop.Session) error { spoil(s); return nil })
		if !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("%s: Update = %v, want ErrInvalid", name, err)
		}
	}
	mine := errors.New("mine")
	for name, tt := range map[string]struct {
		change func(*loop.Session) error
		want   error
	}{
		"another item": {func(s *loop.Session) error { s.WorkItem = ref("github:acme/shop#1"); return nil }, loop.ErrInvalid},
		"another time": {func(s *loop.Session) error { s.CreatedAt = now; return nil }, loop.ErrInvalid},
		"own error":    {func(s *loop.Session) error { s.PullRequests[0] = "changed"; return mine }, mine},
	} {
		before.PullRequests = []string{"github:acme/shop#9"}
		update(t, s, before, func(s *loop.Session) { s.PullRequests = []string{"github:acme/shop#9"} })
		if err := s.Update(shop15, before.CreatedAt, tt.change); !errors.Is(err, tt.want) {
			t.Errorf("%s: Update = %v, want %v", name, err, tt.want)
		}
	}
	if err := s.Update(shop15, now, func(*loop.Session) error { return nil }); !errors.Is(err, loop.ErrNotFound) {
		t.Errorf("Update of a session that is not there = %v, want ErrNotFound", err)
	}
	if got, _ := s.Find(shop15); cmp.Diff(before, got) != "" || len(s.List()) != 1 {
		t.Errorf("refused changes left %+v", s.List())
	}
}

func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	one := made(shop15)
	register(t, s, one)
	const touches = 1000
	var wg sync.WaitGroup
	work := make(chan int, touches)
	for i := range touches {
		work <- i
	}
	close(work)
	for range 50 {
		wg.Go(func() {
			for i := range work {
				err := s.Update(shop15, one.CreatedAt, func(s *loop.Session) error {
					if i == touches/2 {
						s.Status = loop.StatusPaused
					}
					s.CostUSD++
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range []*session.Store{s, reopen(t, dir)} {
		if got, _ := s.Find(shop15); got.Status != loop.StatusPaused || got.CostUSD != touches {
			t.Errorf("status %s after %v touches, want paused after %d", got.Status, got.CostUSD, touches)
		}
	}
}

func TestWhatIsReadIsACopy(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	at := time.Now()
	one := made(shop15)
	one.LastEventAt, one.RecentDeliveries = &at, []loop.DeliveryID{"a"}
	register(t, s, one)
	one.RecentDeliveries[0] = "changed by the caller"
	got, _ := s.Find(shop15)
	got.RecentDeliveries[0], *got.LastEventAt = "changed", time.Time{}
	s.List()[0].RecentDeliveries[0] = "changed"
	if again, _ := s.Find(shop15); again.RecentDeliveries[0] != "a" || again.LastEventAt.IsZero() {
		t.Errorf("the registry holds %+v", again)
	}
}

func TestPruneRemovesWhatWasClosedLongAgo(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	now := time.Now()
	for i, closed := range []time.Duration{0, 100, 100, 80} {
		one := made(shop15.Sibling(i + 1))
		register(t, s, one)
		if closed > 0 {
			at := now.Add(-closed * 24 * time.Hour)
			update(t, s, one, func(s *loop.Session) { s.Status, s.ClosedAt = loop.StatusClosed, &at })
		}
		if i == 2 {
			update(t, s, one, func(s *loop.Session) { s.Ending = loop.EndingWorkspace })
		}
	}
	if n, err := s.Prune(now, 90); err != nil || n != 1 {
		t.Errorf("Prune = %d, %v; want 1", n, err)
	}
	var left []int
	for _, one := range reopen(t, dir).List() {
		left = append(left, one.WorkItem.Number)
	}
	slices.Sort(left)
	if diff := cmp.Diff([]int{1, 3, 4}, left); diff != "" {
		t.Errorf("sessions left (-want +got):\n%s", diff)
	}
}

// Whatever was done before, the folder holds what the memory says: a new start finds the same sessions.
func TestDiskAndMemoryAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		s, err := session.Open(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			rt.Fatal(err)
		}
		var clock time.Duration
		number := rapid.IntRange(1, 3)
		rt.Repeat(map[string]func(*rapid.T){
			"register": func(rt *rapid.T) {
				w := shop15.Sibling(number.Draw(rt, "register"))
				old, ok := s.Find(w)
				one := made(w)
				clock += time.Nanosecond
				one.CreatedAt = one.CreatedAt.Add(clock)
				err := s.Register(one)
				if exists := errors.Is(err, loop.ErrExists); exists != (ok && old.Open()) || !exists && err != nil {
					rt.Fatalf("Register beside %q = %v", old.Status, err)
				}
			},
			"update": func(rt *rapid.T) {
				old, ok := s.Find(shop15.Sibling(number.Draw(rt, "update")))
				if !ok {
					return
				}
				status := rapid.SampledFrom([]loop.SessionStatus{loop.StatusActive, loop.StatusPaused, loop.StatusClosed}).Draw(rt, "status")
				err := s.Update(old.WorkItem, old.CreatedAt, func(s *loop.Session) error { s.Status = status; return nil })
				if err != nil {
					rt.Fatal(err)
				}
			},
			"": func(rt *rapid.T) {
				again, err := session.Open(dir, slog.New(slog.DiscardHandler))
				if err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(s.List(), again.List()); diff != "" {
					rt.Fatalf("(-memory +disk):\n%s", diff)
				}
				if err := again.Close(); err != nil {
					rt.Fatal(err)
				}
			},
		})
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

func open(t *testing.T) (*session.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sessions")
	return openAt(t, dir, slog.New(slog.DiscardHandler)), dir
}

func openAt(t *testing.T, dir string, logger *slog.Logger) *session.Store {
	t.Helper()
	s, err := session.Open(dir, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func reopen(t *testing.T, dir string) *session.Store {
	t.Helper()
	var out bytes.Buffer
	again := openAt(t, dir, slog.New(slog.NewTextHandler(&out, nil)))
	if out.Len() > 0 {
		t.Errorf("reopening logged: %s", &out)
	}
	return again
}

func made(w loop.WorkItem) loop.Session {
	return loop.Session{
		WorkItem: w, Harness: "claude", HarnessSessionID: loop.SessionID(fmt.Sprint("id-", w.Number, "-", w.Slug())), Cwd: "/home/user/shop",
		Runner: loop.RunnerHeadless, Status: loop.StatusActive, CreatedAt: time.Date(2026, 7, 2, 10, 0, 0, 5, time.UTC),
	}
}

func register(t *testing.T, s *session.Store, one loop.Session) {
	t.Helper()
	if err := s.Register(one); err != nil {
		t.Fatal(err)
	}
}

func update(t *testing.T, s *session.Store, one loop.Session, change func(*loop.Session)) {
	t.Helper()
	if err := s.Update(one.WorkItem, one.CreatedAt, func(s *loop.Session) error { change(s); return nil }); err != nil {
		t.Fatal(err)
	}
}

func ref(s string) loop.WorkItem {
	w, err := loop.ParseRef(s)
	if err != nil {
		panic(err)
	}
	return w
}
