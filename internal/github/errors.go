package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	gh "github.com/google/go-github/v89/github"

	"github.com/loop-daemon/loop/internal/loop"
)

// Error is an answer of a host that is no success. Its class is loop.ErrDenied for 401, 403 and 451, loop.ErrNotFound for
// 404 and 410, loop.ErrInvalid for 400 and 422, loop.ErrConflict for 409 and for a write to what has moved, and
// loop.ErrUnavailable for the rest.
type Error struct {
	Status  int    // 410: deleted, or its feature is switched off; 451: blocked by law
	Message string // what the host says about it
	Needs   string // the permissions that the token needs, where the host names them, such as "issues=write"
	// Location is where what was to be written to is now, of a 301, 307 or 308. What is only read is followed there.
	Location string
}

// Error says what was answered and what to do about it.
func (e *Error) Error() string {
	name := http.StatusText(e.Status)
	text := strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, strings.ToLower(name)))
	if e.Message != "" && !strings.EqualFold(e.Message, name) {
		text += ": " + e.Message
	}
	switch {
	case e.Location != "":
		text += ": it has moved: ask where the repository is now"
	case e.Status == http.StatusUnauthorized:
		text += ": give loopd a token that is valid"
	case e.Needs != "" && e.denied():
		text += ": the token needs " + e.Needs
	case e.Status == http.StatusNotFound:
		text += ": it does not exist, or the token may not see it"
	}
	return text
}

// denied reports whether the token's rights may be what is missing.
func (e *Error) denied() bool {
	return e.Status == http.StatusForbidden || e.Status == http.StatusNotFound
}

// Is reports whether target is the class. It wraps none, for a class's name is no part of its text, but may be a word of it.
func (e *Error) Is(target error) bool { return target == e.class() }

func (e *Error) class() error {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusUnavailableForLegalReasons:
		return loop.ErrDenied
	case http.StatusNotFound, http.StatusGone:
		return loop.ErrNotFound
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return loop.ErrInvalid
	case http.StatusConflict, http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return loop.ErrConflict
	}
	return loop.ErrUnavailable
}

// explain puts into our words what go-github says of a request that did not go well.
func explain(ctx context.Context, err error, host string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*gh.TwoFactorAuthError](err); ok {
		err = (*gh.ErrorResponse)(e)
	}
	if e, ok := errors.AsType[*gh.ErrorResponse](err); ok {
		return &Error{Status: e.Response.StatusCode, Message: oneLine(e), Needs: oneLineOf(e.Response.Header.Get("X-Accepted-Github-Permissions"))}
	}
	if e, ok := errors.AsType[*gh.RedirectionError](err); ok {
		moved := &Error{Status: e.StatusCode}
		if e.Location != nil {
			moved.Location = e.Location.String()
		}
		return moved
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the address is named already
	}
	return fmt.Errorf("no answer that can be used from %s: %w: %w", display(host), loop.ErrUnavailable, err)
}

// refused reports whether the host does not take the token.
func refused(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusUnauthorized
}

// tooBig reports whether a page took the host too long to make.
func tooBig(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout)
}

// oneLine is the message of an answer with what it says of single fields.
func oneLine(e *gh.ErrorResponse) string {
	texts := []string{e.Message}
	for _, detail := range e.Errors {
		if detail.Message != "" {
			texts = append(texts, detail.Message)
		}
	}
	return oneLineOf(strings.Join(texts, "; "))
}

// oneLineOf makes what a server said fit into a line of a log.
func oneLineOf(text string) string {
	const most = 300
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}
