package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/loop"
)

// TestLocate holds that mistakes elsewhere in a file do not hide the daemon, and that a mistake about its place is told.
func TestLocate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct {
		name, text string
		want       config.Daemon
		wrong      string // what the error says
	}{
		{name: "nothing of the daemon", text: "[keep]\ndays = 35\n"},
		{name: "relative and home", text: "[daemon]\nsocket = \"a.sock\"\nstate_dir = \"~/b\"\n", want: config.Daemon{Socket: dir + "/a.sock", StateDir: "/h/b"}},
		{name: "unknown key", text: "daemon.socket = \"/a\"\n[routing]\nmax_atempts = 2\n", want: config.Daemon{Socket: "/a"}},
		{name: "impossible value", text: "[daemon]\nsocket = \"/a\"\nlog_level = 3\n[keep]\ndays = 1\n", want: config.Daemon{Socket: "/a"}},
		{name: "not there yet", text: "[daemon]\nstate_dir = \"/s\"\n[polling]\nenabled = true\n", want: config.Daemon{StateDir: "/s"}},
		{name: "no TOML", text: "[daemon]\nsocket = \"/a\nlog", wrong: ":2:"},
		{name: "misspelt key", text: "[daemon]\nsokket = \"/a\"\n", wrong: ":2:1: daemon.sokket: unknown key; did you mean daemon.socket?"},
		{name: "misspelt table", text: "[demon]\nsocket = \"/a\"\n", wrong: ":1:2: demon: unknown key; did you mean daemon?"},
		{name: "wrong type", text: "[daemon]\nsocket = 3\n", wrong: ":2:1: daemon.socket: must be a string"},
		{name: "no table", text: "daemon = 3\n", wrong: ":1:1: daemon: must be a table"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(dir, strings.ReplaceAll(tt.name, " ", "-")+".toml")
			write(t, file, tt.text)
			got, err := config.Locate(config.Place{File: file, Named: true}, env("HOME", "/h"))
			if tt.wrong != "" {
				if !errors.Is(err, loop.ErrInvalid) || !strings.HasPrefix(err.Error(), file+tt.wrong) {
					t.Errorf("error %v, want %s%s…", err, file, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, config.Daemon{Socket: got.Daemon.Socket, StateDir: got.Daemon.StateDir}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLocateMissing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "loop.toml")
	if got, err := config.Locate(config.Place{File: file}, env()); err != nil || got.Daemon != config.Default().Daemon {
		t.Errorf("a default file that is missing: %+v, %v", got.Daemon, err)
	}
	_, err := config.Locate(config.Place{File: file, Named: true}, env())
	if _, ok := errors.AsType[*config.Error](err); !ok || !strings.HasPrefix(err.Error(), file+": there is no such file") {
		t.Errorf("a named file that is missing: %v", err)
	}
}
