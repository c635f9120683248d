package proc_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// helpHost are the helpers that need what only Linux has.
func helpHost(name string, _ []string) int {
	switch name {
	case "odd-name":
		// By the file, as prctl would name the thread that it happens to run on.
		if err := os.WriteFile("/proc/self/comm", []byte("a) Z 1 ("), 0); err != nil {
			fmt.Println(err)
			return 1
		}
		announce()
		select {}
	case "host":
		if err := host(); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	return 98
}

// host starts a family, kills its head first, so that the chain of parents is cut, and then ends what is left.
func host() error {
	if err := proc.BecomeReaper(); err != nil {
		return err
	}
	me, err := proc.Self()
	if err != nil {
		return err
	}
	child, err := proc.Start(proc.Program{
		Path: os.Args[0], Args: []string{"helper=family"}, Env: os.Environ(), Stdout: os.Stderr, Stderr: os.Stdout,
	})
	if err != nil {
		return err
	}
	tree := proc.Tree{Root: child.ID(), Under: me}
	var living []proc.Identity
	for len(living) < 4 {
		if living, err = tree.Living(); err != nil {
			return err
		}
	}
	if err := proc.Signal(child.ID(), syscall.SIGKILL); err != nil {
		return err
	}
	if err := child.Exited(context.Background()); err != nil {
		return err
	}
	living, _ = tree.Living()
	killed, err := tree.End(context.Background(), time.Second)
	fmt.Println("left", len(living), "killed", killed, "err", err)

	err = proc.ReapOrphans(child)
	exit := child.Reap()
	_, none := unix.Wait4(-1, nil, unix.WNOHANG, nil)
	fmt.Println("reaped", err, exit.Signal, none)
	return nil
}

func TestReaperFindsOrphansWithoutAnyMark(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "host")
	got := []string{tr.line(t), tr.line(t)}
	want := []string{"left 3 killed true err <nil>", "reaped <nil> killed no child processes"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	tr.wantGone(t, nil) // stderr of the family is the pipe
	if exit, err := tr.child.Wait(within(t, 10*time.Second)); err != nil || exit != (proc.Exit{}) {
		t.Errorf("the host ended with %+v, %v", exit, err)
	}
}

func TestProgramNameCannotForgeItsState(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "odd-name")
	id := tr.identities(t, 1)[0]
	if !proc.Alive(id) || id != tr.child.ID() {
		t.Errorf("identity by pid is %v, by start %v; alive: %v", id, tr.child.ID(), proc.Alive(id))
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", id.PID))
	if err != nil || !strings.HasPrefix(string(comm), "a) Z 1 (") {
		t.Errorf("the name is %q, %v: this test tests nothing", comm, err)
	}
}
