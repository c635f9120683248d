package e2e_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given a GitHub that answers nothing, and a cycle that waits for it,
// When webhooks tell of a comment, a close, and a label on a pull request whose branch names an issue,
// Then each has its 202, the comment has its run and the session is closed, before GitHub has answered anything; and loopd stops.
func TestAWebhookWaitsForNoAnswerOfGitHub(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	for n := 1; n <= 2; n++ {
		h.shop.Open("octocat", githubtest.Item{Number: n})
	}
	answer := make(chan struct{})
	t.Cleanup(func() { close(answer) })
	h.start()
	h.register("acme/shop#1", uuid.NewString())
	h.register("acme/shop#2", uuid.NewString())
	h.poll()
	h.hook.Take()
	h.gh.ForgetRequests()
	h.gh.Fail("*", githubtest.Before(func() { <-answer }), -1)
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		h.loopctl("poll", "--timeout", "1s")
	}()
	h.await("the cycle to ask", func() bool { n, _ := h.gh.Count("*"); return n > 0 })
	h.shop.Thread(1).Comment("octocat", "while it hangs")
	h.shop.Thread(2).Close("octocat", "")
	h.shop.Open("octocat", githubtest.Item{Number: 30, PR: true, Head: "issue-31-door"}).Label("octocat", autoExecute)
	h.deliver(h.hook.Take())
	h.idle()
	for _, r := range h.gh.Requests() {
		if r.Status != 0 {
			t.Fatalf("GitHub has answered %+v", r)
		}
	}
	if n := len(h.runs()); n != 2 || h.session("github-acme-shop-2").Status != "closed" || h.session("github-acme-shop-31").Status != "active" {
		t.Errorf("%d runs, want that of the comment and that of issue 31\n%s", n, h.must("sessions", "list", "--status", "all"))
	}
	<-polled
	h.stop()
}
