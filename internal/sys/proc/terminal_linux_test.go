package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

func TestTerminalIsThatOfTheProcess(t *testing.T) {
	t.Parallel()
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	defer func() { _ = ptmx.Close() }()
	if err := unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("pts/%d", number)
	tty, err := os.OpenFile("/dev/"+want, os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tty.Close() }()
	inside := exec.CommandContext(t.Context(), "cat")
	inside.Stdin = tty
	inside.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	outside := exec.CommandContext(t.Context(), "cat")
	outside.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := outside.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[*exec.Cmd]string{inside: want, outside: ""} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if got := proc.Terminal(cmd.Process.Pid); got != want {
			t.Errorf("the terminal is %q, want %q", got, want)
		}
	}
	_ = pipe.Close()
	_ = inside.Process.Kill()
	_ = inside.Wait()
	_ = outside.Wait()
}
