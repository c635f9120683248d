package github_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
)

// limited runs a test in a bubble, where time passes at once when all wait, against answers by request.
func limited(t *testing.T, do func(t *testing.T, c *github.Client, answer *roundTrip)) {
	t.Helper()
	db := openJournal(t)
	synctest.Test(t, func(t *testing.T) {
		answer := new(roundTrip)
		c := newClient(t, github.Options{
			Journal: db, Log: slog.New(slog.DiscardHandler),
			Env:  []string{"GITHUB_TOKEN=" + secretToken, "GH_ENTERPRISE_TOKEN=" + secretToken},
			HTTP: roundTrip(func(r *http.Request) (*http.Response, error) { return (*answer)(r) }),
		})
		do(t, c, answer)
	})
}

func answers(status int, body string, header ...string) roundTrip {
	return func(r *http.Request) (*http.Response, error) { return respond(r, status, body, header...), nil }
}

func TestLimits(t *testing.T) {
	t.Parallel()
	date := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC) // the host's clock, far from ours
	reset := strconv.FormatInt(date.Add(20*time.Minute).Unix(), 10)
	for _, tc := range []struct {
		name   string
		answer roundTrip
		pause  time.Duration
	}{
		{"secondary with a time", answers(403, `{"message":"You have exceeded a secondary rate limit"}`, "Retry-After", "120"), 2 * time.Minute},
		{"too many with a time", answers(429, ``, "Retry-After", "90"), 90 * time.Second},
		{"a date", answers(429, ``, "Retry-After", date.Add(time.Minute).Format(http.TimeFormat), "Date", date.Format(http.TimeFormat)), time.Minute},
		{"the time before the reset", answers(403, `{}`, "Retry-After", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset), 5 * time.Second},
		{"nothing left", answers(403, `{"message":"API rate limit exceeded"}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset, "Date", date.Format(http.TimeFormat)), 20*time.Minute + time.Second},
		{"nothing left, 429", answers(429, `{}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset, "Date", date.Format(http.TimeFormat)), 20*time.Minute + time.Second},
		{"secondary without a time", answers(403, `{"message":"You have exceeded a secondary rate limit."}`), time.Minute},
		{"secondary by its page", answers(403, `{"documentation_url":"https://docs.github.com/rest#secondary-rate-limits"}`), time.Minute},
		{"too many without a time", answers(429, ``), time.Minute},
		{"overloaded with a time", answers(503, ``, "Retry-After", "30"), 30 * time.Second},
		{"five hours", answers(429, ``, "Retry-After", "18000"), 5 * time.Hour},
		{"a year", answers(429, ``, "Retry-After", "31536000"), 24 * time.Hour},
		{"more seconds than there are", answers(429, ``, "Retry-After", "99999999999999"), 24 * time.Hour},
		{"a date in a hundred years", answers(429, ``, "Retry-After", date.AddDate(100, 0, 0).Format(http.TimeFormat), "Date", date.Format(http.TimeFormat)), 24 * time.Hour},
		{"a reset in five thousand years", answers(429, ``, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "99999999999"), 24 * time.Hour},
		{"a reset at the end of time", answers(429, ``, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "9223372036854775807"), 24 * time.Hour},
		{"a reset long ago", answers(429, ``, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "0"), time.Second},
		{"a reset in a year", answers(429, ``, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1000000000", "Date", date.Format(http.TimeFormat)), 24 * time.Hour},
		{"no right", answers(403, `{"message":"Resource not accessible"}`, "X-RateLimit-Remaining", "4999"), 0},
		{"enterprise, which counts nothing", answers(403, `{"message":"Must have admin rights"}`), 0},
		{"down", answers(500, ``), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			limited(t, func(t *testing.T, c *github.Client, answer *roundTrip) {
				*answer = tc.answer
				begun := time.Now()
				_, err := c.Issue(t.Context(), item(1))
				e, is := errors.AsType[*github.LimitError](err)
				if err == nil || is != (tc.pause > 0) || is && (!errors.Is(err, loop.ErrUnavailable) || e.Until.Sub(begun) != tc.pause) {
					t.Fatalf("%v, want a pause of %v", err, tc.pause)
				}
				if got := c.Limited(""); is != !got.IsZero() || is && got.Sub(begun) != tc.pause {
					t.Fatalf("limited until %v", got)
				}
				*answer = answers(200, `{"number":1}`)
				if !is {
					return
				}
				time.Sleep(tc.pause - time.Nanosecond)
				if _, err := c.Issue(t.Context(), item(2)); !errors.As(err, &e) {
					t.Errorf("asked before its time: %v", err)
				}
				time.Sleep(time.Nanosecond)
				if _, err := c.Issue(t.Context(), item(2)); err != nil || !c.Limited("").IsZero() {
					t.Errorf("not asked at its time: %v", err)
				}
			})
		})
	}
}

