package tmux_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// fake is a tmux that writes down its arguments and answers as it is told. It stands for answers that no server here gives, and for
// tmux 3.7, of which only what we ask can be checked: the releases at hand are older.
type fake struct {
	*tmux.Server

	dir string
}

func newFake(t *testing.T, version, stdout, stderr string, code int) fake {
	t.Helper()
	dir := shortDir(t)
	tmuxtest.Command(t, filepath.Join(dir, "tmux"), fmt.Sprintf(`if [ "$1" = -V ]; then echo "tmux %s"; exit 0; fi
for arg; do printf '%%s\n' "$arg" >> %[2]s/argv; done
cat %[2]s/stdout
cat %[2]s/stderr >&2
exit %[3]d`, version, dir, code))
	for name, text := range map[string]string{"stdout": stdout, "stderr": stderr, "argv": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := tmux.New(t.Context(), tmux.Options{Dir: filepath.Join(dir, "t"), Binary: filepath.Join(dir, "tmux"), Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return fake{s, dir}
}

// argv is what it was called with, all calls in a row.
func (f fake) argv(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "argv"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestOnlyWordsThatAreSureMeanAbsent(t *testing.T) {
	t.Parallel()
	const unknown, absent = tmux.Unknown, tmux.Absent
	for _, tt := range []struct {
		stdout, stderr string
		code           int
		want           tmux.State
	}{
		{"", "no server running on /tmp/s", 1, absent},
		{"", "error connecting to /tmp/s (No such file or directory)", 1, absent},
		{"", "error connecting to /tmp/s (Connection refused)", 1, absent},
		{"7\n", "no current target", 1, absent},
		{"7\n", "can't find session: loop-a", 1, absent},
		{"7\n", "can't find window: loop-a", 1, absent},
		{"7\n", "can't find pane: %5", 1, absent},
		{"7\n", "no such session: =loop-a", 1, absent},
		{"7\n", "no such window: @1", 1, absent},
		{"7\n", "", 0, absent},

		{"", "error connecting to /tmp/s (Permission denied)", 1, unknown},
		{"", "error connecting to /tmp/s (Not a directory)", 1, unknown},
		{"", "server exited unexpectedly", 1, unknown},
		{"", "lost server", 1, unknown},
		{"", "access not allowed", 0, unknown},
		{"", "error creating /tmp/s (No such file or directory)", 0, unknown},
		{"", "", 0, unknown},
		{"", "", 1, unknown},
		{"", "something new", 1, unknown},
		{"", "it says: no server running on /tmp/s", 1, unknown},
		{"", "no server running on /tmp/s\nlost server", 1, unknown},
		{"7\nnothing that we asked for\n", "", 0, unknown},
		{"$0|%0|0|||7|0|0|0|||loop-a\n", "", 0, unknown},
	} {
		t.Run(tt.stdout+tt.stderr, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, "3.3a", tt.stdout, tt.stderr, tt.code)
			got, err := f.State(t.Context(), "loop-a", tmuxtest.Mark())
			if got != tt.want || (got == unknown) != errors.Is(err, tmux.ErrUnknown) {
				t.Errorf("%v, %v, want %v", got, err, tt.want)
			}
			if got == unknown && !strings.Contains(err.Error(), strings.ReplaceAll(tt.stderr, "\n", " ")) {
				t.Errorf("%q does not say what tmux said", err)
			}
		})
	}
}

func TestUnknownStartsNothing(t *testing.T) {
	t.Parallel()
	f := newFake(t, "3.3a", "", "error connecting to /tmp/s (Permission denied)", 1)
	_, err := f.Spawn(t.Context(), launch("item", sh("exec cat")...))
	if !errors.Is(err, tmux.ErrUnknown) || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("err = %v, want ErrUnknown that names the permission", err)
	}
	for _, word := range []string{"start-server", "new-session"} {
		if slices.Contains(f.argv(t), word) {
			t.Errorf("%s was asked for", word)
		}
	}
}

// On 3.7 a viewer who only reads stops send-keys, and paste-buffer takes -S, which older ones do not know.
func TestPasteAsksForWhatEveryReleaseKnows(t *testing.T) {
	t.Parallel()
	f := newFake(t, "3.7c", "7\ndone\n", "", 0)
	target := tmux.Target{Pane: "%5", Launch: "0123456789abcdef"}
	if err := f.Paste(t.Context(), target, "an event; kill-server"); err != nil {
		t.Fatal(err)
	}
	argv := f.argv(t)
	buffer := argv[slices.Index(argv, "load-buffer")+2]
	want := []string{
		"-N", "-u", "-S", f.Socket(), "-f", filepath.Join(f.dir, "t", "tmux.conf"),
		"display-message", "-p", "#{pid}", ";",
		"load-buffer", "-b", buffer, "-", ";",
		"if-shell", "-F", "-t", "%5", "#{&&:#{==:#{@loop_launch},0123456789abcdef},#{&&:#{==:#{pane_dead},0},#{==:#{pane_input_off},0}}}",
		"'copy-mode' '-q' '-t' '%5' ; 'paste-buffer' '-p' '-d' '-b' '" + buffer + "' '-t' '%5' ; 'display-message' '-p' 'done'",
		"'display-message' '-p' '-t' '%5' 'refused|#{pane_id}|#{pane_dead}|#{pane_input_off}|#{pane_pid}|#{@loop_launch}' ; 'delete-buffer' '-b' '" + buffer + "'",
	}
	if diff := cmp.Diff(want, argv); diff != "" {
		t.Error(diff)
	}
}

func TestNamesAreSentAsTheyAreKept(t *testing.T) {
	t.Parallel()
	f := newFake(t, "3.7c", "7|3.7c|x\n", "", 0) // 3.7 keeps names that older ones change, and then can't find them
	_, _ = f.Clients(t.Context(), tmux.Name("a.b"))
	if argv := f.argv(t); !slices.Contains(argv, "="+tmux.Name("a.b")+":") {
		t.Errorf("argv %q", argv)
	}
	for _, name := range []string{"", "a", "loop-", "loop-a.b", "loop-a:b", "loop-a;", "loop-#{pid}", "loop-" + strings.Repeat("a", 101)} {
		if _, err := f.Clients(t.Context(), name); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("session %q: err = %v, want ErrInvalid", name, err)
		}
	}
}

