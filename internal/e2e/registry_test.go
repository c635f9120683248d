package e2e_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

// Given the files of two sessions, one of them cut in half by a disk that was full,
// When loopd starts,
// Then it names the broken file once and leaves it alone, the other session works, what is for the broken one fails and names the
// file, and nothing takes its place until it was moved away.
func TestASessionFileThatIsCutInHalf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `spawn_on_unmatched = "labeled"`)
	w.start()
	w.register("acme/shop#15", conversation)
	w.register("acme/shop#16", uuid.NewString())
	w.stop()
	file := filepath.Join(w.state, "sessions", "github-acme-shop-15.json")
	whole := w.read(file)
	half := whole[:len(whole)/2]
	w.put(file, half)

	d := w.start()
	w.ends(w.comment(16, "are you well?"), "done", "")
	if n := strings.Count(d.log.String(), file); n != 1 {
		t.Errorf("the log names the file %d times, want once:\n%s", n, d.log)
	}
	if all := w.status().Warnings; !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, file) }) {
		t.Errorf("status does not name the file: %q", all)
	}
	again := []string{"sessions", "register", "acme/shop#15", "--harness", "claude", "--harness-session-id", conversation, "--cwd", w.work}
	if r := w.loopctl(again...); r.code != 1 || !strings.Contains(r.stderr, file) || !strings.Contains(r.stderr, "move it away") {
		t.Errorf("registering it again: exit %d, %s", r.code, r.stderr)
	}
	if r := w.loopctl(append(again, "--force")...); r.code != 1 || !strings.Contains(r.stderr, file) {
		t.Errorf("registering it again with --force: exit %d, %s", r.code, r.stderr)
	}
	waiting := w.comment(15, "and you?")
	if got := w.ends(waiting, "failed", "attempts-used-up"); !strings.Contains(got.Error, file) {
		t.Errorf("the delivery for it says: %s", got.Error)
	}
	w.ends(w.post("issues", labeled(15)), "dropped", "not-delivered") // a second conversation must not begin
	if got := w.read(file); got != half {
		t.Errorf("the file was changed:\n%s", got)
	}
	if n := len(w.runs()); n != 1 {
		t.Errorf("%d runs, want that of the other session alone", n)
	}

	if err := os.Rename(file, file+".broken"); err != nil {
		t.Fatal(err)
	}
	w.must(again...)
	w.must("deliveries", "redeliver", waiting)
	w.ends(waiting, "done", "")
}

func (w *world) read(file string) string {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) put(file, text string) {
	w.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// Given two items whose names would be one where a hyphen divides them, and two of which one's number begins like the other's,
// When each gets a comment,
// Then each has a file and a conversation of its own, and is told its own comment alone.
func TestItemsWhoseNamesLookAlike(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	sides := []lookalike{
		{githubtest.Repo{Owner: "a-b", Name: "c"}, 1, uuid.NewString(), "left of the hyphen"},
		{githubtest.Repo{Owner: "a", Name: "b-c"}, 1, uuid.NewString(), "right of the hyphen"},
		{githubtest.Repo{}, 1, uuid.NewString(), "number one"},
		{githubtest.Repo{}, 15, uuid.NewString(), "number fifteen"},
	}
	var deliveries []string
	for _, s := range sides {
		w.register(s.ref(), s.id)
	}
	for i, s := range sides {
		deliveries = append(deliveries, w.post("issue_comment", githubtest.IssueComment("created", "octocat",
			githubtest.Item{Repo: s.repo, Number: s.number}, githubtest.Comment{ID: int64(70 + i), Body: s.text})))
	}
	for _, id := range deliveries {
		w.ends(id, "done", "")
	}
	files, _ := filepath.Glob(filepath.Join(w.state, "sessions", "*.json"))
	if len(files) != len(sides) {
		t.Errorf("session files %v, want %d", files, len(sides))
	}
	runs := w.runs()
	if len(runs) != len(sides) {
		t.Fatalf("%d runs, want %d", len(runs), len(sides))
	}
	for _, r := range runs {
		i := slices.IndexFunc(sides, func(s lookalike) bool { return slices.Contains(r.Args, s.id) })
		for j, s := range sides {
			if strings.Contains(r.Prompt, s.text) != (i == j) {
				t.Errorf("conversation %d, of %s, and the comment for %s:\n%s", i, sides[i].ref(), s.ref(), r.Prompt)
			}
		}
	}
	w.must("sessions", "close", "acme/shop#1")
	if s := w.session("github-acme-shop-15"); s.Status != "active" {
		t.Errorf("closing number 1 left number 15 %s", s.Status)
	}
}

// lookalike is one of them, its conversation and what it is told.
type lookalike struct {
	repo     githubtest.Repo
	number   int
	id, text string
}

func (l lookalike) ref() string {
	owner, name := cmp.Or(l.repo.Owner, "acme"), cmp.Or(l.repo.Name, "shop")
	return fmt.Sprintf("%s/%s#%d", owner, name, l.number)
}
