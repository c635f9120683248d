package runner_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/loop"
)

// An agent does what agents do, and worse. Whatever it is, the outcome is the right one and nothing of the run is left.
func TestDeliver(t *testing.T) {
	t.Parallel()
	const prompt = `look at -this "now"`
	tests := []struct {
		name  string
		agent string
		with  func(*bench)
		want  loop.Outcome
	}{
		{"answers", "answer", nil, loop.Outcome{Kind: loop.RunDone, Detail: prompt, SessionID: conversation, Turns: 1}},
		{"answers and complains", "complain=hm answer", nil, loop.Outcome{Kind: loop.RunDone, Detail: prompt, SessionID: conversation, Turns: 1}},
		{"prints nonsense", "say=hello", nil, loop.Outcome{
			Kind: loop.RunFailed, Detail: "claude ended with exit status 0 and printed something else than an answer: hello",
		}},
		{"prints nothing", "", nil, loop.Outcome{Kind: loop.RunFailed, Detail: "claude ended with exit status 0 and printed nothing"}},
		{"fails", "complain=no_disk exit=3", nil, loop.Outcome{Kind: loop.RunFailed, Detail: "claude ended with exit status 3: no disk"}},
		{"does not know the conversation", "complain=No_conversation_found_with_session_ID:_1 exit=1", nil, loop.Outcome{
			Kind: loop.RunLost, Detail: "No conversation found with session ID: 1",
		}},
		{"says that it was no success", "is-error", nil, loop.Outcome{
			Kind: loop.RunFailed, Detail: "claude could not finish the turn: API Error: 400 no", SessionID: conversation, Turns: 1,
		}},
		{"prints 100 MB", "flood=100", func(b *bench) { b.OutputLimit = 1 << 20 }, loop.Outcome{
			Kind: loop.RunFailed, Detail: "claude printed more than Loop keeps, and no answer in it",
		}},
		{"prints 100 MB and then answers", "flood=100 answer", func(b *bench) { b.OutputLimit = 1 << 20 }, loop.Outcome{
			Kind: loop.RunDone, Detail: prompt, SessionID: conversation, Turns: 1,
		}},
		{"leaves tools behind", "tools answer", nil, loop.Outcome{Kind: loop.RunDone, Detail: prompt, SessionID: conversation, Turns: 1}},
		{"leaves tools behind and fails", "tools exit=1", nil, loop.Outcome{
			Kind: loop.RunFailed, Detail: "claude ended with exit status 1 and printed nothing",
		}},
		{"hangs", "tools stay", func(b *bench) { b.Timeout = 5 * time.Second }, loop.Outcome{
			Kind: loop.RunTimeout, Detail: "no answer within",
		}},
		{"hangs and ignores TERM", "stubborn tools stay", func(b *bench) { b.Timeout = 5 * time.Second }, loop.Outcome{
			Kind: loop.RunTimeout, Detail: "no answer within",
		}},
		{"answers and stays", "answer stay", func(b *bench) { b.AnswerGrace = 50 * time.Millisecond }, loop.Outcome{
			Kind: loop.RunDone, Detail: prompt, SessionID: conversation, Turns: 1,
		}},
		{
			"answers and stays whatever it is told", "tools stubborn answer stay", func(b *bench) { b.AnswerGrace = 50 * time.Millisecond },
			loop.Outcome{Kind: loop.RunDone, Detail: prompt, SessionID: conversation, Turns: 1, Killed: true},
		},
		{
			"says a part, is quiet, and answers", "say=wait wait=go answer", func(b *bench) { b.AnswerGrace = time.Millisecond },
			loop.Outcome{Kind: loop.RunDone, Detail: prompt, SessionID: conversation, Turns: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.agent)
			if tt.with != nil {
				tt.with(b)
			}
			if strings.Contains(tt.agent, "wait=go") {
				time.AfterFunc(100*time.Millisecond, func() { b.sign(t, "go") })
			}
			got := b.open(t).Deliver(within(t, time.Minute), b.handover("run-1"))
			if strings.HasPrefix(got.Detail, tt.want.Detail) && tt.want.Kind == loop.RunTimeout {
				got.Detail = tt.want.Detail
				got.Killed = false // depends on how far it came
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(loop.Outcome{}, "Duration")); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if b.began(t) != 1 {
				t.Errorf("the agent was begun %d times", b.began(t))
			}
			b.wantGone(t, "run-1")
		})
	}
}

