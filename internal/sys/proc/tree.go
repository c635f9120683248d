package proc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	lookInterval = 50 * time.Millisecond // between two looks at a tree that was asked to end
	killPause    = 2 * time.Millisecond  // between the first two rounds of KILL; then longer ones
	killLimit    = 20 * time.Second      // for all rounds: a process stuck in the kernel takes longer, or one on a machine that starves it
)

// Tree describes a program with everything that it started, however far that got away: into groups and sessions of its own,
// with an environment of its own, with its parents ended. Each part that is set adds to the tree; the descendants of what
// belongs to it belong to it too. This process never does.
type Tree struct {
	// Root is the program: the one that is asked to end. Without it those are asked whose parents are not in the tree.
	Root Identity
	// Group is the process group that the program was started in. It counts only while Root, or a process with the cookie, is
	// in it: a group id too goes to somebody else in the end.
	Group int
	// Cookie is an entry NAME=value of the environment that the program was started with and no other process has.
	Cookie string
	// Under names a process whose descendants all belong to the tree, but not it itself: one that hosts this program alone.
	Under Identity
}

// End ends the tree: TERM to the program alone, so that it can end its tools itself; KILL to all that is left when the program
// is gone or the grace is over; again until none is found. The tree is looked at before the first signal and all the while:
// parents that end first would leave children that nobody can find. It says whether KILL was needed. The end of ctx cuts the
// grace short, not the killing. An error names what would not end.
func (t Tree) End(ctx context.Context, grace time.Duration) (killed bool, err error) {
	h := hunt{tree: t, seen: map[Identity]bool{}}
	found, err := h.look()
	if err != nil || len(found) == 0 {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := h.watch(ctx, h.ask(found)); err != nil {
		return false, err
	}
	return h.kill()
}

// Kill ends the tree at once, without asking.
func (t Tree) Kill() (killed bool, err error) {
	h := hunt{tree: t, seen: map[Identity]bool{}}
	return h.kill()
}

// Living lists the processes of the tree that run now.
func (t Tree) Living() ([]Identity, error) {
	h := hunt{tree: t, seen: map[Identity]bool{}}
	rows, err := h.look()
	if err != nil {
		return nil, err
	}
	ids := make([]Identity, len(rows))
	for i, r := range rows {
		ids[i] = r.identity()
	}
	return ids, nil
}

// hunt is one ending of a tree: what was once seen in it stays prey, whatever it looks like later.
type hunt struct {
	tree Tree
	seen map[Identity]bool
}

// look reads the process table and returns what lives of the tree.
func (h *hunt) look() ([]row, error) {
	table, err := list()
	if err != nil {
		return nil, fmt.Errorf("look for a process tree: %w", err)
	}
	table = slices.DeleteFunc(table, func(r row) bool { return r.ended || r.pid <= 1 || r.pid == os.Getpid() })
	in := map[int]row{}
	for _, r := range table {
		if h.belongs(r) {
			in[r.pid] = r
		}
	}
	addDescendants(in, table, h.under(table))
	if h.ownsGroup(in) {
		for _, r := range table {
			if r.group == h.tree.Group {
				in[r.pid] = r
			}
		}
		addDescendants(in, table, 0)
	}
	for _, r := range in {
		h.seen[r.identity()] = true
	}
	return slices.Collect(maps.Values(in)), nil
}

// belongs says whether a process is in the tree on its own account.
func (h *hunt) belongs(r row) bool {
	if id := r.identity(); id == h.tree.Root || h.seen[id] {
		return true
	}
	older := h.tree.Root.Boot == boot() && r.start < h.tree.Root.Start // so it inherited nothing from the program
	return h.tree.Cookie != "" && !older && hasEnv(r.pid, h.tree.Cookie)
}

// under is the pid of the host while it is the very process, else 0. The host may be this process, which is in no table here.
func (h *hunt) under(table []row) int {
	host := h.tree.Under
	if host.PID == os.Getpid() || slices.ContainsFunc(table, func(r row) bool { return r.identity() == host }) {
		return host.PID
	}
	return 0
}

func (h *hunt) ownsGroup(in map[int]row) bool {
	if h.tree.Group <= 1 {
		return false
	}
	for _, r := range in {
		if r.group == h.tree.Group {
			return true
		}
	}
	return false
}

// addDescendants adds to the set the descendants of its members and of the host, which is not a member.
func addDescendants(in map[int]row, table []row, host int) {
	for grew := true; grew; {
		grew = false
		for _, r := range table {
			_, has := in[r.pid]
			_, child := in[r.parent]
			if !has && (child || host != 0 && r.parent == host) {
				in[r.pid] = r
				grew = true
			}
		}
	}
}

// ask sends TERM to the program and returns whom it asked.
func (h *hunt) ask(found []row) []Identity {
	tops := []Identity{h.tree.Root}
	if h.tree.Root == (Identity{}) {
		tops = nil
		for _, r := range found {
			if !slices.ContainsFunc(found, func(other row) bool { return other.pid == r.parent }) {
				tops = append(tops, r.identity())
			}
		}
	}
	return slices.DeleteFunc(tops, func(id Identity) bool { return Signal(id, syscall.SIGTERM) != nil })
}

// watch looks at the tree until those who were asked have ended, or ctx has.
func (h *hunt) watch(ctx context.Context, asked []Identity) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for slices.ContainsFunc(asked, Alive) {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if _, err := h.look(); err != nil {
			return err
		}
	}
	return nil
}

// kill sends KILL to all that lives of the tree until nothing does. Only the second look that finds nothing is believed: a
// program that is just being loaded has no readable environment for a moment.
func (h *hunt) kill() (killed bool, err error) {
	var left []row
	pause := killPause
	for empty, stop := 0, time.Now().Add(killLimit); time.Now().Before(stop); pause = min(2*pause, lookInterval) {
		if left, err = h.look(); err != nil {
			return killed, err
		}
		if len(left) > 0 {
			empty = 0
		} else if empty++; empty == 2 {
			return killed, nil
		}
		for _, r := range left {
			err := Signal(r.identity(), syscall.SIGKILL)
			killed = killed || !errors.Is(err, os.ErrProcessDone)
		}
		time.Sleep(pause)
	}
	if len(left) == 0 {
		return killed, nil
	}
	pids := make([]string, len(left))
	for i, r := range left {
		pids[i] = strconv.Itoa(r.pid)
	}
	return killed, fmt.Errorf("end a process tree: pid %s will not end", strings.Join(pids, ", "))
}
