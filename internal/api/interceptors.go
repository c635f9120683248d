package api

import (
	"context"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// recoverUnary makes a panic one failed call.
func (s *Server) recoverUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	defer s.recovered(info.FullMethod, &err)
	return next(ctx, req)
}

// recoverStream is recoverUnary for streams.
func (s *Server) recoverStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer s.recovered(info.FullMethod, &err)
	return next(srv, stream)
}

func (s *Server) recovered(method string, err *error) {
	if p := recover(); p != nil {
		s.log.Error("panic in a call", "method", method, "err", p, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "loopd met a fault of its own in "+method+"; it goes on, and the fault is in its log")
	}
}

// statusUnary turns a handler's error into a status, and logs how the call ended.
func (s *Server) statusUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	start := time.Now()
	res, err := next(ctx, req)
	return res, s.ended(info.FullMethod, start, err)
}

// statusStream is statusUnary for streams.
func (s *Server) statusStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	start := time.Now()
	return s.ended(info.FullMethod, start, next(srv, stream))
}

func (s *Server) ended(method string, start time.Time, err error) error {
	err = toStatus(err)
	s.log.Debug("call ended", "method", method, "code", status.Code(err), "dur", time.Since(start), "err", err)
	if status.Code(err) == codes.Internal {
		s.log.Error("call failed", "method", method, "err", err)
	}
	return err
}

// endWith ends the context of each stream with ctx and for ctx's cause, but for those who watch our health: they are to see
// that it ends.
func endWith(ctx context.Context) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if info.FullMethod == healthv1.Health_Watch_FullMethodName {
			return next(srv, stream)
		}
		joined, cancel := context.WithCancelCause(stream.Context())
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		err := next(srv, joinedStream{stream, joined})
		if err != nil && joined.Err() != nil && stream.Context().Err() == nil {
			return context.Cause(joined) //nolint:contextcheck // it was made from the stream's
		}
		return err
	}
}

// endWaits does the same for the calls of hooks that wait, which would hold up a stop like streams.
func endWaits(ctx context.Context) grpc.UnaryServerInterceptor {
	return func(call context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if info.FullMethod != loopv1.Sessions_Wait_FullMethodName {
			return next(call, req)
		}
		joined, cancel := context.WithCancelCause(call)
		defer cancel(nil)
		defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
		return next(joined, req)
	}
}

// joinedStream is a stream with another context.
type joinedStream struct {
	grpc.ServerStream

	ctx context.Context //nolint:containedctx // grpc hands a stream's context over in this way
}

func (s joinedStream) Context() context.Context { return s.ctx }
