package harness_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
)

// What Claude Code 2.1.332 was seen to print, without the fields that nobody reads.
const (
	done = `{"duration_api_ms":40,"session_id":"` + conversation + `","total_cost_usd":0.5,"is_error":false,"num_turns":3,` +
		`"subtype":"success","api_error_status":null,"result":"Fixed it.\nAll tests pass.","type":"result","duration_ms":1166}`
	denied = `{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"I may not.","session_id":"` + conversation + `",` +
		`"permission_denials":[{"tool_name":"Bash","tool_use_id":"1","tool_input":{}},{"tool_name":"Edit"},{"tool_name":"Bash"}]}`
	oldVersion  = `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"ok","session_id":"` + conversation + `"}`
	interrupted = `{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":1,` +
		`"terminal_reason":"aborted_streaming","errors":["[ede_diagnostic] aborted"],"session_id":"` + conversation + `"}`
	blocked = `{"type":"result","subtype":"success","is_error":false,"num_turns":0,` +
		`"result":"UserPromptSubmit operation blocked by hook:\nno","session_id":"` + conversation + `"}`
)

// apiError is the answer of a turn that the API did not let happen.
func apiError(status, kind, text string) string {
	return `{"type":"result","subtype":"success","is_error":true,"num_turns":1,"terminal_reason":"api_error",` +
		`"api_error_status":` + status + `,"api_error":` + kind + `,"result":"` + text + `","session_id":"` + conversation + `"}`
}

var ended = time.Date(2026, 11, 30, 8, 35, 0, 0, time.UTC)

func held(reason, detail string) loop.Outcome {
	return loop.Outcome{Kind: loop.RunHeld, Reason: reason, Detail: detail, Turns: 1, SessionID: conversation}
}

func failed(detail string) loop.Outcome { return loop.Outcome{Kind: loop.RunFailed, Detail: detail} }

type reading struct {
	name string
	exit harness.Exit
	want loop.Outcome
}

func checkReadings(t *testing.T, a harness.Agent, tests []reading) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.exit.At = ended
			if diff := cmp.Diff(tt.want, a.Read(tt.exit)); diff != "" {
				t.Errorf("Read (-want +got):\n%s", diff)
			}
		})
	}
}

func out(stdout string) harness.Exit { return harness.Exit{Stdout: []byte(stdout)} }

func bad(stdout string) harness.Exit { return harness.Exit{Code: 1, Stdout: []byte(stdout)} }

func complaint(stderr string) harness.Exit { return harness.Exit{Code: 1, Stderr: []byte(stderr)} }

func TestReadSuccess(t *testing.T) {
	t.Parallel()
	want := loop.Outcome{
		Kind: loop.RunDone, Detail: "Fixed it. All tests pass.", SessionID: conversation, Turns: 3, CostUSD: 0.5,
		Duration: 1166 * time.Millisecond,
	}
	killed := want
	killed.Killed = true
	took := loop.Outcome{Kind: loop.RunDone, Detail: "ok", SessionID: conversation, Turns: 1, Duration: time.Second}
	checkReadings(t, agent(t, harness.Options{}), []reading{
		{"answered", out(done), want},
		{"warnings before and after", out("npm warn old\n{\"a\":1}\n" + done + "\nbye\n"), want},
		{"the last of several", out(oldVersion + "\n" + done), want},
		{"a list, as --verbose prints", out(`[{"type":"system"},` + done + `]`), want},
		{"stayed after its answer and was ended", harness.Exit{End: harness.Answered, Signal: syscall.SIGTERM, Stdout: []byte(done)}, want},
		{"answered as its time ran out", harness.Exit{End: harness.TimedOut, Killed: true, Stdout: []byte(done)}, killed},
		{"answered as it was stopped", harness.Exit{End: harness.Stopped, Stdout: []byte(done)}, want},
		{"answered before its host died", harness.Exit{End: harness.CutOff, Stdout: []byte(done)}, want},
		{"older version without details", harness.Exit{Stdout: []byte(oldVersion), Took: time.Second}, took},
		{"details of another type", harness.Exit{Took: time.Second, Stdout: []byte(
			strings.Replace(oldVersion, "{", `{"total_cost_usd":"free","duration_ms":{},"permission_denials":7,`, 1))}, took},
		{"denials are told", out(denied), loop.Outcome{
			Kind: loop.RunDone, Detail: "I may not.", SessionID: conversation, Turns: 2, Denials: []string{"Bash", "Edit"},
		}},
		{
			"an answer that speaks of limits and logins", out(strings.Replace(oldVersion, `"ok"`, `"usage limit reached|1796000000 Please run /login"`, 1)),
			loop.Outcome{Kind: loop.RunDone, Detail: "usage limit reached|1796000000 Please run /login", SessionID: conversation, Turns: 1},
		},
		{"an id that is none", out(strings.Replace(oldVersion, conversation, "--x y", 1)), loop.Outcome{Kind: loop.RunDone, Detail: "ok", Turns: 1}},
	})
}

