package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// cut is a moment at which loopd is killed while it posts something.
type cut struct {
	name  string
	step  string                                                // loopd ends itself at this one
	fault func(kill func(), next http.Handler) http.HandlerFunc // or is ended while GitHub has the request
	there bool                                                  // what was to be posted is on the ticket
	known bool                                                  // and loopd knows what became of it
}

func cuts() []cut {
	return []cut{
		{name: "about to be sent", step: "sending"},
		{name: "on its way", fault: func(kill func(), _ http.Handler) http.HandlerFunc {
			return func(http.ResponseWriter, *http.Request) { kill() }
		}},
		{name: "taken and not answered", there: true, fault: func(kill func(), next http.Handler) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(httptest.NewRecorder(), r)
				kill()
			}
		}},
		{name: "answered", step: "answered", there: true},
		{name: "written", step: "written", there: true, known: true},
	}
}

// arm has loopd killed at a moment of posting a topic, which goes by requests of a pattern, and returns what is to be in its environment.
func (h *hub) arm(c cut, topic, pattern string) string {
	if c.fault != nil {
		kill := func() {
			h.mu.Lock()
			d := h.loopd
			h.mu.Unlock()
			d.kill()
		}
		h.gh.Fail(pattern, func(next http.Handler) http.Handler { return c.fault(kill, next) }, 1)
	}
	return "LOOP_E2E_KILL_AT=" + c.step + " " + topic
}

// Given an issue that is to get a session,
// When loopd is killed at any moment of showing that on the ticket, and started again,
// Then the agent was started once, reactions are there, the announcement is there at most once, what may be missing is said, and the
// session goes on.
func TestKilledWhileTheTicketIsShown(t *testing.T) {
	t.Parallel()
	for topic, pattern := range map[string]string{"announcement": "POST */issues/15/comments", "reaction": "POST */issues/15/reactions"} {
		for _, c := range cuts() {
			t.Run(topic+" "+c.name, func(t *testing.T) {
				t.Parallel()
				h := newHub(t, "")
				h.start()
				it := h.shop.Open("octocat", githubtest.Item{Number: 15})
				h.poll()
				h.stop()
				it.Label("octocat", autoExecute)
				d := h.launch(h.arm(c, topic, pattern)) // the first cycle is at the start
				<-d.done
				h.start()
				h.poll()
				h.idle()
				h.reacted(it, 0, "eyes", "hooray")
				id := it.Comment("octocat", "and the window")
				h.poll()
				h.idle()
				h.reacted(it, id, "eyes", "hooray") // after all that was owed before
				if runs := h.runs(); len(runs) != 2 || strings.Contains(runs[0].Prompt, "handed over before") {
					t.Errorf("runs: %+v", runs)
				}
				posted, doubted := 1, false
				if topic == "announcement" {
					doubted = !c.known
					if !c.there {
						posted = 0
					}
				}
				said := strings.Contains(h.must("status"), "the announcement may not be on github:acme/shop#15, and is not posted again")
				if n := len(shown(it)); n != posted || said != doubted {
					t.Errorf("%d announcements, want %d; that it may be missing is said: %t, want %t", n, posted, said, doubted)
				}
			})
		}
	}
}

// Given an agent that says something on its ticket,
// When loopd is killed at any moment of posting it, started again, and the agent says the same once more,
// Then it is there at most once, and the agent is told where, or that it may be missing.
func TestKilledWhileAnAgentSpeaks(t *testing.T) {
	t.Parallel()
	for _, c := range cuts() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, "")
			it := h.shop.Open("octocat", githubtest.Item{Number: 15})
			d := h.start(h.arm(c, "comment", "POST */issues/15/comments"))
			h.register("acme/shop#15", conversation)
			if r := h.loopctl("comment", "acme/shop#15", "Painted."); r.code == 0 && c.name != "written" {
				t.Errorf("the first try is taken for one that went well: %+v", r)
			}
			<-d.done
			h.start()
			again := h.loopctl("comment", "acme/shop#15", "Painted.")
			want := []string{}
			if c.there {
				want = append(want, "Painted.\n\n<!-- loop -->")
			}
			if got := shown(it); !slices.Equal(got, want) {
				t.Errorf("on the ticket is %q, want %q", got, want)
			}
			if c.known != (again.code == 0) || !c.known && !strings.Contains(again.stderr, "may be on") {
				t.Errorf("the second try: %+v", again)
			}
		})
	}
}
