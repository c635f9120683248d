package e2e_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
	"github.com/loop-daemon/loop/internal/loop"
)

const shop15 = "github-acme-shop-15"

// transcript returns the prompts of the only conversation that Claude Code has kept, all of whose lines must name this id.
func (w realWorld) transcript(id string) (prompts []string) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.home, ".claude", "projects", "*", "*.jsonl"))
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != id+".jsonl" {
		w.t.Fatalf("transcripts %v, %v; want one of %s", files, err, id)
	}
	f, err := os.Open(files[0])
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Type, SessionID string
			Message         struct{ Content any }
		}
		w.decode(lines.Text(), &line)
		if line.SessionID != "" && line.SessionID != id {
			w.t.Errorf("the transcript of %s has a line of %s", id, line.SessionID)
		}
		if text, ok := line.Message.Content.(string); ok && line.Type == "user" {
			prompts = append(prompts, text)
		}
	}
	if err := lines.Err(); err != nil {
		w.t.Fatal(err)
	}
	return prompts
}

// logged returns the fields of all entries of one type in the event log.
func (w realWorld) logged(kind loop.LogType) (entries []map[string]string) {
	w.t.Helper()
	lines := json.NewDecoder(strings.NewReader(w.must("events", "--type", string(kind), "-o", "json")))
	for lines.More() {
		var entry struct{ Fields map[string]string }
		if err := lines.Decode(&entry); err != nil {
			w.t.Fatal(err)
		}
		entries = append(entries, entry.Fields)
	}
	return entries
}

// held waits until a delivery waits for its harness, and wants status to say why.
func (w realWorld) held(id, reason string) {
	w.t.Helper()
	w.await("delivery "+id+" to be held", func() bool {
		d := w.delivery(id)
		return d.State == "waiting" && d.Reason == loop.WaitHarness && d.Attempts == 0
	})
	if out := w.must("status"); !strings.Contains(out, "claude: "+reason) {
		w.t.Errorf("status does not show that claude is held as %s:\n%s", reason, out)
	}
}

// Given the real Claude Code, and that a label starts sessions,
// When the label is set, somebody comments, and the issue is closed,
// Then one conversation has both turns, the log says what they cost and were denied, and nothing wakes it any more.
func TestRealFromLabelToClose(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, `spawn_on_unmatched = "labeled"`)
	w.start()
	w.ends(w.post("issues", labeled(15)), "done", "")
	id := w.session(shop15).HarnessSessionID
	first := w.asked(1)[0]
	if first.Session != id || first.Turns != 1 {
		t.Fatalf("conversation %s was asked for turn %d, want turn 1 of %s", first.Session, first.Turns, id)
	}
	fenced(t, first.Prompt, "Shop is closed")

	comment := w.comment(15, `Look next door. [[claude tool=Bash {"command":"curl http://127.0.0.1/"}]]`)
	w.ends(comment, "done", "")
	second := w.asked(3)[1] // the third brings what became of the tool
	if second.Session != id || second.Turns != 2 {
		t.Fatalf("conversation %s was asked for turn %d, want turn 2 of %s", second.Session, second.Turns, id)
	}
	fenced(t, second.Prompt, "Look next door.")
	for _, told := range []string{"labels: the-loop: auto-execute", "Fake answer to turn 1"} {
		if !strings.Contains(second.Body, told) {
			t.Errorf("turn 2 does not carry %q of turn 1", told)
		}
	}
	if prompts := w.transcript(id); len(prompts) != 2 {
		t.Errorf("the transcript has the prompts %q, want 2", prompts)
	}

	var turns, denials []string
	var cost float64
	for _, run := range w.logged(loop.LogRunDone) {
		usd, err := strconv.ParseFloat(run["cost_usd"], 64)
		if err != nil || usd <= 0 {
			t.Errorf("a run cost %q", run["cost_usd"])
		}
		cost += usd
		turns, denials = append(turns, run["turns"]), append(denials, run["denials"])
	}
	if want := []string{"1", "2"}; !slices.Equal(turns, want) {
		t.Errorf("turns of the runs: %q, want %q", turns, want)
	}
	if want := []string{"", "Bash"}; !slices.Equal(denials, want) {
		t.Errorf("denials of the runs: %q, want %q", denials, want)
	}
	s := w.session(shop15)
	if math.Abs(s.CostUSD-cost) > 1e-5 {
		t.Errorf("the runs cost %f, the session %f", cost, s.CostUSD)
	}
	if len(s.RecentDeliveries) != 2 || s.RecentDeliveries[1] != comment {
		t.Errorf("session file lists %v", s.RecentDeliveries)
	}

	w.ends(w.post("issues", closed(15)), "done", "")
	if s := w.session(shop15); s.Status != "closed" || s.CloseReason != "issue-closed" || s.Ending != "" {
		t.Errorf("session is %+v", s)
	}
	w.ends(w.comment(15, "hello?"), "dropped", "not-labeled")
	w.asked(3)
}

