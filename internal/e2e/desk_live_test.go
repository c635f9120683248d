package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// Given a person who opens Claude Code on the branch of an issue, in a terminal of their own,
// When comments arrive while it is idle, in the middle of a turn, beside a half-typed draft, and ten at once,
// Then the conversation is registered by that alone; each comment reaches it there, once and in order, by the hook that waits; nothing
// is typed, and nothing is run beside it.
func TestEventsComeIntoAPersonsOwnTerminal(t *testing.T) {
	t.Parallel()
	w := newDesk(t, "")
	w.start()
	w.opens("desk")
	id := w.sits()
	if s := w.session(slug(15)); s.Cwd != w.work {
		t.Errorf("registered %+v", s)
	}
	w.ends(w.comment(15, "while idle"), "done", "")
	if act := w.hears("while idle"); act.Session != id {
		t.Errorf("it went to %s, want %s", act.Session, id)
	}
	w.sits()
	w.types("desk", "[[agent delay=2000]] slowly")
	w.hears("slowly")
	w.ends(w.comment(15, "in a turn"), "done", "")
	w.sits()
	w.tmux("send-keys", "-t", "=desk:", "-l", "half a thought")
	w.await("the draft", func() bool { return strings.Contains(w.sees("desk"), "half a thought") })
	w.ends(w.comment(15, "beside a draft"), "done", "")
	w.sits()
	var ids, texts []string
	for i := range 10 {
		texts = append(texts, fmt.Sprintf("burst number %d.", i))
		ids = append(ids, w.comment(15, texts[i]))
	}
	for _, one := range ids {
		w.ends(one, "done", "")
	}
	w.hears("burst number 9.")
	w.once(append([]string{"while idle", "slowly", "in a turn", "beside a draft"}, texts...)...)
	if !strings.Contains(w.sees("desk"), "half a thought") {
		t.Errorf("the draft is gone:\n%s", w.sees("desk"))
	}
	for _, act := range w.acts(agenttest.ActPrompt) {
		if act.How != "woken" && !strings.Contains(act.Text, "slowly") {
			t.Errorf("a prompt came %s: %q", act.How, act.Text)
		}
	}
	w.none()
}

// Given a conversation in a person's terminal that asks whether a tool may run,
// When a comment arrives, and then the person answers,
// Then nothing is confirmed for them, and the comment is heard afterwards.
func TestADialogInAPersonsTerminalIsTheirs(t *testing.T) {
	t.Parallel()
	w := newDesk(t, "")
	w.start()
	w.opens("desk")
	w.sits()
	w.types("desk", "[[agent ask=Bash]] dangerous")
	w.await("the dialog", func() bool { return strings.Contains(w.sees("desk"), "❯ 1. Yes") })
	comment := w.comment(15, "the held one")
	quiet()
	if n := len(w.acts(agenttest.ActChoice)); n > 0 {
		t.Fatalf("it was answered: %+v", w.acts(""))
	}
	if d := w.delivery(comment); d.State == "done" {
		t.Error("it counts as done before it was seen")
	}
	w.tmux("send-keys", "-t", "=desk:", "Escape")
	w.ends(comment, "done", "")
	w.hears("the held one")
	w.once("dangerous", "the held one")
	w.none()
}

// Given a conversation in a person's terminal,
// When they clear it, and a comment arrives,
// Then it reaches the new conversation, and the old one's id is kept.
func TestClearMovesTheRegistration(t *testing.T) {
	t.Parallel()
	w := newDesk(t, "")
	w.start()
	w.opens("desk")
	first := w.sits()
	w.types("desk", "/clear")
	w.await("another conversation", func() bool { return w.session(slug(15)).HarnessSessionID != first })
	second := w.sits()
	w.ends(w.comment(15, "after the clear"), "done", "")
	if act := w.hears("after the clear"); act.Session != second {
		t.Errorf("it went to %s, want %s", act.Session, second)
	}
	w.none()
}

