package harness_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
)

var hookedAt = time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)

const (
	shownRun = "20260702-100000-123-abc234"
	inPane   = "LOOP_WORK_ITEM=github:acme/shop#15 LOOP_LAUNCH=l-1 CLAUDE_PID=4711 CLAUDE_CODE_SESSION_ATTENDED=1 CLAUDE_CODE_ENTRYPOINT=cli"
)

// environment looks variables up in NAME=VALUE words.
func environment(words string) func(string) string {
	return func(name string) string {
		for word := range strings.FieldsSeq(words) {
			if value, ok := strings.CutPrefix(word, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestReadHook(t *testing.T) {
	t.Parallel()
	w, err := loop.ParseRef("github:acme/shop#15")
	if err != nil {
		t.Fatal(err)
	}
	told := func(event loop.HookEvent, change ...func(*loop.Report)) loop.Report {
		r := loop.Report{
			Event: event, Item: w, Harness: "claude", SessionID: "3f9a", Launch: "l-1", PID: 4711, Cwd: "/home/user/shop", At: hookedAt,
		}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	source := func(s string) func(*loop.Report) { return func(r *loop.Report) { r.Source = s } }
	detail := func(s string) func(*loop.Report) { return func(r *loop.Report) { r.Detail = s } }
	nothing := loop.Report{}
	for _, tt := range []struct {
		name, event, env string // no env is that of a pane
		more             string // what stdin holds beside the id and the folder
		want             loop.Report
	}{
		{"start", "", "", `"hook_event_name":"SessionStart","source":"startup","model":"opus"`, told(loop.HookStart, source("startup"))},
		{"clear", "", "", `"hook_event_name":"SessionStart","source":"clear"`, told(loop.HookStart, source("clear"))},
		{
			"prompt", "", "", `"hook_event_name":"UserPromptSubmit","prompt":"secret [loop ` + shownRun + `] words [loop x]"`,
			told(loop.HookPrompt, func(r *loop.Report) { r.Runs = []loop.RunID{shownRun} }),
		},
		{"stop", "", "", `"hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"[loop ` + shownRun + `]"`, told(loop.HookStop)},
		{"failure", "", "", `"hook_event_name":"StopFailure","error":"overloaded"`, told(loop.HookFailure)},
		{
			"permission", "", "", `"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm"}`,
			told(loop.HookWaiting, detail("permission to use Bash")),
		},
		{
			"permission told of", "", "",
			`"hook_event_name":"Notification","notification_type":"permission_prompt","message":"Claude needs\nyour permission"`,
			told(loop.HookWaiting, source("permission_prompt"), detail("Claude needs your permission")),
		},
		{"idle", "", "", `"hook_event_name":"Notification","notification_type":"idle_prompt","message":"Claude waits"`, nothing},
		{"another event", "", "", `"hook_event_name":"PreToolUse","tool_name":"Bash"`, nothing},
		{"no event", "", "", `"source":"startup"`, nothing},
		{"end", "", "", `"hook_event_name":"SessionEnd","reason":"prompt_input_exit"`, told(loop.HookEnd, source("prompt_input_exit"))},
		{"named by the argument", "stop", "", `"hook_event_name":"SubagentStop"`, told(loop.HookStop)},
		{
			"a headless run of ours", "", "LOOP_WORK_ITEM=github:acme/shop#15 LOOP_RUN=" + shownRun + " CLAUDE_CODE_SESSION_ATTENDED=0",
			`"hook_event_name":"SessionStart","source":"resume"`,
			told(loop.HookStart, source("resume"), func(r *loop.Report) { r.Run, r.Launch, r.PID = shownRun, "", 0 }),
		},
		{"a script's run", "", "CLAUDE_CODE_SESSION_ATTENDED=0", `"hook_event_name":"SessionStart"`, nothing},
		{"a script's run within a pane of ours", "", "LOOP_WORK_ITEM=github:acme/shop#15 LOOP_LAUNCH=l-1 CLAUDE_CODE_ENTRYPOINT=sdk-cli", `"hook_event_name":"SessionStart"`, nothing},
		{
			"a terminal of a person", "", "CLAUDE_PID=1 LOOP_WORK_ITEM=nonsense", `"hook_event_name":"Stop"`,
			told(loop.HookStop, func(r *loop.Report) { r.Item, r.Launch, r.PID = loop.WorkItem{}, "", 0 }),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := tt.env
			if env == "" {
				env = inPane
			}
			stdin := `{"session_id":"3f9a","transcript_path":"/x","cwd":"/home/user/shop",` + tt.more + `}`
			got, err := harness.ReadHook("claude", tt.event, []byte(stdin), environment(env), hookedAt)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v; report (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReadHookRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"session_id":"3f9a","hook_event_name":"Stop"}`
	for _, tt := range []struct{ name, harness, event, stdin, env string }{
		{"another harness", "vim", "", good, ""},
		{"another event", "claude", "PreToolUse", good, ""},
		{"nothing", "claude", "", "", ""},
		{"no JSON", "claude", "stop", "stop", ""},
		{"a list", "claude", "", "[]", ""},
		{"no id", "claude", "", `{"hook_event_name":"Stop"}`, ""},
		{"an id that is a flag", "claude", "", `{"session_id":"--yolo","hook_event_name":"Stop"}`, ""},
		{"a launch that is a path", "claude", "", good, "LOOP_LAUNCH=../x"},
		{"a run that is a path", "claude", "", good, "LOOP_RUN=../x"},
		{"too much", "claude", "", `{"session_id":"3f9a","hook_event_name":"Stop","x":"` + strings.Repeat("x", harness.MaxHookInput) + `"}`, ""},
	} {
		if got, err := harness.ReadHook(tt.harness, tt.event, []byte(tt.stdin), environment(tt.env), hookedAt); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("%s: %+v, %v; want ErrInvalid", tt.name, got, err)
		}
	}
}

func FuzzReadHook(f *testing.F) {
	f.Add("claude", "", `{"session_id":"3f9a","hook_event_name":"UserPromptSubmit","prompt":"[loop `+shownRun+`]"}`, "l-1", "github:acme/shop#15", "4711")
	f.Add("cursor", "", `{"conversation_id":"3f9a","hook_event_name":"stop","workspace_roots":["/x"],"status":"error"}`, "", "", "")
	f.Add("gemini", "waiting", `{"session_id":"3f9a","message":"a\nb","tool_name":"Bash","cwd":"/x"}`, "", "", "-1")
	f.Fuzz(func(t *testing.T, name, event, stdin, launch, item, pid string) {
		env := map[string]string{"LOOP_LAUNCH": launch, "LOOP_WORK_ITEM": item, "CLAUDE_PID": pid}
		r, err := harness.ReadHook(name, event, []byte(stdin), func(name string) string { return env[name] }, hookedAt)
		if err != nil || r.Event == "" {
			return
		}
		if r.SessionID.Check() != nil || r.PID < 0 || r.PID == 1 || len(r.Launch) > 100 || len(r.Runs) > 100 || r.Cwd != "" && !filepath.IsAbs(r.Cwd) {
			t.Errorf("a report that must not leave: %+v", r)
		}
		for _, line := range []string{r.Source, r.Detail} {
			if len([]rune(line)) > 400 || strings.ContainsFunc(line, func(r rune) bool { return unicode.IsSpace(r) && r != ' ' }) {
				t.Errorf("no line of bounded length: %q", line)
			}
		}
	})
}

// TestReadHookOfOthers holds what the hooks of the other harnesses mean. None of them tells its pid.
func TestReadHookOfOthers(t *testing.T) {
	t.Parallel()
	const env = "LOOP_WORK_ITEM=github:acme/shop#15 CLAUDE_PID=4711 CLAUDE_CODE_SESSION_ATTENDED=0" // as within a conversation of Claude Code
	w, err := loop.ParseRef("github:acme/shop#15")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		harness, event, stdin string
		want                  loop.Report
	}{
		{"codex", "", `{"hook_event_name":"SessionStart","source":"resume"}`, loop.Report{Event: loop.HookStart, Source: "resume"}},
		{"codex", "", `{"hook_event_name":"UserPromptSubmit","prompt":"a [loop ` + shownRun + `]","turn_id":"1"}`, loop.Report{Event: loop.HookPrompt, Runs: []loop.RunID{shownRun}}},
		{"codex", "", `{"hook_event_name":"Stop","last_assistant_message":"a"}`, loop.Report{Event: loop.HookStop}},
		{"codex", "", `{"hook_event_name":"Interrupt"}`, loop.Report{Event: loop.HookStop}},
		{"codex", "", `{"hook_event_name":"PermissionRequest","tool_name":"shell"}`, loop.Report{Event: loop.HookWaiting, Detail: "permission to use shell"}},
		{"codex", "", `{"hook_event_name":"SessionEnd","reason":"other"}`, loop.Report{Event: loop.HookEnd, Source: "other"}},
		{"codex", "", `{"hook_event_name":"PostToolUse"}`, loop.Report{}},
		{"cursor", "", `{"hook_event_name":"sessionStart","is_background_agent":false}`, loop.Report{Event: loop.HookStart}},
		{"cursor", "", `{"hook_event_name":"sessionStart","is_background_agent":true}`, loop.Report{}},
		{"cursor", "", `{"hook_event_name":"beforeSubmitPrompt","prompt":"[loop ` + shownRun + `]"}`, loop.Report{Event: loop.HookPrompt, Runs: []loop.RunID{shownRun}}},
		{"cursor", "", `{"hook_event_name":"stop","status":"completed"}`, loop.Report{Event: loop.HookStop}},
		{"cursor", "", `{"hook_event_name":"stop","status":"aborted"}`, loop.Report{Event: loop.HookStop}},
		{"cursor", "", `{"hook_event_name":"stop","status":"error"}`, loop.Report{Event: loop.HookFailure}},
		{"cursor", "", `{"hook_event_name":"sessionEnd","reason":"user_close"}`, loop.Report{Event: loop.HookEnd, Source: "user_close"}},
		{"cursor", "", `{"hook_event_name":"preToolUse"}`, loop.Report{}},
		{"gemini", "prompt", `{"hook_event_name":"BeforeAgent","prompt":"[loop ` + shownRun + `]"}`, loop.Report{Event: loop.HookPrompt, Runs: []loop.RunID{shownRun}}},
		{"copilot", "end", `{"sessionId":"3f9a","reason":"complete"}`, loop.Report{Event: loop.HookEnd, Source: "complete"}},
	} {
		common := `{"session_id":"3f9a","cwd":"/home/user/shop",`
		switch tt.harness {
		case "cursor":
			common = `{"conversation_id":"3f9a","workspace_roots":["/home/user/shop","/x"],`
		case "copilot":
			common = `{"cwd":"/home/user/shop",`
		}
		if want := &tt.want; want.Event != "" {
			want.Harness, want.SessionID, want.Item, want.Cwd, want.At = tt.harness, "3f9a", w, "/home/user/shop", hookedAt
		}
		got, err := harness.ReadHook(tt.harness, tt.event, []byte(common+tt.stdin[1:]), environment(env), hookedAt)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s, %s: %v; report (-want +got):\n%s", tt.harness, tt.stdin, err, diff)
		}
	}
}
