package api_test

import (
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// What was handed over behind a dialog is not shown before a person answers that: the session waits for them.
func TestWhatWasHandedOverWaitsBehindADialog(t *testing.T) {
	t.Parallel()
	h := open(t)
	w := register(t, h, "acme/shop#15").WorkItem
	h.orders.activity = dispatch.Activity{State: dispatch.ActivityRunning}
	h.put(t, loop.Delivery{ID: "d"}, inbox.Transition{State: loop.StateRunning, Item: w, Decision: loop.Deliver})
	h.live.Report(loop.Report{Event: loop.HookPrompt, Item: w, Harness: "claude", SessionID: "id", Launch: "abc"})
	shown := func() (string, string) {
		t.Helper()
		res, err := h.sessions.List(t.Context(), &loopv1.ListSessionsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		s := res.GetSessions()[0]
		return s.GetActivity() + " " + s.GetWaitsFor(), strings.Join(h.explain(t, "d"), "\n")
	}
	if activity, account := shown(); activity != "running " || strings.Contains(account, "--write") {
		t.Errorf("of a turn that runs it is told %q:\n%s", activity, account)
	}
	h.live.Report(loop.Report{Event: loop.HookWaiting, Item: w, Harness: "claude", SessionID: "id", Launch: "abc", Detail: "permission to use Bash"})
	const want = "It is waiting now for a person's answer in its terminal (loopctl attach github:acme/shop#15 --write)."
	if activity, account := shown(); activity != "waiting dialog" || !strings.Contains(account, want) {
		t.Errorf("of one that asks for something it is told %q:\n%s", activity, account)
	}
}
