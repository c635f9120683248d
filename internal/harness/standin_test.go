package harness_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// Every way in which a program can answer and fail is read as what it is, whichever the program.
func TestEndsOfAProcess(t *testing.T) {
	t.Parallel()
	const forked = "00000000-0000-4000-8000-000000000000"
	failure := loop.Outcome{Kind: loop.RunFailed}
	tests := []struct {
		do     string
		want   func(r rig) loop.Outcome
		asText loop.OutcomeKind // of one that prints text, where it differs
	}{
		{"warn", func(r rig) loop.Outcome { return r.answered(conversation, "Fake answer") }, ""},
		{"split=5", func(r rig) loop.Outcome { return r.answered(conversation, "Fake answer") }, ""},
		{"noise=300000", func(r rig) loop.Outcome { return r.answered(conversation, "Fake answer") }, loop.RunDone},
		{"fork=" + forked, func(r rig) loop.Outcome { return r.answered(forked, "Fake answer") }, ""},
		{"silent", func(rig) loop.Outcome { return with(failure, "printed nothing") }, ""},
		{"silent exit=7", func(rig) loop.Outcome { return with(failure, "exit status 7 and printed nothing") }, ""},
		{"nonsense", func(rig) loop.Outcome { return with(failure, "something else than an answer: Segmentation fault") }, loop.RunDone},
		{"half", func(rig) loop.Outcome { return failure }, loop.RunDone},
		{"flood=20000000", func(rig) loop.Outcome { return with(failure, "more than Loop keeps") }, loop.RunDone},
		{"exit=3", func(rig) loop.Outcome { return with(failure, "exit status 3") }, ""},
		{"login", func(rig) loop.Outcome { return loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldNotLoggedIn} }, ""},
	}
	for _, k := range kinds(t) {
		r := newStandIn(t, k, map[string]string{agenttest.EnvState: ""})
		for _, tt := range tests {
			t.Run(k.name+" "+tt.do, func(t *testing.T) {
				t.Parallel()
				want := tt.want(r)
				if r.text && tt.asText != "" {
					want = loop.Outcome{Kind: tt.asText}
				}
				// Start, because cursor looks for the conversation before it resumes one.
				out := r.start(t, conversation, "hello [[agent "+tt.do+"]]")
				if want.SessionID == "" || r.agent.MintID() == "" && want.SessionID == conversation {
					want.SessionID = out.SessionID
				}
				if want.Kind != loop.RunDone {
					want.Turns = out.Turns
				}
				wantOutcome(t, out, want)
			})
		}
	}
}

func with(out loop.Outcome, detail string) loop.Outcome { out.Detail = detail; return out }

// A conversation that is lost in spite of all is told, but by a program that begins another one.
func TestLostInSpiteOfAll(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			r := newStandIn(t, k, map[string]string{agenttest.EnvState: ""})
			first := r.start(t, conversation, "hello")
			id := first.SessionID
			if r.text {
				id = conversation
			}
			out := r.resume(t, id, "hello [[agent lost]]")
			if r.forgets {
				wantOutcome(t, out, r.answered(id, "Fake answer"))
				return
			}
			wantOutcome(t, out, loop.Outcome{Kind: loop.RunLost})
		})
	}
}

func TestLimitOfAProcess(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			r := newStandIn(t, k, map[string]string{agenttest.EnvState: "", "TZ": "UTC"})
			cmd, err := r.agent.Start(r.turn(conversation, "hello [[agent limit=3:30pm_(UTC)]]"))
			if err != nil {
				t.Fatal(err)
			}
			x := runToEnd(t, cmd)
			got := r.agent.Read(x)
			if got.Kind != loop.RunHeld || got.Reason != loop.HeldUsageLimit || got.Until.IsZero() == k.until {
				t.Fatalf("got %+v", got)
			}
			if k.until && (!got.Until.After(x.At) || got.Until.UTC().Format("15:04") != "15:30") {
				t.Errorf("held until %v", got.Until)
			}
		})
	}
}

// An answer is whole when its last byte is there, not before, and without the configuration as with it.
func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			r := newStandIn(t, k, nil)
			cmd, err := r.agent.Start(r.turn(r.agent.MintID(), "hello"))
			if err != nil {
				t.Fatal(err)
			}
			stdout := runToEnd(t, cmd).Stdout
			whole := len(bytes.TrimRight(stdout, "\n"))
			for n := range whole + 1 {
				want := n == whole && !r.text
				if got := r.agent.Complete(stdout[:n]); got != want {
					t.Errorf("complete=%v of %q", got, stdout[:n])
				}
				if got := harness.Complete(k.name, cmd.Format, stdout[:n]); got != want {
					t.Errorf("complete=%v without the configuration of %q", got, stdout[:n])
				}
			}
			if said := r.agent.Text(stdout); !strings.Contains(said, "Fake answer to turn 1: hello") {
				t.Errorf("it said %q", said)
			}
		})
	}
}

// An answer counts although the program stays. Of one that prints text nobody can tell.
func TestAnswerWithoutExit(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(t) {
		if k.text {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			r := newStandIn(t, k, nil)
			id := r.agent.MintID()
			cmd, err := r.agent.Start(r.turn(id, "hello [[agent linger split=5]]"))
			if err != nil {
				t.Fatal(err)
			}
			x := runUntil(t, cmd, r.agent.Complete)
			x.End = harness.Answered
			out := r.agent.Read(x)
			if id == "" {
				id = out.SessionID
			}
			wantOutcome(t, out, r.answered(id, "Fake answer"))
		})
	}
}

// runUntil runs a command until its output is enough, and ends it.
func runUntil(t *testing.T, cmd harness.Command, enough func([]byte) bool) harness.Exit {
	t.Helper()
	dir := t.TempDir()
	input, output := filepath.Join(dir, "stdin"), filepath.Join(dir, "stdout")
	if err := os.WriteFile(input, []byte(cmd.Stdin), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(input)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	child, err := proc.Start(proc.Program{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: stdin, Stdout: stdout})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, err := proc.Tree{Root: child.ID(), Group: child.ID().PID}.End(context.WithoutCancel(t.Context()), time.Second)
		if err != nil {
			t.Error(err)
		}
		child.Reap()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		printed, err := os.ReadFile(output)
		if err != nil || ctx.Err() != nil {
			t.Fatalf("no answer in %q: %v, %v", printed, err, ctx.Err())
		}
		if enough(printed) {
			return harness.Exit{Stdout: printed, At: time.Now()}
		}
		time.Sleep(5 * time.Millisecond)
	}
}