func TestReadHeld(t *testing.T) {
	t.Parallel()
	until := func(o loop.Outcome, at time.Time) loop.Outcome { o.Until = at; return o }
	limit := "You've hit your limit · resets 10:33am (UTC)"
	checkReadings(t, agent(t, harness.Options{}), []reading{
		{
			"401", bad(apiError("401", "null", "Failed to authenticate. API Error: 401 Unauthorized")),
			held(loop.HeldNotLoggedIn, "Failed to authenticate. API Error: 401 Unauthorized"),
		},
		{
			"not logged in", bad(apiError("null", "null", "Not logged in · Please run /login")),
			held(loop.HeldNotLoggedIn, "Not logged in · Please run /login"),
		},
		{
			"not logged in, on stderr", complaint("Invalid API key · Please run /login\n"),
			loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldNotLoggedIn, Detail: "Invalid API key · Please run /login"},
		},
		{"429", bad(apiError("429", "null", "API Error: Request rejected (429) · later")), held(loop.HeldRateLimited, "API Error: Request rejected (429) · later")},
		{
			"429 told in the text alone", bad(apiError("null", "null", "API Error: Request rejected (429) · later")),
			held(loop.HeldRateLimited, "API Error: Request rejected (429) · later"),
		},
		{"529", bad(apiError("529", "null", "API Error: 529 Overloaded")), held(loop.HeldOverloaded, "API Error: 529 Overloaded")},
		{"529 told in the text alone", bad(apiError("null", "null", "API Error: 529 Overloaded")), held(loop.HeldOverloaded, "API Error: 529 Overloaded")},
		{"usage limit", bad(apiError("429", `"usage_limit_reached"`, limit)), until(held(loop.HeldUsageLimit, limit), ended.Add(118*time.Minute))},
		{
			"usage limit of an older version", bad(apiError("null", "null", "Claude AI usage limit reached|1796040000")),
			until(held(loop.HeldUsageLimit, "Claude AI usage limit reached|1796040000"), time.Unix(1796040000, 0)),
		},
		{"usage limit in other words", bad(apiError("429", `"usage_limit_reached"`, "no more")), held(loop.HeldUsageLimit, "no more")},
		{"no credit", bad(apiError("400", "null", "Credit balance is too low")), held(loop.HeldUsageLimit, "Credit balance is too low")},
		{
			"no connection", bad(apiError("null", `"connection_failed"`, "API Error: Connection refused (ECONNREFUSED)")),
			held(loop.HeldUnreachable, "API Error: Connection refused (ECONNREFUSED)"),
		},
		{"no connection in other words", bad(apiError("null", `"connection_failed"`, "cut")), held(loop.HeldUnreachable, "cut")},
		{"held as its time ran out", harness.Exit{End: harness.TimedOut, Stdout: []byte(apiError("401", "null", "no"))}, held(loop.HeldNotLoggedIn, "no")},
	})
}

