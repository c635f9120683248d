package dispatch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestTheTerminalThatAClosedSessionLeftIsRemovedOnWish(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		_, err := h.d.Close(t.Context(), shop15, loop.TerminalAsConfigured, true)
		h.must(err)
		for _, removed := range []string{"loop-" + shop15.Slug(), ""} {
			h.runner.hosted = map[loop.ItemKey]loop.Termination{shop15.Key(): {Removed: removed}}
			res, err := h.d.Close(t.Context(), shop15, loop.TerminalKill, true)
			h.must(err)
			if res.Removed != removed || res.Delivery != "" || res.HarnessEnded || res.Session.CloseReason != loop.CloseManual {
				t.Errorf("it is told as %+v", res)
			}
		}
		want := []loop.Wish{{Settle: h.settings.CloseSettle}, {Terminal: loop.TerminalKill}, {Terminal: loop.TerminalKill}}
		if diff := cmp.Diff(want, h.runner.wishes); diff != "" {
			t.Errorf("wishes (-want +got):\n%s", diff)
		}
		_, err = h.d.Close(t.Context(), shop15, loop.TerminalKeep, true)
		h.fails(err, loop.ErrNotFound)
	}, terminals)
}
