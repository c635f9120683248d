package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// Given five sessions in terminals, among them items 1 and 15 of one repository and items of repositories whose names look alike,
// When fifty comments come at once, ten for each,
// Then each conversation is told exactly its own, each once.
func TestFiftyAtOnceReachTheirOwnTerminals(t *testing.T) {
	t.Parallel()
	bothWays(t, "", func(t *testing.T, w terminals) {
		w.begun(20) // and so the folder is trusted
		items := []struct {
			repo string
			n    int
			id   string
		}{{"shop", 1, ""}, {"shop", 15, ""}, {"a.b", 1, ""}, {"a_b", 1, ""}, {"a-b", 1, ""}}
		for i, item := range items {
			items[i].id = uuid.NewString()
			w.register(fmt.Sprintf("acme/%s#%d", item.repo, item.n), items[i].id, "--runner", "tmux")
		}
		const each = 10
		var sent []parcel
		for n := range each * len(items) {
			item := items[n%len(items)]
			sent = append(sent, parcel{word(n), "issue_comment", sayBody(item.repo, item.n, word(n)), http.StatusAccepted})
		}
		w.postAll(sent)
		w.await("all to be done", func() bool { return w.status().Deliveries["done"] == int64(len(sent))+1 })
		for n := range sent {
			w.hears(word(n))
		}
		of := map[string]int{} // the place of a conversation's item
		for i, item := range items {
			s := w.session(slugOf(item.repo, item.n))
			of[s.HarnessSessionID] = i
		}
		for _, turn := range w.acts(agenttest.ActTurn) {
			for n := range sent {
				if i, known := of[turn.Session]; strings.Contains(turn.Text, word(n)) && (!known || i != n%len(items)) {
					t.Errorf("session %d was told what is for session %d:\n%s", i, n%len(items), turn.Text)
				}
			}
		}
		words := make([]string, 0, len(sent))
		for n := range sent {
			words = append(words, word(n))
		}
		w.each(words)
		if buffers := w.tmux("list-buffers"); buffers != "" {
			t.Errorf("left in the server: %s", buffers)
		}
	})
}

// each wants each text to be in one turn, once, in whatever order.
func (w terminals) each(texts []string) {
	w.t.Helper()
	for _, text := range texts {
		w.once(text)
	}
}

// Given sessions in terminals, one idle and one in the middle of a turn with a comment waiting,
// When loopd is killed and started again, and again while a comment is being handed over,
// Then it finds them, and every comment is told once.
func TestTerminalsOutliveLoopd(t *testing.T) {
	t.Parallel()
	bothWays(t, "", func(t *testing.T, w terminals) {
		w.begun(15)
		w.begun(16)
		w.ends(w.comment(15, "[[agent delay=5000]] slowly"), "done", "")
		w.hears("slowly")
		waiting := w.comment(15, "the one that waits")
		w.loopd.kill()
		w.start()
		w.ends(w.comment(16, "after the restart"), "done", "")
		w.hears("after the restart")
		handed := w.comment(16, "in the middle")
		w.await("a hand-over", func() bool { return w.delivery(handed).State != "queued" })
		w.loopd.kill()
		w.start()
		w.ends(waiting, "done", "")
		w.ends(handed, "done", "")
		w.hears("the one that waits")
		w.hears("in the middle")
		w.once("slowly", "the one that waits")
		w.once("after the restart", "in the middle")
		if n := len(w.runs()); n != 2 {
			t.Errorf("%d programs were started, want 2", n)
		}
	})
}
