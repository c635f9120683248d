package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/config"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	next := config.Default()
	next.Webhook.Listen = "127.0.0.1:1"
	next.Routing.AuthorizedUsers = []string{"a"}
	next.Routing.Join = 1500 * time.Millisecond
	next.Routing.Deliver["issues"] = nil
	next.Harness["claude"] = config.Harness{Command: "claude", Trust: true, Env: map[string]string{"API_KEY": "hush"}}
	delete(next.Harness, "codex")

	changed, restart := config.Diff(config.Default(), next)
	want := []config.Change{
		{Key: "webhook.listen", Old: `"127.0.0.1:8787"`, New: `"127.0.0.1:1"`},
		{Key: "routing.authorized_users", Old: "[]", New: `["a"]`},
		{Key: "routing.join_seconds", Old: "2", New: "1.5"},
		{Key: "routing.deliver.issues", Old: `["reopened"]`, New: "[]"},
		{Key: "harness.claude.env", Old: "***", New: "***"},
		{Key: "harness.codex.command", Old: `"codex"`},
		{Key: "harness.codex.args", Old: "[]"},
		{Key: "harness.codex.env", Old: "***", New: "***"},
		{Key: "harness.codex.trust", Old: "true"},
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"webhook.listen"}, restart); diff != "" {
		t.Errorf("need a restart (-want +got):\n%s", diff)
	}
	if changed, restart := config.Diff(next, next); changed != nil || restart != nil {
		t.Errorf("the same configuration differs: %v, %v", changed, restart)
	}
}

// What is shown is a file that says the same, whatever characters are in it.
func TestRenderReadsBack(t *testing.T) {
	t.Parallel()
	want := config.Default()
	want.Daemon.Socket = "/run/\"odd\\\"\n\x1b[31m\x7f\u202e\U0001F600"
	want.Routing.Join = 123456 * time.Microsecond
	want.Routing.Deliver["status"] = nil
	want.Harness["claude"] = config.Harness{
		Command: "claude", Args: []string{"--model", "a b", ""}, Env: map[string]string{"A": "x=y", "B": "'"}, Trust: false,
	}
	text := config.Render(want)
	got, _, err := config.Decode(text, file, home)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.ContainsAny(string(text), "\x1b\x7f\u202e") {
		t.Error("control characters are shown as they are")
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	tree, err := config.Tree(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	keep := map[string]any{
		"days": int64(35), "body_days": int64(7), "transcript_days": int64(90), "dead_panes": int64(20), "closed_days": int64(90),
	}
	if diff := cmp.Diff(keep, tree["keep"]); diff != "" {
		t.Errorf("keep (-want +got):\n%s", diff)
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Harness["claude"] = config.Harness{Command: "claude", Env: map[string]string{"API_KEY": "hush"}}
	shown := string(config.Render(cfg.Redacted()))
	if strings.Contains(shown, "hush") || !strings.Contains(shown, `API_KEY = "***"`) {
		t.Errorf("shown:\n%s", shown)
	}
	if got := cfg.Harness["claude"].Env["API_KEY"]; got != "hush" {
		t.Errorf("the configuration itself now holds %q", got)
	}
}
