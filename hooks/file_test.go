package hooks_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/hooks"
	"github.com/loop-daemon/loop/internal/loop"
)

const bin = "/opt/loop/bin/loopctl"

func fragment(t testing.TB, harness, loopctl string, closeOnEnd bool) hooks.Fragment {
	t.Helper()
	f, err := hooks.For(harness, loopctl, closeOnEnd)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// shapes are what may stand in a file of settings. Each is as good a start for every harness.
var shapes = []struct{ name, text string }{
	{"nothing", ""},
	{"blanks", " \n\t\n"},
	{"one newline", "\n"},
	{"a byte order mark alone", "\ufeff"},
	{"an empty object", "{}"},
	{"an empty object in lines", "{\n}\n"},
	{"no hooks", "{\n  \"model\": \"opus\"\n}\n"},
	{"no final newline", "{\n  \"model\": \"opus\"\n}"},
	{"one line", `{"model":"opus","permissions":{"deny":["Bash(rm *)"]}}`},
	{"no hooks yet", `{"hooks": {}}` + "\n"},
	{"no hooks yet, in lines", "{\n  \"hooks\": {\n  },\n  \"a\": 1\n}\n"},
	{"an event without hooks", "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"stop\": [ ]\n  }\n}\n"},
	{"other hooks on the same events", "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]\n      }\n    ],\n    \"stop\": [{\"command\": \"say done\"}]\n  }\n}\n"},
	{"matchers", `{"hooks":{"SessionStart":[{"matcher":"startup","hooks":[{"type":"command","command":"a"}]},{"matcher":"resume","hooks":[]}]}}`},
	{"other events", `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./check"}]}],"Mine":3}}`},
	{"what looks like ours", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"loopctl hook claude; say done"},{"type":"command","command":"myloopctl hook claude"}]}]}}`},
	{"tabs", "{\n\t\"model\": \"opus\",\n\t\"env\": {\n\t\t\"A\": \"b\"\n\t}\n}\n"},
	{"CRLF", "{\r\n    \"model\": \"opus\",\r\n    \"hooks\": {\r\n        \"Stop\": [\r\n        ]\r\n    }\r\n}\r\n"},
	{"CRLF and nothing else", "\r\n"},
	{"a byte order mark", "\ufeff{\n  \"model\": \"opus\"\n}\n"},
	{"the same key twice", `{"model":"a","model":"b"}`},
	{"odd spaces", "  { \"a\" :1 ,\n\n \"hooks\" : { \"Stop\" : [ { } , null , 3 ] } , \"z\":\t[ ]\n }  \n\n"},
	{"escapes", `{"é\u00e9\"{[":"\\\"]}","hooks":{"\u0053top":[]}}`},
	{"no valid UTF-8", "{\"a\": \"\xff\xfe\"}"},
	{"big", "{\n  \"list\": [" + strings.Repeat("\n    {\"a\": [1, 2, {\"b\": \"c\"}]},", 3_000) + "\n    0\n  ]\n}\n"},
}

// forCursor gives a shape the version without which Cursor does not read it. A file that is as good as not there needs none.
func forCursor(text string) string {
	at := strings.IndexByte(text, '{')
	if at < 0 {
		return text
	}
	rest := text[at+1:]
	if strings.TrimSpace(rest) == "}" {
		return text[:at+1] + `"version": 1` + rest
	}
	return text[:at+1] + `"version": 1,` + rest
}

// TestUninstallLeavesWhatWasThere holds for each shape and harness: what is installed is there, whole and once; installing it
// again writes nothing; another loopctl's hooks take its place; and without it the file is what it was, byte for byte.
func TestUninstallLeavesWhatWasThere(t *testing.T) {
	t.Parallel()
	for _, tt := range shapes {
		for _, harness := range hooks.Names() {
			t.Run(tt.name+", "+harness, func(t *testing.T) {
				t.Parallel()
				text := tt.text
				if harness == "cursor" {
					text = forCursor(text)
				}
				name := filepath.Join(t.TempDir(), "settings.json")
				write(t, name, text, 0o664)
				f := fragment(t, harness, bin, false)

				install(t, f, name, hooks.Change{File: name, Changed: true, Backup: name + ".before-loop"})
				if got := read(t, name+".before-loop"); got != text {
					t.Errorf("the backup is not what was there, but %q", got)
				}
				first := read(t, name)
				install(t, f, name, hooks.Change{File: name})
				if state, err := f.Look(name); !state.Right || err != nil {
					t.Errorf("it is not seen to be right: %+v, %v", state, err)
				}

				other := fragment(t, harness, "/home/o'hara/my bin/loopctl", true)
				install(t, other, name, hooks.Change{File: name, Changed: true, Backup: name + ".before-loop"})
				want := hooks.State{File: name, Loopctl: []string{"/home/o'hara/my bin/loopctl"}}
				if state, err := f.Look(name); err != nil || !cmp.Equal(want, state) {
					t.Errorf("%v; state (-want +got):\n%s", err, cmp.Diff(want, state))
				}
				install(t, f, name, hooks.Change{File: name, Changed: true, Backup: name + ".before-loop"})
				if got := read(t, name); got != first {
					t.Errorf("installed anew it is not the same:\n%s\nbut\n%s", first, got)
				}

				uninstall(t, name, hooks.Change{File: name, Changed: true})
				if got := read(t, name); got != text {
					t.Errorf("left behind (-want +got):\n%s", cmp.Diff(text, got))
				}
				uninstall(t, name, hooks.Change{File: name})
				onlyFile(t, name, 0o664)
			})
		}
	}
}

func TestHooksThatAreOffAreSeen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ harness, text, want string }{
		{"claude", `{"disableAllHooks": true}`, "disableAllHooks"},
		{"claude", `{"a": 1, "allowManagedHooksOnly":true}`, "allowManagedHooksOnly"},
		{"claude", `{"disableAllHooks": false, "x": {"disableAllHooks": true}}`, ""},
		{"claude", "", ""},
		{"codex", `{"disableAllHooks": true}`, ""},
	} {
		name := filepath.Join(t.TempDir(), "settings.json")
		write(t, name, tt.text, 0o600)
		if state, err := fragment(t, tt.harness, bin, false).Look(name); state.Off != tt.want || err != nil {
			t.Errorf("%s: %s is off by %q, %v; want %q", tt.harness, tt.text, state.Off, err, tt.want)
		}
	}
}

// TestRefusedFilesStay holds that a file that cannot be understood is told of, with where, and left alone.
func TestRefusedFilesStay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, harness, text, says string }{
		{"broken", "claude", "{\n  \"hooks\": {\n}\n", "line 4: it ends too early"},
		{"cut off", "claude", "{\n  \"a\": \"b", "line 2: it ends too early"},
		{"a word", "claude", "{\n\n  model: 1}", "line 3: invalid character 'm'"},
		{"a comment", "claude", "{\n  // mine\n  \"a\": 1\n}", "line 2: invalid character '/'"},
		{"a comma too many", "claude", "{\"a\": 1,}", "line 1: invalid character '}'"},
		{"a blank that is none of JSON's", "claude", "\n\f", `line 2: invalid character '\f'`},
		{"two values", "claude", "{}\n{}", "line 2: something follows the value"},
		{"a list", "claude", "\n[]\n", "line 2: the file is a list, and must be an object"},
		{"a text", "claude", `"{}"`, "line 1: the file is neither a list nor an object, and must be an object"},
		{"hooks that are a list", "claude", "{\n\"hooks\": []}", `line 2: "hooks" is a list, and must be an object`},
		{"hooks that are null", "claude", `{"hooks": null}`, `line 1: "hooks" is null, and must be an object`},
		{"an event that is an object", "claude", "{\"hooks\": {\n\n\"Stop\": {}}}", `line 3: "hooks", "Stop" is an object, and must be a list`},
		{"hooks twice", "claude", `{"hooks": {}, "hooks": {}}`, `"hooks" is in it twice`},
		{"an event twice", "claude", `{"hooks": {"Stop": [], "Stop": []}}`, `"Stop" is in it twice`},
		{"nested too deeply", "claude", strings.Repeat("[", 1_000_000), "line 1: it is nested too deeply"},
		{"no version", "cursor", `{"hooks": {}}`, `it has no "version": 1`},
		{"another version", "cursor", `{"version": 2, "hooks": {}}`, `it has no "version": 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "settings.json")
			write(t, name, tt.text, 0o600)
			c, err := fragment(t, tt.harness, bin, false).Install(name)
			if !errors.Is(err, loop.ErrConflict) || !strings.Contains(err.Error(), name+" was not touched: "+tt.says) {
				t.Errorf("%+v, %v; want a conflict that says %q", c, err, tt.says)
			}
			if c, err := hooks.Uninstall(name); err != nil && !errors.Is(err, loop.ErrConflict) || c.Changed {
				t.Errorf("uninstalled: %+v, %v", c, err)
			}
			if got := read(t, name); got != tt.text {
				t.Errorf("it was touched: %.200q", got)
			}
			onlyFile(t, name, 0o600)
		})
	}
}