func closed(n int) []byte {
	return githubtest.Issues("closed", "mallory", githubtest.Item{Number: n, Closed: true, At: time.Now()})
}

// Given that the real Claude Code is thinking about its first turn,
// When a comment arrives,
// Then it waits, and is the next turn of that conversation.
func TestRealTakesTheNextAfterwards(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, `spawn_on_unmatched = "labeled"`)
	w.start()
	answer := w.hold()
	label := w.post("issues", labeled(15))
	w.asked(1)
	comment := w.comment(15, "and the window")
	w.await("the comment to be queued", func() bool { return w.delivery(comment).State == "queued" })
	answer()
	w.ends(label, "done", "")
	w.ends(comment, "done", "")
	next := w.asked(2)[1]
	if next.Turns != 2 || !strings.Contains(next.Body, "Fake answer to turn 1") {
		t.Errorf("the comment was turn %d: %s", next.Turns, next.Body)
	}
	fenced(t, next.Prompt, "and the window")
}

// Given that the real Claude Code is thinking about its first turn,
// When loopd is killed and started again,
// Then the run lives on, its answer counts, and the conversation has that turn once.
func TestRealLivesOnWhenLoopdIsKilled(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, `spawn_on_unmatched = "labeled"`)
	d := w.start()
	answer := w.hold()
	label := w.post("issues", labeled(15))
	w.asked(1)
	before := w.processes()
	d.kill()
	w.start()
	if d := w.delivery(label); d.State != "running" {
		t.Errorf("the delivery is %s while its run goes on", d.State)
	}
	after := w.processes()
	if !slices.ContainsFunc(before, func(pid int) bool { return slices.Contains(after, pid) }) {
		t.Errorf("the run's processes were %v and are %v", before, after)
	}
	answer()
	if d := w.ends(label, "done", ""); d.Attempts != 1 {
		t.Errorf("done after %d tries", d.Attempts)
	}
	w.asked(1)
	id := w.session(shop15).HarnessSessionID
	if prompts := w.transcript(id); len(prompts) != 1 {
		t.Errorf("the transcript has the prompts %q, want 1", prompts)
	}
	w.ends(w.comment(15, "go on"), "done", "")
	if next := w.asked(2)[1]; next.Session != id || next.Turns != 2 {
		t.Errorf("the next was turn %d of %s, want turn 2 of %s", next.Turns, next.Session, id)
	}
}

// Given that the real Claude Code is running a command,
// When the issue is closed,
// Then agent and command are gone, the record says why, and nothing wakes it any more.
func TestRealIsEndedWithTheIssue(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, `
spawn_on_unmatched = "labeled"
close_settle_seconds = 1
[harness.claude]
args = ["--allowedTools", "Bash"]`)
	w.start()
	w.ends(w.post("issues", labeled(15)), "done", "")
	turn := w.comment(15, `[[claude tool=Bash {"command":"touch begun; sleep 600; touch ended"}]]`)
	w.await("the command", func() bool { return w.has("begun") })
	if n := len(w.processes()); n < 2 {
		t.Fatalf("%d processes, want the agent and its command", n)
	}
	w.ends(w.post("issues", closed(15)), "done", "")
	w.ends(turn, "dropped", "item-closed")
	if left := w.processes(); len(left) != 0 || w.has("ended") {
		t.Errorf("processes %v are left", left)
	}
	if s := w.session(shop15); s.Status != "closed" || s.CloseReason != "issue-closed" || s.Ending != "" {
		t.Errorf("session is %+v", s)
	}
	if ends := w.logged(loop.LogHarnessTerminated); len(ends) != 1 {
		t.Errorf("the log tells of the ends %v, want one", ends)
	}
	w.ends(w.comment(15, "hello?"), "dropped", "not-labeled")
	w.asked(2)
}

