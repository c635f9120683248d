package e2e_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// Given sessions whose harness answers with something else than an answer, with none, with a hundred megabytes, or with one that
// says that it failed, and one that answers and goes on, or leaves processes in groups and sessions of their own behind,
// When each gets a comment,
// Then each delivery ends with what became of it, in words; no process and no flood of bytes is left; and the next session works.
func TestHarnessesThatMisbehave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "max_attempts = 1\nmax_concurrent_dispatches = 3")
	w.start()
	cases := []struct {
		name, directive, state, says string
	}{
		{"nonsense", "nonsense", "failed", "something else than an answer: Segmentation fault"},
		{"nothing", "silent", "failed", "exit status 0 and printed nothing"},
		{"half an answer", "half", "failed", "something else than an answer"},
		{"a hundred megabytes", "flood=100000000", "failed", "printed more than Loop keeps"},
		{"an error and exit status 0", "interrupted", "failed", "could not finish the turn"},
		{"no turn at all", "blocked", "failed", "ran no turn"},
		{"an answer and another exit status", "exit=3", "failed", "ended with exit status 3"},
		{"an answer, and does not exit", "linger", "done", ""},
		{"an answer, and leaves children behind", "brood", "done", ""},
		{"an answer, and lingers deaf with children", "linger deaf brood", "done", ""},
		{"a warning, and an answer", "warn", "done", ""},
		{"an answer, and what it was not allowed", "deny=Bash", "done", ""},
	}
	ids := make([]string, len(cases))
	for i, c := range cases {
		w.register("acme/shop#"+strconv.Itoa(100+i), uuid.NewString())
		ids[i] = w.comment(100+i, "[[claude "+c.directive+"]]")
	}
	for i, c := range cases {
		got := w.settled(ids[i])
		if got.State != c.state || !strings.Contains(got.Error, c.says) || got.Attempts != 1 {
			t.Errorf("%s: %s after %d tries, %q; want %s, %q", c.name, got.State, got.Attempts, got.Error, c.state, c.says)
		}
	}
	w.gone()
	kept := int64(0)
	err := filepath.Walk(filepath.Join(w.state, "runs"), func(_ string, info os.FileInfo, err error) error {
		if err == nil {
			kept += info.Size()
		}
		return err
	})
	if err != nil || kept > 80<<20 {
		t.Errorf("%d bytes are kept of the runs: %v", kept, err)
	}
	w.register("acme/shop#15", conversation)
	w.ends(w.comment(15, "and you?"), "done", "")
}

// Given a session whose turns may take seconds,
// When its harness hangs, deaf to SIGTERM and with processes in groups and sessions of their own,
// Then the delivery is failed for the time that it took, at once and for good, nothing of the harness is left, and the next
// comment is brought.
func TestAHarnessThatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "dispatch_timeout_seconds = 8") // long enough to begin on a busy machine
	w.start()
	w.register("acme/shop#15", conversation)
	w.register("acme/shop#16", uuid.NewString())
	deaf := w.comment(15, "[[claude hang deaf brood]]")
	polite := w.comment(16, "[[claude hang]]")
	for _, id := range []string{deaf, polite} {
		got := w.ends(id, "failed", "timeout")
		if got.Attempts != 1 || !strings.Contains(got.Error, "no answer within") {
			t.Errorf("failed after %d tries: %s", got.Attempts, got.Error)
		}
	}
	w.gone()
	ends, _ := filepath.Glob(filepath.Join(w.state, "runs", "*", "exit.json"))
	killed := 0
	for _, file := range ends {
		killed += strings.Count(w.read(file), `"killed": true`)
	}
	if len(ends) != 2 || killed != 1 {
		t.Errorf("%d runs ended, %d of them needed SIGKILL; want 2 and the deaf one", len(ends), killed)
	}
	w.configure("")
	w.must("reload")
	w.ends(w.comment(15, "once more"), "done", "")
	if out := w.must("events", "--type", "run.failed", "-o", "json"); strings.Count(out, `"timeout"`) < 2 {
		t.Errorf("the event log tells of the timeouts:\n%s", out)
	}
}

