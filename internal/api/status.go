package api

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/loop"
)

// errStopping ends what would otherwise keep the server from stopping.
var errStopping = fmt.Errorf("loopd is stopping: %w", loop.ErrUnavailable)

// lagError ends a stream whose reader is too slow for what happens.
type lagError struct{ last int64 }

func (e *lagError) Error() string {
	return fmt.Sprintf("events came faster than they were read; the last one sent is %d, ask again for what came after it", e.last)
}

// classes are the errors that callers tell apart, and their codes. No other file of the daemon knows gRPC's codes.
var classes = []struct {
	err  error
	code codes.Code
}{
	{loop.ErrNotFound, codes.NotFound},
	{loop.ErrExists, codes.AlreadyExists},
	{loop.ErrInvalid, codes.InvalidArgument},
	{loop.ErrConflict, codes.FailedPrecondition},
	{loop.ErrDenied, codes.PermissionDenied},
	{loop.ErrUnavailable, codes.Unavailable},
}

// toStatus returns the status for an error of a handler. Its message is the error's text without the names of classes, as the
// code says which it is. Nil and what is a status already come back as they are.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if lag, ok := errors.AsType[*lagError](err); ok {
		return status.Error(codes.Aborted, lag.Error())
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return status.Error(c.code, loop.Plain(err))
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Internal, loop.Plain(err))
}