// has reports whether there is such a file in the folder that sessions work in.
func (w *world) has(file string) bool {
	_, err := os.Stat(filepath.Join(w.work, file))
	return err == nil
}

// Given that the real Claude Code may run loopctl,
// When it closes its own session in the middle of a turn, as its prompt tells it to,
// Then it is given the time to end the turn, whose answer counts.
func TestRealClosesItsOwnSession(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, `
spawn_on_unmatched = "labeled"
close_settle_seconds = 30
[harness.claude]
args = ["--allowedTools", "Bash(loopctl *)"]`)
	w.start()
	w.ends(w.post("issues", labeled(15)), "done", "")
	w.ends(w.comment(15, `[[claude tool=Bash {"command":"loopctl sessions close --work-item acme/shop#15"}]]`), "done", "")
	w.await("the close to be finished", func() bool { return w.session(shop15).Ending == "" })
	if s := w.session(shop15); s.Status != "closed" || s.CloseReason != "manual" || len(s.RecentDeliveries) != 2 {
		t.Errorf("session is %+v", s)
	}
	if result := w.asked(3)[2].Result; !strings.Contains(result, "closed") {
		t.Errorf("loopctl told the agent: %s", result)
	}
	if ends := w.logged(loop.LogHarnessTerminated); len(ends) != 0 {
		t.Errorf("the agent was ended: %v", ends)
	}
}

// Given a session whose conversation the real Claude Code does not know,
// When comments arrive,
// Then a fresh conversation is begun once and gone on with, and the old id stays in the record.
func TestRealConversationIsGone(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	if d := w.ends(w.comment(15, "still there?"), "done", ""); d.Attempts != 1 {
		t.Errorf("done after %d tries", d.Attempts)
	}
	w.ends(w.comment(15, "good"), "done", "")
	s := w.session(shop15)
	if !slices.Equal(s.PreviousHarnessSessionIDs, []string{conversation}) || s.HarnessSessionID == conversation {
		t.Errorf("session is %+v", s)
	}
	for i, q := range w.asked(2) {
		if q.Session != s.HarnessSessionID || q.Turns != i+1 {
			t.Errorf("question %d was turn %d of %s, want turn %d of %s", i, q.Turns, q.Session, i+1, s.HarnessSessionID)
		}
	}
	if lost := w.logged(loop.LogResumeFailed); len(lost) != 1 || lost[0]["harness_session_id"] != conversation {
		t.Errorf("the log tells %v, want that %s is gone", lost, conversation)
	}
}

// Given that the model is overloaded,
// When a label starts a session,
// Then Claude Code is held, status says so, and the delivery is done once the model answers again.
func TestRealModelIsOverloaded(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, `spawn_on_unmatched = "labeled"`)
	w.start()
	w.model.Behave(claudetest.Behavior{Status: 529})
	label := w.post("issues", labeled(15))
	w.held(label, loop.HeldOverloaded)
	w.model.Behave(claudetest.Behavior{})
	w.released(label)
	w.transcript(w.session(shop15).HarnessSessionID)
}

// released wants a delivery that was held to be done in its first counted try, and the hold to be over.
func (w realWorld) released(id string) {
	w.t.Helper()
	if d := w.ends(id, "done", ""); d.Attempts != 1 {
		w.t.Errorf("done after %d tries", d.Attempts)
	}
	if out := w.must("status"); strings.Contains(out, "held") {
		w.t.Errorf("status still shows a hold:\n%s", out)
	}
}

// Given that Claude Code is not logged in,
// When a label starts a session,
// Then it is held, status says so, and the delivery is done once somebody has put a token into loop.toml.
func TestRealIsNotLoggedIn(t *testing.T) {
	t.Parallel()
	const policy = `spawn_on_unmatched = "labeled"`
	w := newRealWorld(t, policy+"\n[harness.claude.env]\nANTHROPIC_AUTH_TOKEN = \"\"")
	w.start()
	label := w.post("issues", labeled(15))
	w.held(label, loop.HeldNotLoggedIn)
	w.asked(0)
	w.configure(policy)
	w.released(label)
	w.asked(1)
}
