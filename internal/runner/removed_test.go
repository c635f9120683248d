package runner_test

import (
	"path/filepath"
	"testing"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/tmux"
)

func TestRetainedTerminalIsRemovedOnWish(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "hello")
	kept, err := h.End(t.Context(), s, loop.Wish{Terminal: loop.TerminalKeep})
	if err != nil || kept.Retained == "" || kept.Removed != "" {
		t.Fatalf("the close told %+v, %v", kept, err)
	}
	pane := h.pane(s)
	kill := loop.Wish{Terminal: loop.TerminalKill}
	if got, err := h.End(t.Context(), s, kill); err != nil || got != (loop.Termination{Removed: kept.Retained}) {
		t.Errorf("the removal told %+v, %v", got, err)
	}
	if state, err := h.server.State(t.Context(), pane.Session, pane.Launch); err != nil || state != tmux.Absent {
		t.Errorf("the terminal is %s, %v", state, err)
	}
	if got, err := h.End(t.Context(), s, kill); err != nil || got != (loop.Termination{}) {
		t.Errorf("a second removal told %+v, %v", got, err)
	}
	if saved, _ := filepath.Glob(filepath.Join(h.dir, "transcripts", "*", "*.txt")); len(saved) != 1 {
		t.Errorf("%d transcripts are left, want 1", len(saved))
	}
	other := h.session(16)
	h.delivers(other, true, "hello")
	if got, err := h.End(t.Context(), other, kill); err != nil || !got.Found || got.Removed == "" || got.Retained != "" {
		t.Errorf("a close that removes told %+v, %v", got, err)
	}
}
