package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/config"
)

func env(pairs ...string) config.Getenv {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, flag string
		getenv     config.Getenv
		want       config.Place
	}{
		{"flag first", "/a/x.toml", env("LOOP_CONFIG", "/b.toml", "HOME", "/h"), config.Place{File: "/a/x.toml", Named: true}},
		{"then the variable", "", env("LOOP_CONFIG", "/b.toml", "HOME", "/h"), config.Place{File: "/b.toml", Named: true}},
		{"then XDG", "", env("XDG_CONFIG_HOME", "/c", "HOME", "/h"), config.Place{File: "/c/loop/loop.toml"}},
		{"XDG must be absolute", "", env("XDG_CONFIG_HOME", "c", "HOME", "/h"), config.Place{File: "/h/.config/loop/loop.toml"}},
		{"then home", "", env("HOME", "/h"), config.Place{File: "/h/.config/loop/loop.toml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Path(tt.flag, tt.getenv)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// With nothing to go by, the current folder is no answer: its owner may be anybody.
func TestPathWithoutHome(t *testing.T) {
	t.Parallel()
	if got, err := config.Path("", env("HOME", "relative")); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Errorf("got %v, %v; want an error that names --config", got, err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "loop.toml")
	place := config.Place{File: name, Named: true}

	_, err := config.Load(place, env())
	if _, ok := errors.AsType[*config.Error](err); !ok || !strings.Contains(err.Error(), name) {
		t.Errorf("a named file that is missing: %v", err)
	}
	got, err := config.Load(config.Place{File: name}, env())
	if err != nil {
		t.Fatal(err)
	}
	if !got.Missing || len(got.Warnings) == 0 {
		t.Errorf("a default file that is missing: Missing %v, warnings %v", got.Missing, got.Warnings)
	}
	if diff := cmp.Diff(config.Default(), got.Config); diff != "" {
		t.Errorf("a default file that is missing (-want +got):\n%s", diff)
	}

	write(t, name, "routing.spawn_workdir = '~/src'")
	if got, err = config.Load(place, env("HOME", "/h")); err != nil {
		t.Fatal(err)
	}
	if got.Missing || got.Config.Routing.SpawnWorkdir != "/h/src" {
		t.Errorf("got Missing %v, spawn_workdir %q", got.Missing, got.Config.Routing.SpawnWorkdir)
	}
	if _, err = config.Load(place, env()); err == nil || !strings.Contains(err.Error(), "$HOME is not set") {
		t.Errorf("~/ without a home: %v", err)
	}

	write(t, name, "webhook.port = 1")
	if _, err = config.Load(config.Place{File: name}, env()); err == nil || !strings.Contains(err.Error(), name+":1:9: webhook.port") {
		t.Errorf("a broken default file: %v", err)
	}
	if _, err = config.Load(config.Place{File: filepath.Dir(name)}, env()); err == nil {
		t.Error("a folder was read as a file")
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	set := config.Default()
	set.Daemon.StateDir = "/srv/loop"
	moved := set
	moved.Routing.RegistryDir = "/reg"
	moved.Routing.Tmux.Socket = "/tm/s"
	moved.Workspace.Root = "/ws"

	tests := []struct {
		name   string
		cfg    config.Config
		getenv config.Getenv
		state  string
		want   config.Folders // State and what is below it left out
	}{
		{"configured", set, env("XDG_STATE_HOME", "/x", "HOME", "/h"), "/srv/loop", config.Folders{}},
		{"XDG", config.Default(), env("XDG_STATE_HOME", "/x", "HOME", "/h"), "/x/loop", config.Folders{}},
		{"home", config.Default(), env("XDG_STATE_HOME", "x", "HOME", "/h"), "/h/.local/state/loop", config.Folders{}},
		{"moved", moved, env(), "/srv/loop", config.Folders{Registry: "/reg", TmuxSocket: "/tm/s", Workspaces: "/ws"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := config.Folders{
				State: tt.state, Registry: tt.state + "/sessions", Journal: tt.state + "/journal.db", Runs: tt.state + "/runs",
				Transcripts: tt.state + "/transcripts", Workspaces: tt.state + "/work", TmuxSocket: tt.state + "/tmux/s",
			}
			if tt.want.Registry != "" {
				want.Registry, want.TmuxSocket, want.Workspaces = tt.want.Registry, tt.want.TmuxSocket, tt.want.Workspaces
			}
			got, err := tt.cfg.Folders(tt.getenv)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := config.Default().Folders(env()); err == nil || !strings.Contains(err.Error(), "daemon.state_dir") {
		t.Errorf("without a home: %v, want an error that names daemon.state_dir", err)
	}
}

func TestSockets(t *testing.T) {
	t.Parallel()
	set := config.Default()
	set.Daemon.Socket = "/cfg.sock"
	all := env("LOOP_SOCKET", "/env.sock", "XDG_RUNTIME_DIR", "/run/u", "HOME", "/h")
	tests := []struct {
		name, flag string
		cfg        config.Config
		getenv     config.Getenv
		want       []string
	}{
		{"flag", "/flag.sock", set, all, []string{"/flag.sock"}},
		{"variable", "", set, all, []string{"/env.sock"}},
		{"configured", "", set, env("XDG_RUNTIME_DIR", "/run/u"), []string{"/cfg.sock"}},
		{
			"defaults", "", config.Default(), env("XDG_RUNTIME_DIR", "/run/u", "HOME", "/h"),
			[]string{"/run/u/loop/loopd.sock", "/h/.local/state/loop/loopd.sock"},
		},
		{"no runtime folder", "", config.Default(), env("XDG_RUNTIME_DIR", "run", "HOME", "/h"), []string{"/h/.local/state/loop/loopd.sock"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Sockets(tt.flag, tt.cfg, tt.getenv)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	const variable = "LOOP_GH_WEBHOOK_SECRET"
	with := func(change func(*config.Webhook)) config.Config {
		cfg := config.Default()
		change(&cfg.Webhook)
		return cfg
	}
	file := with(func(w *config.Webhook) { w.SecretFile = "/cred" })
	unsigned := with(func(w *config.Webhook) { w.AllowUnsigned = true })
	tests := []struct {
		name   string
		cfg    config.Config
		getenv config.Getenv
		file   string
		want   []string
	}{
		{"variable", config.Default(), env(variable, "one"), "", []string{"one"}},
		{"several, blanks, twice", config.Default(), env(variable, " one\r\n\n two \n  \none"), "", []string{"one", "two"}},
		{"another variable", with(func(w *config.Webhook) { w.SecretEnv = "OTHER" }), env("OTHER", "x", variable, "y"), "", []string{"x"}},
		{"file before variable", file, env(variable, "one"), "three\nfour\n", []string{"three", "four"}},
		{"webhook off", with(func(w *config.Webhook) { w.Enabled = false }), env(), "", nil},
		{"unsigned", unsigned, env(), "", nil},
		{"unsigned and yet a secret", unsigned, env(variable, "one"), "", []string{"one"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Secrets(tt.cfg, tt.getenv, func(string) ([]byte, error) { return []byte(tt.file), nil })
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, s := range got {
				texts = append(texts, string(s))
			}
			if diff := cmp.Diff(tt.want, texts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecretsMissing(t *testing.T) {
	t.Parallel()
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	empty := func(string) ([]byte, error) { return []byte("\n \n"), nil }
	inFile := config.Default()
	inFile.Webhook.SecretFile = "/cred"
	reachable := config.Default()
	reachable.Webhook.AllowUnsigned = true
	reachable.Webhook.Listen = ":8787"
	tests := []struct {
		name     string
		cfg      config.Config
		readFile func(string) ([]byte, error)
		want     []string
	}{
		{"variable", config.Default(), none, []string{"$LOOP_GH_WEBHOOK_SECRET", "webhook.enabled = false", "openssl rand -hex 32"}},
		{"empty file", inFile, empty, []string{"/cred", "webhook.enabled = false", "openssl rand -hex 32"}},
		{"no file", inFile, none, []string{"webhook.secret_file", fs.ErrNotExist.Error(), "openssl rand -hex 32"}},
		{"unsigned, but reachable", reachable, none, []string{"$LOOP_GH_WEBHOOK_SECRET"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := config.Secrets(tt.cfg, env("LOOP_GH_WEBHOOK_SECRET", " \n"), tt.readFile)
			if err == nil {
				t.Fatalf("got %q, want an error", got)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not name %s", err, part)
				}
			}
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
