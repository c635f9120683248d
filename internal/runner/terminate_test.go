package runner_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
)

func TestTerminate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		agent   string
		with    func(*bench)
		until   string // file of the scene that tells that the agent is where it should be
		want    loop.Termination
		outcome loop.OutcomeKind
	}{
		{"obeys", "wait=never", func(b *bench) { b.Grace = time.Minute }, "began", loop.Termination{Found: true}, loop.RunEnded},
		{"ignores TERM", "stubborn tools stay", nil, "tool-2", loop.Termination{Found: true, Killed: true}, loop.RunEnded},
		{"obeys, its tools do not", "tools stay", nil, "tool-2", loop.Termination{Found: true, Killed: true}, loop.RunEnded},
		{"has answered", "answer complain=x stubborn tools stay", nil, "tool-2", loop.Termination{Found: true, Killed: true}, loop.RunDone},
		{
			"its starter dies of TERM", "tools stay", func(b *bench) { b.Exec = "weak-exec" }, "tool-2",
			loop.Termination{Found: true, Killed: true},
			loop.RunEnded,
		},
		{
			"its starter is deaf", "tools stay", func(b *bench) { b.Exec = "deaf-exec" }, "tool-2",
			loop.Termination{Found: true, Killed: true},
			loop.RunEnded,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.agent)
			if tt.with != nil {
				tt.with(b)
			}
			h := b.open(t)
			outcome := make(chan loop.Outcome, 1)
			go func() { outcome <- h.Deliver(t.Context(), b.handover("run-1")) }()
			await(t, filepath.Join(b.scene(), tt.until))
			got, err := h.Terminate(within(t, time.Minute), "run-1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("termination (-want +got):\n%s", diff)
			}
			b.wantGone(t, "run-1")
			if got := <-outcome; got.Kind != tt.outcome {
				t.Errorf("outcome %+v, want %s", got, tt.outcome)
			}
			if got, err := h.Terminate(within(t, time.Minute), "run-1"); err != nil || got.Found {
				t.Errorf("again: %+v, %v; want nothing found", got, err)
			}
		})
	}
}

// What is to be ended may not have begun: then it never does.
func TestTerminateBeforeTheBeginning(t *testing.T) {
	t.Parallel()
	b := newBench(t, "answer")
	h := b.open(t)
	if got, err := h.Terminate(t.Context(), "run-1"); err != nil || got.Found {
		t.Fatalf("%+v, %v; want nothing found", got, err)
	}
	if got := h.Deliver(within(t, time.Minute), b.handover("run-1")); got.Kind != loop.RunEnded {
		t.Errorf("outcome %+v, want ended", got)
	}
	if got := h.Settle(within(t, time.Minute), b.handover("run-1")); got.Kind != loop.RunEnded {
		t.Errorf("settled: %+v, want ended", got)
	}
	if b.began(t) != 0 {
		t.Error("the agent was begun")
	}
}

// loopd stops within seconds: a grace that is under way then is over.
func TestTerminateGraceEndsWithTheContext(t *testing.T) {
	t.Parallel()
	b := newBench(t, "stubborn wait=never")
	b.Grace = time.Hour
	h := b.open(t)
	outcome := make(chan loop.Outcome, 1)
	go func() { outcome <- h.Deliver(t.Context(), b.handover("run-1")) }()
	await(t, filepath.Join(b.scene(), "began"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := h.Terminate(ctx, "run-1"); err != nil || !got.Killed {
		t.Errorf("%+v, %v; want killed", got, err)
	}
	b.wantGone(t, "run-1")
	if got := <-outcome; got.Kind != loop.RunEnded {
		t.Errorf("outcome %+v, want ended", got)
	}
}
