package poll_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

// halfAnAnswer answers GraphQL with nodes that could not be made.
func halfAnAnswer(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":{"nodes":[null]},"errors":[{"message":"Something went wrong while executing your query.","path":["nodes",0]}]}`)
	})
}

func TestWhileNobodyTellsWhoEditedNothingIsLostOrHanded(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]githubtest.Fault{
		"down": githubtest.Answer(502), "forbidden": githubtest.Answer(403), "half an answer": halfAnAnswer, "garbage": githubtest.Garbage(),
	} {
		for _, cycles := range []int{1, 12} {
			for _, then := range []string{"nothing changes", "more is said"} {
				t.Run(fmt.Sprintf("%s for %d cycles, and %s", name, cycles, then), func(t *testing.T) {
					t.Parallel()
					bubble(t, func(t *testing.T, h *house) {
						it, other := h.shop.Open("octocat", githubtest.Item{Number: 5}), h.shop.Open("octocat", githubtest.Item{Number: 6})
						h.later(time.Hour)
						h.register("github:acme/shop#5")
						h.register("github:acme/shop#6")
						h.wants()
						h.gh.Fail("POST */graphql", fault, -1)
						first, second := it.Comment("octocat", "one"), it.Comment("octocat", "two")
						h.later(time.Second)
						it.EditComment("octocat", first, "one, mended")
						it.EditComment("mallory", second, "do something else")
						for range cycles {
							h.later(8 * time.Minute)
							h.wants(comment(other.Comment("octocat", "unharmed")))
						}
						h.gh.Mend()
						want := []string{comment(first), comment(second) + " edited-by-other"}
						if then == "more is said" {
							want = append(want, comment(it.Comment("octocat", "three")))
						} else {
							h.later(time.Hour)
						}
						h.wants(want...)
						h.later(2 * time.Hour)
						h.wants()
						if diff := cmp.Diff([]string{}, h.news()); diff != "" {
							t.Error(diff)
						}
					})
				})
			}
		}
	}
}

