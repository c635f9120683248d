package dispatch_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

// An issue that only a branch name speaks of is asked for before a session is started for it, and never else.
func TestABranchNameIsProven(t *testing.T) {
	t.Parallel()
	labelled := githubtest.Item{Number: 9, PR: true, Head: "issue-77-shop", Labels: []string{"go"}}
	for name, tc := range map[string]struct {
		answer route.Existence
		body   string
		for9   bool // a session works on the pull request already
		want   string
		asked  int
	}{
		"it is there":                 {answer: route.Proven, want: "github:acme/shop#77", asked: 1},
		"it is not":                   {answer: route.Absent, want: "github:acme/shop#9", asked: 1},
		"nobody answers":              {answer: route.Unanswered, want: "github:acme/shop#77", asked: 1},
		"nobody can be asked":         {answer: route.Unproven, want: "github:acme/shop#9", asked: 1},
		"another issue is named":      {answer: route.Proven, body: "Closes #5", want: "github:acme/shop#5"},
		"a session is there, as ever": {answer: route.Proven, for9: true, want: "github:acme/shop#9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				asked := 0
				h.d.Exists = func(_ context.Context, w loop.WorkItem) route.Existence {
					if asked++; w.Ref() != "github:acme/shop#77" {
						t.Errorf("%s is asked for", w)
					}
					return tc.answer
				}
				if tc.for9 {
					h.register(mustItem("acme", "shop", 9))
				}
				it := labelled
				it.Body = tc.body
				id := h.arrive("pull_request", githubtest.PullRequest("labeled", "octocat", it, githubtest.Label("go")))
				got, err := h.inbox.Get(t.Context(), id)
				h.must(err)
				if got.Item.Ref() != tc.want || asked != tc.asked {
					t.Errorf("it is for %s after %d questions, want %s after %d", got.Item.Ref(), asked, tc.want, tc.asked)
				}
			})
		})
	}
}

// A host that does not answer holds up what arrives once, however many of its items a branch speaks of; others are asked meanwhile.
func TestAHostThatDoesNotAnswerHoldsUpOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		const patience = 5 * time.Second
		asked := map[string]int{}
		h.d.Exists = func(ctx context.Context, w loop.WorkItem) route.Existence {
			if asked[w.Host]++; w.Host != "" {
				return route.Proven
			}
			<-ctx.Done()
			return route.Unanswered
		}
		began := time.Now()
		opened := func(n int, options ...githubtest.Option) loop.DeliveryID {
			id := loop.DeliveryID(uuid.NewString())
			it := githubtest.Item{Number: n, PR: true, Head: fmt.Sprintf("issue-%d-shop", 100+n), Labels: []string{"go"}}
			h.put(id, "pull_request", githubtest.PullRequest("labeled", "octocat", it, append(options, githubtest.Label("go"))...))
			return id
		}
		for n := 1; n <= 20; n++ {
			opened(n)
		}
		elsewhere := opened(21, githubtest.With("repository.html_url", "https://ghe.example.com/acme/shop"))
		time.Sleep(patience)
		synctest.Wait()
		got, err := h.inbox.Get(t.Context(), elsewhere)
		h.must(err)
		if took := time.Since(began); got.State == loop.StateReceived || took > patience {
			t.Errorf("after %s the last of them is %s, want all to be decided within %s", took, got.State, patience)
		}
		if want := map[string]int{"": 1, "ghe.example.com": 1}; !maps.Equal(asked, want) {
			t.Errorf("asked %v, want %v", asked, want)
		}
		time.Sleep(time.Minute)
		opened(22)
		time.Sleep(patience)
		synctest.Wait()
		if asked[""] != 2 {
			t.Errorf("asked %d times, want it to be asked again after a minute", asked[""])
		}
	})
}

// A command on a pull request is for the issue that its branch names, but for one that is not there.
func TestACommandStartsNoGhost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer route.Existence
		number int
	}{
		"it is there": {route.Proven, 77},
		"it is not":   {route.Absent, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				h.d.Exists = func(context.Context, loop.WorkItem) route.Existence { return tc.answer }
				id := h.arrive("pull_request_review_comment", githubtest.PullRequestComment("created", "octocat",
					githubtest.Item{Number: 9, PR: true, Head: "issue-77-shop"}, githubtest.Comment{ID: 501, Body: "/loop start"}))
				want := mustItem("acme", "shop", tc.number)
				if got, err := h.inbox.Get(t.Context(), id); err != nil || got.Item != want {
					t.Errorf("it is for %s, %v; want %s", got.Item, err, want)
				}
				if all := h.sessions.List(); len(all) != 1 || all[0].WorkItem != want || !all[0].Open() {
					t.Errorf("sessions are %+v, want one for %s alone", all, want)
				}
			})
		})
	}
}
