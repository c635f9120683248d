package poll_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
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
