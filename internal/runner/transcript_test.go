package runner_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
)

func TestTranscriptShowsRunsInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, "complain=a_\x1b[31mred_hint answer")
	h := b.open(t)
	for _, id := range []loop.RunID{"run-1", "run-2"} {
		if got := h.Deliver(within(t, time.Minute), b.handover(id)); got.Kind != loop.RunDone {
			t.Fatalf("outcome %+v", got)
		}
	}
	other := b.handover("run-3")
	other.Session.WorkItem = other.Session.WorkItem.Sibling(1)
	if got := h.Deliver(within(t, time.Minute), other); got.Kind != loop.RunDone {
		t.Fatalf("outcome %+v", got)
	}
	if _, err := h.Terminate(t.Context(), "run-4"); err != nil { // a folder with nothing to show
		t.Fatal(err)
	}
	want := `=== run run-1, claude, TIME
--- prompt
look at -this
"now"

--- done after TIME
look at -this
"now"

--- stderr
a [31mred hint
`
	want += strings.ReplaceAll(want, "run-1", "run-2")
	if diff := cmp.Diff(want, read(t, h, b.handover("").Session)); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

func TestTranscriptOfWhatFailed(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"say=hello exit=2": "--- failed after TIME: claude ended with exit status 2 and printed something else than an answer: hello\nhello\n",
		"exit=2":           "--- failed after TIME: claude ended with exit status 2 and printed nothing\n",
	} {
		b := newBench(t, agent)
		h := b.open(t)
		h.Deliver(within(t, time.Minute), b.handover("run-1"))
		if got := read(t, h, b.handover("").Session); !strings.HasSuffix(got, want) {
			t.Errorf("transcript %q, want it to end in %q", got, want)
		}
	}
}

func TestTranscriptFollows(t *testing.T) {
	t.Parallel()
	b := newBench(t, "wait=go answer")
	h := b.open(t)
	go h.Deliver(t.Context(), b.handover("run-1"))
	await(t, b.file("run-1", "started.json"))
	if got := read(t, h, b.handover("").Session); !strings.HasSuffix(got, "\n--- still running\n") {
		t.Errorf("while it runs: %q", got)
	}

	ctx, cancel := context.WithCancel(within(t, time.Minute))
	var got []string
	err := h.Transcript(ctx, b.handover("").Session, true, func(text string) error {
		got = append(got, text)
		b.sign(t, "go")
		if len(got) == 2 {
			cancel()
		}
		return nil
	})
	if err != nil || len(got) != 2 || !strings.Contains(got[0], "--- prompt") || !strings.Contains(got[1], "--- done") {
		t.Errorf("followed %q, %v", got, err)
	}

	gone := errors.New("reader is gone")
	if err := h.Transcript(t.Context(), b.handover("").Session, true, func(string) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("err = %v, want %v", err, gone)
	}
}

func TestPruneRemovesOldRunsOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, "wait=go answer")
	h := b.open(t)
	b.sign(t, "go")
	for _, id := range []loop.RunID{"old-1", "young-1"} {
		if got := h.Deliver(within(t, time.Minute), b.handover(id)); got.Kind != loop.RunDone {
			t.Fatalf("outcome %+v", got)
		}
	}
	if err := os.Remove(b.scene() + "/go"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan loop.Outcome, 1)
	go func() { ended <- h.Deliver(t.Context(), b.handover("alive-1")) }()
	await(t, b.file("alive-1", "stderr"))
	long := time.Now().Add(-time.Hour)
	for _, id := range []loop.RunID{"old-1", "alive-1"} {
		if err := os.Chtimes(b.file(id, ""), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := h.Prune(t.Context(), time.Minute); n != 1 || err != nil {
		t.Errorf("pruned %d, %v; want 1", n, err)
	}
	if _, err := os.Stat(b.file("old-1", "")); err == nil {
		t.Error("the old run is still there")
	}
	b.sign(t, "go")
	if got := <-ended; got.Kind != loop.RunDone {
		t.Errorf("the run that lived: %+v, want done", got)
	}
}

var times = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\b\d+s\b`)

func read(t *testing.T, h *runner.Headless, s loop.Session) string {
	t.Helper()
	var text strings.Builder
	err := h.Transcript(t.Context(), s, false, func(part string) error {
		text.WriteString(part)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return times.ReplaceAllString(text.String(), "TIME")
}
