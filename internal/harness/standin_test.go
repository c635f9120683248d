package harness_test

import (
	"testing"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
	"github.com/loop-daemon/loop/internal/loop"
)

// Every way in which the stand-in can fail is read as what it is.
func TestFailuresOfAProcess(t *testing.T) {
	t.Parallel()
	c := newStandIn(t, map[string]string{claudetest.EnvState: ""})
	const forked = "00000000-0000-4000-8000-000000000000"
	answered := loop.Outcome{Kind: loop.RunDone, Detail: "Fake answer", SessionID: conversation, Turns: 1}
	elsewhere := answered
	elsewhere.SessionID = forked
	tests := []struct {
		do   string
		want loop.Outcome
	}{
		{"warn", answered},
		{"fork=" + forked, elsewhere},
		{"silent", loop.Outcome{Kind: loop.RunFailed, Detail: "printed nothing"}},
		{"silent exit=7", loop.Outcome{Kind: loop.RunFailed, Detail: "exit status 7 and printed nothing"}},
		{"nonsense", loop.Outcome{Kind: loop.RunFailed, Detail: "something else than an answer: Segmentation fault"}},
		{"half", loop.Outcome{Kind: loop.RunFailed, Detail: `something else than an answer: {"type":"result"`}},
		{"flood=20000000", loop.Outcome{Kind: loop.RunFailed, Detail: "more than Loop keeps"}},
		{"exit=3", loop.Outcome{Kind: loop.RunFailed, Detail: "exit status 3", SessionID: conversation, Turns: 1}},
		{"interrupted", loop.Outcome{Kind: loop.RunFailed, SessionID: conversation, Turns: 1}},
		{"blocked", loop.Outcome{Kind: loop.RunFailed, Detail: "ran no turn", SessionID: conversation}},
		{"lost", loop.Outcome{Kind: loop.RunLost}},
		{"login", loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldNotLoggedIn, SessionID: conversation, Turns: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.do, func(t *testing.T) {
			t.Parallel()
			wantOutcome(t, c.resume(t, conversation, "hello [[claude "+tt.do+"]]"), tt.want)
		})
	}
}

func TestLimitOfAProcess(t *testing.T) {
	t.Parallel()
	c := newStandIn(t, map[string]string{claudetest.EnvState: "", claudetest.EnvDo: "limit=3:30pm_(UTC)"})
	cmd, err := c.agent.Resume(c.turn(conversation, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	x := runToEnd(t, cmd)
	got := c.agent.Read(x)
	if got.Reason != loop.HeldUsageLimit || !got.Until.After(x.At) || got.Until.UTC().Format("15:04") != "15:30" {
		t.Errorf("got %+v", got)
	}
}

// An empty prompt never reaches the program, and an answer is complete before the process has ended.
func TestPromptAndAnswerOfAProcess(t *testing.T) {
	t.Parallel()
	c := newStandIn(t, nil)
	cmd, err := c.agent.Start(c.turn(c.agent.MintID(), "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if x := runToEnd(t, cmd); x.End != harness.Exited || !c.agent.Complete(x.Stdout) {
		t.Errorf("not complete: %q", x.Stdout)
	}
}
