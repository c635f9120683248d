package loop

import "errors"

// The classes of errors that a caller can act on. A package wraps one of them with what it was doing; test with errors.Is.
// The socket API maps each to one gRPC status code.
var (
	// ErrNotFound: the thing that was named does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists: the thing to be made exists already.
	ErrExists = errors.New("already exists")
	// ErrInvalid: what was given cannot be right, whatever the state.
	ErrInvalid = errors.New("invalid")
	// ErrConflict: what was asked does not fit the present state.
	ErrConflict = errors.New("conflict")
	// ErrDenied: the caller may not do this.
	ErrDenied = errors.New("denied")
	// ErrUnavailable: it cannot be done now, and may be tried again.
	ErrUnavailable = errors.New("unavailable")
)
