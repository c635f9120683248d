package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestPromptIsLookedForInEveryConversationOfItsSession(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"before it was cleared", "after"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			s := h.session(15)
			h.delivers(s, true, "the first")
			ho := h.handover(met(s), false, "by hook")
			handed := h.waker(s)
			ended := make(chan loop.Outcome, 1)
			ctx, stop := context.WithCancel(t.Context())
			go func() { ended <- h.Deliver(ctx, ho) }()
			<-handed
			stop()
			h.stop()
			if out := <-ended; out.Kind != loop.RunDetached {
				t.Fatalf("it is %s before another loopd comes", out.Kind)
			}
			// Nobody has told the new loopd of the new conversation but the record of the session.
			before, after := s.HarnessSessionID, loop.SessionID(uuid.NewString())
			ho.Session.HarnessSessionID, ho.Session.PreviousSessionIDs = after, []loop.SessionID{before}
			in := map[string]loop.SessionID{"after": after, "before it was cleared": before}[where]
			record := filepath.Join(h.dir, ".claude", "projects", "work", string(in)+".jsonl")
			if err := os.MkdirAll(filepath.Dir(record), 0o700); err != nil {
				t.Fatal(err)
			}
			line := `{"type":"user","message":{"content":"` + ho.Run.Token() + `"}}` + "\n"
			if err := os.WriteFile(record, []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			h.open()
			if out := h.Settle(t.Context(), ho); out.Kind != loop.RunDone {
				t.Errorf("%s: %s", out.Kind, out.Detail)
			}
		})
	}
}
