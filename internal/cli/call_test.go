package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// TestCalls holds what each command asks of loopd.
func TestCalls(t *testing.T) {
	t.Parallel()
	const shop = "github:acme/shop#15"
	for _, tt := range []struct {
		args string
		want proto.Message
	}{
		{
			"sessions register acme/shop#15 --harness claude --harness-session-id id-1 --cwd /tmp/../ --runner headless --force",
			&loopv1.RegisterRequest{WorkItem: shop, Harness: "claude", HarnessSessionId: "id-1", Cwd: "/", Runner: "headless", Force: true},
		},
		{"sessions list", &loopv1.ListSessionsRequest{}},
		{"sessions list --status open", &loopv1.ListSessionsRequest{}},
		{"sessions list --status all", &loopv1.ListSessionsRequest{Status: "all"}},
		{"sessions show acme/shop#15", &loopv1.GetSessionRequest{WorkItem: shop}},
		{"sessions show --work-item github:acme/shop#15", &loopv1.GetSessionRequest{WorkItem: shop}},
		{"sessions show https://github.com/acme/shop/pull/15#discussion_r1", &loopv1.GetSessionRequest{WorkItem: shop}},
		{"sessions show ghe.example.com/acme/shop#15", &loopv1.GetSessionRequest{WorkItem: "github:ghe.example.com/acme/shop#15"}},
		{"sessions close acme/shop#15", &loopv1.CloseRequest{WorkItem: shop}},
		{"sessions close acme/shop#15 --no-wait", &loopv1.CloseRequest{WorkItem: shop, NoWait: true}},
		{"sessions close acme/shop#15 --keep-tmux", &loopv1.CloseRequest{WorkItem: shop, Tmux: loopv1.TmuxFate_TMUX_FATE_KEEP}},
		{"sessions close acme/shop#15 --kill-tmux", &loopv1.CloseRequest{WorkItem: shop, Tmux: loopv1.TmuxFate_TMUX_FATE_KILL}},
		{"send acme/shop#15 go on", &loopv1.SendRequest{WorkItem: shop, Text: "go on"}},
		{"send acme/shop#15 -", &loopv1.SendRequest{WorkItem: shop, Text: "{}"}},
		{"sessions start acme/shop#15", &loopv1.StartRequest{WorkItem: shop}},
		{"sessions start acme/shop#15 --say go", &loopv1.StartRequest{WorkItem: shop, Text: "go"}},
		{"sessions stop acme/shop#15", &loopv1.StopRequest{WorkItem: shop}},
		{"sessions stop acme/shop#15 --no-wait", &loopv1.StopRequest{WorkItem: shop, NoWait: true}},
		{"sessions link-pr acme/web#12 --work-item acme/shop#15", &loopv1.LinkPullRequestRequest{WorkItem: shop, PullRequest: "github:acme/web#12"}},
		{"comment acme/shop#15 it is done", &loopv1.CommentRequest{WorkItem: shop, Text: "it is done"}},
		{"comment acme/shop#15 -", &loopv1.CommentRequest{WorkItem: shop, Text: "{}"}},
		{"ask acme/shop#15 which colour?", &loopv1.AskRequest{WorkItem: shop, Text: "which colour?"}},
		{"sessions pause acme/shop#15", &loopv1.PauseRequest{WorkItem: shop}},
		{"sessions resume acme/shop#15", &loopv1.ResumeRequest{WorkItem: shop}},
		{"deliveries list", &loopv1.ListDeliveriesRequest{Limit: 50}},
		{
			"deliveries list --state failed --work-item acme/shop#15 --limit 3 --before 9",
			&loopv1.ListDeliveriesRequest{State: "failed", WorkItem: shop, Limit: 3, BeforeSeq: 9},
		},
		{"deliveries show d-1", &loopv1.GetDeliveryRequest{Id: "d-1"}},
		{"deliveries show d-1 --body", &loopv1.GetDeliveryRequest{Id: "d-1", Body: true}},
		{"deliveries redeliver d-1 --force", &loopv1.RedeliverRequest{Id: "d-1", Force: true}},
		{"explain d-1", &loopv1.ExplainRequest{Subject: "d-1"}},
		{"explain poll-close-github:acme/shop#15-closed-2026", &loopv1.ExplainRequest{Subject: "poll-close-github:acme/shop#15-closed-2026"}},
		{"explain acme/shop#15", &loopv1.ExplainRequest{Subject: shop}},
		{"explain https://github.com/acme/shop/issues/15", &loopv1.ExplainRequest{Subject: shop}},
		{"events", &loopv1.EventsRequest{AfterSeq: -1}},
		{"events --after 0 --type run.done --work-item acme/shop#15", &loopv1.EventsRequest{WorkItem: shop, Type: "run.done"}},
		{"logs acme/shop#15", &loopv1.TranscriptRequest{WorkItem: shop}},
		{"status", &loopv1.StatusRequest{}},
		{"reload", &loopv1.ReloadRequest{}},
		{"poll", &loopv1.PollRequest{}},
		{"simulate - --event issues", &loopv1.SimulateRequest{Event: "issues", Body: []byte("{}")}},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			f := newFake().start(t)
			if r := loopctl(t.Context(), f.env(), "{}", strings.Fields(tt.args)...); r.Code != 0 {
				t.Errorf("exit code %d: %s", r.Code, r.Stderr)
			}
			if diff := cmp.Diff([]proto.Message{tt.want}, f.called(), protocmp.Transform()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// An agent that ends its own session must not wait for its own end: the end waits for the command.
func TestTheEndOfTheOwnSession(t *testing.T) {
	t.Parallel()
	for own, want := range map[string]bool{
		"github:ACME/shop#15": true,
		"github:acme/shop#16": false,
		"":                    false,
	} {
		for _, verb := range []string{"close", "stop"} {
			f := newFake().start(t)
			r := loopctl(t.Context(), f.env("LOOP_WORK_ITEM="+own), "", "sessions", verb, "acme/shop#15")
			got := []any{r.Code, f.called()[0].(interface{ GetNoWait() bool }).GetNoWait()}
			if diff := cmp.Diff([]any{0, want}, got); diff != "" {
				t.Errorf("%s, LOOP_WORK_ITEM=%q: exit code, no_wait (-want +got):\n%s", verb, own, diff)
			}
		}
	}
}

// TestRefusals holds the exit code of each refusal of loopd, and that its own sentence is what the person reads.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code   codes.Code
		exit   int
		stderr string
	}{
		{codes.InvalidArgument, 2, "loopctl: the sentence\nof \\x1b[2Jloopd\n"},
		{codes.NotFound, 1, "loopctl: the sentence\nof \\x1b[2Jloopd\n"},
		{codes.AlreadyExists, 1, "loopctl: the sentence\nof \\x1b[2Jloopd\n"},
		{codes.FailedPrecondition, 1, "loopctl: the sentence\nof \\x1b[2Jloopd\n"},
		{codes.PermissionDenied, 1, "loopctl: the sentence\nof \\x1b[2Jloopd\n"},
		{codes.Internal, 1, "loopctl: the sentence\nof \\x1b[2Jloopd\n"},
		{codes.Unavailable, 1, "loopctl: the sentence\nof \\x1b[2Jloopd\n"}, // it was reached, and said so itself
		{codes.Unimplemented, 1, "loopctl: this loopd does not know the command: it is older than this loopctl; restart it\n"},
	} {
		t.Run(tt.code.String(), func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.fail = status.Error(tt.code, "the sentence\nof \x1b[2Jloopd")
			f.start(t)
			for _, args := range []string{"reload", "events", "logs a/b#1"} {
				got := loopctl(t.Context(), f.env(), "", strings.Fields(args)...)
				if diff := cmp.Diff(result{Code: tt.exit, Stderr: tt.stderr}, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", args, diff)
				}
			}
		})
	}
}