// Given a harness whose program is not there, and then a folder of a session that is gone,
// When a session is registered for it, and gets a comment,
// Then the registration warns and the delivery fails with the way to get the program, or the folder's name; and once it is there,
// what failed is done.
func TestAHarnessThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "max_attempts = 1\n[harness.claude]\ncommand = \"/nonexistent/claude\"")
	w.start()
	const remedy = "npm install -g @anthropic-ai/claude-code"
	work := filepath.Join(w.dir, "elsewhere")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	r := w.loopctl("sessions", "register", "acme/shop#15", "--harness", "claude", "--harness-session-id", conversation, "--cwd", work)
	if r.code != 0 || !strings.Contains(r.stderr, "/nonexistent/claude") || !strings.Contains(r.stderr, remedy) {
		t.Errorf("registering: exit %d, %s", r.code, r.stderr)
	}
	missing := w.comment(15, "hello")
	if got := w.ends(missing, "failed", "attempts-used-up"); !strings.Contains(got.Error, "/nonexistent/claude") || !strings.Contains(got.Error, remedy) {
		t.Errorf("the delivery says: %s", got.Error)
	}
	if all := w.status().Warnings; !strings.Contains(strings.Join(all, "\n"), remedy) {
		t.Errorf("status warns: %q", all)
	}

	w.configure("max_attempts = 1")
	w.must("reload")
	if err := os.Remove(work); err != nil {
		t.Fatal(err)
	}
	gone := w.comment(15, "hello again")
	if got := w.ends(gone, "failed", "attempts-used-up"); !strings.Contains(got.Error, work) {
		t.Errorf("the delivery says: %s", got.Error)
	}
	if n := len(w.runs()); n != 0 {
		t.Errorf("%d runs where none could be", n)
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{missing, gone} {
		w.must("deliveries", "redeliver", id)
		w.ends(id, "done", "")
	}
	for i, r := range w.runs() {
		if r.Dir != work {
			t.Errorf("run %d worked in %s, want %s", i, r.Dir, work)
		}
	}
}

// Given a session whose conversation the harness no longer knows,
// When it gets a comment,
// Then a fresh conversation is begun with the comment, once, and the old id is kept in the record.
func TestAConversationThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.configure("[harness.claude.env]\nAGENTTEST_STATE = \"" + w.home + "\"") // where it knows no conversation
	w.start()
	w.register("acme/shop#15", conversation)
	w.ends(w.comment(15, "remember me?"), "done", "")
	file := w.read(filepath.Join(w.state, "sessions", "github-acme-shop-15.json"))
	if s := w.session("github-acme-shop-15"); s.HarnessSessionID == conversation || !strings.Contains(file, conversation) {
		t.Errorf("the session file after a fresh start:\n%s", file)
	}
	if runs := w.runs(); len(runs) != 2 || !strings.Contains(runs[1].Prompt, "remember me?") {
		t.Errorf("%d runs: %+v", len(runs), runs)
	}
	if all := w.events("session.resume_failed"); len(all) != 1 {
		t.Errorf("the event log tells of it %d times", len(all))
	}
}

// Given two sessions of a harness that is not logged in,
// When each gets a comment,
// Then both wait, uncounted, the hold is shown and told once; and when somebody has logged in, both are done.
func TestAHarnessThatIsNotLoggedIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "max_attempts = 1\n[harness.claude.env]\nAGENTTEST_DO = \"login\"")
	w.start()
	w.register("acme/shop#15", conversation)
	w.register("acme/shop#16", uuid.NewString())
	ids := []string{w.comment(15, "hello"), w.comment(16, "and I?")}
	for _, id := range ids {
		w.await("both to wait uncounted", func() bool {
			d := w.delivery(id)
			return d.State == "waiting" && d.Reason == "harness-held" && d.Attempts == 0
		})
	}
	if out := w.must("status"); !strings.Contains(out, "not-logged-in") || !strings.Contains(out, "Not logged in") {
		t.Errorf("status does not show the hold:\n%s", out)
	}
	if all := w.events("run.held"); len(all) != 1 {
		t.Errorf("the event log tells of the hold %d times", len(all))
	}
	w.configure("[harness.claude.env]\nAGENTTEST_DO = \"\"")
	w.must("reload")
	for _, id := range ids {
		w.ends(id, "done", "")
	}
}
