package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given a repository that no webhook reaches,
// When an issue is labelled, commented on and closed, with a cycle after each,
// Then a session is started, is told of the comment once, and is closed.
func TestAnIssueByPollingAlone(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	h.start()
	h.poll()
	it := h.shop.Open("octocat", githubtest.Item{Number: 15})
	it.Label("octocat", autoExecute)
	h.poll()
	h.idle()
	it.Comment("octocat", "as polled")
	for range 2 {
		h.poll()
		h.idle()
	}
	runs := h.runs()
	if len(runs) != 2 || !strings.Contains(runs[1].Prompt, "as polled") {
		t.Fatalf("runs: %+v", runs)
	}
	it.Close("octocat", "")
	if c := h.poll(); c.Closures != 1 {
		t.Errorf("%+v, want a closure", c)
	}
	h.idle()
	if s := h.session("github-acme-shop-15"); s.Status != "closed" || s.CloseReason != "issue-closed" {
		t.Errorf("%+v", s)
	}
	if c := h.poll(); c.Deliveries != 0 {
		t.Errorf("%+v, want nothing new", c)
	}
}

// Given a comment of somebody who is not listed, by webhook or by poll,
// When they are listed later, and cycles go on,
// Then it reaches nobody, and what they say from then on does.
func TestWhatWasRefusedIsNotTakenUpLater(t *testing.T) {
	t.Parallel()
	for name, webhook := range map[string]bool{"by webhook": true, "by poll": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, "")
			h.start()
			h.poll()
			it := h.shop.Open("octocat", githubtest.Item{Number: 15})
			h.register("acme/shop#15", conversation)
			h.poll()
			h.hook.Take()
			it.Comment("hubot", "too early")
			if webhook {
				h.deliver(h.hook.Take())
			}
			h.poll()
			h.idle()
			h.write(strings.Replace(h.read(filepath.Join(h.dir, "loop.toml")), `["octocat"]`, `["octocat", "hubot"]`, 1))
			h.must("reload")
			h.poll()
			it.Comment("hubot", "in time")
			h.poll()
			h.idle()
			if runs := h.runs(); len(runs) != 1 || !strings.Contains(runs[0].Prompt, "in time") || strings.Contains(runs[0].Prompt, "too early") {
				t.Errorf("agents were told %+v", runs)
			}
		})
	}
}
