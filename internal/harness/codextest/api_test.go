package codextest_test

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness/codextest"
)

func TestAPI(t *testing.T) {
	t.Parallel()
	api := codextest.NewAPI()
	t.Cleanup(api.Close)
	base := regexp.MustCompile(`base_url="(http://([^:]+):\d+/v1)"`).FindStringSubmatch(strings.Join(api.Args(), " "))
	if base == nil || !net.ParseIP(base[2]).IsLoopback() {
		t.Fatalf("it is not on the loopback device: %q", api.Args())
	}
	user := func(text string) string {
		return `{"type":"message","role":"user","content":[{"text":"` + text + `"}]}`
	}
	tests := []struct {
		name   string
		input  []string
		status int
		want   string
	}{
		{"first turn", []string{user("<environment_context>x"), user("hello")}, 200, "Fake answer to turn 1: hello"},
		{"second turn", []string{user("one"), user("two")}, 200, "Fake answer to turn 2: two"},
		{"status", []string{user("[[agent status=503]]")}, 503, "fake"},
		{"limit", []string{user("[[agent limit=1796040000]]")}, 429, `"resets_at":1796040000`},
		{"tool", []string{user(`[[agent tool=exec {\"cmd\":\"true\"}]]`)}, 200, `"name":"exec"`},
		{"tool's result", []string{user(`[[agent tool=exec]]`), `{"type":"function_call_output","output":"ok"}`}, 200, "Fake answer to turn 1"},
		{"no JSON", []string{"]"}, 400, "invalid"},
	}
	for _, tt := range tests {
		body := `{"input":[` + strings.Join(tt.input, ",") + `]}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base[1]+"/responses", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != tt.status || !strings.Contains(string(text), tt.want) {
			t.Errorf("%s: got %d %q, %v; want %d with %q", tt.name, res.StatusCode, text, err, tt.status, tt.want)
		}
	}
	want := codextest.Request{Turns: 1, Prompt: "[[agent tool=exec]]", Result: "ok"}
	if diff := cmp.Diff(want, api.Requests()[5]); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}