func TestAbsentFilesAreMadeAndRemoved(t *testing.T) {
	t.Parallel()
	for _, harness := range hooks.Names() {
		dir := t.TempDir()
		name := filepath.Join(dir, "new", "settings.json")
		uninstall(t, name, hooks.Change{File: name})
		f := fragment(t, harness, bin, false)
		install(t, f, name, hooks.Change{File: name, Changed: true, Made: true})
		if diff := cmp.Diff(string(f.Text()), read(t, name)); diff != "" {
			t.Errorf("made (-want +got):\n%s", diff)
		}
		onlyFile(t, name, 0o600)
		install(t, f, name, hooks.Change{File: name})
		uninstall(t, name, hooks.Change{File: name, Changed: true, Removed: true})
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it is still there: %v", harness, err)
		}
	}
}

func TestLinksAreFollowed(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"home", "dotfiles"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f := fragment(t, "claude", bin, false)
	target := filepath.Join(dir, "dotfiles", "claude.json")
	for _, to := range []string{target, "../dotfiles/claude.json"} {
		for _, there := range []bool{true, false} {
			link := filepath.Join(dir, "home", "settings.json")
			if err := os.Symlink(to, link); err != nil {
				t.Fatal(err)
			}
			want := hooks.Change{File: target, Changed: true, Made: true}
			if there {
				write(t, target, "{ }", 0o600)
				want = hooks.Change{File: target, Changed: true, Backup: target + ".before-loop"}
			}
			install(t, f, link, want)
			uninstall(t, link, hooks.Change{File: target, Changed: true, Removed: !there})
			if got, err := os.Readlink(link); got != to || err != nil {
				t.Errorf("the link leads to %q, %v", got, err)
			}
			if there {
				if got := read(t, target); got != "{ }" {
					t.Errorf("left behind %q", got)
				}
				if err := os.Remove(target); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
		}
	}
	round := filepath.Join(dir, "round")
	if err := os.Symlink("round", round); err != nil {
		t.Fatal(err)
	}
	if c, err := f.Install(round); !errors.Is(err, loop.ErrConflict) {
		t.Errorf("a link to itself: %+v, %v", c, err)
	}
}

func TestWhatMayNotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := fragment(t, "claude", bin, false)
	name := filepath.Join(dir, "settings.json")
	write(t, name, "{}", 0o400)
	if c, err := f.Install(name); !errors.Is(err, loop.ErrDenied) || !strings.Contains(err.Error(), "is read-only") {
		t.Errorf("a read-only file: %+v, %v", c, err)
	}
	onlyFile(t, name, 0o400)
	if c, err := f.Install(dir); !errors.Is(err, loop.ErrConflict) {
		t.Errorf("a folder: %+v, %v", c, err)
	}
	if os.Getuid() == 0 {
		t.Skip("root may write into any folder")
	}
	closed := filepath.Join(dir, "closed")
	inside := filepath.Join(closed, "settings.json")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, inside, "{}", 0o600)
	if err := os.Chmod(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	if c, err := f.Install(inside); !errors.Is(err, loop.ErrDenied) || !strings.Contains(err.Error(), closed+" may not be written to") {
		t.Errorf("a read-only folder: %+v, %v", c, err)
	}
	if got := read(t, inside); got != "{}" {
		t.Errorf("it holds %q", got)
	}
}

func install(t *testing.T, f hooks.Fragment, name string, want hooks.Change) {
	t.Helper()
	got, err := f.Install(name)
	if err != nil || got != want {
		t.Fatalf("installing: %v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

func uninstall(t *testing.T, name string, want hooks.Change) {
	t.Helper()
	got, err := hooks.Uninstall(name)
	if err != nil || got != want {
		t.Fatalf("uninstalling: %v (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

// onlyFile holds that nothing else is in the file's folder, and that its permissions are these.
func onlyFile(t *testing.T, name string, perm fs.FileMode) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{filepath.Base(name)}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != perm {
		t.Errorf("%v, %v; want %v", info, err, perm)
	}
}

func write(t testing.TB, name, text string, perm fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), perm); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, perm); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
