package harness

import "github.com/loop-daemon/loop/internal/loop"

// readClaudeHook reads what Claude Code tells.
func readClaudeHook(r *loop.Report, stdin []byte, getenv func(string) string) error {
	told, err := readTold(stdin)
	if err != nil {
		return err
	}
	if r.Event == "" {
		r.Event = claudeEvent(told)
	}
	if r.Run == "" && unattended(getenv) {
		r.Event = "" // somebody's script; it may run within a conversation of ours, and has all that we gave that to know it by
		return nil
	}
	r.PID = hookPID(getenv("CLAUDE_PID"))
	told.fill(r)
	return nil
}

// claudeEvent says what an event of Claude Code's means; "" is nothing.
func claudeEvent(told hookTold) loop.HookEvent {
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
