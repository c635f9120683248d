package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/route"
)

// ticket is what Loop shows on GitHub, in order.
type ticket struct {
	shown []string
	fail  error
}

func (k *ticket) post(_ context.Context, l outbox.Letter) (outbox.Receipt, error) {
	if k.fail != nil {
		return outbox.Receipt{}, k.fail
	}
	first, _, _ := strings.Cut(l.Text, "\n")
	if l.Topic == outbox.Reaction {
		k.shown = append(k.shown, fmt.Sprintf("%s on %d of #%d", l.Text, l.Comment, l.Item.Number))
		return outbox.Receipt{}, nil
	}
	k.shown = append(k.shown, fmt.Sprintf("%s on #%d: %s", l.Topic, l.Item.Number, first))
	return outbox.Receipt{ID: int64(9000 + len(k.shown)), URL: "https://github.com/acme/shop/issues/15#issuecomment-1", At: time.Now()}, nil
}

// want wants exactly this to be shown since it was last asked.
func (k *ticket) want(t *testing.T, shown ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(shown, k.shown); diff != "" {
		t.Errorf("on the ticket: %s", diff)
	}
	k.shown = nil
}

// speaking runs a test with a house that has a voice.
func speaking(t *testing.T, test func(t *testing.T, h *house, k *ticket), change ...func(*dispatch.Settings)) {
	t.Helper()
	k := &ticket{}
	voice := func(s *dispatch.Settings) {
		s.Voice = dispatch.Voice{Started: "eyes", Completed: "hooray", Error: "confused", Announce: true}
	}
	bubble(t, func(t *testing.T, h *house) {
		h.stop()
		h.post = k.post
		h.open()
		test(t, h, k)
	}, append(change, voice)...)
}

// remark is a comment by somebody on item 15, under a number of its own.
func (h *house) remark(id int64, who, text string, labels ...string) loop.DeliveryID {
	h.t.Helper()
	return h.arrive("issue_comment", githubtest.IssueComment("created", who, githubtest.Item{Number: 15, Labels: labels, At: time.Now()},
		githubtest.Comment{ID: id, Body: text, At: time.Now()}))
}

// completed ends a run as a headless harness does.
func (sc *scene) completed() {
	sc.ends(loop.Outcome{Kind: loop.RunDone, SessionID: sc.Session.HarnessSessionID, Turns: 1, Duration: time.Minute})
}

const started = "announcement on #15: Loop has started an agent on this. Whoever runs it can look into it with"

func TestReactionsFollowARun(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		h.register(shop15)
		h.remark(501, "octocat", "please")
		run := h.only()
		k.want(t)
		run.Began()
		k.want(t, "eyes on 501 of #15")
		run.completed()
		k.want(t, "hooray on 501 of #15")
		h.arrive("pull_request_review_comment", githubtest.PullRequestComment("created", "octocat", githubtest.Item{Number: 15}, githubtest.Comment{ID: 502, Body: "and this"}))
		h.only().done() // in a terminal: its turn goes on
		k.want(t, "eyes on 502 of #15")
	})
}

// In a terminal the hooks tell when the turn ends that shows a prompt, and how.
func TestReactionsFollowATurnInATerminal(t *testing.T) {
	t.Parallel()
	pane := func(r *loop.Report) { r.Launch, r.PID, r.Caller = "l-1", 0, 0 }
	own := func(*loop.Report) {}
	for name, where := range map[string]func(*loop.Report){"of ours": pane, "of a person's": own} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speaking(t, func(t *testing.T, h *house, k *ticket) {
				p := h.program(21, "s-1")
				p.tells(loop.HookStart)
				// shows has a comment handed over, and says when its prompt was shown.
				shows := func(id int64) {
					h.remark(id, "octocat", "please")
					run := h.only()
					run.Began()
					p.tells(loop.HookPrompt, where, func(r *loop.Report) { r.Runs = []loop.RunID{run.Run} })
					run.done()
					k.want(t, fmt.Sprintf("eyes on %d of #15", id))
					time.Sleep(time.Minute)
				}
				shows(501)
				p.tells(loop.HookWaiting, where)
				p.tells(loop.HookStop, where, func(r *loop.Report) { r.At = r.At.Add(-2 * time.Minute) }) // of a turn before it
				k.want(t)
				p.tells(loop.HookStop, where)
				k.want(t, "hooray on 501 of #15")
				p.tells(loop.HookStop, where)
				k.want(t)
				shows(502)
				p.tells(loop.HookFailure, where)
				k.want(t, "confused on 502 of #15")
				shows(503)
				p.tells(loop.HookEnd, where)
				p.tells(loop.HookStart, where)
				p.tells(loop.HookStop, where)
				k.want(t)
			})
		})
	}
}

