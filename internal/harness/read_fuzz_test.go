package harness_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
)

// Whatever a program prints and however it ends, every agent reads it as something that the rest of Loop can go by.
func FuzzRead(f *testing.F) {
	lines := `{"type":"thread.started","thread_id":"` + conversation + `"}` + "\n" + `{"type":"turn.completed"}`
	for _, s := range []string{done, denied, interrupted, blocked, lines, apiError("429", "null", "hit your limit · resets 3pm (UTC)"), "{\n\"id\":\"a\",\"v\":[1]}\nbye", "", "nonsense"} {
		f.Add([]byte(s), []byte("No conversation found"), 1, 0)
		f.Add([]byte(s), []byte("\x1b[1mError: HTTP 429, try again at Dec 2nd, 2026 7:33 PM"), 1, 0)
		f.Add([]byte(s), []byte(nil), 0, 2)
	}
	formats := map[string]harness.Format{
		"object": {Output: harness.OutputJSON, ID: "id", OK: "v.0=1"}, "lines": {Output: harness.OutputJSONL, ID: "session_id", OK: "is_error=false"},
		"text": {Output: harness.OutputText}, "loose": {Output: harness.OutputJSONL, ID: "a.b"},
	}
	agents := map[string]harness.Program{"claude": {}, "codex": {}, "cursor": {}}
	for name, format := range formats {
		agents[name] = declared(harness.Declared{Start: []string{"tool"}, Resume: []string{"tool", "{id}"}, Format: format})
	}
	set, err := harness.New(harness.Options{Agents: agents})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, code, end int) {
		x := harness.Exit{End: harness.End(end % 5), Code: code, Stdout: stdout, Stderr: stderr, At: ended}
		for _, name := range set.Names() {
			a, err := set.Agent(name)
			if err != nil {
				t.Fatal(err)
			}
			got := a.Read(x)
			ends := name != "text" && name != "loose" // the answer itself says that it is over
			switch {
			case got.Kind == "":
				t.Errorf("%s: no outcome", name)
			case got.Kind == loop.RunDone && ends && !a.Complete(stdout):
				t.Errorf("%s: done without an answer: %+v", name, got)
			case got.Kind == loop.RunDone && got.Turns < 1 && (name == "claude" || name == "codex"):
				t.Errorf("%s: done without a turn", name)
			case got.Kind == loop.RunDone && x.End == harness.Exited && code != 0:
				t.Errorf("%s: done with exit status %d", name, code)
			case (got.Kind == loop.RunHeld) != (got.Reason != "" && got.Reason != loop.FailedIDInUse):
				t.Errorf("%s: %s because of %q", name, got.Kind, got.Reason)
			case strings.ContainsAny(got.Detail, "\n\x1b") || !utf8.ValidString(got.Detail) || len(got.Detail) > 2000:
				t.Errorf("%s: not one line: %q", name, got.Detail)
			case got.SessionID != "" && got.SessionID.Check() != nil:
				t.Errorf("%s: id %q", name, got.SessionID)
			}
			_ = a.Text(stdout)
		}
	})
}
