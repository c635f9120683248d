package agenttest

import (
	"fmt"
	"slices"
	"strings"
)

// codex is OpenAI's Codex, as 0.171.0 was seen to be.
type codex struct{ plain }

func (codex) parse(args []string, stdin string) (c call, complaint string) {
	if at := slices.Index(args, "resume"); at > 0 {
		c.id, c.resume = after(args, at), true
	}
	c.prompt = stdin
	switch {
	case len(args) == 0 || args[0] != "exec" || !slices.Contains(args, "--json") || args[len(args)-1] != "-" || c.resume && c.id == "-":
		return c, fmt.Sprintf("error: the stand-in takes exec, --json, perhaps resume ID, and a last -, got %q", args)
	case strings.TrimSpace(stdin) == "":
		return c, "No prompt provided via stdin."
	}
	return c, ""
}

func (codex) lost(id string) (ending, bool) {
	return ending{stderr: "Error: thread/resume: thread/resume failed: no rollout found for thread id " + id + " (code -32600)", code: 1}, true
}

func (codex) opening(s *standIn) string {
	return line(map[string]any{"type": "thread.started", "thread_id": s.named()}) +
		line(map[string]any{"type": "item.completed", "item": map[string]any{"id": "item_0", "type": "error", "message": "Model metadata not found."}}) +
		line(map[string]any{"type": "turn.started"})
}

func (codex) answer(_ *standIn, text string) ending {
	return ending{
		stdout: line(map[string]any{"type": "item.completed", "item": map[string]any{"id": "item_1", "type": "agent_message", "text": text}}) +
			line(map[string]any{"type": "turn.completed", "usage": map[string]any{"input_tokens": 10, "output_tokens": 5}}),
		stderr: "WARNING: proceeding, even though we could not create PATH aliases",
	}
}

func (c codex) refusal(_ *standIn, status int) ending {
	text := map[int]string{
		notLoggedIn: "unexpected status 401 Unauthorized: Missing bearer or basic authentication in header",
		400:         `{"error": {"message": "fake"}}`,
		401:         "unexpected status 401 Unauthorized: fake",
		429:         "exceeded retry limit, last status: 429 Too Many Requests",
		500:         "We’re currently experiencing high demand, which may cause temporary errors.",
		503:         "unexpected status 503 Service Unavailable: fake",
		529:         "unexpected status 529 <unknown status code>: fake",
	}[status]
	return c.failed(text)
}

func (c codex) limit(_ *standIn, resets string) ending {
	return c.failed("You’ve hit your usage limit. Upgrade to Pro, visit your settings to purchase more credits or try again at " + resets + ".")
}

func (codex) failed(text string) ending {
	return ending{
		stdout: line(map[string]any{"type": "error", "message": "Reconnecting... 1/1 (" + text + ")"}) +
			line(map[string]any{"type": "error", "message": text}) +
			line(map[string]any{"type": "turn.failed", "error": map[string]any{"message": text}}),
		code: 1,
	}
}
