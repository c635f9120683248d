package proc

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// Identity names one process for good, also in a file that is read after a restart. A pid alone does not: it goes to another
// process after the first one's end. The zero Identity names none.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // when it started, in the kernel's own unit
	Boot  string `json:"boot"`  // which boot of the machine
}

// Self names this process.
func Self() (Identity, error) { return Of(os.Getpid()) }

// Of names the process that has the pid now. The error is os.ErrProcessDone when there is none, or only a zombie.
func Of(pid int) (Identity, error) {
	row, err := stat(pid)
	if err == nil && row.ended {
		err = os.ErrProcessDone
	}
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return row.identity(), nil
}

// Alive says whether the very process runs. A zombie does not, and neither does one of an earlier boot.
func Alive(id Identity) bool {
	if id.PID < 1 || id.Boot != boot() {
		return false
	}
	row, err := stat(id.PID)
	return err == nil && !row.ended && row.start == id.Start
}

// Wait blocks until the process has ended, ours or not, and returns nil; or ctx's error when that ends first. It sleeps in the
// kernel, it does not poll.
func Wait(ctx context.Context, id Identity) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !Alive(id) {
		return nil
	}
	if err := wait(ctx, id); err != nil {
		return fmt.Errorf("wait for process %d: %w", id.PID, err)
	}
	return nil
}

// Signal sends a signal to the very process. The error is os.ErrProcessDone when it has ended, even if another process has its
// pid now. Pid 1 and what is below (where kill would mean groups) are refused.
func Signal(id Identity, sig syscall.Signal) error {
	if id.PID <= 1 {
		return fmt.Errorf("signal process %d: %w", id.PID, os.ErrPermission)
	}
	err := os.ErrProcessDone
	if id.Boot == boot() {
		err = signal(id, sig)
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// row is one process as the kernel's table shows it.
type row struct {
	pid, parent, group int
	start              uint64
	ended              bool   // a zombie
	terminal           uint32 // the device's number; 0 is none
}

func (r row) identity() Identity { return Identity{PID: r.pid, Start: r.start, Boot: boot()} }
