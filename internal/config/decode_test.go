package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/config"
)

const (
	file = "/etc/loop/loop.toml"
	home = "/home/u"
)

func TestDecodeEmptyIsDefault(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# nothing\n", "[routing]\n", "\r\n[webhook]\r\n"} {
		got, _, err := config.Decode([]byte(text), file, home)
		if err != nil {
			t.Fatalf("Decode(%q): %v", text, err)
		}
		if diff := cmp.Diff(config.Default(), got); diff != "" {
			t.Errorf("Decode(%q) (-want +got):\n%s", text, diff)
		}
	}
}

func TestDecodeValues(t *testing.T) {
	t.Parallel()
	got, warns, err := config.Decode([]byte(`
webhook.listen = "localhost:0"

[routing]
join_seconds = 0.25
dispatch_timeout_seconds = 60
authorized_users = ["Octocat", "my-app[bot]", "octocat"]
deliver = { issues = [], status = ["error"] }

[harness.claude]
args = ["--model", "opus"]
env = { API_KEY = "x" }

[harness.codex]
command = "/opt/codex"
`), file, home)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Webhook.Listen = "localhost:0"
	want.Routing.Join = 250 * time.Millisecond
	want.Routing.DispatchTimeout = time.Minute
	want.Routing.AuthorizedUsers = []string{"Octocat", "my-app[bot]"}
	want.Routing.Deliver["issues"] = nil
	want.Routing.Deliver["status"] = []string{"error"}
	want.Harness["claude"] = config.Harness{
		Command: "claude", Args: []string{"--model", "opus"}, Env: map[string]string{"API_KEY": "x"}, Trust: true,
	}
	want.Harness["codex"] = config.Harness{Command: "/opt/codex", Trust: true}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(warns) > 0 {
		t.Errorf("warnings: %v", warns)
	}
}

func TestDecodePaths(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, value, want string }{
		{"absolute", "/srv/x", "/srv/x"},
		{"relative to the file", "state/../x", "/etc/loop/x"},
		{"home", "~/x", "/home/u/x"},
		{"variables are not expanded", "$HOME/x", "/etc/loop/$HOME/x"},
		{"a tilde inside", "a/~/x", "/etc/loop/a/~/x"},
		{"empty stays the default", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, _, err := config.Decode([]byte("daemon.state_dir = '"+tt.value+"'"), file, home)
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.Daemon.StateDir; got != tt.want {
				t.Errorf("state_dir = %q: got %q, want %q", tt.value, got, tt.want)
			}
		})
	}
}

