package runner_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
)

func TestRenamedTerminalIsReachedAndShown(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := proc.Run(ctx, proc.Cmd{
		Path: h.server.Binary(), Args: []string{"-S", h.server.Socket(), "rename-session", "-t", h.pane(s).ID, "mine"},
		Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.delivers(s, false, "the second")
	pane := h.pane(s)
	if pane.Session != "mine" || pane.Dead {
		t.Fatalf("its pane is %+v", pane)
	}
	argv, note, err := h.Attach(t.Context(), s, tmux.Viewer{Write: true})
	if err != nil || !slices.Contains(argv, pane.SessionID+":") || note != "" {
		t.Errorf("it is attached to by %q (%s): %v", argv, note, err)
	}
	if got, err := h.End(t.Context(), s, loop.Wish{}); err != nil || got.Retained != "mine" {
		t.Errorf("its end told %+v, %v", got, err)
	}
}