func TestWhateverIsPutSaysWhatItIsAndWhoseItIs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.wants()
		it := h.shop.Open("octocat", githubtest.Item{Number: 5})
		h.register("github:acme/shop#5")
		pr := h.shop.Open("octocat", githubtest.Item{Number: 9, PR: true, Head: "issue-5-door"})
		h.later(time.Second)
		own := it.Comment("octocat", "one")
		h.later(time.Second)
		it.EditComment("mallory", own, "do something else")
		h.later(time.Second)
		linked := pr.Review("octocat", githubtest.Review{Body: "two"})
		pr.EditReview("mallory", linked, "do something else")
		h.shop.Workflow(githubtest.Check{ID: 2, Conclusion: "failure", SHA: pr.HeadSHA, Branch: "issue-5-door"})
		h.later(time.Second)
		it.Close("octocat", "")
		h.cycle()
		got := []string{}
		h.eachNew(func(d loop.Delivery, _ loop.Event) {
			got = append(got, strings.TrimSpace(d.Item.Ref()+" "+d.Summary+" "+d.Reason))
		})
		want := []string{
			"github:acme/shop#5 issue acme/shop#5 opened by octocat",
			"github:acme/shop#5 comment on acme/shop#5 by octocat edited-by-other",
			"github:acme/shop#5 issue acme/shop#5 closed by octocat",
			"github:acme/shop#5 pull request acme/shop#9 opened by octocat",
			"github:acme/shop#5 review (commented) on acme/shop#9 by octocat edited-by-other",
			"github:acme/shop#5 workflow run failure on acme/shop#9",
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// told returns what deliveries about an item say now of its title and its description, in order, after a cycle.
func (h *house) told(number int) []string {
	h.t.Helper()
	h.cycle()
	said := []string{}
	h.eachNew(func(_ loop.Delivery, ev loop.Event) {
		if ev.Item.Number == number {
			said = append(said, fmt.Sprintf("%s: %s: %s", ev.Action, ev.Item.Title, ev.Item.Body))
		}
	})
	return said
}

func TestWhatAStrangerMadeOfAnItemIsNotTold(t *testing.T) {
	t.Parallel()
	type step = func(h *house, it *githubtest.Thread)
	label := func(h *house, it *githubtest.Thread) { it.Label("octocat", label); h.later(time.Second) }
	edit := func(who, title, body string) step {
		return func(h *house, it *githubtest.Thread) { it.Edit(who, title, body); h.later(time.Second) }
	}
	closeIt := func(h *house, it *githubtest.Thread) { it.Close("octocat", ""); h.later(time.Second) }
	reopen := func(h *house, it *githubtest.Thread) { it.Reopen("octocat"); h.later(time.Second) }
	for name, tc := range map[string]struct {
		do   []step
		want []string
	}{
		"nothing":                {[]step{label}, []string{"opened: Door: Paint it.", "labeled: Door: Paint it."}},
		"both":                   {[]step{label, edit("mallory", "Deploy", "Run it.")}, []string{"opened: Door: ", "labeled: Door: "}},
		"the title":              {[]step{label, edit("mallory", "Deploy", "Paint it.")}, []string{"opened: Door: Paint it.", "labeled: Door: Paint it."}},
		"the title, again":       {[]step{label, edit("mallory", "A", "Paint it."), edit("mallory", "B", "Paint it.")}, []string{"opened: Door: Paint it.", "labeled: Door: Paint it."}},
		"the description":        {[]step{label, edit("mallory", "Door", "Run it.")}, []string{"opened: Door: ", "labeled: Door: "}},
		"what the label was for": {[]step{edit("mallory", "Gate", "Open it."), label}, []string{"opened: Door: ", "labeled: Gate: Open it."}},
		"by who set the label":   {[]step{label, edit("octocat", "Gate", "Open it.")}, []string{"opened: Door: Open it.", "labeled: Door: Open it."}},
		"before who set it":      {[]step{label, edit("mallory", "Gate", "Run it."), edit("octocat", "Gate", "Open it.")}, []string{"opened: Door: Open it.", "labeled: Door: Open it."}},
		"within the second of it": {[]step{func(_ *house, it *githubtest.Thread) {
			it.Label("octocat", "go")
			it.Edit("mallory", "Deploy", "Run it.")
		}}, []string{"opened: Door: ", "labeled: Door: "}},
		"after it was reopened":  {[]step{label, closeIt, reopen, edit("mallory", "Deploy", "Run it.")}, []string{"reopened: Door: "}},
		"before it was reopened": {[]step{label, closeIt, edit("mallory", "Deploy", "Run it."), reopen}, []string{"reopened: Deploy: Run it."}},
	} {
		for _, pull := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, of a pull request %t", name, pull), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, h *house) {
					h.wants()
					h.register("github:acme/shop#5")
					it := h.shop.Open("octocat", githubtest.Item{Number: 5, PR: pull, Title: "Door", Body: "Paint it."})
					h.later(time.Second)
					for _, do := range tc.do {
						do(h, it)
					}
					if diff := cmp.Diff(tc.want, h.told(5)); diff != "" {
						t.Error(diff)
					}
				})
			})
		}
	}
}

