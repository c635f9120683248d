package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	grpcstatus "google.golang.org/grpc/status"
)

// receive calls each with every answer of a stream, until the daemon ends it. Unless the stream is a follow its first answer
// must come in time; the others may take as long as whoever reads them.
func receive[T any](ctx context.Context, l *link, follow bool,
	open func(context.Context) (grpc.ServerStreamingClient[T], error), each func(*T) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.patience = cmp.Or(l.flags.Timeout, defaultTimeout)
	first := time.AfterFunc(l.patience, func() { cancel(context.DeadlineExceeded) })
	defer first.Stop()
	if follow {
		first.Stop()
	}
	answers, err := open(ctx)
	for err == nil {
		var answer *T
		if answer, err = answers.Recv(); err == nil {
			first.Stop()
			err = each(answer)
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return grpcstatus.FromContextError(context.DeadlineExceeded).Err()
	}
	return err
}
