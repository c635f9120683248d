package e2e_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// gone waits until no process is left of this world's runs.
func (w *world) gone(pid int) {
	w.t.Helper()
	w.await("process "+strconv.Itoa(pid)+" and its children to be gone", func() bool { return len(w.processes()) == 0 })
}

// processes lists the pids of this world's runs that live: all whose environment names one of them, and all that work in the
// folder of its sessions, whatever became of their environment.
func (w *world) processes() []int {
	var found []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		named := strings.Contains(string(env), "LOOP_RUN=") && strings.Contains(string(env), w.dir)
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || !named && cwd != w.work {
			continue
		}
		if stat, err := os.ReadFile(filepath.Join(dir, "stat")); err == nil && !strings.Contains(string(stat), ") Z ") {
			found = append(found, pid)
		}
	}
	return found
}

// sweep ends what the runs of a test have left behind, which outlives loopd on purpose.
func (w *world) sweep() {
	w.await("the runs that are left to end", func() bool {
		left := w.processes()
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(left) == 0
	})
}
