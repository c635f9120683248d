package poll_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

// edge is what may become of an item that a session works on. It returns what is to be put for it.
type edge struct {
	pull bool
	do   func(h *house, it *githubtest.Thread) []string
}

func edges() map[string]edge {
	closed := func(h *house) []string { return []string{"close:github:acme/shop#5:" + stamp(time.Now())} }
	return map[string]edge{
		"transferred": {do: func(h *house, it *githubtest.Thread) []string {
			it.Transfer("octocat", h.gh.Repo("acme", "plan")).Comment("octocat", "in another repository")
			return nil
		}},
		"deleted": {do: func(_ *house, it *githubtest.Thread) []string { it.Delete("octocat"); return nil }},
		"locked":  {do: func(_ *house, it *githubtest.Thread) []string { it.Lock("octocat"); return nil }},
		"locked, and said": {do: func(_ *house, it *githubtest.Thread) []string {
			it.Lock("octocat")
			return []string{comment(it.Comment("octocat", "x"))}
		}},
		"unlocked":  {do: func(_ *house, it *githubtest.Thread) []string { it.Lock("octocat"); it.Unlock("octocat"); return nil }},
		"converted": {do: func(h *house, it *githubtest.Thread) []string { it.Convert("octocat"); return closed(h) }},
		"archived":  {do: func(h *house, _ *githubtest.Thread) []string { h.shop.Archive("octocat"); return nil }},
		"edited":    {do: func(_ *house, it *githubtest.Thread) []string { it.Edit("mallory", "Other", "/loop stop"); return nil }},
		"a draft":   {pull: true, do: func(_ *house, it *githubtest.Thread) []string { it.SetDraft("octocat", true); return nil }},
		"no draft any more": {pull: true, do: func(h *house, it *githubtest.Thread) []string {
			it.SetDraft("octocat", true)
			h.later(time.Second)
			it.SetDraft("octocat", false)
			return []string{"ready_for_review:github:acme/shop#5:" + stamp(time.Now())}
		}},
		"in the merge queue": {pull: true, do: func(_ *house, it *githubtest.Thread) []string { it.Enqueue("octocat"); return nil }},
		"out of the merge queue": {pull: true, do: func(_ *house, it *githubtest.Thread) []string {
			it.Enqueue("octocat")
			it.Dequeue("octocat", "CI_FAILURE")
			return nil
		}},
		"merged by the queue": {pull: true, do: func(h *house, it *githubtest.Thread) []string {
			it.Enqueue("octocat")
			it.Dequeue("octocat", "MERGE")
			it.Merge("github-merge-queue[bot]")
			return closed(h)
		}},
		"a fork that is gone": {pull: true, do: func(_ *house, it *githubtest.Thread) []string {
			it.LoseFork()
			return []string{comment(it.Comment("octocat", "still here"))}
		}},
		"a comment edited and deleted": {do: func(h *house, it *githubtest.Thread) []string {
			id := it.Comment("octocat", "before")
			h.wants(comment(id))
			it.EditComment("octocat", id, "after")
			h.wants()
			it.DeleteComment("octocat", id)
			return nil
		}},
		"a comment deleted before it was read": {do: func(_ *house, it *githubtest.Thread) []string {
			it.DeleteComment("octocat", it.Comment("octocat", "never mind"))
			return nil
		}},
		"a comment by an account that is gone": {do: func(h *house, it *githubtest.Thread) []string {
			id := it.Comment("mona", "farewell")
			h.gh.DeleteAccount("mona")
			return []string{comment(id)}
		}},
		"a review by an account that is gone": {pull: true, do: func(h *house, it *githubtest.Thread) []string {
			id := it.Review("mona", githubtest.Review{Body: "farewell"})
			h.gh.DeleteAccount("mona")
			return []string{fmt.Sprintf("review:%d", id)}
		}},
		"a review with twelve inline comments": {pull: true, do: func(_ *house, it *githubtest.Thread) []string {
			var inline []githubtest.Comment
			for line := range 12 {
				inline = append(inline, githubtest.Comment{Path: "main.go", Line: line + 1, Body: "here"})
			}
			want := []string{fmt.Sprintf("review:%d", it.Review("octocat", githubtest.Review{Body: "a dozen"}, inline...))}
			for _, c := range it.Inline() {
				want = append(want, fmt.Sprintf("comment:r%d", c.ID))
			}
			return want
		}},
		"a thread longer than any page": {do: func(h *house, it *githubtest.Thread) (want []string) {
			for n := range 350 {
				want = append(want, comment(it.Comment("octocat", fmt.Sprintf("number %d", n))))
				h.later(100 * time.Millisecond)
			}
			return want
		}},
		"a long thread on a host that cannot make a page": {pull: true, do: func(h *house, it *githubtest.Thread) (want []string) {
			h.gh.Fail("GET *per_page=*", githubtest.BigPage(25), -1)
			for range 120 {
				want = append(want, comment(it.Comment("octocat", "one of many")))
			}
			return want
		}},
	}
}

func TestEdgesOfGitHub(t *testing.T) {
	t.Parallel()
	for name, tc := range edges() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				it := h.shop.Open("octocat", githubtest.Item{Number: 5, PR: tc.pull})
				h.later(time.Hour)
				h.register("github:acme/shop#5")
				h.wants()
				h.later(10 * time.Second)
				want := tc.do(h, it)
				h.wants(want...)
				for range 2 {
					h.later(time.Hour)
					h.wants()
				}
				closures := 0
				if strings.Contains(strings.Join(want, " "), "close:") {
					closures = 1
				}
				if n := h.logged(loop.LogPollClosure); n != closures {
					t.Errorf("%d closures are told, want %d", n, closures)
				}
			})
		})
	}
}

func TestARepositoryThatMovesIsFollowed(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(h *house){
		"renamed":                func(h *house) { h.shop.Rename("octocat", "store") },
		"renamed twice":          func(h *house) { h.shop.Rename("octocat", "store"); h.shop.Rename("octocat", "market") },
		"given to another owner": func(h *house) { h.shop.TransferTo("octocat", "mona") },
		"its owner renamed":      func(h *house) { h.gh.RenameOwner("acme", "apex") },
		"renamed, and its name taken": func(h *house) {
			h.shop.Rename("octocat", "store")
			h.gh.Repo("acme", "shop").Open("mallory", githubtest.Item{Number: 5}).Close("mallory", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				it := h.shop.Open("octocat", githubtest.Item{Number: 5})
				h.later(time.Hour)
				h.register("github:acme/shop#5")
				h.wants()
				move(h)
				h.wants()
				first := it.Comment("octocat", "after the move")
				h.wants(comment(first))
				it.Close("octocat", "")
				h.cycle()
				moved := fmt.Sprintf("close:github:%s/%s#5:%s", h.shop.Owner, h.shop.Name, stamp(it.Now().ClosedAt))
				if diff := cmp.Diff([]string{moved}, h.news()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
