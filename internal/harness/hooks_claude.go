package harness

import (
	"encoding/json"

	"github.com/loop-daemon/loop/internal/loop"
)

// claudeHook is what Claude Code tells a hook on stdin, as far as it is looked at.
type claudeHook struct {
	SessionID        string `json:"session_id"`
	Event            string `json:"hook_event_name"`
	Cwd              string `json:"cwd"`
	Source           string `json:"source"` // of SessionStart
	Reason           string `json:"reason"` // of SessionEnd
	Prompt           string `json:"prompt"` // of UserPromptSubmit
	ToolName         string `json:"tool_name"`
	NotificationType string `json:"notification_type"`
	Message          string `json:"message"`
}

// readClaudeHook takes of a prompt nothing but the tokens in it.
func readClaudeHook(r *loop.Report, stdin []byte, getenv func(string) string) error {
	var told claudeHook
	if err := json.Unmarshal(stdin, &told); err != nil {
		return err
	}
	if r.Event == "" {
		r.Event = claudeEvent(told)
	}
	if r.Run == "" && unattended(getenv) {
		r.Event = "" // somebody's script; it may run within a conversation of ours, and has all that we gave that to know it by
		return nil
	}
	r.SessionID = loop.SessionID(told.SessionID)
	r.PID = hookPID(getenv("CLAUDE_PID"))
	r.Cwd = hookFolder(told.Cwd)
	switch r.Event {
	case loop.HookStart:
		r.Source = hookLine(told.Source, maxHookWord)
	case loop.HookEnd:
		r.Source = hookLine(told.Reason, maxHookWord)
	case loop.HookWaiting:
		r.Detail = hookLine(told.Message, maxHookLine)
		if told.ToolName != "" {
			r.Detail = "permission to use " + hookLine(told.ToolName, maxHookWord)
		}
	case loop.HookPrompt:
		r.Runs = loop.FindTokens(told.Prompt)
		r.Runs = r.Runs[:min(len(r.Runs), maxHookRuns)]
	case loop.HookStop, loop.HookFailure:
	}
	return nil
}

// claudeEvent says what an event of Claude Code's means; "" is nothing.
func claudeEvent(told claudeHook) loop.HookEvent {
	switch told.Event {
	case "SessionStart":
		return loop.HookStart
	case "UserPromptSubmit":
		return loop.HookPrompt
	case "Stop":
		return loop.HookStop
	case "StopFailure":
		return loop.HookFailure
	case "PermissionRequest":
		return loop.HookWaiting
	case "Notification":
		if told.NotificationType == "permission_prompt" {
			return loop.HookWaiting
		}
	case "SessionEnd":
		return loop.HookEnd
	}
	return ""
}

// unattended reports whether the harness runs without a terminal.
func unattended(getenv func(string) string) bool {
	return getenv("CLAUDE_CODE_SESSION_ATTENDED") == "0" || getenv("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli"
}
