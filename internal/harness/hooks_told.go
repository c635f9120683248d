package harness

import (
	"cmp"
	"encoding/json"

	"github.com/loop-daemon/loop/internal/loop"
)

// hookTold is what harnesses tell a hook on stdin, as far as it is looked at. Most took the names from Claude Code.
type hookTold struct {
	SessionID        string `json:"session_id"`
	Event            string `json:"hook_event_name"`
	Cwd              string `json:"cwd"`
	Source           string `json:"source"` // of a start
	Reason           string `json:"reason"` // of an end
	Prompt           string `json:"prompt"`
	ToolName         string `json:"tool_name"`
	NotificationType string `json:"notification_type"`
	Message          string `json:"message"`

	// Cursor's own.
	ConversationID string   `json:"conversation_id"`
	WorkspaceRoots []string `json:"workspace_roots"`
	Status         string   `json:"status"` // of a stop
	Background     bool     `json:"is_background_agent"`

	// GitHub Copilot's own.
	CamelID string `json:"sessionId"`
}

func readTold(stdin []byte) (told hookTold, err error) {
	err = json.Unmarshal(stdin, &told)
	return told, err
}

// fill puts what was told into a report, according to its event. It takes of a prompt nothing but the tokens in it.
func (told hookTold) fill(r *loop.Report) {
	r.SessionID = loop.SessionID(cmp.Or(told.SessionID, told.ConversationID, told.CamelID))
	r.Cwd = hookFolder(told.Cwd)
	switch r.Event {
	case loop.HookStart:
		r.Source = hookLine(told.Source, maxHookWord)
	case loop.HookEnd:
		r.Source = hookLine(told.Reason, maxHookWord)
	case loop.HookWaiting:
		r.Source = hookLine(told.NotificationType, maxHookWord)
		r.Detail = hookLine(told.Message, maxHookLine)
		if told.ToolName != "" {
			r.Detail = "permission to use " + hookLine(told.ToolName, maxHookWord)
		}
	case loop.HookPrompt:
		r.Runs = loop.FindTokens(told.Prompt)
		r.Runs = r.Runs[:min(len(r.Runs), maxHookRuns)]
	case loop.HookStop, loop.HookFailure:
	}
}

// readCodexHook reads what Codex tells, which is of Claude Code's form.
func readCodexHook(r *loop.Report, stdin []byte, _ func(string) string) error {
	told, err := readTold(stdin)
	if err != nil {
		return err
	}
	switch {
	case r.Event != "":
	case told.Event == "Interrupt":
		r.Event = loop.HookStop
	default:
		r.Event = claudeEvent(told)
	}
	told.fill(r)
	return nil
}

// readCursorHook reads what Cursor tells. One of its agents in the background is in no terminal of the person's.
func readCursorHook(r *loop.Report, stdin []byte, _ func(string) string) error {
	told, err := readTold(stdin)
	if err != nil {
		return err
	}
	if r.Event == "" {
		r.Event = cursorEvent(told)
	}
	if told.Background {
		r.Event = ""
		return nil
	}
	if len(told.WorkspaceRoots) > 0 {
		told.Cwd = cmp.Or(told.Cwd, told.WorkspaceRoots[0])
	}
	told.fill(r)
	return nil
}

func cursorEvent(told hookTold) loop.HookEvent {
	switch told.Event {
	case "sessionStart":
		return loop.HookStart
	case "beforeSubmitPrompt":
		return loop.HookPrompt
	case "stop":
		if told.Status == "error" {
			return loop.HookFailure
		}
		return loop.HookStop
	case "sessionEnd":
		return loop.HookEnd
	}
	return ""
}

// readDeclaredHook reads what a harness tells that Loop only knows from its configuration: its events have other names, so the
// argument must say which it is.
func readDeclaredHook(r *loop.Report, stdin []byte, _ func(string) string) error {
	told, err := readTold(stdin)
	if err == nil {
		told.fill(r)
	}
	return err
}