func TestDecodePrograms(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"claude":      "claude", // looked up in PATH
		"bin/claude":  "/etc/loop/bin/claude",
		"~/bin/agent": "/home/u/bin/agent",
	} {
		cfg, _, err := config.Decode([]byte("harness.claude.command = '"+value+"'"), file, home)
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Harness["claude"].Command; got != want {
			t.Errorf("command = %q: got %q, want %q", value, got, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		// keys
		{"unknown, near", "[routing]\nauthorised_users = []", "2:1: routing.authorised_users: unknown key; did you mean routing.authorized_users?"},
		{"unknown, other style", "[routing]\n  authorizedUsers = 1", "2:3: routing.authorizedUsers: unknown key; did you mean routing.authorized_users?"},
		{"moved", "authorized_users = ['a']", "1:1: authorized_users: unknown key: it belongs to [routing]"},
		{
			"moved within an old table", "[x]\nlisten = ''\n[x.y]\nspawnWorkdir = ''",
			"2:1: x.listen: unknown key: it belongs to [webhook]\n4:1: x.y.spawnWorkdir: unknown key; did you mean routing.spawn_workdir?",
		},
		{"unknown table, near", "[routng]\nrunner = 'x'", "1:2: routng: unknown key; did you mean routing?"},
		{"unknown and unlike", "[webhook]\nbanana = true", "2:1: webhook.banana: unknown key"},
		{"begun", "webhook.secret = 'hush'", "1:9: webhook.secret: unknown key; did you mean webhook.secret_env?"},
		{"of a harness", "[harness.claude]\ncomand = 'x'", "2:1: harness.claude.comand: unknown key; did you mean harness.claude.command?"},
		{"event type", "[routing.deliver]\nissue = []", "2:1: routing.deliver.issue: unknown key; did you mean routing.deliver.issues?"},
		{"quoted", "\"a.b\" = 1", "1:1: \"a.b\": unknown key"},
		{"twice", "[webhook]\nenabled = true\nenabled = false", "not valid TOML"},

		// types
		{"string for a list", "routing.authorized_users = 'octocat'", "1:9: routing.authorized_users: must be a list of strings, not a string"},
		{"number in a list", "[routing]\nauthorized_users = [\n  'a',\n  7,\n]", "4:3: routing.authorized_users[1]: must be a string, not a whole number"},
		{"string for a bool", "webhook.enabled = 'yes'", "1:9: webhook.enabled: must be true or false, not a string"},
		{"fraction for a whole number", "routing.max_attempts = 3.0", "1:9: routing.max_attempts: must be a whole number, not a number with a fraction"},
		{"string for a number", "routing.join_seconds = '2'", "1:9: routing.join_seconds: must be a number of seconds, not a string"},
		{"value for a table", "routing = 1", "1:1: routing: must be a table, not a whole number"},
		{"list for a table", "[[routing]]", "1:3: routing: must be a table, not a list"},
		{"table for a value", "[routing.runner]", "1:10: routing.runner: must be a string, not a table"},
		{"date", "daemon.log_level = 2026-01-01", "1:8: daemon.log_level: must be a string, not a date or time"},
		{"list for deliver", "routing.deliver = []", "1:9: routing.deliver: must be a table of lists, not a list"},
		{"value for a harness", "harness.claude = 'x'", "1:9: harness.claude: must be a table, not a string"},
		{"value for harnesses", "harness = 'x'", "1:1: harness: must be a table of harnesses, not a string"},
		{"list for env", "harness.claude.env = ['A=b']", "1:16: harness.claude.env: must be a table of strings, not a list"},
		{"number in env", "harness.claude.env = { A = 1 }", "1:24: harness.claude.env.A: must be a string, not a whole number"},
		{"one table for sources", "[polling.sources]\nrepos = []", "1:10: polling.sources: must be a list of tables, each under [[polling.sources]], not a table"},
		{"value for a source", "polling.sources = ['o/r']", "1:20: polling.sources[0]: must be a table, not a string"},

		// values
		{"one of", "routing.close_linked = 'trust'", `1:9: routing.close_linked: "trust" is none of trusted, merged, never; did you mean trusted?`},
		{"one of, other case", "daemon.log_level = 'WARN'", `1:8: daemon.log_level: "WARN" is none of debug, info, warn, error; did you mean warn?`},
		{"zero", "routing.max_live_sessions = 0", "1:9: routing.max_live_sessions: must be at least 1, not 0"},
		{"negative", "routing.max_attempts = -1", "1:9: routing.max_attempts: must be at least 1, not -1"},
		{"too many", "routing.max_concurrent_dispatches = 5000000", "must be at most 1000, not 5000000"},
		{"too short to keep", "keep.days = 34", "1:6: keep.days: must be at least 35, not 34"},
		{"NaN", "routing.join_seconds = nan", "1:9: routing.join_seconds: NaN is no number of seconds from 0 to"},
		{"infinite", "routing.join_seconds = inf", "+Inf is no number of seconds"},
		{"negative seconds", "routing.close_settle_seconds = -0.5", "-0.5 is no number of seconds"},
		{"no timeout", "routing.dispatch_timeout_seconds = 0", "1:9: routing.dispatch_timeout_seconds: must be more than 0"},
		{"polling too often", "polling.interval_seconds = 4", "1:9: polling.interval_seconds: must be at least 5, not 4"},
		{"huge number", "routing.max_attempts = 99999999999999999999", "not valid TOML"},
		{"NUL", `routing.control.prefix = "a\u0000"`, "must not contain a NUL character"},
		{"prefix of two words", "routing.control.prefix = 'a b'", `1:17: routing.control.prefix: "a b" must be one word`},
		{"no prefix", "routing.control.prefix = ''", "must be one word"},
		{"label", "routing.auto_execute_label = ' '", "1:9: routing.auto_execute_label: must not be blank"},
		{"reaction", "routing.reactions.started = 'eye'", `"eye" is none of +1, -1, laugh, confused, heart, hooray, rocket, eyes; did you mean eyes?`},
		{"event", "webhook.events = ['issues', 'push']", `1:29: webhook.events[1]: "push" is no event type that Loop reads`},
		{"close as a prompt", "routing.deliver.issues = ['closed']", "routing.deliver.issues[0]: closing ends the session and never reaches an agent"},
		{"blank action", "routing.deliver.status = ['']", "routing.deliver.status[0]: must not be blank"},
		{"other user's home", "daemon.state_dir = '~root/x'", "1:8: daemon.state_dir: only a leading ~/ is expanded"},
		{"default harness", "routing.default_harness = 'clod'", `1:9: routing.default_harness: no harness is called "clod"`},
		{"no command", "harness.claude.command = ''", "1:16: harness.claude.command: must not be blank"},
		{"harness name", "[harness.'../x']\ncommand = 'x'", `1:10: harness."../x": a harness's name is a lower-case word`},
		{"variable name", "harness.claude.env = { 'A=B' = 'x' }", `1:24: harness.claude.env."A=B": is no name of an environment variable`},

		// logins
		{"blank login", "routing.authorized_users = ['']", `routing.authorized_users[0]: "" is no GitHub login`},
		{"login with an at", "routing.authorized_users = ['@octocat']", "is no GitHub login"},
		{"everybody", "routing.authorized_users = ['*']", "is no GitHub login"},
		{"several in one", "routing.authorized_users = ['a, b']", "is no GitHub login"},
		{"deleted accounts", "routing.authorized_users = ['Ghost']", "ghost stands for every deleted account"},

		// addresses
		{"no port", "webhook.listen = '127.0.0.1'", `1:9: webhook.listen: "127.0.0.1" is no host:port`},
		{"port too large", "webhook.listen = '127.0.0.1:65536'", "must end in a port from 0 to 65535"},
		{"port by name", "webhook.listen = '127.0.0.1:http'", "must end in a port from 0 to 65535"},
		{"no brackets", "webhook.listen = '::1:80'", "is no host:port"},
		{"no possible host", "webhook.listen = 'a b:80'", "names no possible host"},
		{"unsigned for everybody", "[webhook]\nlisten = '0.0.0.0:1'\nallow_unsigned = true", "3:1: webhook.allow_unsigned: only honoured on a loopback address"},
		{"unsigned, empty host", "[webhook]\nlisten = ':1'\nallow_unsigned = true", "only honoured on a loopback address"},
		{"unsigned, a name", "[webhook]\nlisten = 'localhost.example.com:1'\nallow_unsigned = true", "only honoured on a loopback address"},
		{"API over http", "github.api_url = 'http://ghe.example.com/api/v3'", "must begin with https://"},
		{"API with a query", "github.api_url = 'https://ghe.example.com/?a'", "must have no query"},
		{"API without a scheme", "github.api_url = 'ghe.example.com'", "must be a URL such as"},

		// not TOML
		{"syntax", "[webhook]\nenabled = ja", "2:11: not valid TOML"},
		{"not UTF-8", "a = '\xff'", "not valid TOML"},
		{"deep", "a = " + strings.Repeat("[", 200_000), "not valid TOML"},
		{"large", strings.Repeat("#\n", 200_000), "larger than 256 KiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, _, err := config.Decode([]byte(tt.text), file, home)
			if err == nil {
				t.Fatalf("%.80q was accepted", tt.text)
			}
			got := strings.ReplaceAll(strings.ReplaceAll(err.Error(), file+":", ""), "\n ", "\n")
			if !strings.HasPrefix(err.Error(), file+":") || !strings.Contains(got, tt.want) {
				t.Errorf("%.80q: got error\n%s\nwant\n%s", tt.text, got, tt.want)
			}
			if diff := cmp.Diff(config.Config{}, cfg); diff != "" {
				t.Errorf("a refused file left a configuration: %s", diff)
			}
			if _, ok := errors.AsType[*config.Error](err); !ok {
				t.Errorf("%T holds no *config.Error", err)
			}
		})
	}
}

