package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
)

// waiting wants the session of shop#15 to wait for an answer, or not to.
func (h *house) waiting(want bool) {
	h.t.Helper()
	synctest.Wait()
	if s := h.session(shop15); (s.AskedAt != nil) != want || (s.AskedURL != "") != want {
		h.t.Fatalf("the session waits since %v for %q, want waiting %v", s.AskedAt, s.AskedURL, want)
	}
}

func (h *house) ask(text string) {
	h.t.Helper()
	e, err := h.d.Ask(h.t.Context(), shop15, text)
	h.must(err)
	if !strings.HasPrefix(e.URL, "https://") {
		h.t.Errorf("the question is at %q", e.URL)
	}
}

func TestAQuestionWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		h.register(shop15)
		h.remark(501, "octocat", "please")
		first := h.only()
		first.Began()
		h.remark(502, "octocat", "said before the question")
		time.Sleep(time.Minute)
		h.ask("Which colour?")
		k.want(t, "eyes on 501 of #15", "question on #15: Which colour?")
		h.waiting(true)
		first.completed()
		h.waiting(true)
		h.only().completed()
		h.waiting(true)
		h.remark(503, "mallory", "pink!")
		h.waiting(true)
		h.restart()
		h.waiting(true)
		h.remark(504, "octocat", "blue")
		answer := h.only()
		h.waiting(true)
		answer.Began()
		h.waiting(false)
		answer.completed()
		h.waiting(false)

		h.ask("And how large?")
		h.send("two metres")
		h.only().completed()
		h.waiting(false)
	})
}

func TestAQuestionThatIsNotThereIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		_, err := h.d.Ask(t.Context(), shop15, "Which colour?")
		h.fails(err, loop.ErrNotFound)
		h.register(shop15)
		k.fail = errors.New("no answer")
		_, err = h.d.Ask(t.Context(), shop15, "Which colour?")
		h.fails(err, loop.ErrConflict)
		h.waiting(false)
		k.fail = &outbox.MuteError{Err: errors.New("no token")}
		_, err = h.d.Comment(t.Context(), shop15, "done")
		h.fails(err, loop.ErrUnavailable)
		k.want(t)
	})
}

func TestAHangingTicketDelaysNoRun(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, _ *ticket) {
		h.stop()
		h.post = func(ctx context.Context, _ outbox.Letter) (outbox.Receipt, error) {
			<-ctx.Done()
			return outbox.Receipt{}, ctx.Err()
		}
		h.open()
		h.arrive("issues", label(15, "go", time.Now()))
		h.only().completed()
		for id := int64(501); id < 504; id++ {
			at := time.Now()
			h.is(h.remark(id, "octocat", "more"), loop.StateRunning, "")
			h.only().completed()
			if took := time.Since(at); took != 0 {
				t.Errorf("a comment was held up for %s", took)
			}
		}
	})
}

// An answer in the conversation's own terminal is one too; what Loop brings there is not.
func TestAQuestionIsAnsweredInTheTerminal(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, _ *ticket) {
		p := h.program(21, "s-1")
		p.tells(loop.HookStart)
		h.ask("Which colour?")
		p.tells(loop.HookStop)
		p.tells(loop.HookPrompt, func(r *loop.Report) { r.Runs = []loop.RunID{"20260702-101500-123-ab2cd3"} })
		h.waiting(true)
		h.program(22, "s-2").tells(loop.HookPrompt)
		h.waiting(true)
		p.tells(loop.HookPrompt)
		h.waiting(false)
	})
}

func TestAPausedSessionAsksNothing(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		h.register(shop15)
		_, err := h.d.Pause(t.Context(), shop15)
		h.must(err)
		_, err = h.d.Ask(t.Context(), shop15, "Which colour?")
		h.fails(err, loop.ErrConflict)
		k.want(t)
	})
}
