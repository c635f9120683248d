package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConfig holds what the commands of the configuration say, and that they ask no daemon.
func TestConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	right, doubtful, wrong := filepath.Join(dir, "right.toml"), filepath.Join(dir, "doubtful.toml"), filepath.Join(dir, "wrong.toml")
	write(t, right, "[routing]\nauthorized_users = [\"octocat\"]\n")
	write(t, doubtful, "[routing]\nmax_attempts = 2\n")
	write(t, wrong, "[routing]\nmax_atempts = 2\n[keep]\ndays = 1\n")
	const secret = "loopctl: warning: webhook.secret_env: a loopd that is started here would refuse to start: no webhook secret in $ELSEWHERE"
	secretless := filepath.Join(dir, "secretless.toml")
	write(t, secretless, "[routing]\nauthorized_users = [\"octocat\"]\n[webhook]\nsecret_env = \"ELSEWHERE\"\n")
	dumb := filepath.Join(dir, "dumb.toml")
	write(t, dumb, "[routing]\nauthorized_users = [\"octocat\"]\n[notify]\ncommand = [\"/nonexistent/tell\"]\n")
	none := filepath.Join(dir, "loop", "loop.toml")
	const nobody = "loopctl: warning: routing.authorized_users: "

	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string // their beginnings
	}{
		{"check --config " + right, 0, right + " is right\n", ""},
		{"check --config " + doubtful, 0, doubtful + " is right\n", nobody},
		{"check --config " + secretless, 0, secretless + " is right\n", secret},
		{"check --config " + dumb, 0, dumb + " is right\n", "loopctl: warning: notify.command: nobody would be told of anything: "},
		{"check --config " + wrong, 2, "", "loopctl: " + wrong + ":2:1: routing.max_atempts: "},
		{"check --config " + none, 2, "", "loopctl: " + none + ": there is no such file"},
		{"check", 0, "there is no " + none + ": the defaults hold\n", nobody},
		{"check --config " + right + " -o json", 0, "{\n  \"file\": \"" + right + "\",\n  \"valid\": true,\n  \"problems\": [],\n  \"warnings\": []", ""},
		{"check --config " + wrong + " -o json", 2, "{\n  \"file\": \"" + wrong + "\",\n  \"valid\": false,\n", "loopctl: " + wrong},
		{"show --config " + right, 0, "[daemon]\n", ""},
		{"show --config " + wrong, 2, "", "loopctl: " + wrong},
		{"path", 0, none + "\n", "there is no such file: the defaults hold\n"},
		{"path --config " + right, 0, right + "\n", ""},
		{"path -o json", 0, "{\n  \"file\": \"" + none + "\",\n  \"exists\": false\n}\n", ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"XDG_CONFIG_HOME": dir, "LOOP_SOCKET": "/nonexistent", "LOOP_GH_WEBHOOK_SECRET": "hush"}
			r := loopctl(t.Context(), env, "", append([]string{"config"}, strings.Fields(tt.args)...)...)
			if r.Code != tt.code || !begins(r.Stdout, tt.stdout) || !begins(r.Stderr, tt.stderr) {
				t.Errorf("exit code %d, want %d; stdout:\n%s\nstderr:\n%s", r.Code, tt.code, r.Stdout, r.Stderr)
			}
		})
	}
}

// begins wants nothing where nothing is wanted.
func begins(got, want string) bool { return strings.HasPrefix(got, want) && (want != "" || got == "") }

// TestConfigProblems holds that JSON has each problem with its place.
func TestConfigProblems(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "loop.toml")
	write(t, file, "[routing]\nmax_atempts = 2\n[keep]\ndays = 1\n")
	r := loopctl(t.Context(), nil, "", "config", "check", "--config", file, "-o", "json")
	type problem struct {
		File, Key    string
		Line, Column int
	}
	var got struct{ Problems []problem }
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	want := []problem{{file, "routing.max_atempts", 2, 1}, {file, "keep.days", 4, 1}}
	if diff := cmp.Diff(want, got.Problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConfigShow holds that every key is shown, and no value of a harness's environment.
func TestConfigShow(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "loop.toml")
	write(t, file, "[harness.claude.env]\nAPI_KEY = \"hush\"\n")
	table := loopctl(t.Context(), nil, "", "config", "show", "--config", file)
	tree := loopctl(t.Context(), nil, "", "config", "show", "--config", file, "-o", "json")
	if strings.Contains(table.Stdout+tree.Stdout, "hush") || !strings.Contains(table.Stdout, "API_KEY") {
		t.Errorf("table:\n%s\njson:\n%s", table.Stdout, tree.Stdout)
	}
	var got struct {
		Keep    map[string]int
		Harness map[string]struct{ Env map[string]string }
	}
	if err := json.Unmarshal([]byte(tree.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Harness["claude"].Env["API_KEY"]; !ok || got.Keep["days"] != 35 {
		t.Errorf("got %+v", got)
	}
}
