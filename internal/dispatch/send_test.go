package dispatch_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
)

// send says something to the session of shop#15.
func (h *house) send(text string) loop.DeliveryID {
	h.t.Helper()
	_, id, err := h.d.Send(h.t.Context(), dispatch.Message{Item: shop15, Text: text, By: "alice"})
	h.must(err)
	return id
}

// Whoever reaches the socket is the person at this machine: no list of logins stands before them.
func TestAMessageTakesItsTurnAndNeedsNoLogin(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, nth(1))
		first := h.only()
		id := h.send("/loop stop is what I would say\x1b[2J, but go on")
		h.is(id, loop.StateQueued, "")
		first.done()
		run := h.only()
		h.told(run, "alice", "/loop stop is what I would say[2J, but go on")
		if strings.Contains(run.Prompt, "github-data") {
			t.Errorf("their words are fenced like a stranger's:\n%s", run.Prompt)
		}
		run.done()
		d := h.is(id, loop.StateDone, "")
		if d.Source != loop.SourceCommand || d.Kind != "send" || d.Summary != "message from alice, the person at this machine" {
			t.Errorf("delivery = %+v", d)
		}
	})
}

func TestAMessageIsStillThereAfterARestart(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, h *house) {
		h.register(shop15)
		first := h.comment(15, nth(1))
		h.only()
		id := h.send("go on")
		h.restart()
		h.only().done()
		h.is(first, loop.StateDone, "")
		h.told(h.only(), "go on")
		h.only().done()
		h.is(id, loop.StateDone, "")
	})
}

func TestAMessageThatCannotArriveIsRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		say := func(text string) error {
			_, _, err := h.d.Send(t.Context(), dispatch.Message{Item: shop15, Text: text})
			return err
		}
		for _, step := range []struct {
			name  string
			do    func()
			text  string
			class error
			says  string
		}{
			{"no session", func() {}, "x", loop.ErrNotFound, "no session works on github:acme/shop#15"},
			{"nothing", func() { h.register(shop15) }, " \n", loop.ErrInvalid, "nothing to say"},
			{"paused", func() { _, err := h.d.Pause(t.Context(), shop15); h.must(err) }, "x", loop.ErrConflict, "is paused (by a person)"},
			{"closed", func() { h.arrive("issues", closed(15, time.Now())) }, "x", loop.ErrNotFound, "is closed (issue-closed); loopctl sessions start"},
		} {
			step.do()
			err := say(step.text)
			if !errors.Is(err, step.class) || !strings.Contains(err.Error(), step.says) {
				t.Errorf("%s: %v, want %v and %q", step.name, err, step.class, step.says)
			}
		}
		h.idle()
	})
}
