package dispatch_test

import (
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/loop"
)

func asking(what string) func(*loop.Report) { return func(r *loop.Report) { r.Detail = what } }

// asked wants so many events that tell of a question, the last with these words.
func (h *house) asked(n int, words string) {
	h.t.Helper()
	told := h.logged(loop.LogSessionWaiting)
	if len(told) != n {
		h.t.Fatalf("%d waits are told, want %d: %+v", len(told), n, told)
	}
	if last := told[n-1]; last.Item != shop15 || last.Fields["reason"] != loop.WaitDialog || !strings.Contains(last.Message, words) {
		h.t.Errorf("told %+v, want %q", last, words)
	}
}

// A question is told when it is asked, with nothing queued, and its reminder is none of its own.
func TestAQuestionIsToldOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		p := h.program(21, "s-1")
		p.tells(loop.HookStart, source("startup"))
		p.tells(loop.HookPrompt)
		p.tells(loop.HookWaiting, asking("permission to use Bash"))
		h.asked(1, "claude on github:acme/shop#15 waits for a person in your terminal (pts/3): permission to use Bash")
		p.tells(loop.HookWaiting, source("permission_prompt"), asking("Claude needs your permission"))
		h.asked(1, "Bash")
		p.tells(loop.HookWaiting, asking("permission to use Edit")) // the next one of the same turn
		h.asked(2, "Edit")
		p.tells(loop.HookStop)
		p.tells(loop.HookWaiting, source("permission_prompt"), asking("Claude needs you")) // all that is heard of it
		h.asked(3, "Claude needs you")
		h.program(22, "s-9").tells(loop.HookWaiting, asking("permission in another conversation"))
		p.tells(loop.HookWaiting, func(r *loop.Report) { r.Run = "r-1" })
		h.asked(3, "")
	})
}

func TestAQuestionInATerminalOfOursIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		s := h.register(shop15)
		h.launch = "l-2"
		for _, launch := range []string{"l-1", "l-2"} { // of which the first is over
			h.program(21, s.HarnessSessionID).tells(loop.HookWaiting, asking("permission to use Bash"), func(r *loop.Report) { r.Launch = launch })
		}
		h.asked(1, "loopctl attach github:acme/shop#15 --write): permission to use Bash")
	}, terminals)
}

// Of one wait one event tells, however many deliveries it keeps back; of a question that a hook told of, the hook's alone.
func TestAWaitIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{loop.WaitElsewhere, loop.WaitDialog} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				wants := func(n int) {
					t.Helper()
					if told := h.logged(loop.LogSessionWaiting); len(told) != n {
						t.Fatalf("%d waits are told, want %d: %+v", len(told), n, told)
					}
				}
				p := h.program(21, "s-1")
				p.tells(loop.HookStart, source("startup"))
				ready := h.waits(shop15, wait)
				h.comment(15, "one")
				h.comment(15, "two")
				wants(1)
				ready()
				h.only().done()
				ready = h.waits(shop15, wait)
				h.comment(15, "three")
				wants(2)
				ready()
				h.only().done()
				p.tells(loop.HookWaiting, asking("permission to use Bash"))
				wants(3)
				h.waits(shop15, wait)
				h.comment(15, "four")
				wants(3)
			})
		})
	}
}
