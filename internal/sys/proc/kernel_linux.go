package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// boot is the kernel's id of this boot.
var boot = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // unreadable: one boot, as good as a pid and a start time get
	return strings.TrimSpace(string(id))
})

// stat reads one process; os.ErrProcessDone when there is none.
func stat(pid int) (row, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return row{}, os.ErrProcessDone
	}
	if err != nil {
		return row{}, err
	}
	return parseStat(pid, b)
}

// parseStat reads the line of proc_pid_stat(5). The second field is the program's name in parentheses, which may itself hold
// parentheses and blanks: what counts begins after the last one.
func parseStat(pid int, line []byte) (row, error) {
	const state, parent, group, terminal, threads, start = 0, 1, 2, 4, 17, 19 // after the name, which is field 2
	var fields [start + 1][]byte
	n := 0
	for field := range bytes.FieldsSeq(line[bytes.LastIndexByte(line, ')')+1:]) {
		if fields[n] = field; n == start {
			break
		}
		n++
	}
	if n < start {
		return row{}, fmt.Errorf("malformed stat line %q", line)
	}
	var numbers [4]uint64
	for i, field := range []int{parent, group, threads, start} {
		n, err := strconv.ParseUint(string(fields[field]), 10, 64)
		if err != nil {
			return row{}, fmt.Errorf("malformed stat line %q: %w", line, err)
		}
		numbers[i] = n
	}
	// A first thread that ended while others work shows as a zombie, with more than one thread.
	ended := bytes.Contains([]byte("ZX"), fields[state]) && numbers[2] <= 1
	device, _ := strconv.ParseUint(string(fields[terminal]), 10, 32)
	return row{
		pid: pid, parent: int(numbers[0]), group: int(numbers[1]), start: numbers[3], ended: ended, terminal: uint32(device),
	}, nil
}

// terminalName names a device by its number, as the kernel gives them out.
func terminalName(device uint32) string {
	major, minor := unix.Major(uint64(device)), unix.Minor(uint64(device))
	const console, firstPTS, lastPTS = 4, 136, 143
	switch {
	case major >= firstPTS && major <= lastPTS:
		return fmt.Sprintf("pts/%d", (major-firstPTS)<<8+minor)
	case major == console:
		return fmt.Sprintf("tty%d", minor)
	}
	return ""
}

// arguments reads how a process was started.
func arguments(pid int) []string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(line) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
}

// list reads the whole process table.
func list() ([]row, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if r, err := stat(pid); err == nil { // else it has just ended
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// hasEnv says whether the process was started with this entry in its environment. Of a process that may not be read: no.
func hasEnv(pid int, entry string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for have := range bytes.SplitSeq(env, []byte{0}) {
		if string(have) == entry {
			return true
		}
	}
	return false
}

// openPidfd opens a handle on the very process: with the handle open the start time is read again, so that the pid can't have
// changed hands in between.
func openPidfd(id Identity) (int, error) {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return -1, os.ErrProcessDone
	}
	if err != nil {
		return -1, fmt.Errorf("pidfd_open (Linux 5.3 or newer): %w", err)
	}
	if r, err := stat(id.PID); err != nil || r.start != id.Start {
		_ = unix.Close(fd)
		return -1, os.ErrProcessDone
	}
	return fd, nil
}

func signal(id Identity, sig unix.Signal) error {
	fd, err := openPidfd(id)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.PidfdSendSignal(fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// wait lets the runtime's poller watch the handle: it becomes readable at the process's end.
func wait(ctx context.Context, id Identity) error {
	fd, err := openPidfd(id)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return err
	}
	handle := os.NewFile(uintptr(fd), "pidfd")
	defer func() { _ = handle.Close() }()
	conn, err := handle.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = handle.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err = conn.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n == 1
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ctx.Err()
	}
	return err
}

// BecomeReaper makes this process the parent of every descendant whose own parent ends, so that none gets out of sight. It is
// for a process that hosts one program and nothing else; the orphans then wait for ReapOrphans. On macOS there is no such thing
// and it does nothing.
func BecomeReaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphans: %w", err)
	}
	return nil
}

// ReapOrphans takes ended children out of the process table, but for the one that the caller reaps itself.
func ReapOrphans(except *Child) error {
	rows, err := list()
	if err != nil {
		return fmt.Errorf("reap orphans: %w", err)
	}
	for _, r := range rows {
		if r.ended && r.parent == os.Getpid() && r.pid != except.id.PID {
			_, _ = unix.Wait4(r.pid, nil, unix.WNOHANG, nil)
		}
	}
	return nil
}
