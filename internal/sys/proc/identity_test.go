package proc_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

func TestIdentityOfSelfSurvivesAFile(t *testing.T) {
	t.Parallel()
	id, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(id)
	if err != nil {
		t.Fatal(err)
	}
	var got proc.Identity
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(id, got); diff != "" {
		t.Error(diff)
	}
	if id.PID != os.Getpid() || id.Start == 0 || id.Boot == "" || !proc.Alive(got) {
		t.Errorf("identity %+v of pid %d, alive: %v", id, os.Getpid(), proc.Alive(got))
	}
}

func TestAliveTellsProcessesApart(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "wait")
	id := tr.identities(t, 1)[0]
	later, otherBoot, nobody := id, id, proc.Identity{}
	later.Start++
	otherBoot.Boot = "another"
	for name, tt := range map[string]struct {
		id   proc.Identity
		want bool
	}{
		"itself": {id, true}, "same pid, other start": {later, false}, "before a reboot": {otherBoot, false}, "zero": {nobody, false},
	} {
		if got := proc.Alive(tt.id); got != tt.want {
			t.Errorf("%s: alive = %v, want %v", name, got, tt.want)
		}
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "flood", "0")
	if err := tr.child.Exited(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	// Not reaped: kill(pid, 0) would call it alive.
	if err := syscall.Kill(tr.child.ID().PID, 0); err != nil {
		t.Fatalf("no zombie to look at: %v", err)
	}
	if proc.Alive(tr.child.ID()) {
		t.Error("a zombie is alive")
	}
	if _, err := proc.Of(tr.child.ID().PID); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Of a zombie: err = %v", err)
	}
	tr.child.Reap()
	if _, err := proc.Of(tr.child.ID().PID); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Of nobody: err = %v", err)
	}
}

func TestSignalReachesOnlyTheVeryProcess(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "wait")
	id := tr.identities(t, 1)[0]
	recycled, otherBoot := id, id
	recycled.Start--
	otherBoot.Boot = "another"
	for _, stranger := range []proc.Identity{recycled, otherBoot} {
		if err := proc.Signal(stranger, syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("signal %+v: err = %v, want %v", stranger, err, os.ErrProcessDone)
		}
	}
	for _, pid := range []int{1, 0, -1, -id.PID} {
		if err := proc.Signal(proc.Identity{PID: pid, Start: id.Start, Boot: id.Boot}, syscall.SIGKILL); !errors.Is(err, os.ErrPermission) {
			t.Errorf("signal pid %d: err = %v, want %v", pid, err, os.ErrPermission)
		}
	}
	if !proc.Alive(id) {
		t.Fatal("a signal for somebody else ended the process")
	}
	if err := proc.Signal(id, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exit, err := tr.child.Wait(within(t, time.Minute))
	if diff := cmp.Diff(proc.Exit{Code: -1, Signal: syscall.SIGTERM}, exit); err != nil || diff != "" {
		t.Errorf("err = %v, %s", err, diff)
	}
}

func TestWaitForAProcessThatIsNoChild(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "grandchild")
	pid, err := strconv.Atoi(tr.line(t))
	if err != nil {
		t.Fatal(err)
	}
	id, err := proc.Of(pid)
	if err != nil {
		t.Fatal(err)
	}

	brief, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := proc.Wait(brief, id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait for a living process: err = %v, want %v", err, context.DeadlineExceeded)
	}

	ended := make(chan error, 1)
	go func() { ended <- proc.Wait(t.Context(), id) }()
	if err := proc.Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the end of a process was not noticed")
	}
	if err := proc.Wait(t.Context(), id); err != nil {
		t.Errorf("wait for one that ended: %v", err)
	}
}