func TestALimitOutlivesTheClient(t *testing.T) {
	t.Parallel()
	reset := func() string { return strconv.FormatInt(time.Now().Add(2*time.Minute-time.Second).Unix(), 10) }
	for name, answer := range map[string]func() roundTrip{
		"turned away": func() roundTrip { return answers(403, `{"message":"secondary rate limit"}`, "Retry-After", "120") },
		"nothing left": func() roundTrip {
			return answers(200, `{"number":1}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset())
		},
	} {
		for _, host := range []string{"", "ghe.example.com"} {
			t.Run(name+" "+host, func(t *testing.T) {
				t.Parallel()
				db := openJournal(t)
				synctest.Test(t, func(t *testing.T) {
					requests, say := 0, answer()
					open := func() *github.Client {
						return newClient(t, github.Options{
							Journal: db, Log: slog.New(slog.DiscardHandler),
							Env:  []string{"GITHUB_TOKEN=" + secretToken, "GH_ENTERPRISE_TOKEN=" + secretToken},
							HTTP: roundTrip(func(r *http.Request) (*http.Response, error) { requests++; return say(r) }),
						})
					}
					on, begun := item(1), time.Now()
					on.Host = host
					_, _ = open().Issue(t.Context(), on)
					say = answers(200, `{"number":1}`)
					time.Sleep(time.Minute)
					for range 2 {
						_, err := open().Issue(t.Context(), on)
						if e, is := errors.AsType[*github.LimitError](err); !is || e.Until.Sub(begun) != 2*time.Minute {
							t.Errorf("%v, want the limit that was met before", err)
						}
					}
					if got := open().Limited(host); got.Sub(begun) != 2*time.Minute || requests != 1 {
						t.Errorf("limited until %v, after %d requests", got, requests)
					}
					time.Sleep(time.Minute)
					if _, err := open().Issue(t.Context(), on); err != nil || requests != 2 {
						t.Errorf("%v after %d requests: the limit is over", err, requests)
					}
				})
			})
		}
	}
}

func TestTheLastRequestThatIsLeftIsAnswered(t *testing.T) {
	t.Parallel()
	limited(t, func(t *testing.T, c *github.Client, answer *roundTrip) {
		reset := strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10)
		*answer = answers(200, `{"number":1}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)
		if _, err := c.Issue(t.Context(), item(1)); err != nil || time.Until(c.Limited("")) != time.Minute+time.Second {
			t.Errorf("%v, limited until %v", err, c.Limited(""))
		}
	})
}

func TestALimitWithoutATimeDoubles(t *testing.T) {
	t.Parallel()
	limited(t, func(t *testing.T, c *github.Client, answer *roundTrip) {
		pause := func() time.Duration {
			_, err := c.Issue(t.Context(), item(1))
			if err == nil {
				return 0
			}
			d := time.Until(c.Limited(""))
			time.Sleep(d)
			return d
		}
		*answer = answers(429, "")
		got := []time.Duration{pause(), pause(), pause()}
		*answer = answers(200, `{"number":1}`)
		got = append(got, pause())
		*answer = answers(429, "")
		got = append(got, pause())
		if diff := cmp.Diff([]time.Duration{1 * time.Minute, 2 * time.Minute, 4 * time.Minute, 0, time.Minute}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestALimitIsOfOneHostAndAllItsRepositories(t *testing.T) {
	t.Parallel()
	limited(t, func(t *testing.T, c *github.Client, answer *roundTrip) {
		*answer = answers(429, "", "Retry-After", "10")
		_, _ = c.Issue(t.Context(), item(1))
		*answer = answers(200, `{"number":1,"login":"octocat"}`)
		other := item(1)
		other.Repo = "store"
		if _, err := c.Issue(t.Context(), other); !errors.Is(err, loop.ErrUnavailable) {
			t.Errorf("another repository: %v", err)
		}
		if _, err := c.Post(t.Context(), other, "hi"); !errors.Is(err, loop.ErrUnavailable) {
			t.Errorf("a write: %v", err)
		}
		other.Host = "ghe.example.com"
		if _, err := c.Issue(t.Context(), other); err != nil || !c.Limited(other.Host).IsZero() {
			t.Errorf("another host: %v", err)
		}
	})
}

func TestOneRequestAtATime(t *testing.T) {
	t.Parallel()
	limited(t, func(t *testing.T, c *github.Client, answer *roundTrip) {
		running := make(chan struct{}, 1)
		*answer = func(r *http.Request) (*http.Response, error) {
			select {
			case running <- struct{}{}:
			default:
				t.Error("two requests at a time")
			}
			time.Sleep(time.Second)
			<-running
			return respond(r, 200, `{"number":1}`), nil
		}
		begun := time.Now()
		var all sync.WaitGroup
		for n := range 5 {
			all.Go(func() {
				if _, err := c.Issue(t.Context(), item(n+1)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestWhoWaitsForALimitedHostIsToldAtOnce(t *testing.T) {
	t.Parallel()
	limited(t, func(t *testing.T, c *github.Client, answer *roundTrip) {
		*answer = func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return respond(r, 429, "", "Retry-After", "60"), nil
		}
		begun := time.Now()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				_, err := c.Issue(t.Context(), item(1))
				if e, ok := errors.AsType[*github.LimitError](err); !ok || e.Until.Sub(begun) != 61*time.Second {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(begun); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestWritesAreASecondApart(t *testing.T) {
	t.Parallel()
	limited(t, func(t *testing.T, c *github.Client, answer *roundTrip) {
		*answer = answers(201, `{"id":1}`)
		begun := time.Now()
		var at []time.Duration
		for range 3 {
			if err := c.React(t.Context(), github.Target{Item: item(1)}, "eyes"); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Issue(t.Context(), item(1)); err == nil {
				t.Fatal("an item without a number")
			}
			at = append(at, time.Since(begun))
		}
		if diff := cmp.Diff([]time.Duration{0, time.Second, 2 * time.Second}, at); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNobodyIsWaitedForForEver(t *testing.T) {
	t.Parallel()
	limited(t, func(t *testing.T, c *github.Client, answer *roundTrip) {
		*answer = func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		}
		begun := time.Now()
		if _, err := c.Issue(t.Context(), item(1)); !errors.Is(err, loop.ErrUnavailable) || time.Since(begun) != 30*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		if _, err := c.Issue(ctx, item(1)); !errors.Is(err, stop) {
			t.Error(err)
		}
	})
}
