package claudetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const pieceLength = 48 // characters of one streamed piece

// reply is one answer of the API.
type reply struct {
	id         int
	model      string
	text       string
	tool       string // called after the text, unless it is ""
	input      json.RawMessage
	chunkDelay time.Duration
	cutAfter   int
}

func (re reply) message() map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("msg_fake_%06d", re.id), "type": "message", "role": "assistant", "model": re.model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]int{"input_tokens": 1000, "output_tokens": (len(re.text)+len(re.input))/4 + 1},
	}
}

func (re reply) stopReason() string {
	if re.tool != "" {
		return "tool_use"
	}
	return "end_turn"
}

func (re reply) toolUse(input any) map[string]any {
	return map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_fake_%06d", re.id), "name": re.tool, "input": input}
}

func (re reply) whole() map[string]any {
	content := []any{map[string]any{"type": "text", "text": re.text}}
	if re.tool != "" {
		content = append(content, re.toolUse(re.input))
	}
	m := re.message()
	m["content"], m["stop_reason"] = content, re.stopReason()
	return m
}

// stream sends the answer as server-sent events, and cuts the connection where it is told to.
func (re reply) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	send := func(event string, v map[string]any) {
		v["type"] = event
		data, _ := json.Marshal(v) // maps of strings, numbers and valid JSON
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)
		_ = http.NewResponseController(w).Flush()
	}
	send("message_start", map[string]any{"message": re.message()})
	send("content_block_start", map[string]any{"index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
	rest := []rune(re.text)
	for n := 0; len(rest) > 0; n++ {
		if re.cutAfter > 0 && n >= re.cutAfter {
			panic(http.ErrAbortHandler) // net/http's way to close a connection in the middle of an answer
		}
		piece := rest[:min(pieceLength, len(rest))]
		rest = rest[len(piece):]
		send("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "text_delta", "text": string(piece)}})
		if !pause(r, re.chunkDelay) {
			return
		}
	}
	send("content_block_stop", map[string]any{"index": 0})
	if re.tool != "" {
		send("content_block_start", map[string]any{"index": 1, "content_block": re.toolUse(map[string]any{})})
		send("content_block_delta", map[string]any{"index": 1, "delta": map[string]any{
			"type": "input_json_delta", "partial_json": string(re.input),
		}})
		send("content_block_stop", map[string]any{"index": 1})
	}
	send("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": re.stopReason(), "stop_sequence": nil}, "usage": re.message()["usage"],
	})
	send("message_stop", map[string]any{})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client left
}

// writeError answers as the real API does.
func writeError(w http.ResponseWriter, status int, text string) {
	kinds := map[int]string{
		http.StatusBadRequest: "invalid_request_error", http.StatusUnauthorized: "authentication_error",
		http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
		http.StatusTooManyRequests: "rate_limit_error", statusOverloaded: "overloaded_error",
	}
	kind, ok := kinds[status]
	if !ok {
		kind = "api_error"
	}
	writeJSON(w, status, map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": text}})
}

const statusOverloaded = 529
