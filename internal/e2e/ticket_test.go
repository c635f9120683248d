package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

// shown returns the comments of an issue that Loop posted.
func shown(it *githubtest.Thread) (bodies []string) {
	for _, c := range it.Comments() {
		if loop.HasMarker(c.Body) {
			bodies = append(bodies, c.Body)
		}
	}
	return bodies
}

// reacted waits until an issue's comment, or the issue itself for 0, has reactions in this order.
func (h *hub) reacted(it *githubtest.Thread, comment int64, names ...string) {
	h.t.Helper()
	h.await("reactions "+strings.Join(names, ", "), func() bool {
		var got []string
		for _, r := range it.Reactions(comment) {
			_, name, _ := strings.Cut(r, " ")
			got = append(got, name)
		}
		return slices.Equal(got, names)
	})
}

// Given a label that starts sessions, and a token,
// When the label is set, somebody comments, and loopd is started again in between,
// Then the issue and the comment get reactions in order, one announcement says how to look, and none of it becomes a prompt, with or
// without its marker.
func TestTheTicketIsShownWhatIsDone(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	h.start()
	it := h.shop.Open("octocat", githubtest.Item{Number: 15})
	it.Label("octocat", autoExecute)
	h.poll()
	h.idle()
	h.reacted(it, 0, "eyes", "hooray")
	h.await("an announcement", func() bool { return len(shown(it)) == 1 })
	said := shown(it)[0]
	if !strings.Contains(said, "loopctl attach github:acme/shop#15") || strings.Contains(said, h.dir) || strings.Contains(said, h.session("github-acme-shop-15").HarnessSessionID) {
		t.Errorf("the announcement says:\n%s", said)
	}
	h.stop()
	h.start()
	id := it.Comment("octocat", "and the window")
	h.poll()
	h.idle()
	h.reacted(it, id, "eyes", "hooray")
	if n := len(shown(it)); n != 1 {
		t.Errorf("%d announcements", n)
	}
	h.must("comment", "acme/shop#15", "Painted.")
	all := it.Comments()
	own := all[len(all)-1]
	h.endsFor(h.post("issue_comment", githubtest.IssueComment("created", "octocat", githubtest.Item{Number: 15},
		githubtest.Comment{ID: own.ID, Body: "somebody took the marker away"})), "self-authored")
	if n := len(h.runs()); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
}

// Given a label that starts sessions in terminals, and a token,
// When the label is set, and somebody comments,
// Then the issue and the comment each get a reaction when the agent has it, and one when its turn has ended.
func TestTheTicketIsShownHowATurnInATerminalEnds(t *testing.T) {
	t.Parallel()
	gh := githubtest.NewServer("")
	t.Cleanup(gh.Close)
	w := newTerminals(t, true, fmt.Sprintf("[github]\napi_url = %q", gh.API()))
	w.env = append(w.env, "GITHUB_TOKEN="+githubtest.Token)
	h := hub{world: w.world, gh: gh, shop: gh.Repo("acme", "shop")}
	it := h.shop.Open("octocat", githubtest.Item{Number: 15})
	w.start()
	w.begun(15)
	h.reacted(it, 0, "eyes", "hooray")
	id := it.Comment("octocat", "and the window")
	w.ends(w.post("issue_comment", githubtest.IssueComment("created", "octocat", githubtest.Item{Number: 15},
		githubtest.Comment{ID: id, Body: "and the window"})), "done", "")
	h.reacted(it, id, "eyes", "hooray")
}

// Given an agent that asks something on its ticket,
// When it asks twice, and then somebody answers,
// Then the question is posted once, the session is shown as waiting, and the answer reaches it and ends that.
func TestAQuestionAndItsAnswer(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	h.start()
	it := h.shop.Open("octocat", githubtest.Item{Number: 15})
	h.poll()
	h.register("acme/shop#15", "s-1")
	first := h.must("ask", "acme/shop#15", "Which colour?")
	if again := h.must("ask", "acme/shop#15", "Which colour?"); again != first || len(shown(it)) != 1 {
		t.Errorf("asked at %q and %q, shown %q", first, again, shown(it))
	}
	if list := h.must("sessions", "list"); !strings.Contains(list, "waiting: answer") {
		t.Errorf("sessions list:\n%s", list)
	}
	if status := h.must("status"); !strings.Contains(status, strings.TrimSpace(first)) {
		t.Errorf("the question at %q is not in the status:\n%s", first, status)
	}
	id := it.Comment("octocat", "Blue.")
	h.poll()
	h.idle()
	h.reacted(it, id, "eyes", "hooray")
	if list := h.must("sessions", "list"); strings.Contains(list, "answer") {
		t.Errorf("after the answer:\n%s", list)
	}
	h.must("comment", "acme/shop#15", "Painted.")
	if bodies := shown(it); len(bodies) != 2 || bodies[1] != "Painted.\n\n"+loop.Marker {
		t.Errorf("shown: %q", bodies)
	}
}

// Given a GitHub that hangs on each write, then refuses them,
// When somebody comments, and an agent wants to say something,
// Then the runs are not held up, the agent is told why, and the status says what is missing.
func TestAGitHubThatTakesNothingDelaysNoRun(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	h.gh.Fail("POST *", githubtest.Slow(10*time.Second), 1)
	h.gh.Fail("POST *", githubtest.Answer(403), -1)
	h.start()
	h.register("acme/shop#15", "s-1")
	for range 3 {
		h.ends(h.comment(15, "please"), "done", "")
	}
	if r := h.loopctl("comment", "acme/shop#15", "done", "--timeout", "2s"); r.code != 1 {
		t.Errorf("a comment behind one that hangs: exit %d\n%s", r.code, r.stderr)
	}
	h.await("the status to tell of it", func() bool { return strings.Contains(h.must("status"), "the reaction is not on github:acme/shop#15") })
	if r := h.loopctl("comment", "acme/shop#15", "done"); r.code != 1 || !strings.Contains(r.stderr, "nothing was posted on github:acme/shop#15: ") {
		t.Errorf("a comment that is refused: exit %d\n%s", r.code, r.stderr)
	}
}

// Given a session,
// When commands for it are written on the ticket,
// Then each is answered there, status with what the session does.
func TestCommandsAreAnsweredOnTheTicket(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	h.start()
	it := h.shop.Open("octocat", githubtest.Item{Number: 15})
	h.poll()
	h.register("acme/shop#15", "s-1")
	for i, want := range []struct{ says, answer string }{
		{"/loop status", "claude works on this and is idle."},
		{"/loop pause", "Paused."},
		{"/loop pause\n/loop resume", "Nothing is done"},
		{"/loop stop", "Stopped."},
	} {
		it.Comment("octocat", want.says)
		h.poll()
		h.await(want.answer, func() bool { return len(shown(it)) == i+1 })
		if got := shown(it)[i]; !strings.HasPrefix(got, want.answer) {
			t.Errorf("%s is answered:\n%s", want.says, got)
		}
	}
}
