package poll_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

// webhook takes deliveries from now on, and has a webhook of GitHub's that reaches nobody.
func (h *house) webhook() *githubtest.Hook {
	h.settings.Webhook = true
	return h.gh.Webhook("http://127.0.0.1:1/", []byte("s"))
}

// hears puts what a webhook has brought, by the door, about issue 5 of a repository.
func (h *house) hears(id loop.DeliveryID, hook *githubtest.Hook, repo string) {
	h.t.Helper()
	w, err := loop.ParseAny("github:" + repo + "#5")
	h.must(err)
	d := loop.Delivery{
		ID: id, Source: loop.SourceWebhook, Kind: string(loop.KindIssueComment), Item: w, Body: githubtest.Issues("edited", "octocat", githubtest.Item{}),
		State: loop.StateDropped, Reason: loop.DropNotDelivered,
	}
	if hook != nil {
		d.HookID = strconv.FormatInt(hook.ID, 10)
	}
	_, err = h.inbox.Put(h.t.Context(), d)
	h.must(err)
}

// again returns how many deliveries GitHub was asked to send again since it was asked last.
func (h *house) again() int {
	h.t.Helper()
	n, _ := h.gh.Count("POST */attempts")
	h.gh.ForgetRequests()
	return n
}

// wantsAgain holds that a cycle, a while later, has so many deliveries sent again.
func (h *house) wantsAgain(after time.Duration, want int) {
	h.t.Helper()
	h.again()
	h.later(after - time.Minute)
	if count := h.cycle(); count.Again != want {
		h.t.Errorf("%d deliveries were asked for again, want %d", count.Again, want)
	}
	if got := h.again(); got != want {
		h.t.Errorf("GitHub was asked for %d deliveries, want %d", got, want)
	}
}

func TestWhatAWebhookCouldNotBringIsAskedForAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		it := h.shop.Open("octocat", githubtest.Item{Number: 5})
		h.later(time.Hour)
		h.register("github:acme/shop#5")
		hook := h.webhook()
		h.hears("first", hook, "acme/shop")
		h.cycle()
		h.later(time.Hour)
		for n := range 3 {
			it.Comment("octocat", fmt.Sprintf("comment %d", n))
		}
		h.wantsAgain(6*time.Minute, 3)
		all, err := h.log.Query(t.Context(), eventlog.Filter{Type: loop.LogPollCycle})
		h.must(err)
		if last := all[len(all)-1]; last.Fields["again"] != "3" {
			t.Errorf("the cycle is told as %+v", last)
		}
		h.hears(loop.DeliveryID(hook.Failed()[0].GUID), hook, "acme/shop") // one of them arrives
		h.wantsAgain(time.Minute, 0)
		h.close()
		h.open()
		h.wantsAgain(time.Minute, 0)
		h.wantsAgain(5*time.Minute, 2)
		asked := 4
		for range 96 { // four days
			h.later(59 * time.Minute)
			asked += h.cycle().Again
		}
		if want := 2 * 5; asked != want || h.logged(loop.LogPollGaveUp) != 2 {
			t.Errorf("what fails for ever was asked for %d times and given up %d times, want %d and 2", asked, h.logged(loop.LogPollGaveUp), want)
		}
	})
}

func TestWhatIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do    func(h *house, hook *githubtest.Hook, it *githubtest.Thread)
		again int
	}{
		"what fails": {func(h *house, hook *githubtest.Hook, it *githubtest.Thread) {
			h.hears("first", hook, "acme/shop")
			h.later(time.Second)
			it.Comment("octocat", "lost")
		}, 1},
		"of a webhook that never brought anything": {func(_ *house, _ *githubtest.Hook, it *githubtest.Thread) {
			it.Comment("octocat", "lost elsewhere")
		}, 0},
		"of one that brought something about another repository": {func(h *house, hook *githubtest.Hook, it *githubtest.Thread) {
			h.hears("first", hook, "acme/shop-2")
			h.later(time.Second)
			it.Comment("octocat", "lost elsewhere")
		}, 0},
		"of nobody's webhook": {func(h *house, _ *githubtest.Hook, it *githubtest.Thread) {
			h.hears("first", nil, "acme/shop") // it was not signed
			h.later(time.Second)
			it.Comment("octocat", "lost elsewhere")
		}, 0},
		"what failed before the first came": {func(h *house, hook *githubtest.Hook, it *githubtest.Thread) {
			it.Comment("octocat", "while it was set up")
			h.later(time.Minute)
			h.hears("first", hook, "acme/shop")
		}, 0},
		"what Loop does not read": {func(h *house, hook *githubtest.Hook, _ *githubtest.Thread) {
			h.hears("first", hook, "acme/shop")
			h.later(time.Second)
			h.shop.RenameLabel("octocat", "bug", "fault")
		}, 0},
		"of a repository that has another name now": {func(h *house, hook *githubtest.Hook, it *githubtest.Thread) {
			h.cycle()
			h.hears("first", hook, "acme/shop")
			h.shop.Rename("octocat", "store")
			h.later(time.Second)
			it.Comment("octocat", "lost")
		}, 1},
		"what came another way": {func(h *house, hook *githubtest.Hook, it *githubtest.Thread) {
			h.hears("first", hook, "acme/shop")
			h.later(time.Second)
			it.Comment("octocat", "lost once")
			h.hears(loop.DeliveryID(hook.Failed()[0].GUID), nil, "acme/shop")
		}, 0},
		"what is too old": {func(h *house, hook *githubtest.Hook, it *githubtest.Thread) {
			h.hears("first", hook, "acme/shop")
			h.later(time.Second)
			it.Comment("octocat", "lost long ago")
			h.later(73 * time.Hour)
		}, 0},
		"what became too old before it was its time again": {func(h *house, hook *githubtest.Hook, it *githubtest.Thread) {
			h.hears("first", hook, "acme/shop")
			h.later(time.Second)
			it.Comment("octocat", "lost and lost again")
			h.cycle()
			h.later(73 * time.Hour)
		}, 0},
		"where webhooks are off": {func(h *house, hook *githubtest.Hook, it *githubtest.Thread) {
			h.settings.Webhook = false
			h.hears("first", hook, "acme/shop")
			h.later(time.Second)
			it.Comment("octocat", "lost")
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(_ *testing.T, h *house) {
				it := h.shop.Open("octocat", githubtest.Item{Number: 5})
				h.later(time.Hour)
				tc.do(h, h.webhook(), it)
				h.wantsAgain(10*time.Minute, tc.again)
			})
		})
	}
}

func TestATokenThatMayNotAskAboutWebhooks(t *testing.T) {
	t.Parallel()
	may := []string{"metadata=read", "issues=read", "pull_requests=read", "actions=read"}
	for name, tc := range map[string]struct {
		forbid  func(h *house)
		pattern string
	}{
		"not what failed": {func(h *house) { h.gh.AddToken(githubtest.Token, githubtest.Operator, may...) }, "GET */deliveries*"},
		"not to send again": {func(h *house) {
			h.gh.AddToken(githubtest.Token, githubtest.Operator, append(may, "repository_hooks=read")...)
		}, "POST */attempts"},
		"no such webhook": {func(h *house) { h.gh.Fail("GET */hooks/*", githubtest.Answer(404), -1) }, "GET */deliveries*"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				it := h.shop.Open("octocat", githubtest.Item{Number: 5})
				h.later(time.Hour)
				h.hears("first", h.webhook(), "acme/shop")
				h.later(time.Second)
				it.Comment("octocat", "lost")
				tc.forbid(h)
				for range 9 { // within an hour
					h.later(5 * time.Minute)
					h.cycle()
				}
				if n, _ := h.gh.Count(tc.pattern); n != 1 {
					t.Errorf("it was asked %d times within an hour, want once", n)
				}
				if n := h.logged(loop.LogPollProviderError); n != 0 {
					t.Errorf("%d provider errors, want none", n)
				}
				h.gh.Mend()
				h.gh.AddToken(githubtest.Token, githubtest.Operator)
				h.wantsAgain(time.Hour, 1)
			})
		})
	}
}

