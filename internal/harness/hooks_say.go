package harness

import (
	"encoding/json"

	"github.com/loop-daemon/loop/internal/loop"
)

// claudeSays is what a hook answers Claude Code with.
type claudeSays struct {
	Message  string      `json:"systemMessage,omitempty"` // for the person
	Specific *claudeTold `json:"hookSpecificOutput,omitempty"`
}

type claudeTold struct {
	Event   string `json:"hookEventName"`
	Context string `json:"additionalContext"` // for the model
}

// SayInHook returns what a hook prints on stdout so that its harness takes in an answer of loopd's; nothing where the answer is
// empty, or where the harness is not known to listen.
func SayInHook(harness string, event loop.HookEvent, a loop.HookAnswer) []byte {
	if harness != claudeName || a == (loop.HookAnswer{}) {
		return nil
	}
	says := claudeSays{Message: a.Note}
	switch event {
	case loop.HookStart:
		says.tell("SessionStart", a.Context)
	case loop.HookPrompt:
		says.tell("UserPromptSubmit", a.Context)
	case loop.HookStop, loop.HookFailure, loop.HookWaiting, loop.HookEnd:
		return nil // nobody listens
	}
	text, err := json.Marshal(says)
	if err != nil {
		return nil
	}
	return append(text, '\n')
}

func (s *claudeSays) tell(event, context string) {
	if context != "" {
		s.Specific = &claudeTold{event, context}
	}
}