func TestReadFailure(t *testing.T) {
	t.Parallel()
	answeredWith := func(detail string) loop.Outcome {
		return loop.Outcome{Kind: loop.RunFailed, Detail: detail, SessionID: conversation, Turns: 1}
	}
	noTurn := answeredWith("claude ran no turn: UserPromptSubmit operation blocked by hook: no")
	noTurn.Turns = 0
	checkReadings(t, agent(t, harness.Options{}), []reading{
		{"400", bad(apiError("400", "null", "API Error: 400 Bad Request")), answeredWith("claude could not finish the turn: API Error: 400 Bad Request")},
		{"500", bad(apiError("500", "null", "API Error: 500")), answeredWith("claude could not finish the turn: API Error: 500")},
		{
			"context limit", bad(apiError("null", "null", "Context limit reached · /compact")),
			answeredWith("claude could not finish the turn: Context limit reached · /compact"),
		},
		{"interrupted, exit 0", out(interrupted), answeredWith("claude could not finish the turn: [ede_diagnostic] aborted")},
		{"blocked by a hook, exit 0", out(blocked), noTurn},
		{"good answer, bad exit", harness.Exit{Code: 3, Stdout: []byte(oldVersion)}, answeredWith("claude answered, but ended with exit status 3: ok")},
		{
			"good answer, killed from outside",
			harness.Exit{Signal: syscall.SIGKILL, Stdout: []byte(oldVersion)},
			answeredWith("claude answered, but ended with signal killed: ok"),
		},
		{"nothing", out(""), failed("claude ended with exit status 0 and printed nothing")},
		{"nonsense", out("hello\nworld\x1b[31m"), failed("claude ended with exit status 0 and printed something else than an answer: hello world")},
		{"cut in half", out(done[:60]), failed("claude ended with exit status 0 and printed something else than an answer: " + done[:60])},
		{
			"no verdict", out(`{"type":"result","result":"is_error"}`),
			failed(`claude ended with exit status 0 and printed something else than an answer: {"type":"result","result":"is_error"}`),
		},
		{
			"verdict of another type", out(strings.Replace(oldVersion, "false", `"no"`, 1)),
			failed("claude ended with exit status 0 and printed something else than an answer: " + strings.Replace(oldVersion, "false", `"no"`, 1)),
		},
		{"too much", harness.Exit{Stdout: bytes.Repeat([]byte("x"), 1<<20), Cut: true}, failed("claude printed more than Loop keeps, and no answer in it")},
		{"bad flag", complaint("warning: old\nerror: unknown option '--bogus'\n"), failed("claude ended with exit status 1: error: unknown option '--bogus'")},
		{
			"a complaint of no consequence",
			harness.Exit{Stderr: []byte("No conversation found with session ID: x")},
			failed("claude ended with exit status 0: No conversation found with session ID: x"),
		},
		{"ended from outside", harness.Exit{Signal: syscall.SIGTERM}, failed("claude ended with signal terminated and printed nothing")},
		{"id in use", complaint("Error: Session ID " + conversation + " is already in use.\n"), loop.Outcome{
			Kind: loop.RunFailed, Reason: loop.FailedIDInUse, Detail: "Error: Session ID " + conversation + " is already in use.",
		}},
	})
}

func TestReadOtherEnds(t *testing.T) {
	t.Parallel()
	stopped := loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request before it answered"}
	timeout := loop.Outcome{Kind: loop.RunTimeout, Detail: "no answer within its time; claude was ended after 30m0s", Duration: 30 * time.Minute, Killed: true}
	interruptedTimeout := timeout
	interruptedTimeout.SessionID, interruptedTimeout.Turns = conversation, 1
	checkReadings(t, agent(t, harness.Options{}), []reading{
		{
			"unknown conversation", complaint("No conversation found with session ID: " + conversation + "\n"),
			loop.Outcome{Kind: loop.RunLost, Detail: "No conversation found with session ID: " + conversation},
		},
		{
			"id that is no id to it", complaint("Error: --resume requires a valid session ID or session title when used with --print.\n"),
			loop.Outcome{Kind: loop.RunLost, Detail: "Error: --resume requires a valid session ID or session title when used with --print."},
		},
		{"stopped", harness.Exit{End: harness.Stopped, Signal: syscall.SIGTERM}, stopped},
		{"stopped, with an error as answer", harness.Exit{End: harness.Stopped, Stdout: []byte(interrupted)}, loop.Outcome{
			Kind: loop.RunEnded, Detail: "ended on request: [ede_diagnostic] aborted", SessionID: conversation, Turns: 1,
		}},
		{"time is up", harness.Exit{End: harness.TimedOut, Took: 30 * time.Minute, Killed: true}, timeout},
		{"time is up, half an answer", harness.Exit{End: harness.TimedOut, Took: 30 * time.Minute, Killed: true, Stdout: []byte(done[:50])}, timeout},
		{"time is up, with an error as answer", harness.Exit{End: harness.TimedOut, Took: 30 * time.Minute, Killed: true, Stdout: []byte(interrupted)}, interruptedTimeout},
		{"host died", harness.Exit{End: harness.CutOff, Stdout: []byte(done[:50])}, loop.Outcome{Kind: loop.RunCutOff, Detail: "cut off before it answered"}},
		{"host died, with an error as answer", harness.Exit{End: harness.CutOff, Stdout: []byte(apiError("529", "null", "busy"))}, held(loop.HeldOverloaded, "busy")},
	})
}

