package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

func labeled(n int) []byte {
	return githubtest.Issues("labeled", "octocat", githubtest.Item{Number: n, Labels: []string{"the-loop: auto-execute"}},
		githubtest.Label("the-loop: auto-execute"))
}

// Given an item without a session, and each spawn policy,
// When a plain comment and then the label arrive,
// Then never starts nothing, labeled starts at the label, and always starts at the comment.
func TestSpawnPolicies(t *testing.T) {
	t.Parallel()
	cases := []struct{ policy, comment, label string }{
		{"never", "unmatched", "unmatched"},
		{"labeled", "not-labeled", ""},
		{"always", "", "not-delivered"},
	}
	for _, c := range cases {
		t.Run(c.policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, `spawn_on_unmatched = "`+c.policy+`"`)
			w.start()
			for reason, id := range map[string]string{c.comment: w.comment(15, "anybody?")} {
				w.endsFor(id, reason)
			}
			w.endsFor(w.post("issues", labeled(15)), c.label)
			want := 1
			if c.policy == "never" {
				want = 0
			}
			if n := len(w.runs()); n != want {
				t.Errorf("%d runs, want %d", n, want)
			}
		})
	}
}

// endsFor wants a delivery dropped for a reason, or done where that is "".
func (w *world) endsFor(id, reason string) {
	w.t.Helper()
	if reason == "" {
		w.ends(id, "done", "")
		return
	}
	w.ends(id, "dropped", reason)
}

// Given that a label starts sessions,
// When the label is set, and then somebody comments,
// Then a conversation with an id of ours is begun, without --resume, registers itself, and is resumed for the comment.
func TestALabelStartsASessionThatRegistersItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `spawn_on_unmatched = "labeled"`)
	w.start()
	w.ends(w.post("issues", labeled(15)), "done", "")
	s := w.session("github-acme-shop-15")
	runs := w.runs()
	if len(runs) != 1 || slices.Contains(runs[0].Args, "--resume") || !slices.Contains(runs[0].Args, s.HarnessSessionID) {
		t.Fatalf("the start was %+v, the session %+v", runs, s)
	}
	if s.Status != "active" || s.Cwd != w.work || !strings.Contains(runs[0].Prompt, "github:acme/shop#15") {
		t.Errorf("session %+v was told:\n%s", s, runs[0].Prompt)
	}
	w.ends(w.comment(15, "and the window"), "done", "")
	runs = w.runs()
	if want := []string{"-p", "--resume", s.HarnessSessionID, "--output-format", "json"}; !slices.Equal(runs[1].Args, want) {
		t.Errorf("the comment was brought by %q, want %q", runs[1].Args, want)
	}
}

// Given a session that was started by a label and works,
// When the issue is closed,
// Then its process tree is gone, the record says why, and nothing wakes it any more.
func TestClosingTheIssueEndsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `spawn_on_unmatched = "labeled"`)
	w.start()
	w.register("acme/shop#15", conversation)
	turn := w.comment(15, "[[claude hang brood deaf]]")
	w.await("the run", func() bool { return len(w.runs()) == 1 })
	end := w.post("issues", githubtest.Issues("closed", "mallory", githubtest.Item{Number: 15, Closed: true, At: time.Now()}))
	w.ends(end, "done", "")
	w.ends(turn, "dropped", "item-closed")
	if s := w.session("github-acme-shop-15"); s.Status != "closed" || s.CloseReason != "issue-closed" || s.Ending != "" {
		t.Errorf("session is %+v", s)
	}
	w.gone()
	w.ends(w.comment(15, "hello?"), "dropped", "not-labeled")
	if out := w.must("events", "--work-item", "acme/shop#15", "--type", "session.harness_terminated", "-o", "json"); !strings.Contains(out, `"killed":"true"`) && !strings.Contains(out, `"killed": "true"`) {
		t.Errorf("the event log does not say that SIGKILL was needed: %s", out)
	}
}
