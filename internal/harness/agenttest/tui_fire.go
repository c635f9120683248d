package agenttest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"time"
)

// fire runs the hooks of an event, after those of earlier ones, and then does what is to be done with what they said. Those
// that wake the conversation go on beside it.
func (t *tui) fire(event, detail string, more map[string]any, then func([]told)) {
	input, env := t.hookInput(event, more)
	t.firing = append(t.firing, func() {
		label := event
		if event == "SessionStart" {
			label += ":" + detail
		}
		var inLine []hook
		for _, h := range hooksOf(t.settings, event, detail) {
			if h.AsyncRewake {
				t.await(h, label, input, env)
			} else {
				inLine = append(inLine, h)
			}
		}
		t.runHooks(event, inLine, input, env, func(said []told) {
			then(said)
			t.firing = t.firing[1:]
			if len(t.firing) > 0 && !t.over {
				t.firing[0]()
			}
		})
	})
	if len(t.firing) == 1 {
		t.firing[0]()
	}
}

// hookInput is what a hook is told on its stdin and in its environment.
func (t *tui) hookInput(event string, more map[string]any) (input []byte, env []string) {
	told := map[string]any{"session_id": t.id, "transcript_path": t.log.file, "cwd": t.self.Dir, "hook_event_name": event}
	maps.Copy(told, more)
	return []byte(line(told)), append(os.Environ(), "CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_ENTRYPOINT=cli",
		"CLAUDE_CODE_SESSION_ATTENDED=1", "CLAUDE_PROJECT_DIR="+t.self.Dir, "CLAUDE_CODE_SESSION_ID="+t.id,
		fmt.Sprintf("CLAUDE_PID=%d", t.self.PID))
}

// runHooks runs the hooks of an event in the order in which they stand in settings, and then hands over what they said.
func (t *tui) runHooks(event string, hooks []hook, input []byte, env []string, then func([]told)) {
	t.beside(func(ctx context.Context) func() {
		said := make([]told, len(hooks))
		for i, h := range hooks {
			said[i] = h.run(ctx, env, input)
		}
		return func() {
			for _, s := range said {
				t.hookEnded(event, s)
			}
			then(said)
		}
	})
}

// await runs a hook that may wake the conversation.
func (t *tui) await(h hook, label string, input []byte, env []string) {
	t.beside(func(ctx context.Context) func() {
		said := h.run(ctx, env, input)
		return func() {
			t.hookEnded(label, said)
			if said.code == blocked {
				t.wakes = append(t.wakes, h.wake(label, said.stderr))
				t.advance()
			}
		}
	})
}

func (t *tui) hookEnded(event string, said told) {
	t.did(ActHook, event, strconv.Itoa(said.code))
	if said.code != 0 && said.code != blocked {
		t.screen.show("  ⎿  " + event + " hook error: " + said.stderr)
	}
}

// leave lets the hooks know that the conversation ends. They have not long.
func (t *tui) leave(reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	input, env := t.hookInput("SessionEnd", map[string]any{"reason": reason})
	for _, h := range hooksOf(t.settings, "SessionEnd", reason) {
		t.did(ActHook, "SessionEnd", strconv.Itoa(h.run(ctx, env, input).code))
	}
}
