package claudetest

import (
	"fmt"
	"strings"
)

// interruptedAnswer is what a SIGINT in the middle of a turn leaves; the exit status is 0.
var interruptedAnswer = map[string]any{
	"is_error": true, "subtype": "error_during_execution", "terminal_reason": "aborted_streaming",
	"errors": []string{"[ede_diagnostic] result_type=user"},
}

// answer returns what the directive asks for, in the shape and with the exit status that the real program was seen to give.
func (s *standIn) answer() (answer map[string]any, code int) {
	failed := func(status any, kind, text string) (map[string]any, int) {
		return map[string]any{
			"is_error": true, "terminal_reason": "api_error", "api_error_status": status, "api_error": kind, "result": text,
		}, 1
	}
	switch do := s.do; {
	case do.has("status"):
		status := do.number("status", 500)
		return failed(status, "", fmt.Sprintf("API Error: %d (fake)", status))
	case do.has("limit"):
		return failed(429, "usage_limit_reached", "You've hit your limit · resets "+strings.ReplaceAll(do["limit"], "_", " "))
	case do.has("login"):
		return failed(nil, "", "Not logged in · Please run /login")
	case do.has("interrupted"):
		return interruptedAnswer, 0
	case do.has("blocked"):
		return map[string]any{"num_turns": 0, "result": "UserPromptSubmit operation blocked by hook:\nno"}, 0
	case do.has("deny"):
		denial := map[string]any{"tool_name": do["deny"], "tool_use_id": "toolu_fake", "tool_input": map[string]any{}}
		return map[string]any{"num_turns": 2, "result": "I was not allowed to.", "permission_denials": []any{denial}}, 0
	}
	return map[string]any{"result": fmt.Sprintf("Fake answer to turn %d: %s", s.turn, clip(s.prompt, 80))}, 0
}
