package poll_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/poll"
)

func TestNothingIsAskedWhileTheHostIsLimited(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		for n := 1; n <= 20; n++ {
			h.shop.Open("octocat", githubtest.Item{Number: n}).Label("octocat", label)
		}
		h.later(time.Minute)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.p.Run(ctx) }()
		synctest.Wait()
		for n := 1; n <= 20; n++ {
			h.shop.Thread(n).Comment("octocat", "active")
		}
		h.gh.Fail("GET *", githubtest.SecondaryLimit(120*time.Second), 1)
		h.later(2 * time.Minute) // a cycle began meanwhile, and met it
		var limited time.Time
		for _, r := range h.gh.Requests() {
			switch {
			case r.Status == 403 || r.Status == 429:
				limited = r.At
			case !limited.IsZero() && r.At.Before(limited.Add(120*time.Second)):
				t.Errorf("%s after %s", r, r.At.Sub(limited))
			}
		}
		if limited.IsZero() {
			t.Error("no limit was met")
		}
		h.later(4 * time.Minute)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := strings.Count(strings.Join(h.news(), " "), "comment:"); got != 20 {
			t.Errorf("%d comments were found in the end, want 20", got)
		}
	})
}

func TestRunAsksInItsTime(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register("github:acme/plan#1")
		h.gh.Repo("acme", "plan").Open("octocat", githubtest.Item{Number: 1})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.p.Run(ctx) }()
		h.later(time.Hour)
		watched, _ := h.gh.Count("GET */repos/acme/shop/issues?*since=*")
		first, _ := h.gh.Count("GET */repos/acme/plan/issues?*since=*")
		if watched < 50 || watched > 61 || first < 10 || first > 13 {
			t.Errorf("in an hour what is watched was asked about %d times, and where a session works %d times", watched, first)
		}
		synctest.Wait()
		h.settings.Watches = nil
		h.p.Refresh()
		h.later(time.Minute)
		h.gh.ForgetRequests()
		h.later(30 * time.Minute)
		if n, _ := h.gh.Count("GET */repos/acme/shop/*"); n != 0 {
			t.Errorf("what is not watched any more was asked about %d times", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// asked runs the poller for a while, and returns when it began to ask about acme/shop.
func (h *house) asked(long time.Duration) (at []time.Duration) {
	h.t.Helper()
	begun := time.Now()
	h.gh.ForgetRequests()
	ctx, stop := context.WithCancel(h.t.Context())
	done := make(chan error, 1)
	go func() { done <- h.p.Run(ctx) }()
	h.later(long)
	stop()
	h.must(<-done)
	for _, r := range h.gh.Requests() {
		if path := r.Path; strings.HasSuffix(path, "/repos/acme/shop") || strings.Contains(path, "/repositories/") {
			at = append(at, r.At.Sub(begun))
		}
	}
	return at
}

func TestWhereASessionWorksIsAskedEveryFiveMinutesAtLeast(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour} {
		for _, begun := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, begun %t", interval, begun), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, h *house) {
					h.shop.Open("octocat", githubtest.Item{Number: 1})
					h.settings.Interval = interval
					if begun {
						h.register("github:acme/shop#1")
					} else {
						time.AfterFunc(10*time.Minute, func() { h.register("github:acme/shop#1") })
					}
					at := h.asked(2 * time.Hour)
					last := 10 * time.Minute
					for _, now := range append(at, 2*time.Hour) {
						if now > last && now-last > 6*time.Minute {
							t.Errorf("it was not asked about between %v and %v", last, now)
						}
						last = max(last, now)
					}
					if interval == 24*time.Hour && len(at) > 25 {
						t.Errorf("it was asked about %d times in two hours", len(at))
					}
				})
			})
		}
	}
}

func TestARepositoryThatFailsIsTriedAgainLaterAndLater(t *testing.T) {
	t.Parallel()
	for interval, want := range map[time.Duration][]time.Duration{
		time.Minute:     {1 * time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute},
		7 * time.Minute: {5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 15 * time.Minute},
		time.Hour:       {5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 15 * time.Minute},
	} {
		t.Run(interval.String(), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				h.settings.Interval = interval
				h.gh.Fail("GET *", githubtest.Answer(502), -1)
				at := h.asked(2 * time.Hour)
				for i, pause := range want {
					if got := at[i+1] - at[i]; got < pause || got > pause+pause/10+time.Second {
						t.Errorf("after %d failures it is left alone for %v, want %v", i+1, got, pause)
					}
				}
			})
		})
	}
}

func TestALimitedHostIsAskedAgainAtTheTimeThatItNames(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{10 * time.Second, time.Hour} {
		for _, limit := range []time.Duration{2 * time.Minute, 40 * time.Minute} {
			t.Run(fmt.Sprintf("%v every %v", limit, interval), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, h *house) {
					h.settings.Interval = interval
					h.gh.Fail("GET *", githubtest.SecondaryLimit(limit), 1)
					until := time.Now().Add(time.Minute + limit)
					r := h.report()
					if !strings.Contains(r.Trouble, "asked again at "+stamp(until)) || r.Next.Before(until) || r.Next.After(until.Add(5*time.Second)) {
						t.Errorf("%q, and it is asked again at %v, want %v", r.Trouble, r.Next, until)
					}
					if at := h.asked(limit + 10*time.Second); len(at) == 0 || at[0] < limit || at[0] > limit+5*time.Second {
						t.Errorf("it was asked after %v, want %v", at, limit)
					}
				})
			})
		}
	}
}

func TestACycleThatAPersonAsksForMovesTheNext(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.settings.Interval = 5 * time.Second
		h.gh.Fail("GET *", githubtest.Answer(502), -1)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.p.Run(ctx) }()
		h.later(201 * time.Second) // by now it is left alone for minutes, and Run has just looked
		h.gh.Mend()
		all, err := h.p.Poll(t.Context())
		h.must(err)
		h.gh.ForgetRequests()
		h.later(7 * time.Second)
		if n, _ := h.gh.Count("GET *"); all[0].Trouble != "" || n == 0 {
			t.Errorf("%+v, and %d requests within the interval", all, n)
		}
		stop()
		h.must(<-done)
	})
}

func TestSleepIsNoticed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wall, running time.Duration
		want          bool
	}{
		"awake":            {30 * time.Second, 30 * time.Second, false},
		"asleep":           {time.Hour, 30 * time.Second, true},
		"a clock set back": {-time.Hour, 30 * time.Second, false},
		"a clock adjusted": {31 * time.Second, 30 * time.Second, false},
	} {
		if got := poll.Slept(tc.wall, tc.running); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
