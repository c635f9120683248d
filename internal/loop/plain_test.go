package loop_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestPlainLeavesOutTheNamesOfClasses(t *testing.T) {
	t.Parallel()
	missing := fmt.Errorf("tmux is not installed: apt install tmux: %w", loop.ErrUnavailable)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"nothing", nil, ""},
		{"no class", errors.New("disk is full"), "disk is full"},
		{"at the end", missing, "tmux is not installed: apt install tmux"},
		{"in the middle", fmt.Errorf("%w; then start loopd again", missing), "tmux is not installed: apt install tmux; then start loopd again"},
		{"further out", fmt.Errorf("end the harness of #15: %w", missing), "end the harness of #15: tmux is not installed: apt install tmux"},
		{"a class of its own below another", fmt.Errorf("probe: %w", fmt.Errorf("no answer: %w: %w", errors.New("timeout"), loop.ErrUnavailable)), "probe: no answer: timeout"},
		{"two errors of one class", fmt.Errorf("%w, and %w", missing, missing), "tmux is not installed: apt install tmux, and tmux is not installed: apt install tmux"},
		{"joined", errors.Join(missing, errors.New("disk is full")), "tmux is not installed: apt install tmux\ndisk is full"},
		{"a stranger's word that reads like a class", errors.New("sh: claude: not found"), "sh: claude: not found"},
		{"a stranger's word below a class", fmt.Errorf("start it: %w: %w", errors.New("sh: claude: not found"), loop.ErrNotFound), "start it: sh: claude: not found"},
		{"a class alone", loop.ErrDenied, "denied"},
	} {
		if got := loop.Plain(tt.err); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
