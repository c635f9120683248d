package poll_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/poll"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

const day = 24 * time.Hour

// prune does what the daily collection does, and returns how many items were forgotten.
func (h *house) prune() int {
	h.t.Helper()
	_, err := h.inbox.Prune(h.t.Context(), time.Now(), 7, 35)
	h.must(err)
	n, err := h.p.Prune(h.t.Context(), time.Now(), 35)
	h.must(err)
	return n
}

// takeUp does away with all that was put, as one does who acts on it.
func (h *house) takeUp() {
	h.t.Helper()
	all, err := h.inbox.List(h.t.Context(), inbox.Filter{Limit: 1000})
	h.must(err)
	h.must(h.db.Write(h.t.Context(), func(tx *journal.Tx) error {
		for _, d := range all {
			if err := h.inbox.Move(tx, d.ID, inbox.Transition{State: loop.StateDropped, Reason: loop.DropUnmatched}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// end closes the session of an item.
func (h *house) end(ref string) {
	h.t.Helper()
	w, err := loop.ParseAny(ref)
	h.must(err)
	s, ok := h.sessions.Find(w)
	if !ok {
		h.t.Fatalf("no session of %s", ref)
	}
	h.must(h.sessions.Update(w, s.CreatedAt, func(s *loop.Session) error {
		now := time.Now()
		s.Status, s.ClosedAt, s.CloseReason = loop.StatusClosed, &now, loop.CloseIssue
		return nil
	}))
}

func TestAClosedItemThatComesBackIsTheSameForgottenOrNot(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(h *house, it *githubtest.Thread) (want []string){
		"reopened": func(_ *house, it *githubtest.Thread) []string {
			it.Reopen("mallory")
			return []string{"reopened:github:acme/shop#15:" + stamp(time.Now())}
		},
		"reopened, and more said": func(h *house, it *githubtest.Thread) []string {
			it.Reopen("octocat")
			at := time.Now()
			h.later(time.Second)
			return []string{"reopened:github:acme/shop#15:" + stamp(at), comment(it.Comment("octocat", "once more"))}
		},
		"said something on": func(_ *house, it *githubtest.Thread) []string {
			it.Comment("octocat", "/loop start")
			return nil
		},
		"given another session": func(h *house, it *githubtest.Thread) []string {
			it.Reopen("octocat")
			h.later(time.Minute)
			h.register("github:acme/shop#15")
			h.later(time.Second)
			return []string{"reopened:github:acme/shop#15:" + stamp(time.Now().Add(-time.Minute-time.Second)), comment(it.Comment("octocat", "go on"))}
		},
	} {
		for _, forgotten := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, forgotten %t", name, forgotten), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, h *house) {
					h.wants()
					it := h.shop.Open("octocat", githubtest.Item{Number: 15})
					it.Label("octocat", label)
					h.later(10 * time.Second)
					it.Comment("octocat", "/loop start")
					h.cycle()
					h.register("github:acme/shop#15")
					h.later(time.Minute)
					it.Close("octocat", "")
					h.cycle()
					h.end("github:acme/shop#15")
					h.takeUp()
					h.later(30 * day)
					if n := h.prune(); n != 0 {
						t.Errorf("%d items are forgotten after 30 days", n)
					}
					h.later(10 * day)
					if forgotten {
						if n := h.prune(); n != 1 {
							t.Errorf("%d items are forgotten after 40 days, want 1", n)
						}
					} else if _, err := h.inbox.Prune(t.Context(), time.Now(), 7, 35); err != nil {
						t.Fatal(err)
					}
					h.news()
					h.wants(back(h, it)...)
					h.wants()
				})
			})
		}
	}
}

func TestWhatIsFollowedIsNotForgotten(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		marked := h.shop.Open("octocat", githubtest.Item{Number: 15})
		marked.Label("octocat", label)
		live := h.shop.Open("octocat", githubtest.Item{Number: 5})
		pull := h.shop.Open("octocat", githubtest.Item{Number: 7, PR: true, Body: "Closes #5"})
		h.later(time.Minute)
		h.register("github:acme/shop#5")
		live.Comment("octocat", "long ago")
		pull.Comment("octocat", "long ago")
		h.cycle()
		h.takeUp()
		for range 3 {
			h.later(40 * day)
			if n := h.prune(); n != 0 {
				t.Errorf("%d items are forgotten", n)
			}
		}
		h.news()
		h.wants()
		want := []string{}
		for _, it := range []*githubtest.Thread{marked, live, pull} {
			want = append(want, comment(it.Comment("octocat", "and now")))
			h.later(time.Second)
		}
		h.wants(want...)
	})
}

func TestARepositoryThatNobodyAsksAboutIsForgotten(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		plan := h.gh.Repo("acme", "plan").Open("octocat", githubtest.Item{Number: 15})
		it := h.shop.Open("octocat", githubtest.Item{Number: 15})
		it.Label("octocat", label)
		labeledAt := time.Now()
		h.later(time.Minute)
		h.register("github:acme/plan#15")
		h.cycle()
		h.cycle()
		h.takeUp()
		watches := h.settings.Watches
		h.settings.Watches = nil
		h.later(20 * day)
		if n := h.prune(); n != 0 {
			t.Errorf("%d items are forgotten after 20 days", n)
		}
		it.Comment("octocat", "nobody listens")
		h.later(20 * day)
		if n := h.prune(); n != 1 {
			t.Errorf("%d items are forgotten after 40 days, want that of the repository that is not watched", n)
		}
		h.settings.Watches = append(watches, poll.Watch{Repo: loop.Repo{Owner: "acme", Name: "plan"}, Label: label, Issues: true})
		h.news()
		h.cycle()
		if diff := cmp.Diff([]string{labeled(15, labeledAt)}, h.news()); diff != "" {
			t.Errorf("what is watched again is not as if it were new: %s", diff)
		}
		second := plan.Comment("octocat", "still here")
		h.later(time.Second)
		first := it.Comment("octocat", "somebody listens")
		h.cycle()
		if diff := cmp.Diff([]string{comment(second), comment(first)}, h.news()); diff != "" {
			t.Error(diff)
		}
	})
}
