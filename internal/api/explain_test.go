package api_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/inbox"
	itemstore "github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

func (h *house) explain(t *testing.T, subject string) []string {
	t.Helper()
	res, err := h.deliveries.Explain(t.Context(), &loopv1.ExplainRequest{Subject: subject})
	if err != nil {
		t.Fatal(err)
	}
	return res.GetLines()
}

func at(d time.Duration) string { return born.Add(d).Local().Format("2006-01-02 15:04:05") }

// run writes a run of deliveries that began so long after born, and its end unless out has no kind.
func (h *house) run(t *testing.T, id loop.RunID, w loop.WorkItem, begin time.Duration, out loop.Outcome, of ...loop.DeliveryID) {
	t.Helper()
	h.write(t, func(tx *journal.Tx) error {
		err := h.Inbox.BeginRun(tx, inbox.Run{ID: id, Item: w, Harness: "claude", Deliveries: of, StartedAt: born.Add(begin)})
		if err != nil || out.Kind == "" {
			return err
		}
		return h.Inbox.EndRun(tx, id, out, born.Add(begin+12*time.Second))
	})
}

func TestExplainFailedDelivery(t *testing.T) {
	t.Parallel()
	h := open(t)
	register(t, h, "acme/shop#15")
	w := item(t, "acme/shop#15")
	h.orders.activity = dispatch.Activity{State: dispatch.ActivityHeld, Queued: 1}
	h.orders.holds = []dispatch.Hold{
		{Harness: "claude", Reason: loop.HeldUsageLimit, Detail: "resets at 3", Until: born.Add(time.Hour)},
		{Harness: "codex", Reason: loop.HeldNotLoggedIn},
	}
	h.put(t, loop.Delivery{ID: "other"}, inbox.Transition{})
	h.put(t, loop.Delivery{ID: "d", Host: ""}, inbox.Transition{
		State: loop.StateRunning, Item: w, Decision: loop.Deliver, Summary: "comment by octocat", Run: "r1",
	})
	h.run(t, "r0", w, time.Minute, loop.Outcome{Kind: loop.RunDone}, "other")
	h.run(t, "r1", w, 2*time.Minute, loop.Outcome{Kind: loop.RunFailed, Reason: "exit", Detail: "status 1"}, "other", "d")
	h.run(t, "r2", w, 3*time.Minute, loop.Outcome{Kind: loop.RunDone, Denials: []string{"Bash", "Edit"}}, "d")
	h.write(t, func(tx *journal.Tx) error {
		return h.Inbox.Move(tx, "d", inbox.Transition{State: loop.StateFailed, Reason: loop.FailAttempts, Error: "status 1", Run: "r2"})
	})
	got := h.explain(t, "d")
	want := []string{
		"Delivery d (number 2) arrived by webhook at " + at(0) + ": comment by octocat.",
		"It concerns github:acme/shop#15.",
		"Decision: deliver it to the session that works on the item.",
		"Session: claude conversation id-of-github-acme-shop-15 in /home/user/shop (headless), active.",
		"It is held now, with 1 in its queue.",
		"claude cannot work until about " + at(time.Hour) + ": usage-limit (resets at 3).",
		"Run r1 began at " + at(2*time.Minute) + " with 1 more, and ended after 12s: failed (exit): status 1",
		"Run r2 began at " + at(3*time.Minute) + ", and ended after 12s: done",
		"The harness was refused these tools: Bash, Edit. What it may do is set in harness.claude.args.",
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("account (-want +got):\n%s", diff)
	}
	rest := strings.Join(got[len(want):], "\n")
	for _, part := range []string{
		"State: failed (attempts-used-up): every try failed; ended at ", "The last error: status 1", "loopctl deliveries redeliver d.",
	} {
		if !strings.Contains(rest, part) {
			t.Errorf("the end of the account lacks %q:\n%s", part, rest)
		}
	}
}

// Every reason that a delivery can have is told in words, never by its name alone.
func TestExplainEveryReason(t *testing.T) {
	t.Parallel()
	h := open(t)
	states := map[string]loop.State{"Drop": loop.StateDropped, "Wait": loop.StateWaiting, "Fail": loop.StateFailed}
	for prefix, state := range states {
		for _, reason := range reasons(t, prefix) {
			id := loop.DeliveryID("d-" + reason)
			h.put(t, loop.Delivery{ID: id}, inbox.Transition{State: state, Reason: reason, Decision: loop.Drop})
			got := strings.Join(h.explain(t, string(id)), "\n")
			if !strings.Contains(got, fmt.Sprintf("State: %s (%s): ", state, reason)) {
				t.Errorf("%s is not told in words:\n%s", reason, got)
			}
			if strings.ContainsAny(got, "{}") {
				t.Errorf("%s leaves a placeholder:\n%s", reason, got)
			}
			if state == loop.StateFailed && !strings.Contains(got, "Next: ") {
				t.Errorf("%s does not say what to do:\n%s", reason, got)
			}
		}
	}
}

// reasons are the values of loop's constants whose names begin with prefix, read from its source so that none is forgotten.
func reasons(t *testing.T, prefix string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "loop", "delivery.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
		return true
	})
	if len(values) < 3 {
		t.Fatalf("only %v are named %s…", values, prefix)
	}
	return values
}

