package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/loop"
)

// The exit codes of loopctl.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnreachable = 3
)

// exit turns what a command returned into an exit code and what to tell the person, which is the daemon's own sentence
// wherever there is one. No other file knows gRPC's codes.
func exit(err error, link *link) (code int, message string) {
	if err == nil {
		return exitDone, ""
	}
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok {
		return exitUsage, usage(wrong)
	}
	_, ofConfig := errors.AsType[*config.Error](err)
	if ofConfig || errors.Is(err, loop.ErrInvalid) {
		return exitUsage, loop.Plain(err)
	}
	refusal, ok := errors.AsType[interface {
		error
		GRPCStatus() *grpcstatus.Status
	}](err)
	if !ok {
		return exitFailed, loop.Plain(err)
	}
	return exitOf(refusal.GRPCStatus(), link)
}

func exitOf(answer *grpcstatus.Status, link *link) (code int, message string) {
	switch answer.Code() { //nolint:exhaustive // the others are the daemon's own refusals
	case codes.InvalidArgument:
		return exitUsage, answer.Message()
	case codes.Unavailable:
		if !link.answered.Load() {
			return exitUnreachable, link.finder.unreachable(answer.Message())
		}
	case codes.DeadlineExceeded:
		if !link.finder.reached() {
			return exitUnreachable, link.finder.unreachable(answer.Message())
		}
		return exitFailed, fmt.Sprintf("loopd did not answer within %s (--timeout waits longer)", link.patience)
	case codes.Unimplemented:
		return exitFailed, "this loopd does not know the command: it is older than this loopctl; restart it"
	}
	return exitFailed, answer.Message()
}

// lost says that the daemon went away, or was never there.
func lost(err error) bool { return grpcstatus.Code(err) == codes.Unavailable }

// late says that the time for a call was up before its answer came.
func late(err error) bool {
	return grpcstatus.Code(err) == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded)
}

// usage is what was wrong with the arguments, and the help that says what is right.
func usage(wrong *kong.ParseError) string {
	command := "loopctl"
	if wrong.Context != nil && wrong.Context.Selected() != nil {
		command = wrong.Context.Selected().FullPath()
	}
	return fmt.Sprintf("%s\nRun %q to see how it is used.", loop.Plain(wrong), command+" --help")
}
