package cli_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestAttachWithoutTerminal holds that a person is told first of the terminal that the session lacks, and then of their own.
func TestAttachWithoutTerminal(t *testing.T) {
	t.Parallel()
	const headless = "the session of github:acme/shop#15 has no terminal; loopctl logs github:acme/shop#15 shows its runs"
	for name, tt := range map[string]struct {
		fail error
		want result
	}{
		"of the session": {status.Error(codes.FailedPrecondition, headless), result{Code: 1, Stderr: "loopctl: " + headless + "\n"}},
		"of one's own": {nil, result{
			Code:   2,
			Stderr: "loopctl: attach needs a terminal of your own to show it in; loopctl logs github:acme/shop#15 prints what it shows\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.fail = tt.fail
			f.start(t)
			if got := loopctl(t.Context(), f.env(), "", "attach", "acme/shop#15"); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
