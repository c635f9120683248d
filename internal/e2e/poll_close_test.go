package e2e_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// ending is what happens on the item of a session, and how the session stands then.
type ending struct {
	item githubtest.Item
	do   func(*githubtest.Thread)
	then string // "" as before
}

var endings = []ending{
	{githubtest.Item{}, func(it *githubtest.Thread) { it.Close("octocat", "") }, "closed issue-closed"},
	{githubtest.Item{PR: true}, func(it *githubtest.Thread) { it.Close("octocat", "") }, "closed pr-closed"},
	{githubtest.Item{PR: true}, func(it *githubtest.Thread) { it.Merge("octocat") }, "closed pr-merged"},
	{githubtest.Item{}, func(it *githubtest.Thread) { it.Comment("mallory", "still open") }, ""},
	{githubtest.Item{PR: true}, func(it *githubtest.Thread) { it.Comment("mallory", "still open") }, ""},
	{githubtest.Item{Labels: []string{autoExecute}}, func(it *githubtest.Thread) { it.Unlabel("octocat", autoExecute) }, ""},
}

// incomplete are ways in which a cycle learns of no close.
var incomplete = []struct {
	name, pattern string
	fault         githubtest.Fault
}{
	{"the listing fails", "GET *issues?*since=*", githubtest.Answer(502)},
	{"the listing breaks off", "GET *issues?*since=*", githubtest.Cut(1000)},
	{"the listing has no second page", "GET *issues?*page=2*", githubtest.Answer(500)},
	{"what is open cannot be listed", "GET *labels=*", githubtest.Answer(503)},
	{"the items are not found", "GET *issues/*/events*", githubtest.Answer(404)},
	{"the items are not answered for", "GET *issues/*/events*", githubtest.Answer(500)},
}

// Given active and paused sessions of issues and pull requests,
// When those are closed and merged, others are talked about, and cycles meet listings that fail or break off and items that are not
// found or not answered for,
// Then every session stays as it is; and the next complete cycle closes those whose item is closed, each with its reason, and no other.
func TestOnlyACompleteCycleClosesSessions(t *testing.T) {
	t.Parallel()
	h := newHub(t, "")
	h.start()
	h.poll()
	var before, after []string
	for _, e := range endings {
		for _, status := range []string{"active", "paused"} {
			ref := h.begin(e.item, status)
			before = append(before, ref+" "+status)
			if e.then != "" {
				status = e.then
			}
			after = append(after, ref+" "+status)
		}
	}
	h.poll()
	h.idle()
	for i := range before {
		endings[i/2].do(h.shop.Thread(i + 1))
	}
	for range 120 { // so that what changed is more than a page
		h.shop.Open("octocat", githubtest.Item{})
	}
	for _, f := range incomplete {
		h.gh.ForgetRequests()
		h.gh.Fail(f.pattern, f.fault, -1)
		h.loopctl("poll")
		h.gh.Mend()
		h.idle()
		if n, _ := h.gh.Count(f.pattern); n == 0 {
			t.Errorf("%s: nothing met it: %v", f.name, h.gh.Requests())
		}
		if diff := cmp.Diff(before, h.stand()); diff != "" {
			t.Errorf("%s (-before +after):\n%s", f.name, diff)
		}
	}
	if c := h.poll(); c.Closures != 6 || c.Errors != 0 {
		t.Errorf("the complete cycle: %+v, want 6 closures", c)
	}
	h.idle()
	if diff := cmp.Diff(after, h.stand()); diff != "" {
		t.Errorf("after the complete cycle (-want +got):\n%s", diff)
	}
}

// begin opens an item with a session that is active or paused.
func (h *hub) begin(it githubtest.Item, status string) (ref string) {
	h.t.Helper()
	ref = fmt.Sprintf("github:acme/shop#%d", h.shop.Open("octocat", it).Number)
	h.register(ref, uuid.NewString())
	if status == "paused" {
		h.must("sessions", "pause", ref)
	}
	return ref
}

// stand returns how all sessions stand.
func (h *hub) stand() (all []string) {
	h.t.Helper()
	for _, s := range h.sessions() {
		all = append(all, s.String())
	}
	return all
}
