package poll_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

func TestWhatACycleReadsOfLinksIsRemembered(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pull githubtest.Item
		want []string
	}{
		"a closing keyword":                   {githubtest.Item{Body: "Closes #5"}, []string{"github:acme/shop#5"}},
		"a branch":                            {githubtest.Item{Head: "issue-5-door"}, []string{"github:acme/shop#5"}},
		"both, and another item":              {githubtest.Item{Body: "Closes #5 and fixes #6", Head: "issue-5"}, []string{"github:acme/shop#5"}},
		"an item that no session works on":    {githubtest.Item{Body: "Closes #6"}, nil},
		"a stranger's fork that says so":      {githubtest.Item{Body: "Closes #5", Fork: "mallory"}, nil},
		"a stranger's fork with the branch":   {githubtest.Item{Head: "issue-5", Fork: "mallory"}, nil},
		"a fork that is gone":                 {githubtest.Item{Body: "Closes #5", ForkGone: true}, nil},
		"a keyword that is only talked about": {githubtest.Item{Body: "`Closes #5`"}, nil},
	} {
		tc.pull.Number, tc.pull.PR = 7, true
		for when, do := range map[string]func(h *house){
			"before the first cycle": func(h *house) {
				h.shop.Open("octocat", tc.pull)
				h.later(time.Hour)
				h.register("github:acme/shop#5")
				h.cycle()
			},
			"before the session": func(h *house) {
				h.cycle()
				h.shop.Open("octocat", tc.pull)
				h.cycle()
				h.later(time.Hour)
				h.register("github:acme/shop#5")
				h.cycle()
			},
			"while the session is there": func(h *house) {
				h.register("github:acme/shop#5")
				h.cycle()
				h.shop.Open("octocat", tc.pull)
				h.cycle()
			},
			"by an edit": func(h *house) {
				h.register("github:acme/shop#5")
				h.cycle()
				bare := tc.pull
				bare.Body = "nothing"
				it := h.shop.Open("octocat", bare)
				h.cycle()
				it.Edit("octocat", "title", tc.pull.Body)
				h.cycle()
			},
		} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, h *house) {
					h.shop.Open("octocat", githubtest.Item{Number: 5})
					h.shop.Open("octocat", githubtest.Item{Number: 6})
					do(h)
					if diff := cmp.Diff(tc.want, h.links("github:acme/shop#7")); diff != "" {
						t.Errorf("the links that are remembered: %s", diff)
					}
				})
			})
		}
	}
}

func TestAPullRequestWithASessionOfItsOwnIsNobodyElses(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.shop.Open("octocat", githubtest.Item{Number: 5})
		h.shop.Open("octocat", githubtest.Item{Number: 7, PR: true, Body: "Closes #5"})
		h.register("github:acme/shop#5")
		h.register("github:acme/shop#7")
		h.cycle()
		if got := h.links("github:acme/shop#7"); got != nil {
			t.Errorf("it is remembered to belong to %q", got)
		}
	})
}

func TestLinksThatCannotBeListedAreListedLater(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.shop.Open("octocat", githubtest.Item{Number: 5})
		h.shop.Open("octocat", githubtest.Item{Number: 7, PR: true, Body: "Closes #5"})
		h.later(time.Hour)
		h.register("github:acme/shop#5")
		h.gh.Fail("GET *pulls?*state=open*", githubtest.Answer(500), -1)
		if r := h.report(); r.Trouble == "" {
			t.Errorf("%+v: nothing is said of it", r)
		}
		h.gh.Mend()
		h.later(time.Hour)
		h.cycle()
		if diff := cmp.Diff([]string{"github:acme/shop#5"}, h.links("github:acme/shop#7")); diff != "" {
			t.Error(diff)
		}
		h.cycle()
		h.gh.ForgetRequests()
		h.cycle()
		if n, _ := h.gh.Count("GET *pulls?*state=open*"); n != 0 {
			t.Errorf("they are listed %d times more, with no session that is new", n)
		}
	})
}

// links returns the items that a pull request is remembered to belong to.
func (h *house) links(ref string) (refs []string) {
	h.t.Helper()
	w, err := loop.ParseAny(ref)
	h.must(err)
	links, err := h.items.Links(context.Background(), w)
	h.must(err)
	for _, l := range links {
		refs = append(refs, l.Item.Ref())
	}
	return refs
}