func TestDeliverCannotReachTheAgent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		with func(*bench, *loop.Handover)
		says string
	}{
		{"missing program", func(b *bench, _ *loop.Handover) { b.Command = "/nowhere/claude" }, "/nowhere/claude"},
		{"missing folder", func(b *bench, _ *loop.Handover) { b.Cwd = "/nowhere/shop" }, "/nowhere/shop"},
		{"unknown agent", func(_ *bench, h *loop.Handover) { h.Session.Harness = "clod" }, "clod"},
		{"id that would be a flag", func(_ *bench, h *loop.Handover) { h.Session.HarnessSessionID = "--resume" }, "--resume"},
		{"run id that is a path", func(_ *bench, h *loop.Handover) { h.Run = "../run-1" }, "run id"},
		{"starter that dies", func(b *bench, _ *loop.Handover) { b.Exec = "mute-exec" }, "mute indeed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "answer")
			ho := b.handover("run-1")
			tt.with(b, &ho)
			ho.Session.Cwd = b.Cwd
			got := b.open(t).Deliver(within(t, time.Minute), ho)
			if got.Kind != loop.RunUnreached || !strings.Contains(got.Detail, tt.says) {
				t.Errorf("outcome %+v, want unreached that names %q", got, tt.says)
			}
			if b.began(t) != 0 {
				t.Error("the agent was begun")
			}
		})
	}
}

// What was there when loopd looked can be gone when the starter does.
func TestProgramGoneAtTheLastMoment(t *testing.T) {
	t.Parallel()
	b := newBench(t, "answer")
	b.Exec = "late-exec"
	b.Command = filepath.Join(b.scene(), "claude")
	if err := os.WriteFile(b.Command, []byte("#!/nowhere\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := b.open(t)
	outcome := make(chan loop.Outcome, 1)
	go func() { outcome <- h.Deliver(t.Context(), b.handover("run-1")) }()
	await(t, b.file("run-1", "launch.json"))
	if err := os.Remove(b.Command); err != nil {
		t.Fatal(err)
	}
	b.sign(t, "go")
	if got := <-outcome; got.Kind != loop.RunUnreached || !strings.Contains(got.Detail, b.Command) {
		t.Errorf("outcome %+v, want unreached that names %q", got, b.Command)
	}
}

func TestAgentGetsItsEnvironmentAndFilesDoNot(t *testing.T) {
	t.Parallel()
	b := newBench(t, "env")
	ho := b.handover("run-1")
	ho.Fresh = true
	h := b.open(t)
	if got := h.Deliver(within(t, time.Minute), ho); got.Kind != loop.RunDone {
		t.Fatalf("outcome %+v", got)
	}
	answer, err := os.ReadFile(b.file("run-1", "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SECRET=s3cret", "LOOP_WORK_ITEM=github:acme/shop#15", "PWD=" + b.Cwd, "LOOP_RUN=run-1."} {
		if !strings.Contains(string(answer), want) {
			t.Errorf("the agent's environment lacks %s: %s", want, answer)
		}
	}
	if strings.Contains(string(answer), "HOME=") {
		t.Errorf("the daemon's own environment leaked: %s", answer)
	}
	argv, err := os.ReadFile(filepath.Join(b.scene(), "began"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("-p --session-id %s --output-format json\n", conversation); string(argv) != want {
		t.Errorf("arguments %q, want %q", argv, want)
	}
	for _, name := range []string{"prompt.txt", "launch.json", "started.json", "exit.json", "stderr", "exec.log"} {
		text, err := os.ReadFile(b.file("run-1", name))
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(text), "s3cret") {
			t.Errorf("%s holds a secret", name)
		}
		if info, err := os.Stat(b.file("run-1", name)); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	if info, err := os.Stat(b.file("run-1", "")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v", info.Mode(), err)
	}
}

func TestDetachedRunGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "wait=go answer")
	h := b.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	outcome := make(chan loop.Outcome, 1)
	go func() { outcome <- h.Deliver(ctx, b.handover("run-1")) }()
	await(t, filepath.Join(b.scene(), "began"))
	cancel()
	if got := <-outcome; got.Kind != loop.RunDetached {
		t.Fatalf("outcome %+v, want detached", got)
	}
	b.sign(t, "go")
	if got := h.Settle(within(t, time.Minute), b.handover("run-1")); got.Kind != loop.RunDone {
		t.Errorf("outcome %+v, want done", got)
	}
	if got := h.Deliver(ctx, b.handover("run-2")); got.Kind != loop.RunDetached {
		t.Errorf("a run that was not to begin: %+v, want detached", got)
	}
	if got := h.Settle(t.Context(), b.handover("run-2")); got.Kind != loop.RunNever {
		t.Errorf("and its settling: %+v, want never", got)
	}
}

func TestRunIDIsUsedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "answer")
	h := b.open(t)
	if got := h.Deliver(within(t, time.Minute), b.handover("run-1")); got.Kind != loop.RunDone {
		t.Fatalf("outcome %+v", got)
	}
	if got := h.Deliver(within(t, time.Minute), b.handover("run-1")); got.Kind != loop.RunUnreached {
		t.Errorf("the second time: %+v, want unreached", got)
	}
	if b.began(t) != 1 {
		t.Errorf("the agent was begun %d times", b.began(t))
	}
}
