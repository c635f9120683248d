package runner_test

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// A dead pane goes on to show the pid that its program had, which the kernel gives to others.
func TestPidThatIsAnothersByNowIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, killServer := range map[string]bool{"of a dead pane": false, "of a pane that is gone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			s := h.session(15)
			h.delivers(s, true, "the first")
			pane := h.pane(s)
			if killServer {
				if err := syscall.Kill(parentOf(t, pane.PID), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			} else if err := syscall.Kill(pane.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			tmuxtest.Eventually(t, "the death", func() bool {
				panes, err := h.server.Probe(t.Context())
				at, there := panes.Find(pane.Launch)
				return err == nil && (!there || at.Dead) && syscall.Kill(pane.PID, 0) != nil
			})
			stranger := withPID(t, pane.PID)
			h.stop()
			h.open()
			for _, act := range []func(){
				func() {
					if got, err := h.End(t.Context(), s, loop.Wish{}); err != nil || got.Found {
						t.Errorf("an agent that has ended: %+v, %v", got, err)
					}
				},
				func() { h.delivers(s, false, "the second") },
				func() {
					if _, err := h.End(t.Context(), s, loop.Wish{}); err != nil {
						t.Error(err)
					}
				},
			} {
				act()
				if !proc.Alive(stranger) {
					t.Fatal("the stranger was ended")
				}
			}
		})
	}
}

// withPID starts a process that has the pid.
func withPID(t *testing.T, pid int) proc.Identity {
	t.Helper()
	for range 1000 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Skip("only root can choose the pid of a process: ", err)
		}
		cmd := exec.CommandContext(t.Context(), "/bin/sleep", "600")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if cmd.Process.Pid == pid {
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			id, err := proc.Of(pid)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Skipf("the kernel never gave out pid %d again", pid)
	return proc.Identity{}
}