func TestDecodeReportsAllProblemsInOrder(t *testing.T) {
	t.Parallel()
	text := `
[webhook]
listen = "nowhere"
enabled = 1

[routing]
max_attempts = 0
authorized_users = ["", "fine", 3]
colour = "red"
runner = "screen"

[keep]
dyas = 35
`
	_, _, err := config.Decode([]byte(text), file, home)
	var got []string
	for line := range strings.Lines(err.Error()) {
		at, _, _ := strings.Cut(strings.TrimPrefix(line, file+":"), ": ")
		rest := strings.TrimPrefix(line, file+":"+at+": ")
		key, _, _ := strings.Cut(rest, ": ")
		got = append(got, at+" "+key)
	}
	want := []string{
		"3:1 webhook.listen", "4:1 webhook.enabled", "7:1 routing.max_attempts", "8:21 routing.authorized_users[0]",
		"8:33 routing.authorized_users[2]", "9:1 routing.colour", "10:1 routing.runner", "13:1 keep.dyas",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is of the wrong kind may be a secret in the wrong place, so no error repeats it.
func TestErrorsKeepSecrets(t *testing.T) {
	t.Parallel()
	const secret = "ghp_hush"
	for _, text := range []string{
		"webhook.secret_env = 'ghp_hush'",
		"github.token_env = 'ghp_hush'",
		"github.api_url = 'https://user:ghp_hush@ghe.example.com'",
		"github.api_url = 'https://user:ghp_hush@ghe.example.com/%zz'",
		"webhook.secret = 'ghp_hush'",
		"webhook.token.value = 'ghp_hush'",
		"routing.max_attempts = 'ghp_hush'",
		"harness.claude.env = 'ghp_hush'",
		"harness.claude.env = { A = ['ghp_hush'] }",
		"webhook.secret_env = ghp_hush",
	} {
		_, _, err := config.Decode([]byte(text), file, home)
		if err == nil {
			t.Errorf("%s was accepted", text)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error repeats it: %v", text, err)
		}
	}
}

func TestUnsignedOnLoopback(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"127.0.0.1:1", "127.8.9.1:0", "localhost:1", "LocalHost:1", "[::1]:1", "[::ffff:127.0.0.1]:1"} {
		text := "[webhook]\nallow_unsigned = true\nlisten = '" + listen + "'"
		if _, _, err := config.Decode([]byte(text), file, home); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

// A setting that this release cannot honour is refused by name, and its default is accepted.
func TestRefusesWhatIsToCome(t *testing.T) {
	t.Parallel()
	for text, key := range map[string]string{
		"workspace.strategy = 'worktree'": "workspace.strategy",
	} {
		_, _, err := config.Decode([]byte(text), file, home)
		e, ok := errors.AsType[*config.Error](err)
		if !ok || e.Key != key || e.Line == 0 || !strings.Contains(e.Msg, "this release") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want a refusal of %s", text, err, key)
		}
	}
	accepted := "routing.runner = 'tmux'\nrouting.default_harness = 'codex'\nrouting.prompt_template = 'a'\nworkspace.strategy = 'none'\npolling.enabled = true\nrouting.reactions.started = 'rocket'\n" +
		"routing.announce.enabled = false\nnotify.on = []\n"
	if _, _, err := config.Decode([]byte(accepted), file, home); err != nil {
		t.Error(err)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	const users = "routing.authorized_users = ['a']\n"
	tests := []struct {
		name, text string
		want       []string // key and a part of the message
	}{
		{"none", users, nil},
		{"nobody", "", []string{"routing.authorized_users", "nobody may steer an agent"}},
		{"no issues", users + "webhook.events = ['pull_request']", []string{"webhook.events", "lacks issues: closures are never seen"}},
		{"no pull requests", users + "webhook.events = ['issues']", []string{"webhook.events", "lacks pull_request: closures are never seen"}},
		{"no folder", users + "routing.spawn_on_unmatched = 'labeled'", []string{"routing.spawn_workdir", "has no folder"}},
		{"with a folder", users + "routing.spawn_on_unmatched = 'labeled'\nrouting.spawn_workdir = '/srv'", nil},
		{"variable", users + "routing.spawn_workdir = '$HOME/x'", []string{"routing.spawn_workdir", "not expanded"}},
		{"no action of GitHub's", users + "routing.deliver.issues = ['reopend']", []string{"routing.deliver.issues", `"reopend" is nothing that GitHub is known to send; did you mean reopened?`}},
		{"no way in", users + "webhook.enabled = false", []string{"webhook.enabled", "nothing reaches Loop"}},
		{"unsigned", users + "webhook.allow_unsigned = true", []string{"webhook.allow_unsigned", "no signature"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got, err := config.Decode([]byte(tt.text), file, home)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == nil && len(got) == 0 {
				return
			}
			if len(got) != 1 || tt.want == nil || got[0].Key != tt.want[0] || !strings.Contains(got[0].Msg, tt.want[1]) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "routing.authorized_users = ['a']", "[[polling.sources]]\nrepos=['a/b']\n[[polling.sources]]", "[harness.x.env]\na='b'",
		"a.b.c.d.e.f.g.h.i.j = [[[[[[[[[[{x=1}]]]]]]]]]]", "routing = {deliver = {issues = ['opened']}}", "join_seconds = nan",
		"[routing]\njoin_seconds = 1e-9\ndispatch_timeout_seconds = 31536000", "\"\\u0000\" = 1", "x = 1979-05-27T07:32:00Z",
		"[harness.claude]\nargs = [\"\\u007f\\u202e\\n\"]\nenv = {A = \"\\U0001F600\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, _, err := config.Decode(data, file, home)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, file+":") {
					t.Errorf("problem names no file: %q", line)
				}
			}
			return
		}
		again, _, err := config.Decode(config.Render(cfg), file, home)
		if err != nil {
			t.Fatalf("what was accepted is refused when shown: %v\n%s", err, config.Render(cfg))
		}
		if diff := cmp.Diff(cfg, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("what was shown reads as another configuration: %s", diff)
		}
	})
}
