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

func TestARunIsToldAsStartedWhenItIs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		id := h.comment(15, nth(1))
		h.only().ends(loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitRoom, Detail: "no room"})
		h.is(id, loop.StateWaiting, loop.WaitRoom)
		if told := h.logged(loop.LogRunStarted); len(told) != 0 {
			t.Errorf("a run that waits is told as started: %+v", told)
		}
		time.Sleep(3 * time.Second)
		run := h.only()
		run.Began()
		run.Began()
		if told := h.logged(loop.LogRunStarted); len(told) != 1 || told[0].Run != run.Run {
			t.Errorf("its start is told as %+v", told)
		}
		run.done()
		h.comment(15, nth(2))
		h.only().ends(loop.Outcome{Kind: loop.RunUnreached, Detail: "no such program"})
		if told := h.logged(loop.LogRunStarted); len(told) != 2 {
			t.Errorf("%d starts are told of two runs that ended", len(told))
		}
	}, terminals)
}
