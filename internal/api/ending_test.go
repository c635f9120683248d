package api_test

import (
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
)

func TestExplainACloseThatGoesOn(t *testing.T) {
	t.Parallel()
	h := open(t)
	w := item(t, "acme/shop#15")
	for id, tt := range map[loop.DeliveryID]struct {
		to   inbox.Transition
		want []string
	}{
		"begun": {inbox.Transition{State: loop.StateQueued}, []string{"State: queued: what it ends is being ended"}},
		"waits": {inbox.Transition{State: loop.StateWaiting, Reason: loop.WaitEnding, Error: "no tmux"}, []string{"State: waiting (ending): ", "The last error: no tmux"}},
	} {
		tt.to.Item, tt.to.Decision, tt.to.Closures = w, loop.Close, []loop.Closure{{Item: w, Reason: loop.CloseManual}}
		h.put(t, loop.Delivery{ID: id, Source: loop.SourceCommand, Kind: "close"}, tt.to)
		got := strings.Join(h.explain(t, string(id)), "\n")
		for _, part := range tt.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: the account lacks %q:\n%s", id, part, got)
			}
		}
	}
}
