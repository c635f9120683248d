package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/loop"
)

// Given that a person has the real Claude Code open on the branch of an issue,
// When they clear the conversation, when its program is killed, and when they open it by hand while a run of Loop's goes on in it,
// Then comments come into the new conversation, whose record keeps the old one; they resume it without a terminal, which neither
// closes nor registers anything; and the run is ended, with nothing lost.
func TestRealPersonMoves(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "")
	s := p.opens()
	s.isTold("told-before-the-clear")
	old := p.session(shop15).HarnessSessionID
	s.clears()
	id := p.session(shop15).HarnessSessionID
	if now := p.session(shop15); id == old || !slices.Equal(now.PreviousHarnessSessionIDs, []string{old}) {
		t.Errorf("after a clear of %s the session is %+v", old, now)
	}
	s.isTold("told-after-the-clear")
	p.whole(old, "told-before-the-clear")

	before := p.record15()
	s.kill()
	p.ends(p.comment(15, "told-when-killed"), "done", "")
	p.answered("told-when-killed", 1)
	if now := p.record15(); now != before {
		t.Errorf("a run has changed the session from %s to %s", before, now)
	}
	if runs := p.logged(loop.LogRunDone); len(runs) != 3 {
		t.Errorf("%d runs have ended, want 3: %v", len(runs), runs)
	}
	p.whole(id, "told-after-the-clear", "told-when-killed")

	answer := p.hold()
	comment := p.comment(15, "told-to-a-run")
	p.await("the run to ask", func() bool { return p.count("told-to-a-run") == 1 })
	run := p.delivery(comment).Run
	s = p.sits(p.work, "--resume", id)
	p.await("the run to be ended", func() bool { return p.delivery(comment).Run != run })
	answer()
	if d := p.ends(comment, "done", ""); d.Attempts != 1 {
		t.Errorf("done after %d tries: the run that was ended for a person counts", d.Attempts)
	}
	s.rests()
	if p.count("told-to-a-run") == 0 {
		t.Error("what the run was for is not in the conversation that the person has opened")
	}
	s.isTold("told-to-the-person")
	p.whole(id, "told-after-the-clear", "told-when-killed", "told-to-the-person")
}

// clears clears the conversation.
func (s *seat) clears() {
	s.p.t.Helper()
	old := s.p.session(shop15).HarnessSessionID
	s.types("/clear")
	s.keys("\r")
	s.p.await("another conversation", func() bool {
		here := s.p.presence()
		return here != nil && here.HarnessSessionID != old
	})
	s.rests()
}

// record15 is what must not change in the session of the issue while a run goes on.
func (p person) record15() string {
	p.t.Helper()
	s := p.session(shop15)
	return fmt.Sprint(s.Status, s.HarnessSessionID, s.PreviousHarnessSessionIDs, s.Cwd, len(p.logged(loop.LogSessionRegistered)))
}

// Given that a person has the real Claude Code open on the branch of an issue,
// When they open another conversation on it in a second terminal, leave both, go on with the first in another worktree, which does
// not find it by itself, and open it once more beside that,
// Then comments come to the terminal that was there first, which the others are told, and where they stand the session is recorded.
func TestRealPersonInTwoPlaces(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "")
	first := p.opens()
	id := p.session(shop15).HarnessSessionID
	first.isTold("told-with-one-terminal")
	second := p.sits(p.work)
	second.shows(first.isFirst())
	second.shows("? for shortcuts")
	second.says("let-me-see")
	first.isTold("told-with-two-terminals")
	second.exits()
	first.isTold("told-with-one-again")
	first.exits()
	if now := p.session(shop15); now.Status != "active" || now.HarnessSessionID != id || now.Cwd != p.work {
		t.Errorf("after all have left the session is %+v", now)
	}

	more := filepath.Join(p.dir, "more")
	p.git("worktree", "add", "--quiet", "-b", "issue-15-once-more", more)
	lost := p.sits(more, "--continue")
	lost.shows("No conversation found to continue")
	lost.ended()
	third := p.sits(more, "--resume", id)
	third.rests()
	third.isTold("told-in-another-worktree")
	if now := p.session(shop15); now.Status != "active" || now.HarnessSessionID != id || now.Cwd != more {
		t.Errorf("after the person has taken the conversation to %s the session is %+v", more, now)
	}
	p.whole(id, "told-with-one-terminal", "told-with-two-terminals", "told-with-one-again", "told-in-another-worktree")

	fourth := p.sits(more, "--resume", id)
	fourth.shows("? for shortcuts")
	fourth.says("me-too")
	fourth.shows(third.isFirst())
	third.isTold("told-beside-another")
}

// isFirst is what others are told of a terminal.
func (s *seat) isFirst() string { return fmt.Sprintf("already, process %d;", s.pid()) }

// exits ends the program as a person does.
func (s *seat) exits() {
	s.p.t.Helper()
	s.types("/exit")
	s.keys("\r")
	s.ended()
}

// Given hooks that close a session when its conversation ends,
// When a person opens Claude Code on the branch of an issue, exits, and opens the conversation again,
// Then the session is closed and gets no comments, and then is one again, which does.
func TestRealPersonComesBack(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "", "--close-on-end")
	s := p.opens()
	id := p.session(shop15).HarnessSessionID
	s.isTold("told-before-the-end")
	s.exits()
	p.await("the session to be closed", func() bool { return p.session(shop15).Status == "closed" })
	p.endsFor(p.comment(15, "told-nobody"), "unmatched")

	s = p.opens("--resume", id)
	if now := p.session(shop15); now.Status != "active" || now.HarnessSessionID != id {
		t.Errorf("after the person has come back the session is %+v", now)
	}
	s.isTold("told-when-back")

	p.must("sessions", "close", ref(15))
	s.says("are-you-there")
	s.shows("the session of github:acme/shop#15 is closed (manual)")
	p.endsFor(p.comment(15, "told-nobody"), "unmatched")
	p.whole(id, "told-before-the-end", "told-when-back", "are-you-there")
}

// Given that hooks are not to wake conversations,
// When a comment arrives while a person has Claude Code open on the branch of an issue,
// Then it waits, visibly, with no process beside the person's, and resumes the conversation once they have left.
func TestRealPersonWithoutWakeHook(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "[hooks]\ndeliver_live = false")
	s := p.sits(p.work)
	s.shows("? for shortcuts")
	s.says("good-morning")
	p.await("the turn to end", func() bool {
		here := p.presence()
		return p.count("good-morning") > 0 && here != nil && here.Turn == "idle"
	})
	id := p.session(shop15).HarnessSessionID
	comment := p.comment(15, "told-when-nobody-waits")
	p.waits(comment, loop.WaitElsewhere)
	if out := p.must("sessions", "show", ref(15)); !strings.Contains(out, "waiting: "+loop.WaitElsewhere) {
		t.Errorf("the session does not show that something waits:\n%s", out)
	}
	s.says("still-working")
	p.await("the turn", func() bool { return p.count("still-working") > 0 })
	s.exits()
	p.ends(comment, "done", "")
	p.answered("told-when-nobody-waits", 1)
	p.whole(id, "good-morning", "still-working", "told-when-nobody-waits")
}
