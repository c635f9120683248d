package e2e_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
)

// Given two sessions at work,
// When the harness of one, and the starter that hosts that of the other, are killed as by a machine that is out of memory,
// Then what the dead starter hosted is ended, both deliveries are tried again and done, and the one that was cut off is told so.
func TestProcessesThatAreKilledUnderneath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	other := uuid.NewString()
	w.register("acme/shop#15", conversation)
	w.register("acme/shop#16", other)
	failed := w.comment(15, "[[claude delay=4000]] killed itself")
	w.await("the first run", func() bool { return len(w.runs()) == 1 })
	kill(t, w.runs()[0].PID)
	w.ends(failed, "done", "")

	cut := w.comment(16, "[[claude delay=4000]] lost its starter")
	w.await("the run with a starter", func() bool { return len(w.runs()) == 3 })
	kill(t, w.starter(w.delivery(cut).Run))
	got := w.ends(cut, "done", "")
	w.gone()
	runs := w.runs()
	if len(runs) != 4 || got.Attempts != 2 {
		t.Fatalf("%d tries; %d runs, want 2 and 4", got.Attempts, len(runs))
	}
	if !runs[2].Ended.IsZero() {
		t.Errorf("the run without a starter came to its end: %+v", runs[2])
	}
	const notice = "handed over before"
	if strings.Contains(runs[1].Prompt, notice) || !strings.Contains(runs[3].Prompt, notice) {
		t.Errorf("the second tries were told:\n%s\n%s", runs[1].Prompt, runs[3].Prompt)
	}
}

// starter returns the pid of the starter of a run.
func (w *world) starter(run string) int {
	w.t.Helper()
	file := filepath.Join(w.state, "runs", run, "started.json")
	var claim struct{ PID int }
	w.decode(w.read(file), &claim)
	return claim.PID
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if pid < 2 {
		t.Fatalf("pid %d", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
