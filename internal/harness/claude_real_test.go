package harness_test

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/prompt"
)

// newReal returns the real Claude Code that LOOP_CLAUDE names, with a home of its own, and the API that it talks to.
func newReal(t *testing.T, env map[string]string, args ...string) (rig, *claudetest.API) {
	t.Helper()
	command := os.Getenv("LOOP_CLAUDE")
	if command == "" {
		t.Skip("LOOP_CLAUDE is not the path of a real claude; make e2e-claude installs one and sets it")
	}
	api := claudetest.NewAPI(claudetest.Behavior{})
	t.Cleanup(api.Close)
	all := api.Env()
	all["HOME"], all["TMPDIR"] = t.TempDir(), t.TempDir()
	maps.Copy(all, env)
	return rig{
		kind: kinds(t)[0],
		agent: agent(t, harness.Options{
			Environ: []string{"PATH=" + os.Getenv("PATH")},
			Agents:  map[string]harness.Program{"claude": {Command: command, Args: args, Env: all}},
		}),
		dir:   t.TempDir(),
		begun: func() (int, error) { return len(api.Requests()), nil },
	}, api
}

func TestReal(t *testing.T) {
	t.Parallel()
	c, _ := newReal(t, nil)
	testConversations(t, c)
	testClaude(t, c)
}

// Text from a stranger that names a file does not bring that file before the model, as it would unguarded.
func TestRealReadsNoFileForAStranger(t *testing.T) {
	t.Parallel()
	c, api := newReal(t, nil)
	if err := os.WriteFile(filepath.Join(c.dir, "diary"), []byte("what nobody is to know"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := func() bool {
		last := api.Requests()[len(api.Requests())-1]
		return strings.Contains(last.Body, "what nobody is to know")
	}
	id := c.agent.MintID()
	wantOutcome(t, c.start(t, id, "look at @diary"), loop.Outcome{Kind: loop.RunDone, SessionID: id, Turns: 1})
	if !seen() {
		t.Error("an unguarded name brought no file: this test shows nothing")
	}
	id = c.agent.MintID()
	text := prompt.Templates{}.Render(prompt.Input{Item: item, Events: []loop.Event{{
		Kind: loop.KindIssueComment, Comment: loop.Comment{Body: "look at @diary\n@diary\t@diary @./diary @\"diary\""}, Item: loop.Item{Title: "@diary"},
	}}})
	wantOutcome(t, c.start(t, id, text), loop.Outcome{Kind: loop.RunDone, SessionID: id, Turns: 1})
	if seen() {
		t.Error("the file was read")
	}
}

func TestRealUsageLimit(t *testing.T) {
	t.Parallel()
	// With an account's login, and not a key, it tells a used-up plan from too many requests.
	c, api := newReal(t, map[string]string{"ANTHROPIC_AUTH_TOKEN": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-not-a-token"})
	reset := time.Now().Add(50 * time.Hour).Truncate(time.Minute)
	limit := http.Header{}
	limit.Set("Anthropic-Ratelimit-Unified-Status", "rejected")
	limit.Set("Anthropic-Ratelimit-Unified-Representative-Claim", "seven_day")
	limit.Set("Anthropic-Ratelimit-Unified-Reset", strconv.FormatInt(reset.Unix(), 10))
	api.Behave(claudetest.Behavior{Status: http.StatusTooManyRequests, Header: limit})
	id := c.agent.MintID()
	wantOutcome(t, c.start(t, id, "hello"), loop.Outcome{
		Kind: loop.RunHeld, Reason: loop.HeldUsageLimit, Detail: "weekly limit", Until: reset, SessionID: id, Turns: 1,
	})
}

func TestRealUnreachable(t *testing.T) {
	t.Parallel()
	c, api := newReal(t, nil)
	api.Close()
	id := c.agent.MintID()
	wantOutcome(t, c.start(t, id, "hello"), loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldUnreachable, SessionID: id, Turns: 1})
}

func TestRealWithoutLogin(t *testing.T) {
	t.Parallel()
	c, _ := newReal(t, map[string]string{"ANTHROPIC_AUTH_TOKEN": ""})
	id := c.agent.MintID()
	wantOutcome(t, c.start(t, id, "hello"), loop.Outcome{
		Kind: loop.RunHeld, Reason: loop.HeldNotLoggedIn, Detail: "Not logged in", SessionID: id, Turns: 1,
	})
}

func TestRealWithOtherArguments(t *testing.T) {
	t.Parallel()
	c, _ := newReal(t, nil, "--verbose", "--allowedTools", "Read")
	id := c.agent.MintID()
	wantOutcome(t, c.start(t, id, "hello"), loop.Outcome{Kind: loop.RunDone, Detail: ": hello", SessionID: id, Turns: 1})
	wantOutcome(t, c.resume(t, "no-such-title", "hello"), loop.Outcome{Kind: loop.RunLost, Detail: "--resume requires a valid session ID"})
	bad, _ := newReal(t, nil, "--no-such-flag")
	wantOutcome(t, bad.start(t, id, "hello"), loop.Outcome{Kind: loop.RunFailed, Detail: "unknown option '--no-such-flag'"})
}
