package e2e_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// gone waits until no process is left that carries this world's folder in its environment or arguments, beside loopd.
func (w *world) gone(pid int) {
	w.t.Helper()
	w.await("process "+strconv.Itoa(pid)+" and its children to be gone", func() bool { return len(w.processes()) == 0 })
}

// processes lists the pids of living processes of this world's runs: all whose environment names one of them.
func (w *world) processes() []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(string(env), "LOOP_RUN=") || !strings.Contains(string(env), w.dir) {
			continue
		}
		if stat, err := os.ReadFile(filepath.Join(dir, "stat")); err == nil && !strings.Contains(string(stat), ") Z ") {
			found = append(found, filepath.Base(dir))
		}
	}
	return found
}
