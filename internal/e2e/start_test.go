package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Given a configuration that cannot be used, or a secret that is not there,
// When loopd starts,
// Then it says which file, line and key, or which variable, and what to do, ends with 2, and has made nothing.
func TestAStartThatCannotWorkSaysWhy(t *testing.T) {
	t.Parallel()
	const missing = "LOOP_GH_WEBHOOK_SECRET="
	cases := []struct {
		name, config string
		more         []string // of the environment
		says         []string
	}{
		{"no TOML", "[routing\n", nil, []string{"loop.toml:1:"}},
		{"unknown key", "\n[routing]\nauthorised_users = []\n", nil, []string{"loop.toml:3:1: routing.authorised_users", "authorized_users"}},
		{"wrong type", "[routing]\nauthorized_users = \"octocat\"\n", nil, []string{"loop.toml:2:", "routing.authorized_users"}},
		{"impossible value", "[routing]\nmax_attempts = 0\n", nil, []string{"loop.toml:2:", "routing.max_attempts"}},
		{"NUL", "[daemon]\nstate_dir = \"/tmp/\x00\"\n", nil, []string{"loop.toml:2:"}},
		{"unsigned for everybody", "[webhook]\nlisten = \":0\"\nallow_unsigned = true\n", nil, []string{"webhook.allow_unsigned"}},
		{"contradicting argument", "[harness.claude]\nargs = [\"--resume\", \"x\"]\n", nil, []string{"harness.claude.args: --resume is what Loop itself decides\n"}},
		{"harness that nobody declared", "[routing]\ndefault_harness = \"gemini\"\n", nil, []string{"loop.toml:2:1: routing.default_harness", "gemini"}},
		{"no secret", "", []string{missing}, []string{"$LOOP_GH_WEBHOOK_SECRET", "webhook.enabled = false"}},
		{"blank secret", "", []string{missing + " \n "}, []string{"$LOOP_GH_WEBHOOK_SECRET"}},
		{"secret in another variable", "[webhook]\nsecret_env = \"NOT_SET\"\n", nil, []string{"$NOT_SET"}},
		{"no secret file", "[webhook]\nsecret_file = \"nowhere\"\n", nil, []string{"webhook.secret_file", "nowhere"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "")
			w.write(c.config)
			w.env = append(w.env, "XDG_STATE_HOME="+w.state)
			d := w.launch(c.more...)
			code := w.code(d)
			for _, says := range c.says {
				if code != 2 || !strings.Contains(d.log.String(), says) {
					t.Errorf("exit %d, want 2 and %q; it said:\n%s", code, says, d.log)
				}
			}
			for _, made := range []string{w.state, filepath.Join(w.dir, "s")} {
				if _, err := os.Stat(made); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is there: %v", made, err)
				}
			}
		})
	}
}

// Given a configuration file that is named and not there, an argument that loopd does not take, or a socket's path that no
// socket can have,
// When loopd starts,
// Then it says so, and ends with 2 for what was written wrong.
func TestAStartThatIsAskedForWrongly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	long := filepath.Join(w.dir, strings.Repeat("x", 120))
	cases := []struct {
		name, says string
		code       int
		more       []string
	}{
		{"no such file", "nowhere.toml", 2, []string{"LOOP_CONFIG=" + filepath.Join(w.dir, "nowhere.toml")}},
		{"a socket too long", "use a shorter one", 2, []string{"LOOP_SOCKET=" + long}},
		{"a socket that is none", "no socket", 1, []string{"LOOP_SOCKET=" + filepath.Join(w.home, "file")}},
	}
	w.put(filepath.Join(w.home, "file"), "mine")
	for _, c := range cases {
		d := w.launch(c.more...)
		if code := w.code(d); code != c.code || !strings.Contains(lastLine(d), c.says) {
			t.Errorf("%s: exit %d, and the last words:\n%s", c.name, code, lastLine(d))
		}
	}
	if got := w.read(filepath.Join(w.home, "file")); got != "mine" {
		t.Errorf("the file in the socket's place is now %q", got)
	}
}

// Given a port that another program listens on,
// When loopd starts,
// Then it ends with 1 and names the port and the key, holds nothing afterwards, and starts once the port is free.
func TestAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	w := newWorld(t, fmt.Sprintf("[webhook]\nlisten = %q", other.Addr().String()))
	d := w.launch()
	if code := w.code(d); code != 1 || !strings.Contains(lastLine(d), other.Addr().String()) || !strings.Contains(lastLine(d), "webhook.listen") {
		t.Errorf("exit %d, and the last words:\n%s", code, lastLine(d))
	}
	if _, err := os.Stat(filepath.Join(w.state, "journal.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a journal was made: %v", err)
	}
	if r := w.loopctl("status"); r.code != 3 || !strings.Contains(r.stderr, filepath.Join(w.dir, "s", "loopd.sock")) {
		t.Errorf("loopctl status: exit %d, %s", r.code, r.stderr)
	}
	_ = other.Close()
	w.start()
}