// Given a conversation in a person's terminal,
// When its program is killed, and a comment arrives, and later the person takes the conversation up again,
// Then the comment resumes the same conversation headless, which neither closes nor moves the session, and the next one reaches the
// terminal.
func TestAKilledTerminalIsFollowedByAHeadlessResume(t *testing.T) {
	t.Parallel()
	w := newDesk(t, "")
	w.start()
	w.opens("desk")
	id := w.sits()
	w.ends(w.comment(15, "the first"), "done", "")
	w.hears("the first")
	w.sits()
	w.kill("desk")
	w.ends(w.comment(15, "the second"), "done", "")
	runs := w.headless()
	if len(runs) != 1 || !strings.Contains(strings.Join(runs[0].Args, " "), "--resume "+id) || !strings.Contains(runs[0].Prompt, "the second") {
		t.Fatalf("loopd ran %+v, want one resume of %s", runs, id)
	}
	if s := w.session(slug(15)); s.Status != "active" || s.HarnessSessionID != id {
		t.Errorf("the session is %+v", s)
	}
	w.opens("again", "--resume", id)
	if got := w.sits(); got != id {
		t.Errorf("the session is %s, want %s", got, id)
	}
	w.ends(w.comment(15, "the third"), "done", "")
	w.hears("the third")
	if n := len(w.headless()); n != 1 {
		t.Errorf("loopd ran %d times", n)
	}
}

// Given a headless run of loopd's in the middle of a turn,
// When a person opens its conversation in a terminal,
// Then the run is ended, and what it was for reaches the terminal, once and uncounted.
func TestAPersonWinsAgainstARun(t *testing.T) {
	t.Parallel()
	w := newDesk(t, "")
	w.start()
	w.opens("desk")
	id := w.sits()
	w.ends(w.comment(15, "to begin with"), "done", "")
	w.sits()
	w.types("desk", "/exit")
	w.await("nobody to be there", func() bool { return w.presence() == nil })
	comment := w.comment(15, "[[agent hang]] for ever")
	w.await("a run", func() bool { return len(w.headless()) == 1 })
	w.opens("again", "--resume", id)
	w.ends(comment, "done", "")
	act := w.hears("for ever")
	if act.Session != id {
		t.Errorf("it went to %s", act.Session)
	}
	if d := w.delivery(comment); d.Attempts != 1 {
		t.Errorf("it took %d tries, want the one that counts", d.Attempts)
	}
}

// Given a conversation in a person's terminal,
// When loopd is killed and started again while it is idle, while a turn runs, and while a comment that was handed over is yet to be
// shown,
// Then where it is live is known at once, and each comment reaches it once.
func TestALiveConversationOutlivesLoopd(t *testing.T) {
	t.Parallel()
	w := newDesk(t, "")
	w.start()
	w.opens("desk")
	id := w.sits()
	w.loopd.kill()
	w.start()
	if p := w.presence(); p == nil || p.PID == 0 {
		t.Errorf("presence after a restart: %+v", p)
	}
	w.sits()
	w.ends(w.comment(15, "after the first"), "done", "")
	w.sits()
	w.types("desk", "[[agent delay=4000]] slowly")
	w.hears("slowly")
	held := w.comment(15, "handed over in a turn")
	w.await("the comment to be handed over", func() bool { return w.delivery(held).State == "running" })
	w.loopd.kill()
	w.start()
	w.ends(held, "done", "")
	w.hears("handed over in a turn")
	w.once("after the first", "handed over in a turn")
	if got := w.sits(); got != id {
		t.Errorf("the session is %s, want %s", got, id)
	}
	w.none()
}

// Given a conversation in a person's terminal,
// When a second terminal opens it, and a third one begins another on the same branch, and the person stops the work on the item,
// Then both are told where the first is and nothing of them is registered; the stop closes the record alone, and the conversation is
// told so at its next prompt.
func TestSecondTerminalsAndAStop(t *testing.T) {
	t.Parallel()
	w := newDesk(t, "")
	w.start()
	w.opens("desk")
	id := w.sits()
	w.ends(w.comment(15, "to begin with"), "done", "")
	w.sits()
	pid := w.presence().PID
	w.opens("second", "--resume", id)
	w.opens("third")
	quiet()
	if got := w.sits(); got != id || w.presence().PID != pid {
		t.Errorf("the session is %s in %d, want %s in %d", got, w.presence().PID, id, pid)
	}
	w.ends(w.comment(15, "for the first"), "done", "")
	w.hears("for the first")
	w.once("for the first")
	w.must("sessions", "stop", "acme/shop#15")
	if s := w.session(slug(15)); s.Status != "closed" || s.CloseReason != "stopped" {
		t.Errorf("the session is %s (%s)", s.Status, s.CloseReason)
	}
	if w.tmux("display-message", "-p", "-t", "=desk:", "#{pane_dead}") != "0" {
		t.Error("the person's own program was ended")
	}
	w.types("desk", "are you there?")
	w.hears("are you there?")
	w.endsFor(w.comment(15, "anybody?"), "unmatched")
	w.none()
}
