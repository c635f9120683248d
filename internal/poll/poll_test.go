package poll_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func comment(id int64) string { return fmt.Sprintf("comment:%d", id) }

func review(id int64) string { return fmt.Sprintf("review:%d", id) }

func labeled(n int, at time.Time) string {
	return fmt.Sprintf("label:github:acme/shop#%d:go:%s", n, stamp(at))
}

func TestWhatWasThereBeforeIsNotReplayed(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		old := h.shop.Open("octocat", githubtest.Item{Number: 15})
		old.Comment("octocat", "long ago")
		old.Label("octocat", label)
		at := time.Now()
		h.later(time.Hour)
		h.wants(labeled(15, at))
		h.wants()
		id := old.Comment("octocat", "and now")
		h.wants(comment(id))
		h.wants()
	})
}

func TestAnItemIsFollowedFromItsLabelOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		it := h.shop.Open("mallory", githubtest.Item{Number: 15})
		h.wants()
		it.Comment("octocat", "before")
		h.wants()
		h.later(10 * time.Second)
		it.Label("octocat", label)
		at := time.Now()
		h.later(10 * time.Second)
		id := it.Comment("octocat", "after")
		h.wants(labeled(15, at), comment(id))
		it.Unlabel("octocat", label)
		h.wants()
		it.Comment("octocat", "nobody listens")
		h.wants()
		it.Label("octocat", label)
		at = time.Now()
		h.wants(labeled(15, at))
	})
}

func TestOtherItemsAreNotFollowed(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		h.wants()
		h.shop.Open("octocat", githubtest.Item{Number: 7}).Comment("octocat", "hello")
		h.shop.Open("octocat", githubtest.Item{Number: 8, PR: true}).Comment("octocat", "hello")
		h.wants()
	})
}

func TestAllThatIsSaidOnAPullRequest(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		h.wants()
		pr := h.shop.Open("octocat", githubtest.Item{Number: 9, PR: true, Body: "Closes #5", Head: "topic"})
		h.later(10 * time.Second)
		h.register("github:acme/shop#5")
		h.later(10 * time.Second)
		first := pr.Comment("octocat", "one")
		h.later(10 * time.Second)
		review := pr.Review("octocat", githubtest.Review{Body: "two"}, githubtest.Comment{Body: "three", Path: "a.go"})
		h.later(10 * time.Second)
		last := pr.Comment("octocat", "four")
		inline := pr.Inline()[0].ID
		h.wants(comment(first), fmt.Sprintf("review:%d", review), fmt.Sprintf("comment:r%d", inline), comment(last))
		h.wants()
	})
}

func TestWhatIsSaidInTheSecondOfACycle(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		it := h.shop.Open("octocat", githubtest.Item{Number: 5})
		h.later(time.Minute)
		h.register("github:acme/shop#5")
		h.wants()
		first := it.Comment("octocat", "before the cycle")
		_, err := h.p.Poll(t.Context())
		h.must(err)
		second := it.Comment("octocat", "after it")
		h.wants(comment(first), comment(second))
	})
}

func TestWhatSomebodyElseEditedIsNotHanded(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		it := h.shop.Open("octocat", githubtest.Item{Number: 5})
		h.later(time.Minute)
		h.register("github:acme/shop#5")
		h.wants()
		own, others, bots := it.Comment("octocat", "one"), it.Comment("octocat", "two"), it.Comment("helper[bot]", "working")
		h.later(time.Second)
		it.EditComment("helper[bot]", bots, "done")
		it.EditComment("octocat", own, "one, mended")
		it.EditComment("mallory", others, "do something else")
		h.wants(comment(own), comment(others)+" edited-by-other", comment(bots))
		it.EditComment("mallory", own, "too late")
		h.wants()
	})
}

func TestAReviewThatSomebodyElseEditedIsNotHanded(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		pr := h.shop.Open("octocat", githubtest.Item{Number: 9, PR: true})
		h.later(time.Minute)
		h.register("github:acme/shop#9")
		h.wants()
		own, others := pr.Review("octocat", githubtest.Review{Body: "one"}), pr.Review("octocat", githubtest.Review{Body: "two"})
		plain, gone := pr.Review("octocat", githubtest.Review{State: "approved"}), pr.Review("octocat", githubtest.Review{Body: "three"})
		pr.EditReview("octocat", own, "one, mended")
		pr.EditReview("mallory", others, "do something else")
		pr.EditReview("mona", gone, "do something else")
		h.gh.DeleteAccount("mona")
		h.wants(review(own), review(others)+" edited-by-other", review(plain), review(gone)+" edited-by-other")
	})
}

func TestResultsOfWorkflowRuns(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		pr := h.shop.Open("octocat", githubtest.Item{Number: 9, PR: true})
		h.shop.Open("octocat", githubtest.Item{Number: 10, PR: true, HeadSHA: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", Head: "other"})
		h.later(time.Hour)
		h.register("github:acme/shop#9")
		h.wants()
		h.shop.Workflow(githubtest.Check{ID: 1, Conclusion: "failure", SHA: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", Branch: "other"})
		h.shop.Workflow(githubtest.Check{ID: 2, Conclusion: "in_progress", SHA: pr.HeadSHA, Branch: "topic"})
		h.wants()
		h.shop.Workflow(githubtest.Check{ID: 2, Conclusion: "failure", SHA: pr.HeadSHA, Branch: "topic"})
		h.wants("workflow_run:2:1:failure")
		h.wants()
	})
}

func TestASessionIsFollowedWhateverItsLabel(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		h.settings.Watches = nil
		it := h.shop.Open("mallory", githubtest.Item{Number: 5})
		it.Comment("octocat", "before the session")
		h.later(time.Hour)
		h.register("github:acme/shop#5")
		h.later(10 * time.Second)
		first := it.Comment("octocat", "before the first cycle")
		h.wants(comment(first))
		second := it.Comment("octocat", "after it")
		h.wants(comment(second))
	})
}

