package cli_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/cli"
)

const howToStart = "Start it with: loopd\nOr name the socket of one that runs, with --socket PATH or $LOOP_SOCKET.\n"

// TestUnreachable holds that loopctl names every socket that it tried and why not, and ends with 3.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	runtime, state, stale := filepath.Join(dir, "run"), filepath.Join(dir, "state"), filepath.Join(dir, "stale.sock")
	leaveBehind(t, stale)
	long := filepath.Join(dir, strings.Repeat("x", 120))
	file := filepath.Join(dir, "loop.toml")
	write(t, file, "[daemon]\nsocket = \"other.sock\"\n")
	home := filepath.Join(dir, "home") // its configuration is wrong
	must(t, os.MkdirAll(filepath.Join(home, ".config", "loop"), 0o700))
	wrong := filepath.Join(home, ".config", "loop", "loop.toml")
	write(t, wrong, "[daemon]\nsokket = \"other.sock\"\n")

	defaults := map[string]string{"HOME": dir, "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": state}
	none := ": there is no such socket\n"
	both := "  " + runtime + "/loop/loopd.sock" + none + "  " + state + "/loop/loopd.sock" + none
	for _, tt := range []struct {
		name, args, want string
		env              map[string]string
	}{
		{"the defaults", "status", both, defaults},
		{"the flag", "status --socket " + dir + "/a.sock", "  " + dir + "/a.sock" + none, defaults},
		{"the variable", "status", "  /nonexistent/b.sock" + none, map[string]string{"LOOP_SOCKET": "/nonexistent/b.sock"}},
		{"the configuration", "status --config " + file, "  " + dir + "/other.sock" + none, defaults},
		{
			"left behind", "status --timeout 1s --socket " + stale,
			"  " + stale + ": nobody listens: it was left behind by a daemon that is gone\n", nil,
		},
		{"too long", "status --socket " + long, "  " + long + ": socket path " + long + " is ", nil},
		{"a wrong configuration", "status", both + "The configuration may name another socket, but it is wrong:\n  " + wrong + ":2:1: daemon.sokket: ", map[string]string{"HOME": home, "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": state}},
		{"no home", "status", "  find configuration: neither $XDG_CONFIG_HOME nor $HOME holds an absolute path", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := loopctl(t.Context(), tt.env, "", strings.Fields(tt.args)...)
			if r.Code != 3 || r.Stdout != "" || !strings.HasPrefix(r.Stderr, "loopctl: loopd cannot be reached. Tried:\n"+tt.want) ||
				!strings.HasSuffix(r.Stderr, howToStart) {
				t.Errorf("exit code %d, stdout %q, stderr:\n%s\nwant 3 and:\n%s", r.Code, r.Stdout, r.Stderr, tt.want)
			}
		})
	}
}

// TestNamedConfiguration holds that a configuration that was named leads to its own daemon, whatever else is wrong in it, and
// never to that of another one.
func TestNamedConfiguration(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, "loop"), 0o700))
	other, own := newFake(), newFake()
	other.socket, own.socket = filepath.Join(dir, "loop", "loopd.sock"), filepath.Join(dir, "own.sock")
	other.start(t)
	own.start(t)
	file := func(name, text string) string {
		write(t, filepath.Join(dir, name), text)
		return filepath.Join(dir, name)
	}
	mistaken := file("mistaken.toml", "[daemon]\nsocket = \"own.sock\"\n[routing]\nmax_atempts = 2\n[keep]\ndays = 1\n")
	missing, broken := filepath.Join(dir, "missing.toml"), file("broken.toml", "[daemon\nsocket = \"own.sock\"\n")
	for _, tt := range []struct {
		file   string
		code   int
		stderr string
	}{
		{mistaken, 0, ""},
		{missing, 2, "loopctl: " + missing + ": there is no such file"},
		{broken, 2, "loopctl: " + broken + ":1:"},
		{file("misspelt.toml", "[daemon]\nsokket = \"own.sock\"\n"), 2, "loopctl: " + dir + "/misspelt.toml:2:1: daemon.sokket: "},
	} {
		env := map[string]string{"HOME": dir, "XDG_RUNTIME_DIR": dir}
		flag := loopctl(t.Context(), env, "", "events", "--config", tt.file)
		env["LOOP_CONFIG"] = tt.file
		for _, r := range []result{flag, loopctl(t.Context(), env, "", "events")} {
			if r.Code != tt.code || !strings.HasPrefix(r.Stderr, tt.stderr) {
				t.Errorf("%s: exit code %d, want %d; stderr:\n%s", tt.file, r.Code, tt.code, r.Stderr)
			}
		}
	}
	if got := len(other.called()); got != 0 {
		t.Errorf("the daemon of another configuration got %d calls", got)
	}
	if got := len(own.called()); got != 2 {
		t.Errorf("its own daemon got %d calls, want 2", got)
	}
}