func TestResetTimes(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones on this machine:", err)
	}
	a := agent(t, harness.Options{})
	tests := []struct {
		says string
		want time.Time
	}{
		{"hit your limit · resets 10:33am (UTC)", time.Date(2026, 11, 30, 10, 33, 0, 0, time.UTC)},
		{"hit your 5-hour limit · resets 7:42pm (UTC)", time.Date(2026, 11, 30, 19, 42, 0, 0, time.UTC)},
		{"hit your session limit · resets 8am (UTC)", time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)},
		{"hit your session limit · resets 9am (Europe/Berlin)", time.Date(2026, 12, 1, 9, 0, 0, 0, berlin)},
		{"hit your session limit · resets 12am", time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
		{"hit your weekly limit · resets Dec 2, 4:09pm (UTC)", time.Date(2026, 12, 2, 16, 9, 0, 0, time.UTC)},
		{"hit your weekly limit · resets Jan 1 at 8am (UTC)", time.Date(2027, 1, 1, 8, 0, 0, 0, time.UTC)},
		{"hit your weekly limit · resets Jan 1 at 12pm (UTC)", time.Time{}}, // 32 days and more
		{"hit your weekly limit · resets Dec 31, 2026, 3pm (UTC)", time.Date(2026, 12, 31, 15, 0, 0, 0, time.UTC)},
		{"5-hour limit reached ∙ resets 3pm", time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)},
		{"usage limit reached|1796040000", time.Unix(1796040000, 0)},
		{"usage limit reached|9999999999", time.Time{}},
		{"usage limit reached|1000000000", time.Time{}},
		{"usage limit, resets 99am", time.Time{}},
		{"usage limit, resets Foo 3, 1pm", time.Time{}},
		{"hit your limit · resets 3pm (Nowhere/Land)", time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)},
		{"hit your limit", time.Time{}},
	}
	for _, tt := range tests {
		got := a.Read(harness.Exit{Code: 1, Stdout: []byte(apiError("429", "null", tt.says)), At: ended})
		if got.Reason != loop.HeldUsageLimit || !got.Until.Equal(tt.want) {
			t.Errorf("%q: got %s until %s, want until %s", tt.says, got.Reason, got.Until, tt.want)
		}
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	a := agent(t, harness.Options{})
	for _, whole := range []string{done, done + "\n", "warning\n" + done, interrupted, apiError("401", "null", "no")} {
		if !a.Complete([]byte(whole)) {
			t.Errorf("not complete: %s", whole)
		}
	}
	for n := range len(done) {
		if a.Complete([]byte(done[:n])) {
			t.Errorf("complete: %s", done[:n])
		}
	}
}

func TestTextIsTheWholeAnswer(t *testing.T) {
	t.Parallel()
	a := agent(t, harness.Options{})
	for stdout, want := range map[string]string{
		done:        "Fixed it.\nAll tests pass.",
		interrupted: "[ede_diagnostic] aborted",
		done[:40]:   "",
		"":          "",
	} {
		if got := a.Text([]byte(stdout)); got != want {
			t.Errorf("Text(%q) = %q, want %q", stdout, got, want)
		}
	}
}
