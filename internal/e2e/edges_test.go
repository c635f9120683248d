package e2e_test

import (
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given a session on an issue, and a pull request for it that is older than loopd and that no webhook told of,
// When loopd has asked once, and a failed run of the pull request's branch comes by webhook, which does not say whose it is,
// Then the session is told; and of a stranger's fork that says the same it is not, nor does the fork's close end it.
func TestARunOfAPullRequestThatOnlyACycleHasRead(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	h.shop.Open("octocat", githubtest.Item{Number: 5})
	h.shop.Open("mona", githubtest.Item{Number: 7, PR: true, Body: "Closes #5", Head: "door", HeadSHA: strings.Repeat("b", 40)})
	fork := h.shop.Open("mallory", githubtest.Item{Number: 8, PR: true, Body: "Closes #5", Head: "gate", HeadSHA: strings.Repeat("c", 40), Fork: "mallory"})
	h.start()
	h.register("acme/shop#5", conversation)
	h.poll()
	run := func(c githubtest.Check) string {
		return h.post("workflow_run", githubtest.WorkflowRun("completed", c))
	}
	h.ends(run(githubtest.Check{ID: 1, SHA: strings.Repeat("c", 40), Branch: "gate", Fork: "mallory", Conclusion: "failure"}), "dropped", "untrusted-ci")
	pull := []githubtest.Pull{{Number: 7, SHA: strings.Repeat("b", 40)}}
	h.ends(run(githubtest.Check{ID: 2, SHA: strings.Repeat("b", 40), Branch: "door", Pulls: pull, Conclusion: "failure"}), "done", "")
	if runs := h.runs(); len(runs) != 1 || runs[0].Args[2] != conversation || !strings.Contains(runs[0].Prompt, "failure") {
		t.Fatalf("the runs are %+v", runs)
	}
	fork.Close("mallory", "")
	h.poll()
	h.idle()
	if s := h.session("github-acme-shop-5"); s.Status != "active" {
		t.Errorf("a stranger's fork made the session %s", s.Status)
	}
}
