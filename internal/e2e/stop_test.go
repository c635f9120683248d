package e2e_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Given a harness that hangs, somebody who follows the event log, one who has only connected, and a client in the middle of a body,
// When loopd gets SIGTERM,
// Then it stops in order although none of them ends, the harness goes on without it, and the next loopd finds its run.
func TestAStopWaitsForNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	d := w.start()
	w.register("acme/shop#15", conversation)
	id := w.comment(15, "[[claude hang]]")
	w.await("the run", func() bool { return len(w.runs()) == 1 })

	follower := exec.Command(filepath.Join(w.dir, "bin", "loopctl"), "events", "-f")
	follower.Env = w.env
	said := &syncBuffer{}
	follower.Stdout = said
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = follower.Process.Kill()
		_ = follower.Wait()
	})
	w.await("the follower to follow", func() bool { return strings.Contains(said.String(), "run.started") })
	silent, err := net.Dial("unix", filepath.Join(w.dir, "s", "loopd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	u, _ := url.Parse(d.url)
	slow, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	_, _ = fmt.Fprintf(slow, "POST /gh-webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")

	d.signal(syscall.SIGTERM)
	if code := w.code(d); code != 0 {
		t.Errorf("loopd ended with %d:\n%s", code, d.log)
	}
	if err := syscall.Kill(w.runs()[0].PID, 0); err != nil {
		t.Error("the harness was ended with loopd")
	}
	w.start()
	if got := w.delivery(id); got.State != "running" || got.Attempts != 1 {
		t.Errorf("the delivery is %s after %d tries", got.State, got.Attempts)
	}
	w.must("sessions", "close", "acme/shop#15")
	w.ends(id, "dropped", "item-closed")
	w.gone()
}

// Given a loopd that writes its log into a pipe,
// When the program that reads the log ends, and the terminal hangs up,
// Then loopd goes on.
func TestLoopdOutlivesTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	log, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d := w.launchInto(in)
	_ = in.Close()
	for line := ""; !strings.Contains(line, "loopd is ready"); {
		b := make([]byte, 4096)
		n, err := log.Read(b)
		if err != nil {
			t.Fatalf("%v after:\n%s", err, line)
		}
		line += string(b[:n])
		_, _ = d.log.Write(b[:n])
	}
	d.url = d.receiver()
	_ = log.Close()
	w.register("acme/shop#15", conversation)
	w.ends(w.comment(15, "hello"), "done", "")
	d.signal(syscall.SIGHUP)
	w.await("the configuration to be read again", func() bool { return len(w.events("config.reloaded")) > 0 })
	w.ends(w.comment(15, "still there?"), "done", "")
	d.signal(syscall.SIGTERM)
	if code := w.code(d); code != 0 {
		t.Errorf("loopd ended with %v", d.cmd.ProcessState)
	}
}

// Given a loopd that does not come to an end by itself,
// When it gets SIGINT twice, as from a person who presses Ctrl-C again,
// Then the second one ends it at once, and the next loopd does what was not done.
func TestASecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	d := w.start("LOOP_E2E_STALL_AT=decided")
	w.register("acme/shop#15", conversation)
	id := w.comment(15, "hello")
	w.await("the stall", func() bool { return strings.Contains(d.log.String(), "stalled") })
	d.signal(syscall.SIGINT)
	w.await("the stop to begin", func() bool {
		_, err := os.Lstat(filepath.Join(w.dir, "s", "loopd.sock"))
		return err != nil
	})
	select {
	case <-d.done:
		t.Fatalf("one SIGINT ended it, so this test tells nothing:\n%s", d.log)
	default:
	}
	d.signal(syscall.SIGINT)
	if code := w.code(d); code != 1 || !strings.Contains(lastLine(d), "second signal") {
		t.Errorf("exit %d, and the last words:\n%s", code, lastLine(d))
	}
	w.start()
	w.ends(id, "done", "")
}
