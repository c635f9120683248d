// Package codextest imitates the API that Codex talks to, for tests with the real program.
//
// It answers at once and at no cost, fails where it is told to, and listens on nothing but the loopback device. What it is to
// do stands in the newest prompt, as a directive such as [[agent status=429]]: delay=MS waits before the answer, status=N fails
// with an HTTP status, limit=SECONDS says that the plan is used up until that time of Unix, and tool=NAME with an object of
// arguments calls a tool first.
package codextest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// API is a stand-in for OpenAI's Responses API.
type API struct {
	server *httptest.Server

	mu       sync.Mutex
	requests []Request // guarded by mu
}

// Request is a question that the API was asked.
type Request struct {
	Turns  int    // prompts in the conversation, this one included
	Prompt string // the newest, whole
	Result string // of a tool, when this request brings one
}

// NewAPI starts an API on a loopback address. It must be closed.
func NewAPI() *API {
	a := &API{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/responses", a.responses)
	a.server = httptest.NewUnstartedServer(mux)
	a.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // clients leave in the middle
	a.server.Start()
	return a
}

// Close ends every connection and waits for the handlers.
func (a *API) Close() {
	a.server.CloseClientConnections()
	a.server.Close()
}

// Args returns the arguments that make Codex talk to the API, and try each request once.
func (a *API) Args() []string {
	provider := fmt.Sprintf(`model_providers.fake={name="fake",base_url=%q,wire_api="responses",env_key="FAKE_KEY",request_max_retries=0,stream_max_retries=0}`,
		a.server.URL+"/v1")
	return []string{"-m", "fake", "-c", "model_provider=fake", "-c", provider, "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"}
}

// Env returns the variables that go with Args. They keep Codex from talking to anybody else.
func (a *API) Env() map[string]string {
	const nowhere = "http://127.0.0.1:9"
	return map[string]string{"FAKE_KEY": "not-a-key", "HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "ALL_PROXY": nowhere, "NO_PROXY": "127.0.0.1"}
}

// Requests returns what the API was asked so far.
func (a *API) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// question is the part of a request that the API looks at.
type question struct {
	Input []struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Output  any    `json:"output"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"input"`
}

// request reads the conversation, without what Codex itself says to the model.
func (q question) request() Request {
	var r Request
	for _, in := range q.Input {
		switch {
		case in.Type == "function_call_output":
			r.Result = fmt.Sprint(in.Output)
		case in.Type == "message" && in.Role == "user" && len(in.Content) > 0 && !strings.HasPrefix(in.Content[0].Text, "<environment_context>"):
			r.Turns++
			r.Prompt, r.Result = in.Content[len(in.Content)-1].Text, ""
		}
	}
	return r
}

func (a *API) responses(w http.ResponseWriter, req *http.Request) {
	var q question
	if err := json.NewDecoder(req.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r := q.request()
	a.mu.Lock()
	a.requests = append(a.requests, r)
	a.mu.Unlock()
	do := agenttest.FindDirectives(r.Prompt)
	select {
	case <-time.After(time.Duration(do.Number("delay", 0)) * time.Millisecond):
	case <-req.Context().Done():
		return
	}
	switch {
	case do.Has("status"):
		fail(w, do.Number("status", http.StatusInternalServerError), map[string]any{"message": "fake"})
	case do.Has("limit"):
		fail(w, http.StatusTooManyRequests, map[string]any{"type": "usage_limit_reached", "plan_type": "plus", "resets_at": do.Number("limit", 0)})
	default:
		stream(w, r, do)
	}
}

func fail(w http.ResponseWriter, status int, problem map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": problem}) // the client left
}

// stream sends an answer as server-sent events.
func stream(w http.ResponseWriter, r Request, do agenttest.Directives) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, v map[string]any) {
		v["type"] = event
		data, _ := json.Marshal(v) // maps of strings and numbers
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data)
		_ = http.NewResponseController(w).Flush()
	}
	text := fmt.Sprintf("Fake answer to turn %d: %s", r.Turns, r.Prompt)
	item := map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": text}}}
	if do.Has("tool") && r.Result == "" {
		item = map[string]any{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": do["tool"], "arguments": do["input"]}
	}
	send("response.created", map[string]any{"response": map[string]any{"id": "resp_1"}})
	send("response.output_item.done", map[string]any{"output_index": 0, "item": item})
	send("response.completed", map[string]any{"response": map[string]any{
		"id": "resp_1", "usage": map[string]any{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
	}})
}
