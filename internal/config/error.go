package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// Error is one problem of a configuration. A file with several has them joined; read the first with errors.AsType, and all
// of them by printing the joined error, one a line.
type Error struct {
	File   string // "" where no file is to blame
	Line   int    // from 1; 0 where the problem has no place in the file
	Column int    // from 1, in bytes
	Key    string // dotted, as it stands in the file; "" for a file that is no TOML
	Msg    string
}

// Error reads file:line:column: key: what is wrong and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Unwrap gives the class: what is wrong is the input.
func (e *Error) Unwrap() error { return loop.ErrInvalid }

// Warning is something that a valid configuration probably does not mean.
type Warning struct {
	Key string // dotted; "" where it is about the file as a whole
	Msg string
}

// String reads key: what it costs.
func (w Warning) String() string {
	if w.Key == "" {
		return w.Msg
	}
	return w.Key + ": " + w.Msg
}

// problems collects what is wrong with one file.
type problems struct {
	file string
	at   positions
	list []*Error
}

func (p *problems) add(key, format string, args ...any) {
	pos := p.at.of(key)
	p.list = append(p.list, &Error{File: p.file, Line: pos.line, Column: pos.column, Key: key, Msg: fmt.Sprintf(format, args...)})
}

// err joins the problems in the order of the file, one for each key: what is found later follows from the first.
func (p *problems) err() error {
	slices.SortStableFunc(p.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Key, b.Key))
	})
	p.list = slices.CompactFunc(p.list, func(a, b *Error) bool { return a.Line == b.Line && a.Column == b.Column && a.Key == b.Key })
	errs := make([]error, len(p.list))
	for i, e := range p.list {
		errs[i] = e
	}
	return errors.Join(errs...)
}