func TestAskingWhatAWebhookCouldNotBringIsCheap(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		it := h.shop.Open("octocat", githubtest.Item{Number: 5})
		h.later(time.Hour)
		hook := h.webhook()
		h.hears("first", hook, "acme/shop")
		h.later(time.Second)
		for range 150 {
			it.Comment("octocat", "lost")
		}
		h.wantsAgain(6*time.Minute, 20) // each takes a second
		for _, d := range hook.Failed() {
			h.hears(loop.DeliveryID(d.GUID), hook, "acme/shop")
		}
		h.cycle()
		h.later(time.Hour)
		h.cycle()
		h.gh.ForgetRequests()
		for range 5 {
			h.later(5 * time.Minute)
			h.cycle()
		}
		all, unchanged := h.gh.Count("*/hooks/*")
		if diff := cmp.Diff([]int{5, 5}, []int{all, unchanged}); diff != "" {
			t.Errorf("requests in five quiet times, and how many are not counted (-want +got):\n%s", diff)
		}
	})
}

func TestAnErrorAboutAWebhookHoldsUpNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]githubtest.Fault{
		"down": githubtest.Answer(502), "limited": githubtest.SecondaryLimit(2 * time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(_ *testing.T, h *house) {
				it := h.shop.Open("octocat", githubtest.Item{Number: 5})
				h.later(time.Hour)
				h.register("github:acme/shop#5")
				h.hears("first", h.webhook(), "acme/shop")
				h.wantsAgain(6*time.Minute, 0)
				h.news()
				h.gh.Fail("GET */hooks/*", fault, -1)
				id := it.Comment("octocat", "lost")
				h.later(6 * time.Minute)
				h.wants(comment(id))
				h.gh.Mend()
				h.wantsAgain(6*time.Minute, 1)
			})
		})
	}
}

func TestOneDeliveryThatIsNotSentAgainHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 409, 410, 422, 400} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				it := h.shop.Open("octocat", githubtest.Item{Number: 5})
				h.later(time.Hour)
				h.hears("first", h.webhook(), "acme/shop")
				h.later(time.Second)
				for range 4 {
					it.Comment("octocat", "lost")
				}
				h.gh.Fail("POST */attempts", githubtest.Answer(status), 1)
				h.wantsAgain(6*time.Minute, 4)
				h.gh.Fail("POST */attempts", githubtest.Answer(status), -1)
				asked := 0
				for range 96 { // four days
					h.later(59 * time.Minute)
					asked += h.cycle().Again
				}
				if asked != 4*4 || h.logged(loop.LogPollGaveUp) != 4 {
					t.Errorf("what is refused for ever was asked for %d times more and given up %d times, want 16 and 4", asked, h.logged(loop.LogPollGaveUp))
				}
			})
		})
	}
}

func TestWebhooksThatNobodyLooksAtAreForgotten(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		it := h.shop.Open("octocat", githubtest.Item{Number: 5})
		h.later(time.Hour)
		h.hears("first", h.webhook(), "acme/shop")
		h.later(time.Second)
		it.Comment("octocat", "lost")
		h.wantsAgain(6*time.Minute, 1)
		kept := func(want ...int) {
			t.Helper()
			h.prune()
			got := make([]int, 2)
			for i, table := range []string{"poll_hook", "poll_missed"} {
				h.must(h.db.Read().QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&got[i]))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("webhooks, and deliveries that they could not bring (-want +got):\n%s", diff)
			}
		}
		h.later(30 * day)
		kept(1, 1)
		h.later(10 * day)
		kept(0, 0)
	})
}
