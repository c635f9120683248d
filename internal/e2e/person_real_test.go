package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/harness/claudetest"
)

// Given that a person has the real Claude Code open on the branch of an issue, in a terminal that is no tmux, with Loop's hooks,
// When comments arrive while it is idle, busy, asking for a permission, beside a draft and ten at once, and while the person leaves,
// Then its one conversation has each of them once and in order, and no dialog and no draft was touched.
func TestRealPerson(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "")
	s := p.opens()
	id := p.session(shop15).HarnessSessionID
	told := []string{"told-while-idle"}
	s.isTold(told[0])
	told = append(told, s.works()...)
	told = append(told, s.asks()...)
	told = append(told, s.drafts()...)
	told = append(told, s.bursts()...)
	told = append(told, s.leaves()...)
	p.whole(id, told...)
}

// isTold has a comment arrive while the agent is idle.
func (s *seat) isTold(word string) {
	s.p.t.Helper()
	s.p.ends(s.p.comment(15, word), "done", "")
	s.p.answered(word, 1)
	s.rests()
}

// works has two comments arrive in a turn that the person has begun.
func (s *seat) works() []string {
	s.p.t.Helper()
	answer := s.p.hold()
	s.says("think-about-it")
	s.p.await("the turn", func() bool { return s.p.count("think-about-it") == 1 })
	first, second := s.p.comment(15, "told-while-busy-1"), s.p.comment(15, "told-while-busy-2")
	s.p.await("the first to be handed over and the second to wait", func() bool {
		return s.p.delivery(first).State == "running" && s.p.delivery(second).State == "queued"
	})
	answer()
	s.p.ends(first, "done", "")
	s.p.ends(second, "done", "")
	s.p.answered("told-while-busy-2", 1)
	s.rests()
	return []string{"think-about-it", "told-while-busy-1", "told-while-busy-2"}
}

// asks has a comment arrive while the agent asks whether a tool may run, which the person then refuses.
func (s *seat) asks() []string {
	s.p.t.Helper()
	s.p.model.Behave(claudetest.Behavior{Tool: "Bash", ToolInput: json.RawMessage(`{"command":"touch confirmed; sleep 1"}`)})
	s.says("ask-me-first")
	s.shows("❯ 1. Yes")
	s.p.model.Behave(claudetest.Behavior{})
	s.p.await("the dialog to be told of", func() bool { here := s.p.presence(); return here != nil && here.Turn == "waiting" })
	dialog := func() string { // above it something blinks
		_, dialog, _ := strings.Cut(s.screen.String(), "Bash command")
		return dialog
	}
	before := dialog()
	comment := s.p.comment(15, "told-beside-a-dialog")
	s.p.await("the comment to be handed over", func() bool { return s.p.delivery(comment).State == "running" })
	if out := s.p.must("sessions", "list"); !strings.Contains(out, "waiting") {
		s.p.t.Errorf("the list of sessions does not say that the agent waits for the person:\n%s", out)
	}
	if now := dialog(); now != before {
		s.p.t.Errorf("the dialog was touched; it was\n%s\nand is\n%s", before, now)
	}
	s.keys("\x1b")
	s.p.ends(comment, "done", "")
	s.p.answered("told-beside-a-dialog", 1)
	s.rests()
	if s.p.has("confirmed") {
		s.p.t.Error("the tool ran, which nobody has allowed")
	}
	return []string{"ask-me-first", "told-beside-a-dialog"}
}

// drafts has a comment arrive while half a thought stands in the input line, which the person then ends.
func (s *seat) drafts() []string {
	s.p.t.Helper()
	s.types("half-a-")
	s.p.ends(s.p.comment(15, "told-beside-a-draft"), "done", "")
	s.p.answered("told-beside-a-draft", 1)
	s.shows("❯\u00a0half-a-")
	s.p.await("a hook to wait", func() bool { here := s.p.presence(); return here != nil && here.WakeHook })
	s.keys("thought")
	s.shows("❯\u00a0half-a-thought")
	s.keys("\r")
	s.p.await("the thought", func() bool { return s.p.count("half-a-thought") > 0 })
	s.rests()
	return []string{"told-beside-a-draft", "half-a-thought"}
}

// bursts has ten comments arrive at once.
func (s *seat) bursts() (words []string) {
	s.p.t.Helper()
	var comments []string
	for i := range 10 {
		words = append(words, fmt.Sprintf("told-in-a-burst-%d", i))
		comments = append(comments, s.p.comment(15, words[i]))
	}
	for _, comment := range comments {
		s.p.ends(comment, "done", "")
	}
	s.p.answered(words[9], 1)
	s.p.order(words...)
	s.rests()
	return words
}

// leaves has a comment arrive in a turn in which the person closes the window, and another just as they exit.
func (s *seat) leaves() []string {
	s.p.t.Helper()
	id := s.p.session(shop15).HarnessSessionID
	answer := s.p.hold()
	s.says("never-mind-that")
	s.p.await("the turn", func() bool { return s.p.count("never-mind-that") == 1 })
	comment := s.p.comment(15, "told-when-left")
	s.p.await("the comment to be handed over", func() bool { return s.p.delivery(comment).State == "running" })
	s.closesWindow()
	answer()
	s.p.ends(comment, "done", "")
	s.p.answered("told-when-left", 1)

	s = s.p.opens("--resume", id)
	s.types("/exit")
	s.keys("\r")
	s.p.ends(s.p.comment(15, "told-on-exit"), "done", "")
	s.ended()
	s.p.answered("told-on-exit", 1)
	return []string{"never-mind-that", "told-when-left", "told-on-exit"}
}
