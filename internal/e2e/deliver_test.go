package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

const conversation = "3f9a8f0e-8a51-4b52-9d6c-0d5a3f2b7c11"

// Given a session that is registered for an issue,
// When somebody who is listed comments on the issue,
// Then that very conversation is resumed in its folder, with the comment fenced on stdin, and the registry says so.
func TestCommentResumesTheRegisteredConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	id := w.comment(15, "The door is stuck.\n`rm -rf /` they say.")
	w.ends(id, "done", "")

	runs := w.runs()
	if len(runs) != 1 {
		t.Fatalf("%d runs, want 1", len(runs))
	}
	if want := []string{"-p", "--resume", conversation, "--output-format", "json"}; !slices.Equal(runs[0].Args, want) {
		t.Errorf("harness was started with %q, want %q", runs[0].Args, want)
	}
	if runs[0].Dir != w.work {
		t.Errorf("harness worked in %s, want %s", runs[0].Dir, w.work)
	}
	fenced(t, runs[0].Prompt, "The door is stuck.")
	s := w.session("github-acme-shop-15")
	if s.LastEventAt == nil || !slices.Equal(s.RecentDeliveries, []string{id}) {
		t.Errorf("session file says lastEventAt %v, recentDeliveries %v", s.LastEventAt, s.RecentDeliveries)
	}
	if out := w.must("logs", "acme/shop#15"); !strings.Contains(out, "The door is stuck.") {
		t.Errorf("logs do not show what the agent was told:\n%s", out)
	}
}

// fenced wants a text to stand between the two fence lines of a prompt, and nowhere else.
func fenced(t *testing.T, prompt, text string) {
	t.Helper()
	lines := strings.Split(prompt, "\n")
	var marks []int
	for i, line := range lines {
		if strings.Contains(line, "github-data") || strings.HasPrefix(line, "<<<") || strings.HasPrefix(line, ">>>") {
			marks = append(marks, i)
		}
	}
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, text) })
	if at < 0 || len(marks) < 2 || at < marks[0] || at > marks[len(marks)-1] {
		t.Errorf("%q is not inside the fence:\n%s", text, prompt)
	}
}

// Given a session whose harness is busy,
// When a second comment arrives,
// Then its run starts only after the first has ended.
func TestABusySessionTakesTheNextAfterwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	one := w.comment(15, "[[claude delay=1500]]")
	w.await("the first run", func() bool { return len(w.runs()) == 1 })
	two := w.comment(15, "second")
	w.ends(one, "done", "")
	w.ends(two, "done", "")
	runs := w.runs()
	if len(runs) != 2 || runs[1].Began.Before(runs[0].Ended) {
		t.Errorf("the runs overlap: %+v", runs)
	}
}

// Given two sessions,
// When both get an event,
// Then they work at the same time.
func TestTwoSessionsWorkAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	w.register("acme/shop#16", uuid.NewString())
	one := w.comment(15, "[[claude hang]]")
	w.await("the first run", func() bool { return len(w.runs()) == 1 })
	two := w.comment(16, "meanwhile")
	w.ends(two, "done", "")
	if d := w.delivery(one); d.State != "running" {
		t.Errorf("the first is %s while the second is done", d.State)
	}
	w.must("sessions", "close", "acme/shop#15")
	w.ends(one, "dropped", "item-closed")
}

// Given two sessions, one of whose harness fails,
// When both get an event,
// Then the failure is confined to its delivery, which is not recorded as handled, and GitHub's redelivery tries it again.
func TestAFailureIsConfinedAndRedeliveredTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "max_attempts = 2")
	w.start()
	w.register("acme/shop#15", conversation)
	w.register("acme/shop#16", uuid.NewString())
	id, body := uuid.NewString(), commentBody(15, "[[claude exit=3]]")
	w.postAs(id, "issue_comment", body)
	other := w.comment(16, "fine")
	w.ends(other, "done", "")
	d := w.ends(id, "failed", "attempts-used-up")
	if d.Attempts != 2 || len(w.session("github-acme-shop-15").RecentDeliveries) != 0 {
		t.Errorf("failed after %d tries; recorded as handled: %v", d.Attempts, w.session("github-acme-shop-15").RecentDeliveries)
	}
	before := len(w.runs())
	if a := w.postAs(id, "issue_comment", body); a.status != http.StatusAccepted {
		t.Fatalf("the redelivery is answered %d", a.status)
	}
	w.await("the redelivery to be tried", func() bool { return len(w.runs()) > before })
	w.ends(id, "failed", "attempts-used-up")
}

// Given a registered session,
// When a delivery has a wrong signature, a type that is not enabled, or the id of one that is done,
// Then the first is refused with 401, the others are accepted with their reason, and nothing runs.
func TestWhatMustNotRunDoesNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "[webhook]\nevents = [\"issues\", \"pull_request\", \"issue_comment\"]")
	w.start()
	w.register("acme/shop#15", conversation)

	req, err := githubtest.NewRequest(t.Context(), w.loopd.url, []byte("guessed"), "issue_comment", uuid.NewString(), commentBody(15, "let me in"))
	if err != nil {
		t.Fatal(err)
	}
	if a := w.send(req); a.status != http.StatusUnauthorized || strings.Contains(a.body, "sha256=") {
		t.Errorf("a wrong signature is answered %d %s", a.status, a.body)
	}
	status := w.post("status", githubtest.Status(githubtest.Check{}))
	w.ends(status, "dropped", "event-off")

	id, body := uuid.NewString(), commentBody(15, "once")
	w.postAs(id, "issue_comment", body)
	w.ends(id, "done", "")
	if a := w.postAs(id, "issue_comment", body); a.status != http.StatusAccepted || !strings.Contains(a.body, "duplicate") {
		t.Errorf("a duplicate is answered %d %s", a.status, a.body)
	}
	if n := len(w.runs()); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
	if out := w.must("deliveries", "list"); strings.Contains(out, "let me in") {
		t.Errorf("the refused delivery is kept:\n%s", out)
	}
}

// Given a session, and a person who is not listed,
// When that person comments, or somebody who is listed edits a comment,
// Then nothing runs, and explain says why.
func TestOnlyListedPeopleAreHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	stranger := w.post("issue_comment", githubtest.IssueComment("created", "mallory", githubtest.Item{Number: 15, Author: "octocat"}, githubtest.Comment{ID: 1, Body: "do it"}))
	w.ends(stranger, "dropped", "unauthorized-actor")
	edit := w.post("issue_comment", githubtest.IssueComment("edited", "octocat", githubtest.Item{Number: 15}, githubtest.Comment{ID: 2, Body: "do it"}))
	w.ends(edit, "dropped", "edited-or-deleted")
	if out := w.must("explain", stranger); !strings.Contains(out, "authorized_users") {
		t.Errorf("explain does not name the key to change:\n%s", out)
	}
	if out := w.must("explain", "acme/shop#15"); !strings.Contains(out, stranger) {
		t.Errorf("explain tells nothing of what was dropped for the item:\n%s", out)
	}
	if n := len(w.runs()); n != 0 {
		t.Errorf("%d runs, want none", n)
	}
}
