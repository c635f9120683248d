package e2e_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// gone waits until no process is left of this world's runs.
func (w *world) gone() {
	w.t.Helper()
	w.await("the processes of the runs to be gone", func() bool { return len(w.processes()) == 0 })
}

// processes lists the pids of this world's runs that live: all whose environment names one of them, and all that work in the
// folder of its sessions, whatever became of their environment.
func (w *world) processes() []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	if len(dirs) == 0 {
		return w.trees()
	}
	var found []int
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

// trees is processes where there is no /proc: what loopd itself could find of its runs.
func (w *world) trees() []int {
	var found []int
	files, _ := filepath.Glob(filepath.Join(w.state, "runs", "*", "launch.json"))
	for _, file := range files {
		var launch struct{ Cookie string }
		w.decode(w.read(file), &launch)
		living, err := proc.Tree{Cookie: "LOOP_RUN=" + launch.Cookie}.Living()
		if err != nil {
			w.t.Error(err)
		}
		for _, id := range living {
			found = append(found, id.PID)
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
