package e2e_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
)

// happening is something that people do on an item which a session works on, or which is to get one.
type happening struct {
	name  string
	item  githubtest.Item
	fresh bool // no session is there before
	do    func(*hub, *githubtest.Thread)
}

func happenings() []happening {
	issue := githubtest.Item{Number: 15}
	pull := githubtest.Item{Number: 15, PR: true, Body: "Closes #5"}
	return []happening{
		{"a label", issue, true, func(_ *hub, t *githubtest.Thread) { t.Label("octocat", autoExecute) }},
		{"a stranger's label", issue, true, func(_ *hub, t *githubtest.Thread) { t.Label("mallory", autoExecute) }},
		{"a comment", issue, false, func(_ *hub, t *githubtest.Thread) { t.Comment("octocat", "look") }},
		{"a stranger's comment", issue, false, func(_ *hub, t *githubtest.Thread) { t.Comment("mallory", "look") }},
		{"an agent's comment", issue, false, func(_ *hub, t *githubtest.Thread) { t.Comment("octocat", "done\n<!-- loop -->") }},
		{"a close", issue, false, func(_ *hub, t *githubtest.Thread) { t.Close("mallory", "") }},
		{"a draft that is ready", githubtest.Item{Number: 15, PR: true}, false, func(h *hub, t *githubtest.Thread) {
			t.SetDraft("octocat", true)
			h.gh.Advance(time.Second)
			t.SetDraft("octocat", false)
		}},
		{"a comment on a pull request", pull, false, func(_ *hub, t *githubtest.Thread) { t.Comment("octocat", "look") }},
		{"a review", pull, false, func(_ *hub, t *githubtest.Thread) {
			t.Review("octocat", githubtest.Review{State: "changes_requested", Body: "not yet"})
		}},
		{"a comment on a line", pull, false, func(_ *hub, t *githubtest.Thread) {
			t.Review("octocat", githubtest.Review{Body: "see below"}, githubtest.Comment{Body: "this line", Path: "shop.go", Line: 3})
		}},
		{"a merge", githubtest.Item{Number: 15, PR: true}, false, func(_ *hub, t *githubtest.Thread) { t.Merge("octocat") }},
		{"a failed run", pull, false, func(h *hub, t *githubtest.Thread) {
			h.shop.Workflow(githubtest.Check{Conclusion: "failure", SHA: t.Now().HeadSHA, Branch: t.Now().Head})
		}},
	}
}

// ways are how it comes to loopd.
var ways = []struct {
	name string
	come func(h *hub, sent []githubtest.Delivery)
}{
	{"webhook", func(h *hub, sent []githubtest.Delivery) { h.deliver(sent) }},
	{"poll", func(h *hub, _ []githubtest.Delivery) { h.poll() }},
	{"webhook, restart, poll", func(h *hub, sent []githubtest.Delivery) {
		h.deliver(sent)
		h.idle()
		h.stop()
		h.start()
		h.poll()
	}},
	{"poll, restart, webhook", func(h *hub, sent []githubtest.Delivery) {
		h.poll()
		h.idle()
		h.stop()
		h.start()
		h.deliver(sent)
	}},
}

// Given a session, or an item that is to get one,
// When something happens on GitHub, and is told by the webhook, by a cycle, or by both in either order and across a restart,
// Then the agent is told the same, once, and the session ends up the same.
func TestWhoeverBringsItItIsTheSame(t *testing.T) {
	t.Parallel()
	for _, what := range happenings() {
		t.Run(what.name, func(t *testing.T) {
			t.Parallel()
			var want outcome
			for i, way := range ways {
				got := what.run(t, way.come)
				if i == 0 {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("by %s, it is not as by %s:\n%s", way.name, ways[0].name, diff)
				}
			}
		})
	}
}

// outcome is what came of a happening.
type outcome struct {
	Prompts  []string
	Sessions []string // item, status and why
}

func (w happening) run(t *testing.T, come func(*hub, []githubtest.Delivery)) outcome {
	t.Helper()
	h := newHub(t, "")
	start := time.Now().Truncate(time.Second)
	h.gh.SetClock(func() time.Time { return start })
	it := h.shop.Open("octocat", w.item)
	if w.item.PR {
		h.shop.Open("octocat", githubtest.Item{Number: 5})
	}
	h.start()
	h.gh.Advance(5 * time.Second)
	if !w.fresh {
		ref := "acme/shop#15"
		if w.item.Body != "" {
			ref = "acme/shop#5"
		}
		h.register(ref, conversation)
	}
	h.poll()
	h.idle()
	if before := h.hook.Take(); w.item.Body != "" { // a run alone says nothing of the issue: the pull request was heard of
		h.deliver(before)
		h.idle()
	}
	h.gh.Advance(5 * time.Minute)
	w.do(h, it)
	come(h, h.hook.Take())
	h.idle()
	r := outcome{}
	for _, run := range h.runs() {
		r.Prompts = append(r.Prompts, plainPrompt(run))
	}
	var sessions []struct {
		WorkItem            struct{ Ref string }
		Status, CloseReason string
	}
	h.decode(h.must("sessions", "list", "--status", "all", "-o", "json"), &sessions)
	for _, s := range sessions {
		r.Sessions = append(r.Sessions, fmt.Sprintf("%s %s %s", s.WorkItem.Ref, s.Status, s.CloseReason))
	}
	return r
}

// plainPrompt is a prompt without what differs between two worlds.
func plainPrompt(run claudetest.Run) string {
	text := regexp.MustCompile(`[0-9a-f]{8,}`).ReplaceAllString(run.Prompt, "…")
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" }), "\n")
}
