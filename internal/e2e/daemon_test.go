package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// daemon is one loopd process.
type daemon struct {
	cmd  *exec.Cmd
	log  *syncBuffer
	url  string        // of its receiver
	done chan struct{} // closed when it has ended
}

// start starts loopd and waits until it takes deliveries. More is added to its environment.
func (w *world) start(more ...string) *daemon {
	w.t.Helper()
	d := w.launch(more...)
	w.await("loopd to be ready", func() bool {
		select {
		case <-d.done:
			w.t.Fatalf("loopd ended before it was ready:\n%s", d.log)
		default:
		}
		return d.receiver() != ""
	})
	d.url = d.receiver()
	return d
}

// launch starts loopd and does not wait.
func (w *world) launch(more ...string) *daemon {
	w.t.Helper()
	return w.launchInto(nil, more...)
}

// launchInto is launch with a log that the test reads itself, where it is not nil.
func (w *world) launchInto(log *os.File, more ...string) *daemon {
	w.t.Helper()
	d := &daemon{log: &syncBuffer{}, done: make(chan struct{})}
	d.cmd = exec.Command(filepath.Join(w.dir, "bin", "loopd"))
	d.cmd.Env = append(append([]string{}, w.env...), more...)
	d.cmd.Dir = w.dir
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	if log != nil {
		d.cmd.Stderr = log
	}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	d.cmd.WaitDelay = time.Second
	if err := d.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = d.cmd.Wait()
		close(d.done)
	}()
	w.mu.Lock()
	w.loopd = d
	w.mu.Unlock()
	return d
}

// receiver reads the URL of the receiver out of the log line that says that loopd is ready.
func (d *daemon) receiver() string {
	for line := range strings.Lines(d.log.String()) {
		if strings.Contains(line, `msg="loopd is ready"`) {
			for field := range strings.FieldsSeq(line) {
				if url, ok := strings.CutPrefix(field, "webhook="); ok {
					return url
				}
			}
		}
	}
	return ""
}

// stop ends loopd as a service manager would. Its runs live on.
func (w *world) stop() {
	w.mu.Lock()
	d := w.loopd
	w.loopd = nil
	w.mu.Unlock()
	if d == nil {
		return
	}
	d.signal(syscall.SIGTERM)
	select {
	case <-d.done:
	case <-time.After(patience):
		w.t.Errorf("loopd did not stop on SIGTERM:\n%s", d.log)
		d.kill()
	}
	if w.t.Failed() {
		w.t.Logf("log of loopd:\n%s", d.log)
	}
}

func (d *daemon) signal(s os.Signal) { _ = d.cmd.Process.Signal(s) }

// kill ends loopd as a crash does, and waits until it has ended. Its runs live on.
func (d *daemon) kill() {
	d.signal(syscall.SIGKILL)
	<-d.done
}

// code waits for the end of loopd and returns its exit code.
func (w *world) code(d *daemon) int {
	w.t.Helper()
	select {
	case <-d.done:
	case <-time.After(patience):
		w.t.Fatalf("loopd did not end:\n%s", d.log)
	}
	return d.cmd.ProcessState.ExitCode()
}

// syncBuffer is a buffer that a process writes and a test reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
