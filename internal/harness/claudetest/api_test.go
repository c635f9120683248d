package claudetest_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/harness/claudetest"
)

func newAPI(t *testing.T, b claudetest.Behavior) *claudetest.API {
	t.Helper()
	api := claudetest.NewAPI(b)
	t.Cleanup(api.Close)
	return api
}

// ask sends a conversation and returns the answer's status and body; err tells that it broke off.
func ask(t *testing.T, api *claudetest.API, fields string, messages ...string) (status int, body string, err error) {
	t.Helper()
	text := `{"model":"m","tools":[{}],` + fields + `"messages":[` + strings.Join(messages, ",") + `]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api.Env()["ANTHROPIC_BASE_URL"]+"/v1/messages", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Claude-Code-Session-Id", "abc")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

func user(text string) string {
	quoted, _ := json.Marshal(text)
	return `{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":` + string(quoted) + `}]}`
}

func TestAPIIsLocal(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(newAPI(t, claudetest.Behavior{}).Env()["ANTHROPIC_BASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	if ip := net.ParseIP(u.Hostname()); !ip.IsLoopback() {
		t.Errorf("it listens on %s", u.Host)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	api := newAPI(t, claudetest.Behavior{})
	const result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"it is done"}]}`
	said := `{"role":"assistant","content":"yes"}`
	tests := []struct {
		name, fields string
		messages     []string
		want         string
	}{
		{"first turn", "", []string{user("hello")}, "Fake answer to turn 1: hello"},
		{"second turn", "", []string{user("hello"), said, user("again")}, "Fake answer to turn 2: again"},
		{"plain text", "", []string{`{"role":"user","content":"plain"}`}, "Fake answer to turn 1: plain"},
		{"streamed", `"stream":true,`, []string{user("hello")}, `"text":"Fake answer to turn 1: hello"`},
		{"tool", "", []string{user(`go [[claude tool=Bash {"command":"true"}]]`)}, `"input":{"command":"true"},"name":"Bash"`},
		{"tool, streamed", `"stream":true,`, []string{user(`go [[claude tool=Bash {"command":"true"}]]`)}, `"partial_json":"{\"command\":\"true\"}"`},
		{"tool's result", "", []string{user("go [[claude tool=Bash]]"), said, result}, "after a tool: it is done"},
		{"long", "", []string{user("go [[claude long=900]]")}, "more of a long fake answer"},
		{"not a turn", `"tools":[],`, []string{user("title [[claude status=400]]")}, "Fake side answer"},
		{"bad directive", "", []string{user("go [[claude delay=soon {]]")}, "Fake answer to turn 1: go"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, body, err := ask(t, api, tt.fields, tt.messages...)
			if status != http.StatusOK || err != nil || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %q, %v, want %q in it", status, body, err, tt.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	header.Set("Retry-After", "7")
	api := newAPI(t, claudetest.Behavior{Status: 529, FailFirst: 2, Header: header})
	for i, want := range []int{529, 529, 200, 200} {
		if status, body, err := ask(t, api, "", user("hello")); status != want || err != nil || strings.Contains(body, "overloaded_error") != (want == 529) {
			t.Errorf("request %d: got %d %q, %v, want %d", i, status, body, err, want)
		}
	}
	if status, _, err := ask(t, api, "", user("hello [[claude status=429]]")); status != 429 || err != nil {
		t.Errorf("by directive: got %d, %v", status, err)
	}
	if _, _, err := ask(t, api, `"stream":true,`, user("hello [[claude cut=1 long=900]]")); err == nil {
		t.Error("the answer was not cut")
	}
	if status, _, err := ask(t, api, "", "no json"); status != 400 || err != nil {
		t.Errorf("no JSON: got %d, %v", status, err)
	}
	api.Behave(claudetest.Behavior{Text: "as told"})
	if _, body, err := ask(t, api, "", user("hello")); !strings.Contains(body, "as told") {
		t.Errorf("got %q, %v", body, err)
	}
}

func TestGateHoldsAnswersBack(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	api := newAPI(t, claudetest.Behavior{Gate: gate})
	answered := make(chan int, 1)
	go func() {
		status, _, _ := ask(t, api, "", user("hello"))
		answered <- status
	}()
	for len(api.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	api.Behave(claudetest.Behavior{})
	if status, _, err := ask(t, api, "", user("meanwhile")); status != 200 || err != nil {
		t.Errorf("without a gate: got %d, %v", status, err)
	}
	if status := api.Requests()[0].Status; status != 0 {
		t.Errorf("answered with %d before the gate was open", status)
	}
	close(gate)
	if status := <-answered; status != 200 {
		t.Errorf("got %d once the gate was open", status)
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	t.Parallel()
	api := newAPI(t, claudetest.Behavior{})
	for _, text := range []string{"hello", "hello [[claude status=401]]"} {
		if _, _, err := ask(t, api, "", user(text)); err != nil {
			t.Fatal(err)
		}
	}
	want := []claudetest.Request{
		{Session: "abc", Status: 200, Turns: 1, Prompt: "hello"},
		{Session: "abc", Status: 401, Turns: 1, Prompt: "hello [[claude status=401]]"},
	}
	if diff := cmp.Diff(want, api.Requests(), cmpopts.IgnoreFields(claudetest.Request{}, "Body")); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
