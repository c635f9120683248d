package route_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, verb, text string }{
		{"start", "/loop start", "start", ""},
		{"stop", "/loop stop\r\n", "stop", ""},
		{"pause", "  /loop\tpause  ", "pause", ""},
		{"resume", "thanks\n/loop resume", "resume", "thanks"},
		{"status", "/LOOP Status.", "status", "."},
		{"text beside", "/loop start — please also do Y", "start", "— please also do Y"},
		{"text around", "Look at this:\n\n/loop start and then\n```go\nx := 1\n```\n> as said", "start", "Look at this:\n\nand then\n```go\nx := 1\n```\n> as said"},
		{"twice", "/loop stop\nreally\n/loop stop now", "stop", "really\nnow"},
		{"quoted beside another", "> /loop stop\n\n/loop start", "start", "> /loop stop"},
		{"CR alone", "hello\r/loop stop\rbye", "stop", "hello\r\rbye"},
		{"after a fence", "```\n/loop stop\n```\n/loop start", "start", "```\n/loop stop\n```"},
		{"punctuation ends the word", "/loop stop!", "stop", "!"},

		{"none", "please start", "", ""},
		{"prefix alone", "/loop", "", ""},
		{"another word", "/loop restart", "", ""},
		{"no space", "/loopstart", "", ""},
		{"another prefix", "/loops start", "", ""},
		{"not at the beginning", "please /loop start", "", ""},
		{"in a list", "- /loop start", "", ""},
		{"on two lines", "/loop\nstart", "", ""},
		{"a letter follows", "/loop starting", "", ""},
		{"a foreign letter follows", "/loop startё", "", ""},
		{"a mark follows", "/loop start\u0301", "", ""},
		{"a digit follows", "/loop stop2", "", ""},
		{"a hyphen follows", "/loop stop-gap", "", ""},
		{"an underscore follows", "/loop stop_it", "", ""},
		{"a colon follows", "/loop start: x", "", ""},
		{"code span", "`/loop stop`", "", ""},
		{"code span over lines", "`a\n/loop stop`", "", ""},
		{"behind a code span", "`a`/loop stop", "", ""},
		{"fence", "```\n/loop stop\n```", "", ""},
		{"fence without end", "~~~\n/loop stop", "", ""},
		{"indented", "    /loop stop", "", ""},
		{"tab", "\t/loop stop", "", ""},
		{"deep in a list", "- item\n\n      /loop stop", "", ""},
		{"quote", "> /loop stop", "", ""},
		{"comment", "<!-- \n/loop stop\n-->", "", ""},
		{"behind a comment", "<!--x--> /loop stop", "", ""},
		{"raw HTML", "<pre>\n/loop stop\n</pre>", "", ""},
		{"nothing", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := route.ParseCommand(tc.body, "/loop")
			if want := (loop.Command{Verb: loop.Verb(tc.verb), Text: tc.text}); err != nil || got != want {
				t.Errorf("ParseCommand(%q) = %+v, %v, want %+v", tc.body, got, err, want)
			}
		})
	}
}

func TestParseCommandAmbiguous(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"/loop start\n/loop stop", "/loop pause\n\ntext\n/loop pause\n/loop resume"} {
		got, err := route.ParseCommand(body, "/loop")
		if !errors.Is(err, loop.ErrConflict) || got != (loop.Command{}) {
			t.Errorf("ParseCommand(%q) = %+v, %v, want ErrConflict", body, got, err)
		}
	}
}

func TestParseCommandPrefix(t *testing.T) {
	t.Parallel()
	if got, _ := route.ParseCommand("@bot stop", "@bot"); got.Verb != loop.VerbStop {
		t.Errorf("another prefix: %+v", got)
	}
	if got, err := route.ParseCommand("stop\n stop", ""); err != nil || got.Verb != "" {
		t.Errorf("no prefix makes every line a command: %+v, %v", got, err)
	}
}

func TestQuotingACommandNeverGivesIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{"/loop stop", "/loop start", "text", "", "- item", "`", "``", "<!-- x -->", "**b**"})).Draw(t, "lines")
		quoted := "> " + strings.Join(lines, "\n> ")
		if got, err := route.ParseCommand(quoted, "/loop"); err != nil || got.Verb != "" {
			t.Fatalf("ParseCommand(%q) = %+v, %v", quoted, got, err)
		}
		fenced := "~~~\n" + strings.Join(lines, "\n") + "\n~~~\n"
		if got, err := route.ParseCommand(fenced, "/loop"); err != nil || got.Verb != "" {
			t.Fatalf("ParseCommand(%q) = %+v, %v", fenced, got, err)
		}
		got, err := route.ParseCommand(fenced+"/loop pause", "/loop")
		if err != nil || got.Verb != loop.VerbPause || got.Text != strings.TrimSpace(fenced) {
			t.Fatalf("ParseCommand(%q) = %+v, %v", fenced+"/loop pause", got, err)
		}
	})
}

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"/loop start — x", "/loop stop\n/loop start", "`/loop stop`", "> /loop stop", "<!--\n/loop stop", "\r/loop pause\r\n", "\\", "<pre>\n/loop stop"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		cmd, err := route.ParseCommand(body, "/loop")
		if err != nil && cmd != (loop.Command{}) || len(cmd.Text) > len(body) {
			t.Fatalf("ParseCommand(%q) = %+v, %v", body, cmd, err)
		}
		if cmd.Verb == "" && cmd.Text != "" {
			t.Fatalf("no command in %q, but text %q", body, cmd.Text)
		}
		if fenced, err := route.ParseCommand("```\n"+body, "/loop"); !hasFence(body) && (err != nil || fenced.Verb != "") {
			t.Fatalf("code %q gives command %+v, %v", body, fenced, err)
		}
	})
}

// hasFence reports whether a text could close a fence.
func hasFence(s string) bool { return strings.Contains(s, "```") }