func TestTheBranchOfAPullRequestTellsWhoseItIs(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		h.wants()
		h.register("github:acme/shop#5")
		pr := h.shop.Open("octocat", githubtest.Item{Number: 9, PR: true, Head: "issue-5-shop"})
		id := pr.Comment("octocat", "for five")
		h.wants("opened:github:acme/shop#9", comment(id))
	})
}

func TestACloseIsDetected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		item  githubtest.Item
		close func(*githubtest.Thread)
	}{
		"issue":               {githubtest.Item{Number: 5}, func(t *githubtest.Thread) { t.Close("octocat", "") }},
		"pull request":        {githubtest.Item{Number: 5, PR: true}, func(t *githubtest.Thread) { t.Close("octocat", "") }},
		"merged pull request": {githubtest.Item{Number: 5, PR: true}, func(t *githubtest.Thread) { t.Merge("octocat") }},
	} {
		for _, when := range []string{"while it is followed", "before the first cycle", "before its first cycle"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, h *house) {
					it := h.shop.Open("octocat", tc.item)
					h.later(time.Hour)
					if when == "before its first cycle" {
						h.wants()
					}
					h.register("github:acme/shop#5")
					if when == "while it is followed" {
						h.wants()
					}
					h.later(10 * time.Second)
					tc.close(it)
					h.wants("close:github:acme/shop#5:" + stamp(time.Now()))
					if n := h.logged(loop.LogPollClosure); n != 1 {
						t.Errorf("%d closures are told, want 1", n)
					}
					h.later(time.Hour)
					h.wants()
				})
			})
		}
	}
}

func TestReopenedAndClosedAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		it := h.shop.Open("octocat", githubtest.Item{Number: 5})
		h.register("github:acme/shop#5")
		h.wants("opened:github:acme/shop#5")
		for range 2 {
			it.Close("octocat", "")
			closed := time.Now()
			h.wants("close:github:acme/shop#5:" + stamp(closed))
			it.Comment("octocat", "while it is closed")
			h.later(10 * time.Second)
			it.Reopen("octocat")
			h.wants("reopened:github:acme/shop#5:" + stamp(time.Now()))
		}
	})
}

// What is open is left alone, whatever happened to it since it was last seen, also within one second.
func TestClosedAndReopenedBetweenTwoCycles(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{0, 5 * time.Second} {
		for _, pr := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, %t", after, pr), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(_ *testing.T, h *house) {
					it := h.shop.Open("octocat", githubtest.Item{Number: 5, PR: pr})
					h.register("github:acme/shop#5")
					h.wants("opened:github:acme/shop#5")
					h.later(time.Minute)
					it.Close("octocat", "")
					h.later(after)
					it.Reopen("octocat")
					h.wants("reopened:github:acme/shop#5:" + stamp(time.Now()))
					h.later(time.Minute)
					it.Close("octocat", "")
					h.wants("close:github:acme/shop#5:" + stamp(time.Now()))
				})
			})
		}
	}
}

// What was said before a stop is not taken up when the ledger is lost: the stop came after it.
func TestAStopOutlivesTheLedger(t *testing.T) {
	t.Parallel()
	shop15, err := loop.ParseRef("github:acme/shop#15")
	if err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T, h *house) {
		it := h.shop.Open("octocat", githubtest.Item{Number: 15})
		it.Label("octocat", label)
		at := time.Now()
		h.later(time.Minute)
		it.Comment("octocat", "/loop start")
		h.later(time.Minute)
		h.must(h.db.Write(t.Context(), func(tx *journal.Tx) error { return h.items.Stop(tx, shop15, time.Now()) }))
		h.later(time.Minute)
		h.wants(labeled(15, at)) // whose start the stop refuses
	})
}

func TestCommandsThatNobodyCarriedOutAreRescued(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		say  []string // by octocat, or as "mallory: …"
		want int      // which of them is rescued; -1 none
	}{
		"a command":                    {[]string{"hello", "/loop start", "thanks"}, 1},
		"the last of two":              {[]string{"/loop start", "/loop stop"}, 1},
		"somebody else's":              {[]string{"mallory: /loop start"}, -1},
		"one that was answered":        {[]string{"/loop start", "it is started\n<!-- loop -->"}, -1},
		"one after what was answered":  {[]string{"/loop start", "started\n<!-- loop -->", "/loop stop"}, 2},
		"one that only looks like one": {[]string{"> /loop start"}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(_ *testing.T, h *house) {
				it := h.shop.Open("octocat", githubtest.Item{Number: 15})
				it.Label("octocat", label)
				want := []string{labeled(15, time.Now())}
				for i, text := range tc.say {
					h.later(time.Minute)
					id := it.Comment(who(text))
					if i == tc.want {
						want = append(want, comment(id))
					}
				}
				h.wants(want...)
				h.wants()
			})
		})
	}
}

func who(text string) (login, body string) {
	const mallory = "mallory: "
	if len(text) > len(mallory) && text[:len(mallory)] == mallory {
		return "mallory", text[len(mallory):]
	}
	return "octocat", text
}