func TestTextFromOutsideIsNoCommand(t *testing.T) {
	t.Parallel()
	f := newFake(t, "3.3a", "7\ndone\n", "", 0)
	target := tmux.Target{Pane: "%5", Launch: "0123456789abcdef"}
	for _, text := range []string{";", "a;", `a\;`, "a;b", "'", `"`, "#{pid}", "a\nb", "`id`", "{", "~"} {
		l := launch("item", "/bin/true", text)
		_, spawnErr := f.Spawn(t.Context(), l)
		for what, err := range map[string]error{
			"spawn":   spawnErr,
			"respawn": f.Respawn(t.Context(), target, l.Mark, l.Argv),
		} {
			if !errors.Is(err, loop.ErrInvalid) {
				t.Errorf("%s with %q: err = %v, want ErrInvalid", what, text, err)
			}
		}
	}
	for name, argv := range map[string][]string{"a shell": {"/bin/true"}, "a search": {"true", "x"}, "nothing": nil} {
		if _, err := f.Spawn(t.Context(), launch("item", argv...)); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("%s: err = %v, want ErrInvalid", name, err)
		}
	}
	if got := f.argv(t); !cmp.Equal(got, []string{""}) {
		t.Errorf("tmux was called: %q", got)
	}
}

func TestTmuxMustBeThereAndNewEnough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for version, works := range map[string]bool{
		"3.1c": false, "2.9": false, "3.2": true, "3.2a": true, "3.10": true, "4.0": true, "next-3.8": true, "master": true,
	} {
		path := filepath.Join(dir, "tmux-"+version)
		tmuxtest.Command(t, path, "echo tmux "+version)
		_, err := tmux.New(t.Context(), tmux.Options{Dir: "/tmp/loop", Binary: path, Patience: time.Minute})
		if (err == nil) != works {
			t.Errorf("%s: err = %v, works: want %v", version, err, works)
		}
		if err != nil && (!errors.Is(err, loop.ErrUnavailable) || !strings.Contains(err.Error(), "3.2 or newer is required (found: "+version)) {
			t.Errorf("%s: err = %q", version, err)
		}
	}
	_, err := tmux.New(t.Context(), tmux.Options{Dir: "/tmp/loop", Environ: []string{"PATH=" + dir}})
	if !errors.Is(err, loop.ErrUnavailable) || !strings.Contains(err.Error(), "apt install tmux") {
		t.Errorf("err = %v, want how to install it", err)
	}
}

func TestSocketPathIsShort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, dir, socket string
		want              string // how the path begins; "": ErrInvalid
	}{
		{"in the state folder", "/home/a/state/tmux", "", "/home/a/state/tmux/s"},
		{"a name with a space", "/Users/Ann Élise/tmux", "", "/Users/Ann Élise/tmux/s"},
		{"where that is too long", "/home/" + strings.Repeat("a", 95), "", fmt.Sprintf("/tmp/loopd-%d-", os.Geteuid())},
		{"as asked for", "/home/a", "/run/x/s", "/run/x/s"},
		{"asked for and too long", "/home/a", "/run/" + strings.Repeat("a", 100), ""},
		{"relative", "state", "", ""},
		{"with a quote", "/home/a'b", "", ""},
	} {
		s, err := tmux.New(t.Context(), tmux.Options{Dir: tt.dir, Socket: tt.socket, Patience: time.Minute})
		switch {
		case errors.Is(err, loop.ErrUnavailable):
			t.Skip(err)
		case tt.want == "" && !errors.Is(err, loop.ErrInvalid), tt.want != "" && (err != nil || !strings.HasPrefix(s.Socket(), tt.want) || len(s.Socket()) > 100):
			t.Errorf("%s: %v, want socket %q", tt.name, err, tt.want)
		}
	}
}
