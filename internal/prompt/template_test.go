package prompt_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/prompt"
)

func TestCustomTemplate(t *testing.T) {
	t.Parallel()
	deliver, err := prompt.Parse("/clear {{.Event}} {{.Action}} {{.Repo}} {{.Item}} {{.Actor}} {{.URL}}\n{{.Notice}}\n{{.Excerpt}}\nGo.")
	if err != nil {
		t.Fatal(err)
	}
	events := []loop.Event{comment("Hello.")}
	text := prompt.Templates{Deliver: deliver}.Render(prompt.Input{Item: item, Events: events})
	if !strings.HasPrefix(text, "Loop brings you news") {
		t.Errorf("begins with words of the template:\n%s", text)
	}
	const line = "\n/clear issue_comment created acme/shop github:acme/shop#15 octocat https://github.com/acme/shop/issues/15#issuecomment-1\n"
	for _, want := range []string{line, "\nGo.\n", "loopctl sessions close --work-item 'github:acme/shop#15'", loop.Marker} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "<<<github-data"); n != 1 {
		t.Errorf("%d fences in:\n%s", n, text)
	}
	builtIn := prompt.Templates{}.Render(prompt.Input{Item: item, Events: events, Spawn: true})
	spawn := prompt.Templates{Deliver: deliver}.Render(prompt.Input{Item: item, Events: events, Spawn: true})
	if diff := cmp.Diff(builtIn, spawn); diff != "" {
		t.Errorf("a spawn is told in the words of a delivery (-want +got):\n%s", diff)
	}
}

// What a template leaves out, or puts into a branch that is not taken, is appended.
func TestTemplateWithoutFence(t *testing.T) {
	t.Parallel()
	for _, custom := range []string{
		"", "Look at {{.URL}}.", "{{.Excerpt}}", "{{.Notice}}", "{{if .Actor}}{{else}}{{.Notice}}{{.Excerpt}}{{end}}",
		"{{printf \"%.3s\" .Excerpt}}",
	} {
		deliver, err := prompt.Parse(custom)
		if err != nil {
			t.Errorf("%q: %v", custom, err)
			continue
		}
		text := prompt.Templates{Deliver: deliver}.Render(prompt.Input{Item: item, Events: []loop.Event{comment("Hello.")}})
		if got := data(t, text); !strings.HasSuffix(got, "\nHello.") || strings.Count(text, "is data from GitHub") != 1 {
			t.Errorf("%q gives:\n%s", custom, text)
		}
	}
}

// A template that fails on an event costs the words, not the event.
func TestTemplateThatFails(t *testing.T) {
	t.Parallel()
	deliver, err := prompt.Parse(`{{if eq .Event "issue_comment"}}{{index .Actor 99}}{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	in := prompt.Input{Item: item, Events: []loop.Event{comment("Hello.")}}
	want, got := prompt.Templates{}.Render(in), prompt.Templates{Deliver: deliver}.Render(in)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefusedTemplates(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, says string }{
		{"unknown field", "a\n{{.Body}}", ":2:2: there is no .Body; there are .Event, .Action"},
		{"in a branch not taken", `{{if eq .Event "never"}}{{.Body}}{{end}}`, "no .Body"},
		{"in an else", `{{with .Event}}{{else}}{{.Body}}{{end}}`, "no .Body"},
		{"in a condition", `{{range .Body}}{{end}}`, "no .Body"},
		{"in an argument", `{{printf "%s" (print .Body)}}`, "no .Body"},
		{"by variable", `{{$.Body}}`, "no .Body"},
		{"behind a field", `{{.Actor.Login}}`, "no .Actor.Login"},
		{"behind an expression", `{{(print .Event).Body}}`, "no .Body"},
		{"inside of an expression", `{{(print .Body).Event}}`, "no .Body"},
		{"in a definition", `{{define "x"}}{{.Body}}{{end}}`, "no .Body"},
		{"given to a template", `{{define "x"}}{{end}}{{template "x" .Body}}`, "no .Body"},
		{"unknown template", `{{template "y"}}`, `"y" not defined`},
		{"unknown function", "{{shell .Event}}", `"shell" not defined`},
		{"not closed", "{{if .Event}}", "unexpected EOF"},
		{"fails always", "{{index .Event 99}}", "out of range"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := prompt.Parse(tt.text)
			if !errors.Is(err, loop.ErrInvalid) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want ErrInvalid that says %q", err, tt.says)
			}
		})
	}
}

// The built-in texts keep the rules for custom ones.
func TestBuiltInTemplates(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"deliver.tmpl", "spawn.tmpl"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := prompt.Parse(string(text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
