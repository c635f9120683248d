package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given a session for issue 5, and a pull request 9 that says that it closes it,
// When somebody comments on the pull request, its body loses the link, and more is said,
// Then all of it reaches the session of issue 5, and none is made for the pull request.
func TestAPullRequestsCommentsReachItsIssue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `spawn_on_unmatched = "always"`)
	w.start()
	w.register("acme/shop#5", conversation)
	linked := githubtest.Item{Number: 9, PR: true, Body: "Closes #5"}
	bare := githubtest.Item{Number: 9, PR: true, Body: "nothing"}
	for i, body := range [][]byte{
		githubtest.IssueComment("created", "octocat", linked, githubtest.Comment{ID: 1, Body: "said first"}),
		githubtest.IssueComment("created", "octocat", bare, githubtest.Comment{ID: 2, Body: "said later"}),
	} {
		w.ends(w.post("issue_comment", body), "done", "")
		runs := w.runs()
		if len(runs) != i+1 || runs[i].Args[2] != conversation || !strings.Contains(runs[i].Prompt, "said ") {
			t.Fatalf("after comment %d the runs are %+v", i+1, runs)
		}
	}
	w.ends(w.post("pull_request_review_comment", githubtest.PullRequestComment("created", "octocat", bare,
		githubtest.Comment{ID: 3, Body: "here", Path: "shop/door.go", Line: 7})), "done", "")
	if p := w.runs()[2].Prompt; !strings.Contains(p, "shop/door.go") || !strings.Contains(p, "line: 7") {
		t.Errorf("the inline comment was brought as:\n%s", p)
	}
	if n := w.status().Sessions["active"]; n != 1 {
		t.Errorf("%d sessions, want that of issue 5 alone", n)
	}
	if _, err := os.Stat(filepath.Join(w.state, "sessions", "github-acme-shop-9.json")); err == nil {
		t.Error("the pull request has a session of its own")
	}

	fork := githubtest.Item{Number: 10, PR: true, Body: "Closes #5", Fork: "mallory", Closed: true, At: time.Now()}
	w.ends(w.post("pull_request", githubtest.PullRequest("closed", "mallory", fork)), "dropped", "untrusted-link")
	if s := w.session("github-acme-shop-5"); s.Status != "active" {
		t.Errorf("a stranger's fork made the session %s", s.Status)
	}
}

// Given a session,
// When a comment ends in the line that marks Loop's own voice, and another one quotes that line,
// Then the first is dropped whoever wrote it, and the second is brought.
func TestOwnVoiceWakesNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	w.ends(w.comment(15, "I have mended the door.\n\n<!-- loop -->"), "dropped", "self-authored")
	w.ends(w.post("pull_request_review", githubtest.PullRequestReview("submitted", "octocat", githubtest.Item{Number: 9, Body: "Closes #15"},
		githubtest.Review{Body: "Looks right.\n<!-- loop -->\n"})), "dropped", "self-authored")
	w.ends(w.comment(15, "> I have mended the door.\n> <!-- loop -->\n\nIt still squeaks."), "done", "")
	if n := len(w.runs()); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
}

// Given a session at work, with three comments behind the one it works on,
// When the item is closed,
// Then all are dropped for that, none is brought later, and a comment for another item is.
func TestClosingDropsWhatIsQueued(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	w.register("acme/shop#16", uuid.NewString())
	queued := []string{w.comment(15, "[[claude hang]]")}
	w.await("the run", func() bool { return len(w.runs()) == 1 })
	for range 3 {
		queued = append(queued, w.comment(15, "and also this"))
	}
	w.await("three to be queued", func() bool { return w.status().Deliveries["queued"] == 3 })
	w.ends(w.post("issues", githubtest.Issues("closed", "octocat", githubtest.Item{Number: 15, Closed: true, At: time.Now()})), "done", "")
	for _, id := range queued {
		w.ends(id, "dropped", "item-closed")
	}
	w.ends(w.comment(16, "unharmed?"), "done", "")
	w.stop()
	w.start()
	w.ends(w.comment(15, "too late"), "dropped", "unmatched")
	if n := len(w.runs()); n != 2 {
		t.Errorf("%d runs, want that which was ended and that of the other item", n)
	}
}
