package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given comments on three items that a cycle is to find,
// When loopd is killed after any step of the cycle, and started again,
// Then each comment reaches its agent once.
func TestKilledAtAnyStepOfACycle(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"poll-item", "poll-cursor", "decided", "running"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, "")
			h.start()
			for n := 1; n <= 3; n++ {
				h.shop.Open("octocat", githubtest.Item{Number: n})
				h.register(fmt.Sprintf("acme/shop#%d", n), fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", n))
			}
			h.poll()
			h.stop()
			h.gh.Advance(time.Hour)
			for n := 1; n <= 3; n++ {
				h.shop.Thread(n).Comment("octocat", fmt.Sprintf("the news is %d", n))
				h.gh.Advance(time.Second)
			}
			d := h.launch("LOOP_E2E_KILL_AT=" + step) // the first cycle is at the start
			<-d.done
			h.start()
			h.poll()
			h.idle()
			var got []string
			for _, run := range h.runs() {
				i := strings.Index(run.Prompt, "the news is ")
				got = append(got, run.Prompt[i:i+len("the news is 1")])
			}
			slices.Sort(got)
			if want := []string{"the news is 1", "the news is 2", "the news is 3"}; !slices.Equal(got, want) {
				t.Errorf("agents were told %q, want %q", got, want)
			}
		})
	}
}
