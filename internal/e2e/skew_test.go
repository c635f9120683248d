package e2e_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given a clock that is twenty minutes or three hours ahead of GitHub's, or behind it, and sessions of issues,
// When one issue is closed and polled, one is closed and told by a webhook, and one stays open,
// Then the sessions of the closed ones end, and the other goes on.
func TestClosesCountWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-20 * time.Minute, -3 * time.Hour, 20 * time.Minute, 3 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			h := newHub(t, "")
			h.gh.SetClock(func() time.Time { return time.Now().Add(ahead) })
			h.start()
			h.poll()
			for n := 1; n <= 3; n++ {
				h.shop.Open("octocat", githubtest.Item{Number: n})
				h.register(ref(n), uuid.NewString())
			}
			h.poll()
			h.hook.Take()
			h.shop.Thread(1).Close("octocat", "")
			h.poll()
			h.hook.Take()
			h.shop.Thread(2).Close("octocat", "")
			h.deliver(h.hook.Take())
			h.idle()
			for n, want := range map[int]string{1: "closed", 2: "closed", 3: "active"} {
				if got := h.session(slug(n)).Status; got != want {
					t.Errorf("the session of %s is %s, want %s", ref(n), got, want)
				}
			}
		})
	}
}
