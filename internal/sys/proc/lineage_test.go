package proc_test

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

func TestLineageBeginsWithTheProcessAndGoesUp(t *testing.T) {
	t.Parallel()
	child := startTroop(t, proc.Start, "wait").identities(t, 1)[0]
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := proc.Of(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	line := slices.Collect(proc.Lineage(child.PID))
	if want := []proc.Identity{child, self, parent}; len(line) < 3 || !slices.Equal(line[:3], want) {
		t.Errorf("lineage %+v, want it to begin with %+v", line, want)
	}
	if line := slices.Collect(proc.Lineage(1 << 29)); line != nil {
		t.Errorf("lineage of nobody: %v", line)
	}
}

func TestArgsAreThoseOfTheProcess(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(os.Args, proc.Args(os.Getpid())); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if args := proc.Args(1 << 29); args != nil {
		t.Errorf("arguments of nobody: %q", args)
	}
}
