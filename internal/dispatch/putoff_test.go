package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// stuck is a stage on which nothing can be ended.
type stuck struct{ *stage }

func (stuck) End(context.Context, loop.Session, loop.Wish) (loop.Termination, error) {
	return loop.Termination{}, fmt.Errorf("tmux did not answer: %w: %w", errors.New("timeout"), loop.ErrUnavailable)
}

func TestACloseThatCannotEndItsAgentSaysWhy(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.d.Runner = stuck{h.runner}
		h.register(shop15)
		id := h.arrive("issues", closed(15, time.Now()))
		const why = "end the harness of github:acme/shop#15: tmux did not answer: timeout"
		if d := h.is(id, loop.StateWaiting, loop.WaitEnding); d.Error != why {
			t.Errorf("it waits with the error %q, want %q", d.Error, why)
		}
		time.Sleep(10 * time.Second)
		if n := len(h.logged(loop.LogSessionWaiting)); n != 1 {
			t.Errorf("%d events tell of one wait", n)
		}
		h.restart() // it is mended
		if d := h.is(id, loop.StateDone, ""); d.Error != "" {
			t.Errorf("it is done with the error %q", d.Error)
		}
	}, terminals)
}
