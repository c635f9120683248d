package githubtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// document is a query that was read.
type document struct {
	fields    []selection
	fragments map[string]selection
	defaults  object // of variables
}

// selection is a field that is asked for, or a fragment.
type selection struct {
	alias, name string
	args        object
	fields      []selection

	fragment   bool
	on, spread string
}

type variable string

var tokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\.\.\.|[A-Za-z_]\w*|-?\d+(?:\.\d+)?|[{}()\[\]:$!=|@]|#[^\n]*`)

// parser reads tokens. What it does not expect ends it with err.
type parser struct {
	left []string
	err  error
}

func parse(text string) (*document, error) {
	p := &parser{}
	for _, token := range tokens.FindAllString(text, -1) {
		if token[0] != '#' {
			p.left = append(p.left, token)
		}
	}
	doc := &document{fragments: map[string]selection{}, defaults: object{}}
	for len(p.left) > 0 && p.err == nil {
		switch {
		case p.accept("fragment"):
			name := p.next()
			p.expect("on")
			doc.fragments[name] = selection{fragment: true, on: p.next(), fields: p.fields()}
		case p.peek() == "{":
			doc.fields = append(doc.fields, p.fields()...)
		default:
			p.expect("query")
			if p.peek() != "{" && p.peek() != "(" {
				p.next()
			}
			p.variables(doc.defaults)
			doc.fields = append(doc.fields, p.fields()...)
		}
	}
	return doc, p.err
}

func (p *parser) peek() string {
	if len(p.left) == 0 {
		return ""
	}
	return p.left[0]
}

func (p *parser) next() string {
	if len(p.left) == 0 {
		p.err = errEnd
		return ""
	}
	token := p.left[0]
	p.left = p.left[1:]
	return token
}

func (p *parser) accept(token string) bool {
	if p.peek() != token || token == "" {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(token string) {
	if got := p.next(); got != token && p.err == nil {
		p.err = fmt.Errorf("expected %q, found %q", token, got)
	}
}

// more reports whether a list goes on, and takes what closes it.
func (p *parser) more(closing string) bool {
	if p.err == nil && len(p.left) == 0 {
		p.err = errEnd
	}
	return p.err == nil && !p.accept(closing)
}

func (p *parser) variables(defaults object) {
	if !p.accept("(") {
		return
	}
	for p.more(")") {
		p.expect("$")
		name := p.next()
		p.expect(":")
		for strings.ContainsAny(p.peek(), "[]!") || p.err == nil && p.peek() != "=" && p.peek() != "$" && p.peek() != ")" {
			p.next()
		}
		if p.accept("=") {
			defaults[name] = p.value()
		}
	}
}

func (p *parser) fields() (out []selection) {
	p.expect("{")
	for p.more("}") {
		out = append(out, p.field())
	}
	return out
}

func (p *parser) field() selection {
	if p.accept("...") {
		switch {
		case p.accept("on"):
			return selection{fragment: true, on: p.next(), fields: p.fields()}
		case p.peek() == "{":
			return selection{fragment: true, fields: p.fields()}
		}
		return selection{fragment: true, spread: p.next()}
	}
	f := selection{alias: p.next(), args: object{}}
	f.name = f.alias
	if p.accept(":") {
		f.name = p.next()
	}
	if p.accept("(") {
		for p.more(")") {
			name := p.next()
			p.expect(":")
			f.args[name] = p.value()
		}
	}
	if p.peek() == "{" {
		f.fields = p.fields()
	}
	return f
}

func (p *parser) value() any {
	token := p.next()
	switch {
	case token == "$":
		return variable(p.next())
	case token == "[":
		out := []any{}
		for p.more("]") {
			out = append(out, p.value())
		}
		return out
	case token == "{":
		out := object{}
		for p.more("}") {
			name := p.next()
			p.expect(":")
			out[name] = p.value()
		}
		return out
	case token == "true" || token == "false":
		return token == "true"
	case token == "null":
		return nil
	}
	if text, err := strconv.Unquote(token); err == nil {
		return text
	}
	if n, err := strconv.ParseFloat(token, 64); err == nil {
		return n
	}
	return token // the name of an enumerated value
}