// TestRelativeSocket holds that a relative --socket is one in the current folder.
func TestRelativeSocket(t *testing.T) {
	t.Parallel()
	f := newFake().start(t)
	r := loopctlIn(t, filepath.Dir(f.socket), nil, "events", "--socket", filepath.Base(f.socket))
	if r.Code != 0 {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
}

// TestSecondSocket holds that a daemon on the second default is found although nobody listens on the first.
func TestSecondSocket(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	must(t, os.MkdirAll(filepath.Join(dir, "loop"), 0o700))
	f := newFake()
	f.socket = filepath.Join(dir, "loop", "loopd.sock")
	f.start(t)
	env := map[string]string{"HOME": dir, "XDG_RUNTIME_DIR": dir + "/none", "XDG_STATE_HOME": dir}
	if r := loopctl(t.Context(), env, "", "status"); r.Code != 0 {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
}

// TestRestart holds that a command waits for a daemon that comes back, and that a hook does not.
func TestRestart(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.socket = filepath.Join(shortDir(t), "loopd.sock")
	write(t, f.socket+".lock", "") // there was one
	if r := loopctl(t.Context(), f.env(), "", quietly...); r != (result{}) {
		t.Errorf("register --quiet without a daemon: %+v", r)
	}
	looks, came := make(chan struct{}, 10), make(chan result, 1)
	go func() {
		var out, err bytes.Buffer
		code := cli.Main(t.Context(), []string{"reload"}, nil, &out, &err, func(string) string {
			looks <- struct{}{}
			return f.socket
		})
		came <- result{code, out.String(), err.String()}
	}()
	<-looks // it is about to try
	f.start(t)
	if r := <-came; r.Code != 0 {
		t.Errorf("exit code %d: %s", r.Code, r.Stderr)
	}
}

var quietly = strings.Fields("sessions register acme/shop#15 --harness claude --harness-session-id id-1 --cwd / --quiet")

// TestQuiet holds what a hook is promised: nothing on stdout, a second at most, and 0 where loopd cannot be reached.
func TestQuiet(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	stale := filepath.Join(dir, "stale.sock")
	leaveBehind(t, stale)
	hanging := newFake()
	hanging.hang = true
	hanging.start(t)
	deaf, err := net.Listen("unix", filepath.Join(dir, "deaf.sock")) // connects, and never says a word
	must(t, err)
	t.Cleanup(func() { _ = deaf.Close() })
	for name, socket := range map[string]string{
		"no socket": filepath.Join(dir, "none.sock"), "left behind": stale, "hanging": hanging.socket, "deaf": deaf.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			if r := loopctl(t.Context(), map[string]string{"LOOP_SOCKET": socket}, "", quietly...); r != (result{}) {
				t.Errorf("%+v, want exit code 0 and not a word", r)
			}
			if took := time.Since(begun); took > 10*time.Second { // a second is asked for; a busy machine is forgiven
				t.Errorf("took %s", took)
			}
		})
	}
}

// A registration that loopd refuses is no success, quiet or not.
func TestQuietRefused(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.fail = status.Error(codes.AlreadyExists, "acme/shop#15 has a session")
	f.start(t)
	want := result{Code: 1, Stderr: "loopctl: acme/shop#15 has a session\n"}
	if diff := cmp.Diff(want, loopctl(t.Context(), f.env(), "", quietly...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// leaveBehind leaves a socket as a daemon does that was killed.
func leaveBehind(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	must(t, l.Close())
}

func write(t *testing.T, file, content string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(content), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
