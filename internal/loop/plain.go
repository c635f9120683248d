package loop

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

var classes = []error{ErrNotFound, ErrExists, ErrInvalid, ErrConflict, ErrDenied, ErrUnavailable}

// Plain returns an error's text for a person: without the names of classes, which are for programs. Only those go that an error
// wraps; a word of the same spelling that somebody wrote stays, and so does one that says all there is. Nil is "".
func Plain(err error) string {
	if err == nil {
		return ""
	}
	return cmp.Or(plain(err), err.Error())
}

func plain(err error) string {
	if slices.Contains(classes, err) {
		return ""
	}
	text := err.Error()
	for _, inner := range wrapped(err) {
		text = replaceLast(text, inner.Error(), plain(inner))
	}
	return text
}

// wrapped returns the errors that an error wraps, the last in its text first.
func wrapped(err error) []error {
	if one := errors.Unwrap(err); one != nil {
		return []error{one}
	}
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	last := slices.Clone(many.Unwrap())
	slices.Reverse(last)
	return last
}

// replaceLast replaces what stands last in a text; what becomes empty takes the colon before it along.
func replaceLast(text, old, now string) string {
	at := strings.LastIndex(text, old)
	if at < 0 || old == now {
		return text
	}
	before, after := text[:at], text[at+len(old):]
	if now == "" {
		before = strings.TrimSuffix(before, ": ")
	}
	return before + now + after
}
