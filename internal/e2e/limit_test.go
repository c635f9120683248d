package e2e_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given twenty sessions, and a GitHub that says to a cycle, or to what is shown on a ticket, that it is to be left alone for two minutes,
// When webhooks tell of comments, of a label on a pull request whose branch names an issue, and of a close, and people ask for more,
// Then all of it is done at once, people are told until when GitHub is not asked, and it is not.
func TestDeliveriesGoOnWhileGitHubLimits(t *testing.T) {
	t.Parallel()
	for name, meet := range map[string]func(h *hub){
		"a cycle": func(h *hub) {
			h.gh.Fail("GET *", githubtest.SecondaryLimit(120*time.Second), 1)
			h.loopctl("poll")
		},
		"a reaction": func(h *hub) {
			h.gh.Fail("POST *", githubtest.SecondaryLimit(120*time.Second), 1)
			h.shop.Thread(20).Comment("octocat", "the first")
			h.deliver(h.hook.Take())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, "")
			for n := 1; n <= 20; n++ {
				h.shop.Open("octocat", githubtest.Item{Number: n})
			}
			h.start()
			for n := 1; n <= 20; n++ {
				h.register(fmt.Sprintf("acme/shop#%d", n), uuid.NewString())
			}
			h.poll()
			h.await("the account to be known", func() bool { n, _ := h.gh.Count("GET /user"); return n == 1 })
			h.hook.Take()
			meet(h)
			h.await("the limit to be met", func() bool { return h.refused() >= 0 })
			met := h.refused()
			until := h.gh.Requests()[met].At.Add(120 * time.Second)

			for n := 1; n <= 5; n++ {
				h.shop.Thread(n).Comment("octocat", "while it is limited")
			}
			h.shop.Open("octocat", githubtest.Item{Number: 30, PR: true, Head: "issue-31-door"}).Label("octocat", autoExecute)
			h.shop.Thread(6).Close("octocat", "")
			h.deliver(h.hook.Take())
			h.idle()
			h.loopctl("poll")
			said := h.loopctl("comment", "acme/shop#1", "Painted.")
			status := h.must("status")

			runs := 0
			for _, run := range h.runs() {
				if strings.Contains(run.Prompt, "while it is limited") || strings.Contains(run.Prompt, "acme/shop#31") {
					runs++
				}
			}
			if runs != 6 || h.session("github-acme-shop-31").Status != "active" || h.session("github-acme-shop-6").Status != "closed" {
				t.Errorf("%d runs, want 6, a session for issue 31 and none for 6\n%s", runs, h.must("sessions", "list", "--status", "all"))
			}
			if more := h.gh.Requests()[met+1:]; len(more) > 0 {
				t.Errorf("GitHub was asked while it limits: %v", more)
			}
			for who, text := range map[string]string{"status": status, "comment": said.stderr} {
				if !tells(text, until) {
					t.Errorf("%s does not say that it is until %s:\n%s", who, until, text)
				}
			}
		})
	}
}

// refused returns which request was turned away, or -1.
func (h *hub) refused() int {
	return slices.IndexFunc(h.gh.Requests(), func(r githubtest.Request) bool { return r.Status == http.StatusForbidden })
}

// tells reports whether a text has the time, give or take the seconds that the answer was on its way.
func tells(text string, until time.Time) bool {
	for _, stamp := range regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).FindAllString(text, -1) {
		at, err := time.Parse(time.RFC3339, stamp)
		if err == nil && at.Sub(until).Abs() < 30*time.Second {
			return true
		}
	}
	return false
}

// Given a GitHub that has said to be left alone for two minutes,
// When loopd is killed and started again,
// Then it is left alone for the rest of them.
func TestALimitOutlivesLoopd(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	h.start()
	h.shop.Open("octocat", githubtest.Item{Number: 15})
	h.register("acme/shop#15", conversation)
	h.poll()
	h.gh.Fail("GET *", githubtest.SecondaryLimit(120*time.Second), 1)
	h.loopctl("poll")
	h.loopd.kill()
	h.gh.ForgetRequests()
	h.start()
	if r := h.loopctl("poll"); !strings.Contains(r.stderr, "asked again at ") {
		t.Errorf("%+v: it does not say until when", r)
	}
	if n, _ := h.gh.Count("*"); n != 0 {
		t.Errorf("it was asked %d times: %v", n, h.gh.Requests())
	}
}