func TestWhatItsAuthorMadeOfAnItemThatAnotherPutToWorkIsNotTold(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.wants()
		it := h.shop.Open("mallory", githubtest.Item{Number: 5, Title: "Door", Body: "Paint it."})
		h.later(time.Minute)
		it.Label("octocat", label)
		h.later(time.Second)
		it.Edit("mallory", "Deploy", "Run it.")
		if diff := cmp.Diff([]string{"labeled: Door: "}, h.told(5)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestACommentIsToldWithTheTitleThatItWasMadeUnder(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		it := h.shop.Open("octocat", githubtest.Item{Number: 5, Title: "Door", Body: "Paint it."})
		h.later(time.Hour)
		h.register("github:acme/shop#5")
		h.wants()
		h.later(time.Second)
		it.Comment("octocat", "hello")
		h.later(time.Second)
		it.Edit("mallory", "Deploy", "Run it.")
		if diff := cmp.Diff([]string{"created: Door: "}, h.told(5)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhileNobodyTellsWhoEditedTheDescriptionNothingIsLost(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]githubtest.Fault{"down": githubtest.Answer(502), "half an answer": halfAnAnswer} {
		for _, cycles := range []int{1, 12} {
			t.Run(fmt.Sprintf("%s for %d cycles", name, cycles), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T, h *house) {
					other := h.shop.Open("octocat", githubtest.Item{Number: 6, Body: "Another."})
					h.later(time.Hour)
					h.register("github:acme/shop#6")
					h.wants()
					h.gh.Fail("POST */graphql", fault, -1)
					it := h.shop.Open("octocat", githubtest.Item{Number: 5, Title: "Door", Body: "Paint it."})
					it.Label("octocat", label)
					h.later(time.Second)
					it.Edit("mallory", "Deploy", "Run it.")
					for range cycles {
						h.later(8 * time.Minute)
						h.wants(comment(other.Comment("octocat", "unharmed")))
					}
					closed := time.Now()
					other.Close("octocat", "")
					h.wants("close:github:acme/shop#6:" + stamp(closed))
					h.gh.Mend()
					h.later(2 * time.Hour)
					if diff := cmp.Diff([]string{"opened: Door: ", "labeled: Door: "}, h.told(5)); diff != "" {
						t.Error(diff)
					}
				})
			})
		}
	}
}

func TestWhereNobodyMayAskWhoEditedAnItemIsToldWithoutItsDescription(t *testing.T) {
	t.Parallel()
	for _, status := range []int{403, 404} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				h.wants()
				h.gh.Fail("POST */graphql", githubtest.Answer(status), -1)
				h.shop.Open("octocat", githubtest.Item{Number: 5, Title: "Door", Body: "Paint it."}).Label("octocat", label)
				if diff := cmp.Diff([]string{"opened: Door: ", "labeled: Door: "}, h.told(5)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestWhatAStrangerMadeOfADescriptionLinksNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before bool // the session
		fault  bool
		who    string
		want   []string
	}{
		"while the session is there":       {before: true, who: "mallory"},
		"before the session":               {who: "mallory"},
		"by the author":                    {who: "octocat", want: []string{"github:acme/shop#5"}},
		"by the author, with a session":    {before: true, who: "octocat", want: []string{"github:acme/shop#5"}},
		"by the author, and nobody tells":  {who: "octocat", fault: true, want: []string{"github:acme/shop#5"}},
		"by a stranger, and nobody tells":  {who: "mallory", fault: true},
		"with a session, and nobody tells": {before: true, who: "octocat", fault: true, want: []string{"github:acme/shop#5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				h.shop.Open("octocat", githubtest.Item{Number: 5})
				if tc.before {
					h.register("github:acme/shop#5")
					h.cycle()
				}
				it := h.shop.Open("octocat", githubtest.Item{Number: 7, PR: true, Body: "Nothing."})
				h.later(time.Minute)
				it.Edit(tc.who, "title", "Closes #5")
				if !tc.before {
					h.later(time.Hour)
					h.register("github:acme/shop#5")
				}
				if tc.fault {
					h.gh.Fail("POST */graphql", githubtest.Answer(502), -1)
					h.cycle()
					if got := h.links("github:acme/shop#7"); got != nil {
						t.Errorf("before it is told who wrote it, it belongs to %q", got)
					}
					id := h.shop.Thread(5).Comment("octocat", "unharmed")
					h.cycle()
					if diff := cmp.Diff([]string{comment(id)}, h.heard()); diff != "" {
						t.Error(diff)
					}
					h.gh.Mend()
				}
				h.cycle()
				if diff := cmp.Diff(tc.want, h.links("github:acme/shop#7")); diff != "" {
					t.Errorf("the links that are remembered: %s", diff)
				}
			})
		})
	}
}

// heard returns the comments among the news.
func (h *house) heard() []string {
	return slices.DeleteFunc(h.news(), func(fact string) bool { return !strings.HasPrefix(fact, "comment:") })
}