// TestTimeout holds that a daemon that does not answer is given up on, and what a person reads then.
func TestTimeout(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.hang = true
	const mayBe = "loopctl: GitHub had not answered within 50ms (--timeout waits longer), so it may be on github:a/b#1 or not; the same words " +
		"again within ten minutes are posted once\n"
	f.start(t)
	for _, tt := range []struct{ args, stderr string }{
		{"status", "loopctl: loopd did not answer within 50ms (--timeout waits longer)\n"},
		{"events", "loopctl: loopd did not answer within 50ms (--timeout waits longer)\n"},
		{"logs a/b#1", "loopctl: loopd did not answer within 50ms (--timeout waits longer)\n"},
		{"comment a/b#1 done", mayBe},
		{"ask a/b#1 why", mayBe},
		{
			"sessions close acme/shop#15",
			"loopctl: closing github:acme/shop#15 goes on, but its harness had not ended within 50ms: see loopctl sessions show github:acme/shop#15\n",
		},
	} {
		got := loopctl(t.Context(), f.env(), "", append(strings.Fields(tt.args), "--timeout", "50ms")...)
		if diff := cmp.Diff(result{Code: 1, Stderr: tt.stderr}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
}

// TestUsage holds that wrong arguments end with 2, dial nothing, and name what was probably meant.
func TestUsage(t *testing.T) {
	t.Parallel()
	register := "sessions register acme/shop#15 --harness claude --harness-session-id="
	for _, tt := range []struct{ args, stderr string }{
		{"sesions list", `unexpected argument sesions, did you mean "sessions"?`},
		{"sessions lst", `unexpected argument lst, did you mean "list"?`},
		{"sessions list --stauts all", `unknown flag --stauts, did you mean "--status"?`},
		{"sessions list --status some", `--status must be one of`},
		{"sessions", `expected one of "register", "list"`},
		{"status -o yaml", `--output must be one of "table","json"`},
		{"status --timeout 5", `--timeout: expected duration`},
		{"sessions show", `expected a work item`},
		{"sessions show a/b#1 --work-item a/b#2", `the work item is named twice`},
		{"sessions register a/b#1 --harness claude", `missing flags: --harness-session-id=ID`},
		{register, `harness session id ""`},
		{register + "-rf", `harness session id`},
		{register + "x --cwd /nonexistent/folder", `--cwd /nonexistent/folder: there is no such folder`},
		{"sessions show github:a/b", `work item "github:a/b": it has no #number`},
		{"sessions show a/b#0", `"0" is no item number`},
		{"sessions show ../..#1", `work item "../..#1"`},
		{"sessions show github:a/b#99999999999999999999", `is no item number`},
		{"sessions show jira:X-1", `provider "jira" is not known`},
		{"explain a/b#x", `"x" is no item number`},
		{"explain github:a/b", `it has no #number`},
		{"explain https://example.com/", `it is not the page of an issue`},
		{"sessions close a/b#1 --keep-tmux --kill-tmux", `--keep-tmux and --kill-tmux can't be used together`},
		{"send a/b#1", `expected "<text>`},
		{"send a/b#1 ", `expected "<text>`},
		{"deliveries show", `expected "<id>"`},
		{"deliveries list --state lost", `--state must be one of`},
		{"simulate /nonexistent/file --event issues", `/nonexistent/file: no such file`},
		{"simulate -", `missing flags: --event=E`},
		{"events --after soon", `--after: expected`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			f := newFake().start(t)
			r := loopctl(t.Context(), f.env(), "", strings.Fields(tt.args)...)
			if r.Code != 2 || r.Stdout != "" || !strings.Contains(r.Stderr, tt.stderr) {
				t.Errorf("exit code %d, stdout %q, stderr %q; want 2, nothing, %q", r.Code, r.Stdout, r.Stderr, tt.stderr)
			}
			if calls := f.called(); len(calls) != 0 {
				t.Errorf("loopd was asked: %v", calls)
			}
		})
	}
}

// TestNames holds that JSON names a session's fields as its file does.
func TestNames(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	r := loopctl(t.Context(), f.env(), "", "sessions", "list", "-o", "json")
	var sessions []map[string]any
	if err := json.Unmarshal([]byte(r.Stdout), &sessions); err != nil {
		t.Fatal(err)
	}
	inFile := map[string]bool{"activity": true, "waitsFor": true, "queued": true, "presence": true} // these only loopd knows
	for field := range reflect.TypeFor[loop.Session]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inFile[name] = true
	}
	for name := range sessions[0] {
		if !inFile[name] {
			t.Errorf("%q is not what the file calls it", name)
		}
	}
}

// A reader that went away is an error, not a success.
func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	for _, args := range []string{"status", "status -o json", "sessions list", "deliveries show d-1 --body", "events", "logs a/b#1"} {
		if code := mainWith(t.Context(), f.env(), brokenPipe{}, io.Discard, strings.Fields(args)...); code != 1 {
			t.Errorf("%s: exit code %d, want 1", args, code)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// A command that the caller ends does not hang.
func TestCancelled(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.hang = true
	f.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := loopctl(ctx, f.env(), "", "status"); r.Code != 1 {
		t.Errorf("exit code %d, want 1: %s", r.Code, r.Stderr)
	}
}
