package dispatch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestWaitsNamesTheItemsWhoseNextDeliveryWaits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		other := mustItem("acme", "shop", 16)
		h.register(shop15)
		h.register(other)
		ready := h.waits(shop15, loop.WaitDialog)
		h.comment(15, "one")
		h.comment(16, "two")
		h.comment(16, "three")
		if diff := cmp.Diff(map[loop.ItemKey]string{shop15.Key(): loop.WaitDialog}, h.d.Waits()); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		ready()
		if diff := cmp.Diff(map[loop.ItemKey]string{}, h.d.Waits()); diff != "" {
			t.Errorf("waits while both run (-want +got):\n%s", diff)
		}
	}, terminals)
}
