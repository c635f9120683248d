package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pelletier/go-toml/v2"

	"github.com/loop-daemon/loop/internal/config"
)

const reference = "../../loop.toml"

// The reference file at the project's root says what the defaults are, so it must be right.
func TestReferenceIsDefault(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Decode(data, "/etc/loop/loop.toml", "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), cfg, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("loop.toml is not the default (-want +got):\n%s", diff)
	}
}

// Every key has its line, with its default as the value: in force, or in a comment where it only exists in tables that have
// no default.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	var file, rendered map[string]any
	if err := toml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if err := toml.Unmarshal(config.Render(config.Default()), &rendered); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rendered, file); diff != "" {
		t.Errorf("keys of loop.toml (-want +got):\n%s", diff)
	}
	for _, key := range []string{
		"start", "resume", "prompt", "output", "id", "ok", // of a declared harness
		"provider", "repos", "label", "issues", "pull_requests", // of a source to poll
	} {
		if !strings.Contains(string(data), "\n# "+key+" = ") {
			t.Errorf("loop.toml says nothing of %s", key)
		}
	}
}

func TestRestartKeys(t *testing.T) {
	t.Parallel()
	want := []string{
		"daemon.socket", "daemon.state_dir", "webhook.enabled", "webhook.listen", "routing.registry_dir", "routing.tmux.socket",
	}
	other := config.Config{Daemon: config.Daemon{Socket: "x", StateDir: "x"}}
	other.Routing.RegistryDir, other.Routing.Tmux.Socket = "x", "x"
	if _, got := config.Diff(other, config.Default()); !cmp.Equal(want, got) {
		t.Errorf("keys that wait for a restart: %q, want %q", got, want)
	}
}
