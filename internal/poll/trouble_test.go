package poll_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/poll"
)

func TestAListingThatFailsConcludesNothing(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(h *house){
		"the repository":             func(h *house) { h.gh.Fail("GET */repositories/*", githubtest.Answer(502), -1) },
		"what changed":               func(h *house) { h.gh.Fail("GET *issues?*since=*", githubtest.Answer(500), -1) },
		"what was said":              func(h *house) { h.gh.Fail("GET *issues/comments*", githubtest.Answer(503), -1) },
		"what was said on lines":     func(h *house) { h.gh.Fail("GET *pulls/comments*", githubtest.Answer(500), -1) },
		"what is open":               func(h *house) { h.gh.Fail("GET *labels=*", githubtest.Answer(500), -1) },
		"the token's right to it":    func(h *house) { h.shop.SetAccess(githubtest.Operator, false) },
		"the token's scope":          func(h *house) { h.gh.AddToken(githubtest.Token, githubtest.Operator, "metadata=read") },
		"issues being disabled":      func(h *house) { h.gh.Fail("GET *issues*", githubtest.Answer(410), -1) },
		"everything, by a 404":       func(h *house) { h.gh.Fail("*", githubtest.Answer(404), -1) },
		"the token":                  func(h *house) { h.gh.RemoveToken(githubtest.Token) },
		"as much as may be asked of": func(h *house) { h.gh.Exhaust(403, time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				it := h.shop.Open("octocat", githubtest.Item{Number: 5})
				h.later(time.Hour)
				h.register("github:acme/shop#5")
				h.wants()
				closed := time.Now()
				it.Close("octocat", "")
				fail(h)
				r := h.report()
				r.At, r.Next = time.Time{}, time.Time{}
				if got := h.news(); r.Trouble == "" || r.Count.Closures != 0 || len(got) != 0 {
					t.Errorf("%+v, and %q was put", r, got)
				}
				h.report()
				if n := h.logged(loop.LogPollProviderError); n != 1 {
					t.Errorf("it is told %d times, want once", n)
				}
				h.gh.Mend()
				h.shop.SetAccess(githubtest.Operator, true)
				h.gh.AddToken(githubtest.Token, githubtest.Operator)
				h.later(2 * time.Hour)
				h.wants("close:github:acme/shop#5:" + stamp(closed))
			})
		})
	}
}

func TestASessionOfWhichNothingIsKnownGoesOn(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(h *house, it *githubtest.Thread){
		"deleted":       func(_ *house, it *githubtest.Thread) { it.Delete("octocat") },
		"transferred":   func(h *house, it *githubtest.Thread) { it.Transfer("octocat", h.gh.Repo("acme", "plan")) },
		"not answered":  func(h *house, _ *githubtest.Thread) { h.gh.Fail("GET */issues/5", githubtest.Answer(500), -1) },
		"not seen":      func(h *house, _ *githubtest.Thread) { h.gh.Fail("GET */issues/5", githubtest.Answer(404), -1) },
		"open and idle": func(*house, *githubtest.Thread) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				it := h.shop.Open("octocat", githubtest.Item{Number: 5})
				h.later(time.Hour)
				h.register("github:acme/shop#5")
				do(h, it)
				for range 8 {
					h.wants()
				}
				want := []int{1, 1} // told of at first, and when it is given up
				if name == "open and idle" {
					want = []int{0, 0}
				}
				got := []int{h.logged(loop.LogPollItemError), h.logged(loop.LogPollGaveUp)}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("item errors and give-ups: %s", diff)
				}
			})
		})
	}
}

func TestOneBadItemHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		bad, good := h.shop.Open("octocat", githubtest.Item{Number: 5}), h.shop.Open("octocat", githubtest.Item{Number: 6})
		h.later(time.Hour)
		h.register("github:acme/shop#5")
		h.register("github:acme/shop#6")
		h.wants()
		h.gh.Fail("GET */issues/5/events*", githubtest.Answer(500), -1)
		one := bad.Comment("octocat", "one")
		h.later(10 * time.Second)
		two := good.Comment("octocat", "two")
		h.wants(comment(two))
		h.later(10 * time.Minute)
		three := good.Comment("octocat", "three")
		h.wants(comment(three))
		h.gh.Mend()
		h.wants(comment(one))
	})
}

func TestASteadyCycleCostsTheSameWhateverThereIs(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ items, sessions int }{{1, 1}, {50, 20}} {
		t.Run(fmt.Sprintf("%d items and %d sessions", size.items, size.sessions), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				for n := range size.items {
					h.shop.Open("octocat", githubtest.Item{Number: 100 + n}).Label("octocat", label)
				}
				for n := range size.sessions {
					h.shop.Open("octocat", githubtest.Item{Number: 1 + n, PR: n%2 == 1})
					h.register(fmt.Sprintf("github:acme/shop#%d", n+1))
				}
				for range 4 {
					h.cycle()
				}
				h.gh.ForgetRequests()
				h.cycle()
				if all, unchanged := h.gh.Count("*"); all != 6 || unchanged != 6 {
					t.Errorf("%d requests, %d of them not modified, want 6 and 6: %v", all, unchanged, h.gh.Requests())
				}
			})
		})
	}
}

func TestACycleThatWasCutOffGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"poll-item", "poll-cursor"} {
		for nth := range 3 {
			t.Run(fmt.Sprintf("%s %d", cut, nth), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, h *house) {
					want := []string{}
					for n := 1; n <= 3; n++ {
						h.shop.Open("octocat", githubtest.Item{Number: n})
						h.later(time.Minute)
						h.register(fmt.Sprintf("github:acme/shop#%d", n))
					}
					h.wants()
					for n := 1; n <= 3; n++ {
						want = append(want, comment(h.shop.Thread(n).Comment("octocat", "hello")))
						h.later(time.Second)
					}
					ctx, kill := context.WithCancelCause(t.Context())
					seen := 0
					h.step = func(name string) {
						if seen++; name == cut && seen > nth {
							kill(errors.New("killed"))
						}
					}
					_, _ = h.p.Poll(ctx)
					h.step = nil
					h.close()
					h.open()
					h.cycle()
					if diff := cmp.Diff(want, h.news()); diff != "" {
						t.Errorf("what was put: %s", diff)
					}
				})
			})
		}
	}
}

func TestWithoutATokenSessionsAreNoTrouble(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.env = []string{"GITHUB_TOKEN=", "PATH="}
		h.close()
		h.open()
		h.settings.Watches = nil
		h.register("github:acme/shop#5")
		if r := h.report(); r.Trouble != "" || h.logged(loop.LogPollProviderError) != 0 {
			t.Errorf("%+v", r)
		}
		h.settings.Watches = []poll.Watch{{Repo: loop.Repo{Owner: "acme", Name: "shop"}, Label: label}}
		if r := h.report(); !strings.Contains(r.Trouble, "no token") {
			t.Errorf("%+v", r)
		}
	})
}

func TestWhoAsksForACycleNeedNotWaitForAToken(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.cycle()
		h.gh.RemoveToken(githubtest.Token)
		for range 2 {
			all, err := h.p.Poll(t.Context())
			if h.must(err); !strings.Contains(all[0].Trouble, "401") && !strings.Contains(all[0].Trouble, "refuses the token") {
				t.Errorf("%+v", all)
			}
		}
		h.gh.AddToken(githubtest.Token, githubtest.Operator)
		all, err := h.p.Poll(t.Context())
		if h.must(err); all[0].Trouble != "" {
			t.Errorf("the token is good again: %s", all[0].Trouble)
		}
	})
}
