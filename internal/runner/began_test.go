package runner_test

import (
	"testing"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestARunBeginsWhenThereIsRoomForItsAgent(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house) { h.settings.MaxLive = 1 })
	var order []string
	noted := func(ho loop.Handover) loop.Handover {
		ho.Began = func() { order = append(order, "began") }
		ho.Handed = func() { order = append(order, "handed") }
		return ho
	}
	first, second := h.session(15), h.session(16)
	if out := h.Deliver(t.Context(), noted(h.handover(first, true, "the first"))); out.Kind != loop.RunDone {
		t.Fatalf("%s: %s", out.Kind, out.Detail)
	}
	if len(order) < 2 || order[0] != "began" || order[len(order)-1] != "handed" {
		t.Errorf("it told %v", order)
	}
	order = nil
	if out := h.Deliver(t.Context(), noted(h.handover(second, true, "the second"))); out.Reason != loop.WaitRoom {
		t.Fatalf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
	if order != nil {
		t.Errorf("one that waits for room told %v", order)
	}
}
