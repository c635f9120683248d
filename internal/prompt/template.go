package prompt

import (
	_ "embed" // the built-in texts
	"fmt"
	"strings"
	"text/template"

	"github.com/loop-daemon/loop/internal/loop"
)

var (
	//go:embed deliver.tmpl
	deliverText string
	//go:embed spawn.tmpl
	spawnText string
)

// Template is a checked text with places for one event.
type Template struct {
	parsed *template.Template
}

// fields are what a template can name.
type fields struct {
	Event   string // the kind, as GitHub spells it
	Action  string
	Repo    string
	Item    string // the ref of the session's work item
	Actor   string
	URL     string
	Excerpt string // the event's data, fenced
	Notice  string // that it is data
}

// Parse checks a text/template that can name .Event, .Action, .Repo, .Item, .Actor, .URL, .Excerpt and .Notice. The error
// is ErrInvalid and says what is wrong and in which line. A template without .Notice or .Excerpt is none the less shown
// with both, at its end.
func Parse(text string) (*Template, error) {
	parsed, err := template.New("prompt").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("prompt template: %w: %w", err, loop.ErrInvalid)
	}
	for _, part := range parsed.Templates() {
		if part.Tree == nil {
			continue
		}
		if err := checkFields(part.Tree); err != nil {
			return nil, fmt.Errorf("prompt template: %w: %w", err, loop.ErrInvalid)
		}
	}
	if err := parsed.Execute(&strings.Builder{}, fields{Event: "issues", Excerpt: "x", Notice: "x"}); err != nil {
		return nil, fmt.Errorf("prompt template: %w: %w", err, loop.ErrInvalid)
	}
	return &Template{parsed: parsed}, nil
}

// builtIn returns a template of ours, which the tests have parsed.
func builtIn(text string) *Template {
	return &Template{parsed: template.Must(template.New("prompt").Parse(text))}
}

// render fills the template in. One that fails on this event after all is replaced by the built-in one: an event is never
// lost to a template.
func (t *Template) render(f fields) string {
	var b strings.Builder
	if err := t.parsed.Execute(&b, f); err != nil {
		return builtIn(deliverText).render(f)
	}
	text := b.String()
	for _, must := range []string{f.Notice, f.Excerpt} {
		if !strings.Contains(text, must) {
			text = strings.TrimSpace(text) + "\n\n" + must + "\n"
		}
	}
	return text
}
