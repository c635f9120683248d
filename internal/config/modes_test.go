package config_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loop-daemon/loop/internal/config"
)

// TestExposures holds that what other people of the machine can read or change is a warning when the file is read and at
// each reload, and names the remedy.
func TestExposures(t *testing.T) {
	t.Parallel()
	const text = "routing.authorized_users = [\"octocat\"]\nwebhook.secret_file = \"secret\"\n"
	for _, tt := range []struct {
		name                 string
		file, folder, secret os.FileMode
		off                  bool   // the webhook
		want                 string // {} is the folder
	}{
		{"private", 0o600, 0o700, 0o600, false, ""},
		{"readable, which is no harm", 0o644, 0o755, 0o400, false, ""},
		{"file", 0o620, 0o700, 0o600, false, "others can write {}/loop.toml (mode 0620), and so decide which programs run: chmod 600 {}/loop.toml"},
		{"folder", 0o600, 0o702, 0o600, false, "others can write the folder {} (mode 0702), and so replace the configuration in it: chmod go-w {}"},
		{"folder like /tmp", 0o600, 0o777 | os.ModeSticky, 0o600, false, ""},
		{"secret", 0o600, 0o700, 0o640, false, "webhook.secret_file: others can read {}/secret (mode 0640), and with the secret sign deliveries: chmod 600 {}/secret"},
		{"secret that nobody needs", 0o600, 0o700, 0o644, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "loop.toml")
			content := text
			if tt.off {
				content += "webhook.enabled = false\npolling.enabled = false\n"
			}
			write(t, file, content)
			write(t, filepath.Join(dir, "secret"), "hush")
			for name, mode := range map[string]os.FileMode{file: tt.file, filepath.Join(dir, "secret"): tt.secret, dir: tt.folder} {
				if err := os.Chmod(name, mode); err != nil {
					t.Fatal(err)
				}
			}
			loaded, err := config.Load(config.Place{File: file}, env())
			if err != nil {
				t.Fatal(err)
			}
			watcher := config.NewWatcher(loaded, config.Options{Getenv: env(), Log: slog.New(slog.DiscardHandler)})
			want := strings.ReplaceAll(tt.want, "{}", dir)
			for when, ws := range map[string][]config.Warning{"load": loaded.Warnings, "reload": watcher.Reload(t.Context()).Warnings} {
				var said []string
				for _, w := range ws {
					if w.Key != "webhook.enabled" {
						said = append(said, w.String())
					}
				}
				if got := strings.Join(said, "\n"); got != want {
					t.Errorf("at %s:\n%s\nwant:\n%s", when, got, want)
				}
			}
		})
	}
}

func TestExposedTemplates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, news, begin := filepath.Join(dir, "loop.toml"), filepath.Join(dir, "news"), filepath.Join(dir, "begin")
	write(t, file, "routing.authorized_users = [\"octocat\"]\nrouting.prompt_template = \"news\"\nrouting.spawn_prompt_template = \"begin\"\n")
	for name, mode := range map[string]os.FileMode{news: 0o662, begin: 0o644} {
		write(t, name, "Dear agent")
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := config.Load(config.Place{File: file}, env())
	if err != nil {
		t.Fatal(err)
	}
	want := "routing.prompt_template: others can write " + news + " (mode 0662), and so tell agents what to do: chmod go-w " + news
	if len(loaded.Warnings) != 1 || loaded.Warnings[0].String() != want {
		t.Errorf("warnings %q, want %q", loaded.Warnings, want)
	}
}
