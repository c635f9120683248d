package harness_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
)

// What codex was seen to print, and what it means.
func TestReadCodex(t *testing.T) {
	t.Parallel()
	const (
		began    = `{"type":"thread.started","thread_id":"` + conversation + `"}` + "\n" + `{"type":"turn.started"}` + "\n"
		said     = `{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Fixed it.\nAll tests pass."}}` + "\n"
		over     = `{"type":"turn.completed","usage":{"input_tokens":10}}` + "\n"
		retrying = `{"type":"error","message":"Reconnecting... 1/5 (unexpected status 503 Service Unavailable)"}` + "\n"
		offline  = `{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}` + "\n"
		warned   = `{"type":"item.completed","item":{"type":"error","message":"Model metadata not found."}}` + "\n"
	)
	fail := func(message string) string {
		return `{"type":"turn.failed","error":{"message":"` + message + `"}}` + "\n"
	}
	named := func(o loop.Outcome) loop.Outcome { o.SessionID = conversation; return o }
	done := loop.Outcome{Kind: loop.RunDone, Detail: "Fixed it. All tests pass.", SessionID: conversation, Turns: 1}
	checkReadings(t, newAgent(t, "codex", harness.Options{}, harness.Program{}), []reading{
		{"answered", out(began + said + over), done},
		{"answered after a retry and a warning", out("noise\n" + began + warned + retrying + said + over), done},
		{"an answer that speaks of limits", out(began + strings.Replace(said, "Fixed it.", "usage limit 401 ", 1) + over), with(done, "usage limit 401 All tests pass.")},
		{"stayed and was ended", harness.Exit{End: harness.Answered, Signal: syscall.SIGTERM, Stdout: []byte(began + said + over)}, done},
		{"answered before its host died", harness.Exit{End: harness.CutOff, Stdout: []byte(began + said + over)}, done},
		{"good answer, bad exit", bad(began + said + over), loop.Outcome{
			Kind: loop.RunFailed, Detail: "codex answered, but ended with exit status 1: Fixed it. All tests pass.", SessionID: conversation, Turns: 1,
		}},
		{"a second turn that did not end", out(began + said + over + `{"type":"turn.started"}`), loop.Outcome{
			Kind: loop.RunFailed, Detail: "codex ended with exit status 0 in the middle of the turn: it gave no reason", SessionID: conversation, Turns: 1,
		}},
		{"refused", bad(began + fail("bad request")), named(failed("codex could not finish the turn: bad request"))},
		{"401", bad(began + fail("unexpected status 401 Unauthorized: x")), named(hold(loop.HeldNotLoggedIn, "unexpected status 401 Unauthorized: x", time.Time{}))},
		{"no key", bad(began + fail("Missing environment variable: `MY_KEY`.")), named(hold(loop.HeldNotLoggedIn, "Missing environment variable: `MY_KEY`.", time.Time{}))},
		{"429", bad(began + fail("exceeded retry limit, last status: 429 Too Many Requests")), named(hold(loop.HeldRateLimited, "exceeded retry limit, last status: 429 Too Many Requests", time.Time{}))},
		{"529", bad(began + fail("unexpected status 529 <unknown status code>: x")), named(hold(loop.HeldOverloaded, "unexpected status 529 <unknown status code>: x", time.Time{}))},
		{"usage limit, today", bad(began + fail("You’ve hit your usage limit. Upgrade or try again at 12:00 PM.")), named(hold(
			loop.HeldUsageLimit, "You’ve hit your usage limit. Upgrade or try again at 12:00 PM.", time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		))},
		{"usage limit, another day", bad(began + fail("You’ve hit your usage limit. Upgrade or try again at Dec 2nd, 2026 7:33 PM.")), named(hold(
			loop.HeldUsageLimit, "You’ve hit your usage limit. Upgrade or try again at Dec 2nd, 2026 7:33 PM.", time.Date(2026, 12, 2, 19, 33, 0, 0, time.UTC),
		))},
		{"stopped", harness.Exit{End: harness.Stopped, Stdout: []byte(began)}, named(loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request before it answered"})},
		{"stopped as it failed", harness.Exit{End: harness.Stopped, Stdout: []byte(began + fail("aborted"))}, named(loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request: aborted"})},
		{"time is up", harness.Exit{End: harness.TimedOut, Took: time.Minute, Stdout: []byte(began)}, named(loop.Outcome{
			Kind: loop.RunTimeout, Detail: "no answer within its time; codex was ended after 1m0s", Duration: time.Minute,
		})},
		{"time is up while it waits for a network", harness.Exit{End: harness.TimedOut, Stdout: []byte(began + offline)}, named(hold(
			loop.HeldUnreachable, "Reconnecting... waiting for network (Connection failed: error sending request)", time.Time{},
		))},
		{"host died", harness.Exit{End: harness.CutOff, Stdout: []byte(began)}, named(loop.Outcome{Kind: loop.RunCutOff, Detail: "cut off before it answered"})},
		{"killed from outside", harness.Exit{Signal: syscall.SIGKILL, Stdout: []byte(began), Stderr: []byte("WARNING: x\n")}, named(
			failed("codex ended with signal killed in the middle of the turn: WARNING: x"))},
		{"unknown thread", complaint("WARNING: x\nError: thread/resume failed: no rollout found for thread id 7 (code -32600)\n"), loop.Outcome{
			Kind: loop.RunLost, Detail: "Error: thread/resume failed: no rollout found for thread id 7 (code -32600)",
		}},
		{"not a repository", complaint("Not inside a trusted directory and --skip-git-repo-check was not specified.\n"), failed(
			"codex works in folders that it trusts and in git repositories: run codex there once and trust it, or add --skip-git-repo-check to " +
				"harness.codex.args: Not inside a trusted directory and --skip-git-repo-check was not specified.")},
		{"bad flag", harness.Exit{Code: 2, Stderr: []byte("error: unexpected argument '--x' found")}, failed("codex ended with exit status 2: error: unexpected argument '--x' found")},
		{"nothing", out(""), failed("codex ended with exit status 0 and printed nothing")},
		{"nonsense", out("{]"), failed("codex ended with exit status 0 and printed something else than an answer: {]")},
		{"id that is none", out(strings.Replace(began, conversation, "--x", 1) + said + over), loop.Outcome{Kind: loop.RunDone, Detail: "Fixed it. All tests pass.", Turns: 1}},
	})
}

func hold(reason, detail string, until time.Time) loop.Outcome {
	return loop.Outcome{Kind: loop.RunHeld, Reason: reason, Detail: detail, Until: until}
}

// What cursor-agent is told to print, and what it means.
func TestReadCursor(t *testing.T) {
	t.Parallel()
	const result = `{"type":"result","subtype":"success","is_error":false,"duration_ms":1500,"result":"Fixed it.","session_id":"` + conversation + `","request_id":"x"}`
	done := loop.Outcome{Kind: loop.RunDone, Detail: "Fixed it.", SessionID: conversation, Duration: 1500 * time.Millisecond}
	wrong := strings.Replace(strings.Replace(result, "false", "true", 1), "Fixed it.", "went wrong", 1)
	answered := func(o loop.Outcome) loop.Outcome { o.SessionID, o.Duration = done.SessionID, done.Duration; return o }
	checkReadings(t, newAgent(t, "cursor", harness.Options{}, harness.Program{}), []reading{
		{"answered", out(result + "\n"), done},
		{"answered and stayed until its time was up", harness.Exit{End: harness.TimedOut, Stdout: []byte(result)}, done},
		{"good answer, bad exit", bad(result), answered(failed("cursor answered, but ended with exit status 1: Fixed it."))},
		{"bad answer", out(wrong), answered(failed("cursor could not finish the turn: went wrong"))},
		{"bad answer about a limit", out(strings.Replace(wrong, "went wrong", "usage limit reached", 1)), answered(hold(loop.HeldUsageLimit, "usage limit reached", time.Time{}))},
		{"bad answer as it was stopped", harness.Exit{End: harness.Stopped, Stdout: []byte(wrong)}, answered(loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request: went wrong"})},
		{"not logged in", complaint("Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY environment variable.\n"), hold(
			loop.HeldNotLoggedIn, "Error: Authentication required. Please run 'agent login' first, or set CURSOR_API_KEY environment variable.", time.Time{})},
		{"bad key, in color", complaint("\x1b[33m⚠ Warning: The provided API key is invalid.\x1b[0m\n"), hold(loop.HeldNotLoggedIn, "⚠ Warning: The provided API key is invalid.", time.Time{})},
		{"limit, and more", complaint("Error: You've hit your usage limit\n  Get Cursor Pro for more Agent usage.\n  spendLimitHit: false\n"), hold(
			loop.HeldUsageLimit, "Error: You've hit your usage limit", time.Time{})},
		{"too many", complaint("ConnectError: [resource_exhausted] Error"), hold(loop.HeldRateLimited, "ConnectError: [resource_exhausted] Error", time.Time{})},
		{"untrusted", complaint("Workspace Trust Required\n\nPass --trust, --yolo, or -f\n"), failed(
			"cursor does not trust the folder: run cursor-agent there once and trust it, or add --trust to harness.cursor.args")},
		{"unknown model", complaint("Cannot use this model: x. Available models: auto"), failed("cursor ended with exit status 1: Cannot use this model: x. Available models: auto")},
		{"a complaint of no consequence", harness.Exit{Stderr: []byte("not logged in")}, failed("cursor ended with exit status 0: not logged in")},
		{"stopped", harness.Exit{End: harness.Stopped}, loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request before it answered"}},
	})
}

func TestReadDeclared(t *testing.T) {
	t.Parallel()
	own := func(f harness.Format) harness.Agent {
		return newAgent(t, "own", harness.Options{}, declared(harness.Declared{Start: []string{"tool"}, Resume: []string{"tool", "{id}"}, Format: f}))
	}
	done := loop.Outcome{Kind: loop.RunDone, Detail: "Fixed it.", SessionID: "s1"}
	checkReadings(t, own(harness.Format{Output: harness.OutputJSON, ID: "session.id", OK: "reply"}), []reading{
		{"answered", out(`{"session":{"id":"s1"},"reply":"Fixed it."}`), done},
		{"on many lines, with warnings around", out("old {\n{\n  \"session\": {\"id\": \"s1\"},\n  \"reply\": \"Fixed it.\"\n}\nbye {\n"), done},
		{"the last of several", out("{\"reply\":\"no\"}\n{\"session\":{\"id\":\"s1\"},\"reply\":\"Fixed it.\"}"), done},
		{"empty reply", out(`{"session":{"id":"s1"},"reply":""}`), loop.Outcome{
			Kind: loop.RunFailed, SessionID: "s1", Detail: `own ended with exit status 0 and not with reply: {"session":{"id":"s1"},"reply":""}`,
		}},
		{"null", out(`{"reply":null}`), failed(`own ended with exit status 0 and not with reply: {"reply":null}`)},
		{"good answer, bad exit", bad(`{"reply":"Fixed it."}`), failed("own answered, but ended with exit status 1: Fixed it.")},
		{"answered as its time ran out", harness.Exit{End: harness.TimedOut, Stdout: []byte(`{"session":{"id":"s1"},"reply":"Fixed it."}`)}, done},
		{"id of another kind", out(`{"session":[1],"reply":"Fixed it."}`), loop.Outcome{Kind: loop.RunDone, Detail: "Fixed it."}},
		{"id that is a flag", out(`{"session":{"id":"--x"},"reply":"Fixed it."}`), loop.Outcome{Kind: loop.RunDone, Detail: "Fixed it."}},
		{"a list", out(`["reply"]`), failed(`own ended with exit status 0 and printed something else than an answer: ["reply"]`)},
		{"half", out(`{"reply":"Fixed`), failed(`own ended with exit status 0 and printed something else than an answer: {"reply":"Fixed`)},
		{"no such session", complaint("hm\nError: No session, task, or name matched 'x'.\n\nusage: …"), loop.Outcome{Kind: loop.RunLost, Detail: "Error: No session, task, or name matched 'x'."}},
		{"in use", complaint("Error: session x already exists\n"), loop.Outcome{Kind: loop.RunFailed, Reason: loop.FailedIDInUse, Detail: "Error: session x already exists"}},
		{"503", complaint("Error: HTTP status 503\n    at main"), hold(loop.HeldOverloaded, "Error: HTTP status 503", time.Time{})},
		{"line 429 of a file", complaint("Error at x.js:429:7"), failed("own ended with exit status 1: Error at x.js:429:7")},
		{"stopped", harness.Exit{End: harness.Stopped}, loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request before it answered"}},
	})
	checkReadings(t, own(harness.Format{Output: harness.OutputJSONL, ID: "id", OK: "type=end"}), []reading{
		{"answered", out("{\"id\":\"s1\",\"type\":\"a\"}\nnoise\n{\"text\":\"Fixed it.\",\"id\":\"s2\",\"type\":\"end\"}\n{\"x\":1}"), done},
		{"went on after an end", out("{\"id\":\"s1\",\"type\":\"end\"}\n{\"type\":\"error\",\"message\":\"no\"}"), loop.Outcome{
			Kind: loop.RunFailed, SessionID: "s1", Detail: "own ended with exit status 0 and not with type=end: no",
		}},
		{"failed in a conversation", harness.Exit{Code: 1, Stdout: []byte(`{"id":"s1","type":"a"}`), Stderr: []byte("session not found")}, loop.Outcome{
			Kind: loop.RunFailed, SessionID: "s1", Detail: "own ended with exit status 1 and not with type=end: session not found",
		}},
	})
	checkReadings(t, own(harness.Format{Output: harness.OutputJSONL, ID: "id"}), []reading{
		{"answered", out("{\"id\":\"s1\",\"text\":\"Fixed it.\"}"), done},
		{"nothing of the format", out("Fixed it."), failed("own ended with exit status 0 and printed something else than an answer: Fixed it.")},
	})
	checkReadings(t, own(harness.Format{Output: harness.OutputText}), []reading{
		{"answered", out(" Fixed it.\n"), loop.Outcome{Kind: loop.RunDone, Detail: "Fixed it."}},
		{"nothing", out(" \n"), failed("own ended with exit status 0 and printed nothing")},
		{"failed", harness.Exit{Code: 2, Stdout: []byte("Fixed"), Stderr: []byte("no disk")}, failed("own ended with exit status 2: no disk")},
		{"time is up", harness.Exit{End: harness.TimedOut, Took: time.Minute, Stdout: []byte("Fixed it.")}, loop.Outcome{
			Kind: loop.RunTimeout, Detail: "no answer within its time; own was ended after 1m0s", Duration: time.Minute,
		}},
	})
	for ok, values := range map[string]map[string]bool{
		"v":       {`"x"`: true, `""`: false, `1`: true, `0`: false, `true`: true, `false`: false, `null`: false, `[]`: false, `[0]`: true, `{}`: false, `{"a":0}`: true},
		"v=":      {`""`: true, `"x"`: false, `null`: false},
		"v=0":     {`0`: true, `"0"`: true, `0.0`: false, `false`: false},
		"v=false": {`false`: true, `"false"`: true, `0`: false},
		"v=a=b":   {`"a=b"`: true},
		"v.1.x":   {`[0,{"x":1}]`: true, `[0]`: false, `{"1":{"x":1}}`: true, `"x"`: false},
	} {
		a := own(harness.Format{Output: harness.OutputJSON, OK: ok})
		for value, want := range values {
			if got := a.Read(out(`{"v":`+value+`}`)).Kind == loop.RunDone; got != want {
				t.Errorf("ok = %q with %s: success is %v, want %v", ok, value, got, want)
			}
		}
	}
}
