package agenttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cursor is Cursor's cursor-agent, as its documents and those who measured it describe it; none of it was seen by us.
type cursor struct{ plain }

func (cursor) parse(args []string, stdin string) (c call, complaint string) {
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	flags, rest := args[:at], args[min(at+1, len(args)):]
	headless, format := false, ""
	for i, arg := range flags {
		switch value := after(flags, i); arg {
		case "-p", "--print":
			headless = true
		case "--resume":
			c.id, c.resume = value, true
		case "--output-format":
			format = value
		}
	}
	c.prompt = strings.Join(rest, " ") + stdin
	switch {
	case !headless || format != "json" || c.id == "":
		return c, fmt.Sprintf("Error: the stand-in takes -p, --output-format json and --resume, got %q", args)
	case strings.TrimSpace(c.prompt) == "":
		return c, "Error: No prompt provided for print mode"
	}
	return c, cursor{}.keep(c.id)
}

// keep puts a chat into the store.
func (cursor) keep(id string) (complaint string) {
	dir := os.Getenv("CURSOR_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(os.Getenv("HOME"), ".cursor")
	}
	chat := filepath.Join(dir, "chats", "0123456789abcdef", id)
	if err := os.MkdirAll(chat, 0o700); err != nil {
		return "Error: " + err.Error()
	}
	if err := os.WriteFile(filepath.Join(chat, "store.db"), nil, 0o600); err != nil {
		return "Error: " + err.Error()
	}
	return ""
}

// lost says nothing: another chat is begun under the id.
func (cursor) lost(string) (ending, bool) { return ending{}, false }

func (cursor) answer(s *standIn, text string) ending {
	return ending{stdout: line(map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "duration_api_ms": 1, "result": text,
		"session_id": s.named(), "request_id": "fake",
	})}
}

func (cursor) refusal(_ *standIn, status int) ending {
	text := map[int]string{
		notLoggedIn: "Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY environment variable.",
		401:         "⚠ Warning: The provided API key is invalid.",
		429:         "ConnectError: [resource_exhausted] Error",
		503:         "RetriableError: [unavailable] Error",
		529:         "RetriableError: [unavailable] Error",
	}[status]
	if text == "" {
		text = "ConnectError: [internal] Error"
	}
	return ending{stderr: text, code: 1}
}

func (cursor) limit(*standIn, string) ending {
	return ending{stderr: "Error: You've hit your usage limit\n  Get Cursor Pro for more Agent usage, unlimited Tab, and more.\n" +
		"  fallbackModel: \n  spendLimitHit: false", code: 1}
}