func TestWhatIsDroppedGetsNoReaction(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		h.register(shop15)
		h.is(h.remark(501, "mallory", "do it"), loop.StateDropped, loop.DropUnauthorized)
		h.is(h.remark(504, "mallory", "/loop stop"), loop.StateDropped, loop.DropUnauthorized)
		h.is(h.remark(502, "octocat", "done\n"+loop.Marker), loop.StateDropped, loop.DropSelfAuthored)
		h.remark(503, "octocat", "please")
		h.only().completed()
		h.is(h.remark(503, "octocat", "please"), loop.StateDropped, loop.DropDuplicate)
		k.want(t, "eyes on 503 of #15", "hooray on 503 of #15")
	})
}

func TestAFirstStartIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		h.arrive("issues", label(15, "go", time.Now()))
		h.only().fails()
		time.Sleep(2 * time.Minute)
		h.only().Began()
		k.want(t, "eyes on 0 of #15", started)
		h.only().completed()
		k.want(t, "hooray on 0 of #15")
		h.restart()
		h.remark(501, "octocat", "more")
		h.only().ends(loop.Outcome{Kind: loop.RunLost, Detail: "No conversation found"}) // a fresh conversation, but no first start
		h.only().completed()
		k.want(t, "eyes on 501 of #15", "hooray on 501 of #15")
	})
}

func TestGivingUpIsSaidOnce(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		h.register(shop15)
		for id := int64(501); id < 503; id++ {
			h.remark(id, "octocat", "please")
			for range 3 {
				h.only().fails()
				time.Sleep(10 * time.Minute)
			}
		}
		notice := "notice on #15: Loop has given up on something that was to reach the agent, after 3 tries: comment on acme/shop#15 by octocat. Whoever runs Loop sees why with"
		k.want(t, "eyes on 501 of #15", "confused on 501 of #15", notice, "eyes on 502 of #15", "confused on 502 of #15")
		h.remark(503, "octocat", "again")
		h.only().completed()
		h.remark(504, "octocat", "and now")
		h.only().ends(loop.Outcome{Kind: loop.RunTimeout})
		k.want(t, "eyes on 503 of #15", "hooray on 503 of #15", "eyes on 504 of #15", "confused on 504 of #15", strings.Replace(notice, "3 tries", "1 try", 1))
	})
}

func TestARunawayIsSaidOnce(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		h.register(shop15)
		for id := int64(501); id < 505; id++ {
			h.remark(id, "octocat", "please")
			for _, run := range h.runner.on() {
				run.completed()
			}
		}
		k.want(t, "eyes on 501 of #15", "hooray on 501 of #15", "eyes on 502 of #15", "hooray on 502 of #15", "notice on #15: The agent that works on this has been called 2 times within an hour, as often as it may, and is paused: "+
			"what comes now does not reach it. Whoever runs Loop can look into it and let it go on:")
	}, func(s *dispatch.Settings) { s.MaxRunsPerHour = 2 })
}

