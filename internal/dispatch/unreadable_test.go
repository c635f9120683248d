package dispatch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// breakFile cuts the session file of acme/shop#15 in half, and returns what puts it back.
func (h *house) breakFile() (mend func()) {
	h.t.Helper()
	file := filepath.Join(h.dir, "sessions", "github-acme-shop-15.json")
	whole, err := os.ReadFile(file)
	h.must(err)
	h.stop()
	h.must(os.WriteFile(file, whole[:len(whole)/2], 0o600))
	h.open()
	return func() { h.must(os.WriteFile(file, whole, 0o600)) }
}

func TestEventsOfAnUnreadableSessionFailAndNameTheFile(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		mend := h.breakFile()
		id := h.comment(15, nth(1))
		h.idle()
		h.is(id, loop.StateWaiting, loop.WaitBackoff)
		time.Sleep(time.Hour)
		if d := h.is(id, loop.StateFailed, loop.FailAttempts); !strings.Contains(d.Error, "github-acme-shop-15.json") {
			t.Errorf("the error does not name the file: %s", d.Error)
		}
		label := h.arrive("issues", label(15, "go", time.Now()))
		h.is(label, loop.StateDropped, loop.DropNotDelivered) // no second session beside one that may be open
		mend()
		_, err := h.d.Redeliver(t.Context(), id, false)
		h.must(err)
		h.only().done()
		h.is(id, loop.StateDone, "")
	})
}

func TestACloseWaitsForAnUnreadableSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		mend := h.breakFile()
		id := h.arrive("issues", closed(15, time.Now()))
		time.Sleep(time.Hour)
		h.is(id, loop.StateWaiting, loop.WaitEnding)
		mend()
		time.Sleep(5 * time.Minute)
		h.is(id, loop.StateDone, "")
		if s := h.session(shop15); s.Status != loop.StatusClosed {
			t.Errorf("session is %s", s.Status)
		}
	})
}
