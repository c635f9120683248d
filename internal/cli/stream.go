package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	grpcstatus "google.golang.org/grpc/status"
)

// reopenPause is how long after the end of a stream a follow asks for the next one.
const reopenPause = 200 * time.Millisecond

// follow calls show again whenever the stream that it shows has ended, until the person ends it or loopd refuses. A daemon
// that was there once may be away for as long as it likes; the person is told when it goes and when it is back.
func (l *link) follow(ctx context.Context, out *printer, show func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	l.finder.tell = out.note
	for {
		err := show(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !(lost(err) && l.finder.known()):
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reopenPause):
		}
	}
}

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
