package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Given five sessions,
// When fifty comments come at once, ten for each,
// Then each session gets exactly its own, each once, however they were joined, and never two at a time.
func TestFiftyAtOnceReachTheirOwnSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "join_seconds = 1\nmax_runs_per_hour = 100")
	w.start()
	const sessions, each = 5, 10
	ids := make([]string, sessions)
	for i := range ids {
		ids[i] = uuid.NewString()
		w.register(fmt.Sprintf("acme/shop#%d", 1+i), ids[i])
	}
	var sent []parcel
	for n := range sessions * each {
		sent = append(sent, parcel{word(n), "issue_comment", commentBody(1+n%sessions, word(n)), http.StatusAccepted})
	}
	w.postAll(sent)
	w.await("all to be done", func() bool { return w.status().Deliveries["done"] == sessions*each })
	got := make([]int, len(sent)) // how often each comment was brought to its session
	ended := map[string]int64{}
	for _, r := range w.runs() {
		i := slices.IndexFunc(ids, func(id string) bool { return slices.Contains(r.Args, id) })
		for n := range sent {
			switch found := strings.Count(r.Prompt, word(n)); {
			case n%sessions == i:
				got[n] += found
			case found > 0:
				t.Errorf("session %d was told what is for session %d:\n%s", i, n%sessions, r.Prompt)
			}
		}
		if r.Began.UnixNano() < ended[ids[i]] {
			t.Errorf("session %d had two runs at a time", i)
		}
		ended[ids[i]] = r.Ended.UnixNano()
	}
	for n, times := range got {
		if times != 1 {
			t.Errorf("comment %d was brought %d times", n, times)
		}
	}
}

// word is a text that stands in no other.
func word(n int) string { return fmt.Sprintf("comment-number-%d.", n) }

// Given a session, and some seconds for which the first of a burst waits for company,
// When thirty events come in a burst,
// Then they become a few prompts, each with its events in the order in which they came, each event whole and once.
func TestABurstBecomesAFewPrompts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "join_seconds = 3")
	w.start()
	w.register("acme/shop#15", conversation)
	ids := make([]string, 30)
	for n := range ids {
		ids[n] = w.comment(15, word(n))
	}
	for _, id := range ids {
		w.ends(id, "done", "")
	}
	runs := w.runs()
	if len(runs) > 6 {
		t.Errorf("%d prompts for thirty events", len(runs))
	}
	var all strings.Builder
	for _, r := range runs {
		all.WriteString(r.Prompt)
	}
	for n := range ids {
		if strings.Count(all.String(), word(n)) != 1 || n > 0 && strings.Index(all.String(), word(n)) < strings.Index(all.String(), word(n-1)) {
			t.Errorf("event %d is there %d times, and not behind the one before it", n, strings.Count(all.String(), word(n)))
		}
	}
	if !strings.Contains(runs[0].Prompt, "events are waiting") {
		t.Errorf("the first prompt carries one event alone:\n%s", runs[0].Prompt)
	}
}

// Given one slot for runs, and two sessions,
// When both get an event,
// Then the second waits, visibly, until the first has ended or the configuration makes room.
func TestRunsBeyondTheBoundWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "max_concurrent_dispatches = 1")
	w.start()
	w.register("acme/shop#15", conversation)
	w.register("acme/shop#16", uuid.NewString())
	w.comment(15, "[[claude hang]]")
	w.await("the first run", func() bool { return len(w.runs()) == 1 })
	second := w.comment(16, "my turn?")
	w.await("the second to be queued", func() bool { return w.delivery(second).State == "queued" })
	if out := w.must("sessions", "list"); !strings.Contains(out, "running") || !strings.Contains(out, "waiting") {
		t.Errorf("the list does not show who runs and who waits:\n%s", out)
	}
	if n := len(w.runs()); n != 1 {
		t.Errorf("%d runs beside each other, want 1", n)
	}
	w.configure("max_concurrent_dispatches = 2")
	w.must("reload")
	w.ends(second, "done", "")
}
