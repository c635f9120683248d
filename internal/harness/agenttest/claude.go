package agenttest

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// claude is Claude Code, as 2.1.332 was seen to be.
type claude struct{ plain }

func (claude) parse(args []string, stdin string) (c call, complaint string) {
	headless, format := false, ""
	for i, arg := range args {
		switch value := after(args, i); arg {
		case "-p", "--print":
			headless = true
		case "--resume":
			c.id, c.resume = value, true
		case "--session-id":
			c.id = value
		case "--output-format":
			format = value
		}
	}
	c.prompt = stdin
	switch {
	case !headless || format != "json" || c.id == "":
		return c, fmt.Sprintf("Error: the stand-in takes -p, --output-format json and --resume or --session-id, got %q", args)
	case strings.TrimSpace(stdin) == "":
		return c, "Error: Input must be provided either through stdin or as a prompt argument when using --print"
	}
	return c, ""
}

// after returns the argument behind the i-th; "" where there is none.
func after(args []string, i int) string {
	if i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

func (claude) lost(id string) (ending, bool) {
	return ending{stderr: "No conversation found with session ID: " + id, code: 1}, true
}

func (claude) used(id string) (ending, bool) {
	return ending{stderr: "Error: Session ID " + id + " is already in use.", code: 1}, true
}

func (c claude) answer(s *standIn, text string) ending {
	return c.result(s, 0, map[string]any{"result": text})
}

func (c claude) refusal(s *standIn, status int) ending {
	if status == notLoggedIn {
		return c.failed(s, nil, "", "Not logged in · Please run /login")
	}
	return c.failed(s, status, "", fmt.Sprintf("API Error: %d (fake)", status))
}

func (c claude) limit(s *standIn, resets string) ending {
	return c.failed(s, 429, "usage_limit_reached", "You've hit your limit · resets "+resets)
}

func (c claude) failed(s *standIn, status any, kind, text string) ending {
	return c.result(s, 1, map[string]any{
		"is_error": true, "terminal_reason": "api_error", "api_error_status": status, "api_error": kind, "result": text,
	})
}

func (c claude) special(s *standIn) (ending, bool) {
	switch do := s.do; {
	case do.Has("interrupted"):
		return c.interrupted(s)
	case do.Has("blocked"):
		return c.result(s, 0, map[string]any{"num_turns": 0, "result": "UserPromptSubmit operation blocked by hook:\nno"}), true
	case do.Has("deny"):
		denial := map[string]any{"tool_name": do["deny"], "tool_use_id": "toolu_fake", "tool_input": map[string]any{}}
		return c.result(s, 0, map[string]any{"num_turns": 2, "result": "I was not allowed to.", "permission_denials": []any{denial}}), true
	}
	return ending{}, false
}

func (c claude) interrupted(s *standIn) (ending, bool) {
	return c.result(s, 0, map[string]any{
		"is_error": true, "subtype": "error_during_execution", "terminal_reason": "aborted_streaming",
		"errors": []string{"[ede_diagnostic] result_type=user"},
	}), true
}

// result adds to an answer what every one has.
func (claude) result(s *standIn, code int, answer map[string]any) ending {
	whole := map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "session_id": s.named(),
		"total_cost_usd": 0.01 * float64(s.turn), "duration_ms": 1, "permission_denials": []any{},
	}
	if cost, err := strconv.ParseFloat(s.do["cost"], 64); err == nil {
		whole["total_cost_usd"] = cost
	}
	maps.Copy(whole, answer)
	return ending{stdout: line(whole), code: code}
}
