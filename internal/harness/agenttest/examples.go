package agenttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The programs of the declared harnesses in our documentation, each as the version that the page names was seen to be, but for
// the words in which opencode and copilot complain of their API; and scribe, which prints plain text and takes its prompt as an
// argument.

type gemini struct{ plain }

func (gemini) parse(args []string, stdin string) (c call, complaint string) {
	c.prompt = stdin
	for i, arg := range args {
		if arg == "--resume" {
			c.id, c.resume = after(args, i), true
		}
	}
	if i := slices.Index(args, "--output-format"); i < 0 || after(args, i) != "json" || strings.TrimSpace(stdin) == "" {
		return c, fmt.Sprintf("the stand-in takes --output-format json and a prompt, got %q", args)
	}
	return c, ""
}

func (gemini) lost(id string) (ending, bool) {
	return ending{stderr: "Error resuming session: Invalid session identifier \"" + id + "\".\n  Use --list-sessions to see available sessions.", code: 42}, true
}

func (gemini) answer(s *standIn, text string) ending {
	whole, _ := json.MarshalIndent(map[string]any{"session_id": s.named(), "response": text, "stats": map[string]any{"models": map[string]any{}}}, "", "  ")
	return ending{stdout: string(whole), stderr: "Ripgrep is not available. Falling back to GrepTool."}
}

func (g gemini) refusal(s *standIn, status int) ending {
	if status == notLoggedIn {
		status = 401
	}
	return g.failed(s, status, fmt.Sprintf(`{"error":{"message":"fake","code":%d}}`, status))
}

func (g gemini) limit(s *standIn, resets string) ending {
	return g.failed(s, 429, "Quota exceeded, resets "+resets)
}

func (gemini) failed(s *standIn, status int, text string) ending {
	whole, _ := json.MarshalIndent(map[string]any{
		"session_id": s.named(), "error": map[string]any{"type": "Error", "message": text, "code": status},
	}, "", "  ")
	return ending{stderr: "Error when talking to Gemini API\n    at async main\n" + string(whole), code: status % 256}
}

type opencode struct{ plain }

func (opencode) parse(args []string, stdin string) (c call, complaint string) {
	c.prompt = stdin
	if i := slices.Index(args, "--session"); i > 0 {
		c.id, c.resume = after(args, i), true
	}
	if i := slices.Index(args, "--format"); len(args) == 0 || args[0] != "run" || i < 0 || after(args, i) != "json" || strings.TrimSpace(stdin) == "" {
		return c, fmt.Sprintf("the stand-in takes run, --format json and a prompt, got %q", args)
	}
	return c, ""
}

func (o opencode) name() string { return "ses_" + strings.ReplaceAll(o.plain.name(), "-", "") }

func (opencode) lost(string) (ending, bool) {
	return ending{stderr: "\x1b[91m\x1b[1mError: \x1b[0mSession not found", code: 1}, true
}

func (opencode) event(s *standIn, kind string, part map[string]any) string {
	return line(map[string]any{"type": kind, "timestamp": 1, "sessionID": s.named(), "part": part})
}

func (o opencode) opening(s *standIn) string {
	return o.event(s, "step_start", map[string]any{"type": "step-start"}) +
		o.event(s, "tool_use", map[string]any{"type": "tool", "tool": "bash"}) +
		o.event(s, "step_finish", map[string]any{"type": "step-finish", "reason": "tool-calls"}) +
		o.event(s, "step_start", map[string]any{"type": "step-start"})
}

func (o opencode) answer(s *standIn, text string) ending {
	return ending{stdout: o.event(s, "text", map[string]any{"type": "text", "text": text}) +
		o.event(s, "step_finish", map[string]any{"type": "step-finish", "reason": "stop"})}
}

func (opencode) refusal(_ *standIn, status int) ending {
	if status == notLoggedIn {
		status = 401
	}
	return ending{stderr: fmt.Sprintf("Error: API error, status %d (fake)", status), code: 1}
}

func (opencode) limit(_ *standIn, resets string) ending {
	return ending{stderr: "Error: usage limit reached, try again at " + resets, code: 1}
}

type copilot struct{ plain }

func (copilot) parse(args []string, stdin string) (c call, complaint string) {
	c.prompt = stdin
	for _, arg := range args {
		flag, value, _ := strings.Cut(arg, "=")
		switch flag {
		case "--session-id":
			c.id = value
		case "--resume":
			c.id, c.resume = value, true
		}
	}
	if i := slices.Index(args, "--output-format"); i < 0 || after(args, i) != "json" || strings.TrimSpace(stdin) == "" {
		return c, fmt.Sprintf("the stand-in takes --output-format json and a prompt, got %q", args)
	}
	return c, ""
}

func (copilot) lost(id string) (ending, bool) {
	return ending{stderr: "Error: No session, task, or name matched '" + id + "'.\n\nTo resume by session or task ID:  copilot --resume=<id>", code: 1}, true
}

func (copilot) opening(*standIn) string {
	return line(map[string]any{"type": "assistant.turn_start", "data": map[string]any{"turnId": "0"}})
}

func (copilot) result(s *standIn, code int) string {
	return line(map[string]any{"type": "result", "sessionId": s.named(), "exitCode": code, "usage": map[string]any{}})
}

func (c copilot) answer(s *standIn, text string) ending {
	return ending{stdout: line(map[string]any{"type": "assistant.message", "data": map[string]any{"content": text}}) +
		line(map[string]any{"type": "model.call_final_result", "data": map[string]any{"result": "success"}}) + c.result(s, 0)}
}

func (c copilot) refusal(s *standIn, status int) ending {
	if status == notLoggedIn {
		status = 401
	}
	return ending{
		stdout: line(map[string]any{"type": "session.error", "data": map[string]any{"statusCode": status}}) + c.result(s, 1),
		stderr: fmt.Sprintf("Error: the API answered with status %d (fake)", status), code: 1,
	}
}

func (c copilot) limit(s *standIn, resets string) ending {
	return ending{stdout: c.result(s, 1), stderr: "Error: usage limit reached, try again at " + resets, code: 1}
}

type scribe struct{ plain }

func (scribe) parse(args []string, _ string) (c call, complaint string) {
	if len(args) != 4 || args[0] != "begin" && args[0] != "again" || args[2] != "--" {
		return c, fmt.Sprintf("the stand-in takes begin or again, an id, -- and a prompt, got %q", args)
	}
	return call{id: args[1], resume: args[0] == "again", prompt: args[3]}, ""
}

func (scribe) lost(string) (ending, bool) {
	return ending{stderr: "conversation not found", code: 1}, true
}

func (scribe) used(id string) (ending, bool) {
	return ending{stderr: "conversation " + id + " already exists", code: 1}, true
}

func (scribe) answer(_ *standIn, text string) ending { return ending{stdout: text + "\n"} }

func (scribe) refusal(_ *standIn, status int) ending {
	if status == notLoggedIn {
		return ending{stderr: "not logged in", code: 1}
	}
	return ending{stderr: fmt.Sprintf("HTTP %d", status), code: 1}
}

func (scribe) limit(_ *standIn, resets string) ending {
	return ending{stderr: "usage limit reached, resets " + resets, code: 1}
}
