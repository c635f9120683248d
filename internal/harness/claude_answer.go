package harness

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/loop-daemon/loop/internal/loop"
)

// answer is the result object that Claude Code prints when a turn is over.
type answer struct {
	verdict
	details
}

// verdict is the part of an answer that every version has. Without it there is no answer.
type verdict struct {
	Type     string `json:"type"`
	IsError  *bool  `json:"is_error"`
	NumTurns int    `json:"num_turns"`
	Result   string `json:"result"`
}

// details come and go by version. They are used where they are found.
type details struct {
	SessionID  loop.SessionID `json:"session_id"`
	APIStatus  int            `json:"api_error_status"`
	APIError   string         `json:"api_error"` // such as usage_limit_reached
	Errors     []string       `json:"errors"`
	DurationMS int64          `json:"duration_ms"`
	CostUSD    float64        `json:"total_cost_usd"` // of the conversation so far
	Denials    []struct {
		Tool string `json:"tool_name"`
	} `json:"permission_denials"`
}

// findAnswer looks for the result object in what was printed: all of it, the last element of a list (--verbose prints one),
// or the last line that is one, since warnings may stand around it. It reads every byte a fixed number of times.
func findAnswer(stdout []byte) (answer, bool) {
	rest := bytes.TrimSpace(stdout)
	if a, ok := parseAnswer(rest); ok {
		return a, true
	}
	for len(rest) > 0 {
		end := bytes.LastIndexByte(rest, '\n')
		if a, ok := parseAnswer(bytes.TrimSpace(rest[end+1:])); ok {
			return a, true
		}
		rest = rest[:max(end, 0)]
	}
	return answer{}, false
}

func parseAnswer(text []byte) (answer, bool) {
	if !bytes.Contains(text, []byte(`"is_error"`)) {
		return answer{}, false
	}
	if text[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil || len(list) == 0 {
			return answer{}, false
		}
		text = list[len(list)-1]
	}
	var a answer
	if text[0] != '{' || json.Unmarshal(text, &a.verdict) != nil || a.Type != "result" || a.IsError == nil {
		return answer{}, false
	}
	// A detail that some version spells differently is no reason to disbelieve the rest.
	_ = json.Unmarshal(text, &a.details)
	return a, true
}

// succeeded reports whether a turn was run and ended well.
func (a answer) succeeded() bool { return !*a.IsError && a.NumTurns > 0 }

// denied returns the names of the tools that were refused, each once.
func (a answer) denied() []string {
	var tools []string
	for _, d := range a.Denials {
		if name := oneLine(d.Tool); name != "" && !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return tools
}
