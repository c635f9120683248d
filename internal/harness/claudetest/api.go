package claudetest

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
)

// Behavior is what the API does with the requests that come. Its zero value answers "Fake answer to turn N: PROMPT". A
// directive in a prompt overrides it for that prompt; the words are those in brackets.
type Behavior struct {
	Gate       <-chan struct{} // if set, wait before an answer until it is closed
	Delay      time.Duration   // before an answer (delay, in milliseconds)
	ChunkDelay time.Duration   // between two pieces of an answer (chunk, in milliseconds)
	Status     int             // fail with this HTTP status: 400, 401, 429, 500, 529, … (status)
	FailFirst  int             // fail only that many requests; 0: each one, while Status is set
	Header     http.Header     // sent with a failure, such as retry-after
	Text       string          // the answer
	Length     int             // pad the answer to this many bytes (long)
	CutAfter   int             // drop the connection after this many pieces (cut)
	Tool       string          // call this tool once for each prompt, then answer (tool)
	ToolInput  json.RawMessage // with this input (the object in the directive)
}

// with returns b as the newest prompt wants it.
func (b Behavior) with(d agenttest.Directives) Behavior {
	b.Delay = time.Duration(d.Number("delay", int(b.Delay.Milliseconds()))) * time.Millisecond
	b.ChunkDelay = time.Duration(d.Number("chunk", int(b.ChunkDelay.Milliseconds()))) * time.Millisecond
	b.Length, b.CutAfter = d.Number("long", b.Length), d.Number("cut", b.CutAfter)
	if d.Has("status") {
		b.Status, b.FailFirst = d.Number("status", http.StatusInternalServerError), 0
	}
	if d.Has("tool") {
		b.Tool = d["tool"]
	}
	if d.Has("input") {
		b.ToolInput = json.RawMessage(d["input"])
	}
	return b
}

// Request is a question that the API was asked.
type Request struct {
	Session string // the conversation, as the program names it in a header
	Status  int    // what was answered; 0 while it is thought about
	Body    string // all of it
	Turns   int    // prompts in the conversation, this one included
	Prompt  string // the newest, whole
	Result  string // of a tool, when this request brings one
	Side    bool   // not a turn: a title, a summary
}

// API is a stand-in for the Anthropic Messages API, for the real Claude Code to talk to.
type API struct {
	server *httptest.Server

	mu       sync.Mutex
	behavior Behavior  // guarded by mu
	failed   int       // guarded by mu; requests that Status failed so far
	requests []Request // guarded by mu
}

// NewAPI starts an API on a loopback address. It must be closed.
func NewAPI(b Behavior) *API {
	a := &API{behavior: b}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", a.messages)
	mux.HandleFunc("POST /v1/messages/count_tokens", countTokens)
	mux.HandleFunc("/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "there is no "+r.URL.Path)
	})
	a.server = httptest.NewUnstartedServer(mux)
	a.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // connections are cut on purpose
	a.server.Start()
	return a
}

// Close ends every connection and waits for the handlers.
func (a *API) Close() {
	a.server.CloseClientConnections()
	a.server.Close()
}

// Env returns the variables that make Claude Code talk to the API, and to nobody else.
func (a *API) Env() map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL":                       a.server.URL,
		"ANTHROPIC_AUTH_TOKEN":                     "not-a-token",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"CLAUDE_CODE_MAX_RETRIES":                  "0",
		"DISABLE_AUTOUPDATER":                      "1",
		"DISABLE_TELEMETRY":                        "1",
	}
}

// Behave changes what the API does from now on.
func (a *API) Behave(b Behavior) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.behavior, a.failed = b, 0
}

// Requests returns what the API was asked so far.
func (a *API) Requests() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// ask records a request, and returns its place and what is to be done with it.
func (a *API) ask(r Request) (seq int, b Behavior) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r)
	return len(a.requests) - 1, a.behavior
}

func (a *API) answered(seq, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests[seq].Status = status
}

// takeFailure reports whether this request is one of those to fail.
func (a *API) takeFailure(b Behavior) bool {
	if b.Status == 0 || b.Status == http.StatusOK {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed++
	return b.FailFirst == 0 || a.failed <= b.FailFirst
}

func (a *API) messages(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	var asked question
	if err := json.Unmarshal(body, &asked); err != nil {
		writeError(w, http.StatusBadRequest, "bad request: "+err.Error())
		return
	}
	rec := asked.request()
	rec.Session, rec.Body = r.Header.Get("X-Claude-Code-Session-Id"), string(body)
	seq, b := a.ask(rec)
	status := a.respond(w, r, asked, rec, seq, b.with(agenttest.FindDirectives(rec.Prompt)))
	a.answered(seq, status)
}

// respond returns the status that it answers with, or 0 when the client left before.
func (a *API) respond(w http.ResponseWriter, r *http.Request, asked question, rec Request, seq int, b Behavior) int {
	w.Header().Set("Request-Id", "req_fake_"+strconv.Itoa(seq))
	re := newReply(seq, asked.Model, rec, b)
	switch {
	case rec.Side:
		re = reply{id: seq, model: asked.Model, text: "Fake side answer"}
	case !pause(r, b.Delay) || !passes(r, b.Gate):
		return 0
	case a.takeFailure(b):
		for name := range b.Header {
			w.Header().Set(name, b.Header.Get(name))
		}
		writeError(w, b.Status, http.StatusText(b.Status)+" (fake)")
		return b.Status
	}
	if asked.Stream {
		re.stream(w, r)
	} else {
		writeJSON(w, http.StatusOK, re.whole())
	}
	return http.StatusOK
}

func newReply(seq int, model string, rec Request, b Behavior) reply {
	re := reply{id: seq, model: model, chunkDelay: b.ChunkDelay, cutAfter: b.CutAfter}
	switch {
	case b.Tool != "" && rec.Result == "":
		re.text, re.tool, re.input = "Calling "+b.Tool+".", b.Tool, b.ToolInput
		if len(re.input) == 0 {
			re.input = json.RawMessage(`{}`)
		}
	case b.Text != "":
		re.text = b.Text
	case rec.Result != "":
		re.text = fmt.Sprintf("Fake answer to turn %d after a tool: %s", rec.Turns, clip(rec.Result, 80))
	default:
		re.text = fmt.Sprintf("Fake answer to turn %d: %s", rec.Turns, clip(rec.Prompt, 80))
	}
	if missing := b.Length - len(re.text); missing > 0 {
		re.text += strings.Repeat("\nmore of a long fake answer", missing/26+1)[:missing]
	}
	return re
}

func countTokens(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	writeJSON(w, http.StatusOK, map[string]int64{"input_tokens": n/4 + 1})
}

// pause waits, and reports false when the client left meanwhile.
func pause(r *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.Context().Done():
		return false
	}
}

// passes waits for a gate, if there is one, and reports false when the client left meanwhile.
func passes(r *http.Request, gate <-chan struct{}) bool {
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-r.Context().Done():
		return false
	}
}

func clip(s string, n int) string {
	r := []rune(s)
	return string(r[:min(n, len(r))])
}
