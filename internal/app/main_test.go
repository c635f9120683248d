package app_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loop-daemon/loop/internal/app"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is the environment of one loopd.
type house struct {
	t   *testing.T
	dir string // short, because a socket is in it
	env map[string]string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir, err := os.MkdirTemp("", "app") //nolint:usetesting // its path may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &house{t: t, dir: dir, env: map[string]string{
		"HOME": dir, "LOOP_GH_WEBHOOK_SECRET": "hush", "LOOP_CONFIG": filepath.Join(dir, "loop.toml"), "PATH": os.Getenv("PATH"),
		"LOOP_SOCKET": filepath.Join(dir, "s", "loopd.sock"),
	}}
	h.configure("")
	return h
}

// configure writes a configuration with a port that is free and a state folder of its own, and more.
func (h *house) configure(more string) {
	h.t.Helper()
	text := "daemon.state_dir = \"state\"\nwebhook.listen = \"127.0.0.1:0\"\n" + more
	if err := os.WriteFile(h.env["LOOP_CONFIG"], []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// loopd runs Main to its end.
func (h *house) loopd(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	h.t.Helper()
	var out, errs bytes.Buffer
	code = h.main(ctx, &out, &errs, args...)
	return code, out.String(), errs.String()
}

func (h *house) main(ctx context.Context, stdout, stderr interface{ Write([]byte) (int, error) }, args ...string) int {
	return app.Main(ctx, app.Env{
		Args: args, Getenv: func(name string) string { return h.env[name] }, Stdout: stdout, Stderr: stderr,
		Starter: []string{"/nonexistent/loopd", "exec"},
	})
}

// The tests below run one after the other: gRPC's logger is set by each loopd.

func TestCommandLine(t *testing.T) { //nolint:paralleltest // see above
	h := newHouse(t)
	cases := []struct {
		args           string
		code           int
		stdout, stderr string // parts
	}{
		{"--version", 0, "loopd ", ""},
		{"--help", 0, "", "usage: loopd"},
		{"--sokket x", 2, "", "sokket"},
		{"start", 2, "", `unexpected argument "start"; commands for people are in loopctl`},
		{"--config /nonexistent/loop.toml", 2, "", "/nonexistent/loop.toml"},
		{"exec", 2, "", "it is not for people"},
	}
	for _, c := range cases {
		code, stdout, stderr := h.loopd(t.Context(), strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("loopd %s: exit %d, stdout %q, stderr:\n%s\nwant %d, %q and %q", c.args, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
		if c.stdout == "" && stdout != "" || c.stdout != "" && stderr != "" {
			t.Errorf("loopd %s: stdout %q and stderr %q", c.args, stdout, stderr)
		}
	}
}

// TestRunsAndStops holds that a stop waits for nobody who has only connected, and closes what the start has opened, so that the
// next start finds all of it free.
func TestRunsAndStops(t *testing.T) { //nolint:paralleltest // see above
	h := newHouse(t)
	for range 2 {
		d := h.start()
		silent, err := net.Dial("unix", h.env["LOOP_SOCKET"])
		if err != nil {
			t.Fatal(err)
		}
		if code := d.stop(); code != 0 {
			t.Errorf("exit %d:\n%s", code, d.log.String())
		}
		if _, err := os.Lstat(h.env["LOOP_SOCKET"]); err == nil {
			t.Error("the socket is still there")
		}
		_ = silent.Close()
	}
}

// TestNeedsNoSecretWithoutWebhooks holds that loopd runs, for its socket, where nothing of it listens on the network.
func TestNeedsNoSecretWithoutWebhooks(t *testing.T) { //nolint:paralleltest // see above
	h := newHouse(t)
	delete(h.env, "LOOP_GH_WEBHOOK_SECRET")
	h.configure("webhook.enabled = false\n")
	d := h.start()
	if code := d.stop(); code != 0 || strings.Contains(d.log.String(), "http://") {
		t.Errorf("exit %d:\n%s", code, d.log.String())
	}
}

// TestPartsThatCannotStart holds that what was opened before the part that cannot be is closed again: goleak sees the rest.
func TestPartsThatCannotStart(t *testing.T) { //nolint:paralleltest // see above
	cases := []struct {
		name  string
		spoil func(h *house) error
		says  string
	}{
		{"the journal", func(h *house) error { return os.MkdirAll(filepath.Join(h.dir, "state", "journal.db"), 0o700) }, "journal.db"},
		{"the registry", func(h *house) error { return h.file("sessions") }, "registry"},
		{"the runs", func(h *house) error { return h.file("runs") }, "runs"},
	}
	for _, c := range cases {
		h := newHouse(t)
		if err := c.spoil(h); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := h.loopd(t.Context())
		if code != 1 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, stderr:\n%s", c.name, code, stderr)
		}
		if _, err := os.Lstat(h.env["LOOP_SOCKET"]); err == nil {
			t.Errorf("%s: the socket is still there", c.name)
		}
	}
}

// file puts a file in the place of a folder of the state.
func (h *house) file(name string) error {
	if err := os.MkdirAll(filepath.Join(h.dir, "state"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.dir, "state", name), nil, 0o600)
}

// TestFormatOfTheLogFollowsTheConfiguration holds that loggers which were made before are reached too.
func TestFormatOfTheLogFollowsTheConfiguration(t *testing.T) { //nolint:paralleltest // see above
	h := newHouse(t)
	d := h.start()
	defer d.stop()
	h.configure("daemon.log_format = \"json\"\ndaemon.log_level = \"debug\"\n")
	d.await(`"component":"eventlog","type":"config.reloaded"`)
	h.configure("daemon.log_format = \"text\"\n")
	d.await("component=eventlog type=config.reloaded")
}

// running is a loopd that runs within the test.
type running struct {
	t    *testing.T
	end  context.CancelFunc
	done chan int
	log  *lines
}

func (h *house) start() *running {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	d := &running{t: h.t, end: cancel, done: make(chan int, 1), log: &lines{}}
	go func() { d.done <- h.main(ctx, d.log, d.log) }()
	d.await("loopd is ready")
	return d
}

// stop ends loopd and returns its exit code.
func (d *running) stop() int {
	d.t.Helper()
	d.end()
	select {
	case code := <-d.done:
		return code
	case <-time.After(time.Minute):
		d.t.Fatalf("loopd does not stop:\n%s", d.log.String())
		return -1
	}
}

// await waits until the log has all of these.
func (d *running) await(parts ...string) {
	d.t.Helper()
	for stop := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		text, missing := d.log.String(), ""
		for _, p := range parts {
			if !strings.Contains(text, p) {
				missing = p
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(stop) || len(d.done) > 0 {
			d.t.Fatalf("the log lacks %q:\n%s", missing, text)
		}
	}
}

// lines is a log that is written and read at the same time.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
