package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestARunsEndIsToldWithWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		out  loop.Outcome
		want map[string]string
	}{
		"an answer": {
			loop.Outcome{Kind: loop.RunDone, Turns: 2, CostUSD: 0.25, Duration: 1500 * time.Millisecond, Denials: []string{"Bash", "Edit"}},
			map[string]string{"turns": "2", "cost_usd": "0.250000", "duration_seconds": "1.5", "denials": "Bash Edit"},
		},
		"a terminal has it": {loop.Outcome{Kind: loop.RunDone, Detail: "its terminal has it"}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				h.register(shop15)
				id := h.comment(15, nth(1))
				h.only().ends(tt.out)
				tt.want["outcome"], tt.want["state"], tt.want["attempts"], tt.want["deliveries"] = "done", "done", "1", string(id)
				if diff := cmp.Diff(tt.want, h.logged(loop.LogRunDone)[0].Fields); diff != "" {
					t.Errorf("run.done (-want +got):\n%s", diff)
				}
			})
		})
	}
}
