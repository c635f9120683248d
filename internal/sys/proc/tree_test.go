package proc_test

import (
	"context"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

func TestTreeEndsWhole(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		helper string
		start  func(proc.Program) (*proc.Child, error)
		tree   func(*troop) proc.Tree
	}{
		{"a program that obeys", "family", proc.Start, func(tr *troop) proc.Tree {
			return proc.Tree{Root: tr.child.ID(), Group: tr.child.ID().PID, Cookie: tr.cookie}
		}},
		{"a program that does not", "stubborn-family", proc.Start, func(tr *troop) proc.Tree {
			return proc.Tree{Root: tr.child.ID(), Group: tr.child.ID().PID, Cookie: tr.cookie}
		}},
		{"by descent alone", "stubborn-family", proc.Start, func(tr *troop) proc.Tree { return proc.Tree{Root: tr.child.ID()} }},
		{"by cookie alone", "family", proc.Start, func(tr *troop) proc.Tree { return proc.Tree{Cookie: tr.cookie} }},
		{"in its own session", "family", proc.Detach, func(tr *troop) proc.Tree { return proc.Tree{Root: tr.child.ID()} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr := startTroop(t, tt.start, tt.helper)
			ids := tr.identities(t, 4)
			grace := 30 * time.Second
			if tt.helper == "stubborn-family" {
				grace = 100 * time.Millisecond
			}
			killed, err := tt.tree(tr).End(t.Context(), grace)
			if err != nil {
				t.Fatal(err)
			}
			if !killed {
				t.Error("KILL was needed for the tools, and not reported")
			}
			tr.wantGone(t, ids)
			exit := tr.child.Reap()
			if want := map[string]syscall.Signal{"family": syscall.SIGTERM, "stubborn-family": syscall.SIGKILL}[tt.helper]; exit.Signal != want {
				t.Errorf("the program ended by %v, want %v", exit.Signal, want)
			}
		})
	}
}

func TestTreeThatObeysNeedsNoKill(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "wait")
	ids := tr.identities(t, 1)
	tree := proc.Tree{Root: tr.child.ID(), Cookie: tr.cookie}
	killed, err := tree.End(t.Context(), time.Minute)
	if killed || err != nil {
		t.Errorf("killed = %v, err = %v", killed, err)
	}
	tr.wantGone(t, ids)
	if killed, err := tree.End(t.Context(), time.Minute); killed || err != nil {
		t.Errorf("the second time: killed = %v, err = %v", killed, err)
	}
}

func TestTreeGraceEndsWithTheContext(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "stubborn-family")
	ids := tr.identities(t, 4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if killed, err := (proc.Tree{Root: tr.child.ID()}).End(ctx, time.Hour); !killed || err != nil {
		t.Errorf("killed = %v, err = %v", killed, err)
	}
	tr.wantGone(t, ids)
}

// Strangers: a process that has the pid of the tree's program by now, and a group that got its number.
func TestTreeLeavesStrangersAlone(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "family")
	ids := tr.identities(t, 4)
	former := tr.child.ID()
	former.Start--
	for name, tree := range map[string]proc.Tree{
		"recycled pid and group": {Root: former, Group: former.PID, Cookie: cookie + "nobody has this"},
		"recycled host":          {Under: former},
		"group alone":            {Group: former.PID},
		"half a cookie":          {Cookie: tr.cookie[:len(tr.cookie)-1]},
		"nothing":                {},
	} {
		if killed, err := tree.End(t.Context(), 0); killed || err != nil {
			t.Errorf("%s: killed = %v, err = %v", name, killed, err)
		}
	}
	for _, id := range ids {
		if !proc.Alive(id) {
			t.Errorf("process %d was ended", id.PID)
		}
	}
}

// This process is under itself, and is not ended.
func TestTreeNeverIncludesUs(t *testing.T) {
	t.Parallel()
	me, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	tree := proc.Tree{Root: me, Group: syscall.Getpgrp(), Cookie: ownEnv(t)}
	living, err := tree.Living()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range living {
		if id == me {
			t.Error("we are in a tree of ours")
		}
	}
}

// ownEnv is an entry that this process's environment really has.
func ownEnv(t *testing.T) string {
	t.Helper()
	env := os.Environ()
	if len(env) == 0 {
		t.Skip("this process has no environment")
	}
	return env[0]
}

func TestDetachedOutlivesItsParent(t *testing.T) {
	t.Parallel()
	tr := startTroop(t, proc.Start, "detach")
	id := tr.identities(t, 1)[0]
	if _, err := tr.child.Wait(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if !proc.Alive(id) {
		t.Fatal("it ended with its parent")
	}
	group, err := syscall.Getpgid(id.PID)
	if err != nil || group != id.PID {
		t.Errorf("its group is %d, %v; want its own, %d", group, err, id.PID)
	}
	if killed, err := (proc.Tree{Cookie: tr.cookie}).End(t.Context(), time.Minute); killed || err != nil {
		t.Errorf("killed = %v, err = %v", killed, err)
	}
	tr.wantGone(t, []proc.Identity{id})
}

func TestProcargs(t *testing.T) {
	t.Parallel()
	args := func(argc uint32, rest ...string) []byte {
		return append(binary.NativeEndian.AppendUint32(nil, argc), strings.Join(rest, "\x00")...)
	}
	tests := []struct {
		name string
		in   []byte
		want bool
	}{
		{"in the environment", args(2, "/bin/x", "", "", "x", "y", "A=1", "RUN=7", ""), true},
		{"an argument only", args(2, "/bin/x", "", "x", "RUN=7", "A=1", ""), false},
		{"a prefix only", args(1, "/bin/x", "x", "RUN=77", ""), false},
		{"more arguments announced than there are", args(9, "/bin/x", "x", "RUN=7", ""), false},
		{"empty", nil, false},
		{"path only", args(0, "/bin/x"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := proc.ProcargsHasEnv(tt.in, "RUN=7"); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if got, _ := proc.Procargs(args(2, "/bin/x", "", "", "x", "y z", "A=1", "")); !slices.Equal(got, []string{"x", "y z"}) {
		t.Errorf("arguments %q", got)
	}
}
