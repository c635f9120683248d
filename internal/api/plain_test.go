package api_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// The name of a class is for programs, wherever in the text it stands; the code says it.
func TestErrorsAreToldWithoutTheirClass(t *testing.T) {
	t.Parallel()
	missing := fmt.Errorf("tmux is missing: apt install tmux: %w", loop.ErrUnavailable)
	h := open(t, func(o *api.Options) {
		o.Attach = func(context.Context, loop.Session, bool, string) (api.Attach, error) {
			return api.Attach{}, fmt.Errorf("%w; then start loopd again", missing)
		}
	})
	register(t, h, "acme/shop#15")
	_, err := h.sessions.Get(t.Context(), &loopv1.GetSessionRequest{WorkItem: "acme/shop#15", Attach: &loopv1.AttachTo{}})
	if got, want := status.Convert(err).Message(), "tmux is missing: apt install tmux; then start loopd again"; status.Code(err) != codes.Unavailable || got != want {
		t.Errorf("%v: %q, want %q", status.Code(err), got, want)
	}
}
