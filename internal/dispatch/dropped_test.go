package dispatch_test

import (
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// What a hook was handed and the agent has not shown is dropped by a close or a pause like what is queued, and counted like it.
func TestWhatIsDroppedInFlightIsCounted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reason string
		end    func(h *house) (int, error)
	}{
		"close": {loop.DropItemClosed, func(h *house) (int, error) {
			res, err := h.d.Close(h.t.Context(), shop15, loop.TerminalAsConfigured, true)
			return res.Dropped, err
		}},
		"pause": {loop.DropSessionPaused, func(h *house) (int, error) {
			res, err := h.d.Pause(h.t.Context(), shop15)
			return res.Dropped, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				h.register(shop15)
				handed := h.comment(15, nth(1))
				h.only().Handed()
				queued := h.comment(15, nth(2))
				n, err := tt.end(h)
				h.must(err)
				h.is(handed, loop.StateDropped, tt.reason)
				h.is(queued, loop.StateDropped, tt.reason)
				if n != 2 {
					t.Errorf("%d are told as dropped, want 2", n)
				}
			}, terminals)
		})
	}
	t.Run("a turn that ends in time", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, h *house) {
			h.register(shop15)
			h.comment(15, nth(1))
			run := h.only()
			time.AfterFunc(time.Second, run.done)
			res, err := h.d.Close(t.Context(), shop15, loop.TerminalAsConfigured, true)
			h.must(err)
			if res.Dropped != 0 {
				t.Errorf("%d are told as dropped", res.Dropped)
			}
		}, terminals)
	})
}