func TestCommandsAreAnswered(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		id := int64(600)
		for _, step := range []struct{ says, answer string }{
			{"/loop status", "No session works on this."},
			{"/loop pause", "`/loop pause` is not carried out: no session works on this."},
			{"/loop start\n/loop stop", "Nothing is done: the comment holds two different commands. Write a comment with one of them."},
			{"/loop start", ""},
			{"/loop start", "A session works on this already."},
			{"/loop status", "claude works on this and is idle; it last handled something at 2000-01-01 00:00 UTC."},
			{"/loop pause", "Paused. What comes does not reach the agent until `/loop resume`; dropped: 0."},
			{"/loop status", "The session of claude is paused: what comes does not reach it until `/loop resume`; it last handled something at 2000-01-01 00:00 UTC."},
			{"hello?", ""},
			{"/loop resume", "Resumed. Missed while it was paused: 1."},
			{"/loop stop", "Stopped. The session is closed, and none is started for this until `/loop start`."},
			{"/loop stop", "Stopped. No session works on this, and none is started until `/loop start`."},
			{"/loop status", "No session works on this, and none is started until `/loop start`."},
		} {
			id++
			h.remark(id, "octocat", step.says)
			for _, run := range h.runner.on() {
				run.completed()
				k.want(t, fmt.Sprintf("eyes on %d of #15", id), started, fmt.Sprintf("hooray on %d of #15", id))
			}
			if step.answer == "" {
				k.want(t)
				continue
			}
			k.want(t, "answer on #15: "+step.answer)
		}
	})
}

func TestAnothersAnnouncementKeepsUsFromStarting(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		theirs := loop.AddMarker(outbox.Announce(shop15))
		h.remark(501, "mallory", theirs) // a stranger cannot keep us from work
		h.arrive("issues", label(15, "go", time.Now()))
		h.only().completed()
		k.want(t, "eyes on 0 of #15", started, "hooray on 0 of #15")
		h.remark(9002, "octocat", theirs) // ours, as the webhook brings it
		_, err := h.d.Close(t.Context(), shop15, loop.TerminalAsConfigured, true)
		h.must(err)
		time.Sleep(time.Minute)
		h.arrive("issues", label(15, "go", time.Now()))
		h.only().completed()
		k.want(t, "eyes on 0 of #15", started, "hooray on 0 of #15")

		h.is(h.remark(502, "octocat", theirs), loop.StateDropped, loop.DropSelfAuthored)
		_, err = h.d.Close(t.Context(), shop15, loop.TerminalAsConfigured, true)
		h.must(err)
		time.Sleep(time.Minute)
		h.is(h.arrive("issues", label(15, "go", time.Now())), loop.StateDropped, loop.DropClaimed)
		h.restart()
		h.is(h.arrive("issues", label(15, "go", time.Now().Add(time.Minute))), loop.StateDropped, loop.DropClaimed)
		h.remark(503, "octocat", "/loop start")
		h.only().completed()
		k.want(t, "eyes on 503 of #15", started, "hooray on 503 of #15")
	})
}

func TestWhatWePostedIsKnownWithoutTheMarker(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, k *ticket) {
		h.register(shop15)
		h.remark(501, "octocat", "/loop status")
		k.want(t, "answer on #15: claude works on this and is idle.")
		h.is(h.remark(9001, "octocat", "claude works on this and is idle."), loop.StateDropped, loop.DropSelfAuthored)
		h.remark(9002, "octocat", "that was me")
		h.only().completed()
	})
}

func TestWhatOurAccountDoesIsNoNews(t *testing.T) {
	t.Parallel()
	speaking(t, func(t *testing.T, h *house, _ *ticket) {
		h.login = "octocat"
		opened := githubtest.Issues("opened", "octocat", githubtest.Item{Number: 15})
		h.is(h.arrive("issues", opened), loop.StateDropped, loop.DropOwnAction)
		h.login = ""
		h.arrive("issues", githubtest.Issues("opened", "octocat", githubtest.Item{Number: 16}))
		h.only().completed()
	}, func(s *dispatch.Settings) { s.Route.SpawnOnUnmatched = route.SpawnAlways })
}
