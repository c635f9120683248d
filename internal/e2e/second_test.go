package e2e_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Given a loopd,
// When another one starts on its state folder, and one with a state folder of its own on its socket,
// Then each names the first one's pid and what is held, ends with 1, and the first is not disturbed.
func TestASecondLoopd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	first := w.start()
	w.register("acme/shop#15", conversation)
	socket := filepath.Join(w.dir, "s", "loopd.sock")
	before, err := os.Stat(socket)
	if err != nil {
		t.Fatal(err)
	}
	holder := strconv.Itoa(first.cmd.Process.Pid)
	other := filepath.Join(w.dir, "other.toml")
	w.put(other, strings.ReplaceAll(w.read(filepath.Join(w.dir, "loop.toml")), w.state, w.state+"2"))
	cases := []struct {
		name, more, held string
	}{
		{"on its state folder", "LOOP_SOCKET=" + filepath.Join(w.dir, "s2", "loopd.sock"), w.state},
		{"on its socket", "LOOP_CONFIG=" + other, socket},
		{"on both", "X=", w.state},
	}
	for _, c := range cases {
		d := w.launch(c.more)
		last := ""
		if code := w.code(d); code == 1 {
			last = lastLine(d)
		}
		if !strings.Contains(last, holder) || !strings.Contains(last, c.held) {
			t.Errorf("%s: want exit 1, and the holder %s and %s named:\n%s", c.name, holder, c.held, d.log)
		}
	}
	w.loopd = first
	after, err := os.Stat(socket)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the socket is another one now: %v", err)
	}
	if pid := w.status().PID; pid != first.cmd.Process.Pid {
		t.Errorf("pid %d answers, want the first, %s", pid, holder)
	}
	w.ends(w.comment(15, "still there?"), "done", "")
	if _, err := os.Stat(filepath.Join(w.state+"2", "journal.db")); err == nil {
		t.Error("the second one made a journal of its own")
	}
}