func TestExplainOtherStates(t *testing.T) {
	t.Parallel()
	h := open(t)
	w := item(t, "acme/shop#15")
	h.put(t, loop.Delivery{ID: "received", Host: "ghe.example.com"}, inbox.Transition{})
	h.put(t, loop.Delivery{ID: "running"}, inbox.Transition{State: loop.StateRunning, Item: w, Decision: loop.Spawn, Run: "r"})
	h.run(t, "r", w, 0, loop.Outcome{}, "running")
	h.put(t, loop.Delivery{ID: "close", Source: loop.SourceCommand}, inbox.Transition{
		State: loop.StateDone, Item: w, Decision: loop.Close, Closures: []loop.Closure{{Item: w, Reason: loop.CloseManual}},
	})
	h.put(t, loop.Delivery{ID: "waiting"}, inbox.Transition{State: loop.StateWaiting, Item: w, Reason: loop.WaitBackoff, DueAt: born})
	for id, want := range map[string][]string{
		"received": {"by webhook from ghe.example.com", "It has not been looked at yet.", "State: received."},
		"running":  {"No session works on github:acme/shop#15", "Run r began at " + at(0) + ", and goes on.", "loopctl logs github:acme/shop#15 -f"},
		"close":    {"by command of a person", "It ends the session of github:acme/shop#15 (manual).", "State: done; ended at "},
		"waiting":  {"; due at " + at(0), "loopctl deliveries redeliver waiting"},
	} {
		got := strings.Join(h.explain(t, id), "\n")
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: the account lacks %q:\n%s", id, part, got)
			}
		}
	}
}

// A command is told by its word and what it does, and the item of a stop is not called over.
func TestExplainCommands(t *testing.T) {
	t.Parallel()
	h := open(t)
	w := item(t, "acme/shop#15")
	for verb, want := range map[loop.Verb]string{
		loop.VerbStart: "begin again", loop.VerbStop: "ends the item's session", loop.VerbPause: "pauses the session",
		loop.VerbResume: "reach the session again", loop.VerbStatus: "has no answer",
	} {
		id := loop.DeliveryID("d-" + verb)
		to := inbox.Transition{State: loop.StateDone, Item: w, Decision: loop.Control}
		if verb == loop.VerbStop {
			to.Decision, to.Closures = loop.Close, []loop.Closure{{Item: w, Reason: loop.CloseStopped}}
		}
		h.put(t, loop.Delivery{ID: id}, to)
		h.Log.Log(t.Context(), loop.LogEvent{
			Type: loop.LogControlCommand, Item: w, Delivery: id, Fields: map[string]string{"verb": string(verb)},
		})
		got := strings.Join(h.explain(t, string(id)), "\n")
		if !strings.Contains(got, "It holds the command "+string(verb)+", which ") || !strings.Contains(got, want) ||
			!strings.Contains(got, "Decision: carry out the command.") || strings.Contains(got, "is over") {
			t.Errorf("%s:\n%s", verb, got)
		}
	}
}

// A delivery that waits is not counted among those that wait beside it.
func TestExplainQueued(t *testing.T) {
	t.Parallel()
	h := open(t)
	register(t, h, "acme/shop#15")
	w := item(t, "acme/shop#15")
	h.put(t, loop.Delivery{ID: "d"}, inbox.Transition{State: loop.StateQueued, Item: w, Decision: loop.Deliver})
	for queued, want := range map[int]string{1: "It is waiting now.", 3: "It is waiting now, with 2 more in its queue."} {
		h.orders.activity = dispatch.Activity{State: dispatch.ActivityWaiting, Queued: queued}
		if got := strings.Join(h.explain(t, "d"), "\n"); !strings.Contains(got, want) {
			t.Errorf("%d queued, want %q:\n%s", queued, want, got)
		}
	}
}

func TestExplainItem(t *testing.T) {
	t.Parallel()
	h := open(t)
	w, pull := item(t, "acme/shop#15"), item(t, "acme/shop#16")
	got := strings.Join(h.explain(t, "acme/shop#15"), "\n")
	if !strings.Contains(got, "No session works on github:acme/shop#15") || !strings.Contains(got, "Next: see whether its repository's webhook") {
		t.Errorf("nothing is known, and the account is:\n%s", got)
	}
	h.write(t, func(tx *journal.Tx) error {
		if err := h.Items.Stop(tx, w, born); err != nil {
			return err
		}
		if err := h.Items.Closed(tx, w, born); err != nil {
			return err
		}
		if err := h.Items.See(tx, itemstore.Pull{Item: pull, Open: true, SeenAt: born}); err != nil {
			return err
		}
		return h.Items.Link(tx, pull, itemstore.Link{Item: w})
	})
	h.put(t, loop.Delivery{ID: "a"}, inbox.Transition{State: loop.StateDone, Item: w})
	h.put(t, loop.Delivery{ID: "b"}, inbox.Transition{State: loop.StateDropped, Reason: loop.DropStopped, Item: w, Decision: loop.Drop})

	res, err := h.deliveries.Explain(t.Context(), &loopv1.ExplainRequest{Subject: "ACME/shop#15"})
	if err != nil {
		t.Fatal(err)
	}
	const first = "This explains the last delivery for github:acme/shop#15. The ones before are listed with it below."
	if res.GetLines()[0] != first {
		t.Errorf("first line %q, want %q", res.GetLines()[0], first)
	}
	got = strings.Join(res.GetLines(), "\n")
	for _, part := range []string{
		"was stopped by command at " + at(0), "was closed at " + at(0), "Pull request github:acme/shop#16 belongs to it",
		"Delivery b (number 2)", "State: dropped (stopped): work on it was stopped by command",
		"nothing is started for it until loopctl sessions start github:ACME/shop#15.", "Next: loopctl sessions start github:acme/shop#15 lifts that.",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("the account lacks %q:\n%s", part, got)
		}
	}
	if ds := res.GetDeliveries(); len(ds) != 2 || ds[0].GetId() != "b" {
		t.Errorf("deliveries = %v, want b and a", ds)
	}
	if got := strings.Join(h.explain(t, "acme/shop#16"), "\n"); !strings.Contains(got, "It is a pull request that belongs to ") {
		t.Errorf("the account of the pull request:\n%s", got)
	}
}
