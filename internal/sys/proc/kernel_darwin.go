package proc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// boot is the kernel's id of this boot.
var boot = sync.OnceValue(func() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid") // unreadable: one boot, as good as a pid and a start time get
	return id
})

// stat reads one process; os.ErrProcessDone when there is none.
func stat(pid int) (row, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) || err == nil && int(p.Proc.P_pid) != pid {
		return row{}, os.ErrProcessDone // the kernel answers with no bytes, which reads as EIO
	}
	if err != nil {
		return row{}, err
	}
	return rowOf(p), nil
}

func rowOf(p *unix.KinfoProc) row {
	started := p.Proc.P_starttime
	terminal := uint32(p.Eproc.Tdev)
	if terminal == math.MaxUint32 { // NODEV
		terminal = 0
	}
	return row{
		pid: int(p.Proc.P_pid), parent: int(p.Eproc.Ppid), group: int(p.Eproc.Pgid),
		start: uint64(started.Sec)*1e6 + uint64(started.Usec),
		ended: p.Proc.P_stat == zombie, terminal: terminal,
	}
}

// terminalName names a device by its number: all terminals in windows are of one kind.
func terminalName(device uint32) string { return fmt.Sprintf("ttys%03d", device&0xffffff) }

// arguments reads how a process was started.
func arguments(pid int) []string {
	told, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil
	}
	args, _ := procargs(told)
	return args
}

// list reads the whole process table.
func list() ([]row, error) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(table))
	for i := range table {
		rows[i] = rowOf(&table[i])
	}
	return rows, nil
}

// hasEnv says whether the process was started with this entry in its environment. Of a process that may not be read (another
// user's, or protected by the system): no.
func hasEnv(pid int, entry string) bool {
	args, err := unix.SysctlRaw("kern.procargs2", pid)
	return err == nil && procargsHasEnv(args, entry)
}

// signal checks the start time right before the kill: there is no handle on a process here, so a small race remains.
func signal(id Identity, sig unix.Signal) error {
	if r, err := stat(id.PID); err != nil || r.start != id.Start {
		return os.ErrProcessDone
	}
	err := unix.Kill(id.PID, sig)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// wait sleeps in a kqueue that tells of the process's end; a user event wakes it when ctx ends.
func wait(ctx context.Context, id Identity) error {
	kq, err := unix.Kqueue()
	if err != nil {
		return err
	}
	unix.CloseOnExec(kq)
	const wake = 1
	changes := []unix.Kevent_t{
		{Ident: uint64(id.PID), Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT},
		{Ident: wake, Filter: unix.EVFILT_USER, Flags: unix.EV_ADD | unix.EV_CLEAR},
	}
	if _, err := unix.Kevent(kq, changes, nil, nil); err != nil {
		_ = unix.Close(kq)
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		return err
	}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		trigger := []unix.Kevent_t{{Ident: wake, Filter: unix.EVFILT_USER, Fflags: unix.NOTE_TRIGGER}}
		_, _ = unix.Kevent(kq, trigger, nil, nil)
	})
	defer func() {
		if !stop() {
			<-woken // it uses the queue
		}
		_ = unix.Close(kq)
	}()
	for Alive(id) && ctx.Err() == nil { // alive: it may have ended before the queue knew of it
		events := make([]unix.Kevent_t, 1)
		if _, err := unix.Kevent(kq, nil, events, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if events[0].Filter == unix.EVFILT_PROC {
			return nil
		}
	}
	if !Alive(id) {
		return nil
	}
	return ctx.Err()
}

// BecomeReaper makes this process the parent of every descendant whose own parent ends, so that none gets out of sight. It is
// for a process that hosts one program and nothing else; the orphans then wait for ReapOrphans. On macOS there is no such thing
// and it does nothing.
func BecomeReaper() error { return nil }

// ReapOrphans takes ended children out of the process table, but for the one that the caller reaps itself. On macOS orphans go
// to launchd and there is nothing to do.
func ReapOrphans(*Child) error { return nil }
