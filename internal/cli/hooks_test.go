package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// person is somebody's home, with loopctl and claude in the PATH.
type person struct {
	t    *testing.T
	home string
	env  map[string]string
}

func newPerson(t *testing.T, claude string) person {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	bin := filepath.Join(home, "bin")
	must(t, os.Mkdir(bin, 0o700))
	self, err := os.Executable()
	must(t, err)
	must(t, os.Symlink(self, filepath.Join(bin, "loopctl")))
	if claude != "" {
		script(t, filepath.Join(bin, "claude"), "echo '"+claude+"'")
	}
	return person{t, home, map[string]string{"HOME": home, "PATH": bin + ":/usr/bin:/bin"}}
}

func script(t *testing.T, name, text string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
}

func (p person) loopctl(args string) result {
	p.t.Helper()
	return loopctl(p.t.Context(), p.env, "", strings.Fields(args)...)
}

// says holds what a command prints, with the home as ~.
func (p person) says(args string, want result) {
	p.t.Helper()
	got := p.loopctl(args)
	got.Stdout, got.Stderr = strings.ReplaceAll(got.Stdout, p.home, "~"), strings.ReplaceAll(got.Stderr, p.home, "~")
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("loopctl %s (-want +got):\n%s", args, diff)
	}
}

func (p person) file(name string) string { return filepath.Join(p.home, name) }

func TestHooksComeAndGo(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "2.1.332 (Claude Code)")
	const settings = "{\n\t\"model\": \"opus\"\n}\n"
	must(t, os.Mkdir(p.file(".claude"), 0o700))
	write(t, p.file(".claude/settings.json"), settings)

	p.says("hooks install claude", result{Stdout: "Put Loop's hooks into ~/.claude/settings.json.\n" +
		"What it was before is in ~/.claude/settings.json.before-loop.\nSessions of Claude Code that are started from now on have them.\n"})
	with, err := os.ReadFile(p.file(".claude/settings.json"))
	must(t, err)
	if call := "exec " + p.file("bin/loopctl") + " hook claude wait"; !strings.Contains(string(with), call) {
		t.Errorf("%s is not in\n%s", call, with)
	}
	p.says("hooks install claude", result{Stdout: "Loop's hooks are in ~/.claude/settings.json already: nothing was changed.\n" +
		"Sessions of Claude Code that are started from now on have them.\n"})
	p.says("hooks uninstall claude", result{Stdout: "Took Loop's hooks out of ~/.claude/settings.json. A session that runs may call them until it ends.\n"})
	p.says("hooks uninstall claude", result{Stdout: "There are no hooks of Loop's in ~/.claude/settings.json: nothing was changed.\n"})
	without, err := os.ReadFile(p.file(".claude/settings.json"))
	must(t, err)
	if diff := cmp.Diff(settings, string(without)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

func TestHooksOfAProject(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "")
	p.says("hooks install codex", result{Stdout: "Made ~/.codex/hooks.json with Loop's hooks.\n" +
		"Next, run codex, enter /hooks and trust them: Codex says nothing of hooks that it does not trust, and skips them.\n"})
	must(t, os.Mkdir(p.file("shop"), 0o700))
	p.says("hooks install codex --close-on-end -o json --project=~/shop", result{
		Stdout: `{
  "harness": "codex",
  "file": "~/shop/.codex/hooks.json",
  "changed": true,
  "made": true,
  "removed": false,
  "backup": null,
  "next": [
    "Next, run codex, enter /hooks and trust them: Codex says nothing of hooks that it does not trust, and skips them."
  ]
}
`,
		Stderr: "loopctl: warning: Loop's hooks are in ~/.codex/hooks.json too, and would be called twice: uninstall one of them\n",
	})
	p.says("hooks uninstall codex --project "+p.file("shop"), result{Stdout: "Removed ~/shop/.codex/hooks.json, which held Loop's hooks alone.\n"})
}

func TestHooksThatAreOffAreWarnedOf(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "2.1.332 (Claude Code)")
	for _, dir := range []string{".claude", "shop"} {
		must(t, os.Mkdir(p.file(dir), 0o700))
	}
	write(t, p.file(".claude/settings.json"), `{"disableAllHooks": true}`)
	want := "loopctl: warning: " + p.file(".claude/settings.json") + " has \"disableAllHooks\": true, so none of these hooks will run until that is removed\n"
	for _, args := range []string{"hooks install claude --project=~/shop", "hooks show claude", "hooks install claude"} {
		if r := p.loopctl(args); r.Code != 0 || r.Stderr != want {
			t.Errorf("loopctl %s: %+v, want the warning %q", args, r, want)
		}
	}
}

func TestHooksOfNoProject(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "")
	write(t, p.file("file"), "")
	for _, tt := range []struct {
		project string
		want    result
	}{
		{"", result{Code: 2, Stderr: "loopctl: --project names no folder: the variable that it comes from may not be set\n"}},
		{p.file("shpo"), result{Code: 1, Stderr: "loopctl: look for the project: stat ~/shpo: no such file or directory\n"}},
		{p.file("file"), result{Code: 2, Stderr: "loopctl: the project ~/file is no folder\n"}},
	} {
		p.says("hooks install codex --project="+tt.project, tt.want)
	}
	for _, name := range []string{"shpo", ".codex"} {
		if _, err := os.Stat(p.file(name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

func TestHooksAreShown(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "")
	shown := func() (shape struct {
		File               string
		Installed, Current bool
		Loopctl            []struct {
			Path   string
			Exists bool
		}
		Fragment struct{ Hooks map[string]any }
	},
	) {
		t.Helper()
		r := p.loopctl("hooks show cursor -o json")
		if err := json.Unmarshal([]byte(r.Stdout), &shape); err != nil || r.Code != 0 {
			t.Fatalf("%v: %+v", err, r)
		}
		return shape
	}
	if got := shown(); got.Installed || got.File != p.file(".cursor/hooks.json") || len(got.Fragment.Hooks) != 4 {
		t.Errorf("before: %+v", got)
	}
	for _, flag := range []string{"", " --close-on-end"} {
		p.loopctl("hooks install cursor" + flag)
		if got := shown(); !got.Installed || !got.Current || len(got.Loopctl) != 1 || !got.Loopctl[0].Exists {
			t.Errorf("installed%s: %+v", flag, got)
		}
	}
	write(t, p.file(".cursor/hooks.json"), `{"version": 1, "hooks": {"stop": [{"command": "/gone/loopctl hook cursor"}]}}`)
	if got := shown(); !got.Installed || got.Current || got.Loopctl[0].Path != "/gone/loopctl" || got.Loopctl[0].Exists {
		t.Errorf("of another loopctl: %+v", got)
	}
	r := p.loopctl("hooks show cursor")
	for _, want := range []string{
		"file   " + p.file(".cursor/hooks.json"), "state  installed, but not as this loopctl would: install them again",
		"calls  /gone/loopctl, which is not there: install them again", `        "command": "` + p.file("bin/loopctl") + ` hook cursor"`,
	} {
		if !strings.Contains(r.Stdout, want+"\n") {
			t.Errorf("%q is not in\n%s", want, r.Stdout)
		}
	}
}

func TestHooksAreRefused(t *testing.T) {
	t.Parallel()
	old := newPerson(t, "2.0.76 (Claude Code)")
	old.says("hooks install claude", result{Code: 1, Stderr: "loopctl: claude is of version 2.0, and would drop all settings for a hook that it does not know; update it to 2.1 or newer\n"})

	p := newPerson(t, "")
	must(t, os.Mkdir(p.file(".claude"), 0o700))
	write(t, p.file(".claude/settings.json"), "{\n  // mine\n}")
	const unknown = "loopctl: warning: claude does not say which version it is: these hooks are for 2.1 and newer, an older one would drop the whole file\n"
	const untouched = "~/.claude/settings.json was not touched: line 2: invalid character '/'\n"
	p.says("hooks install claude", result{Code: 1, Stderr: unknown + "loopctl: install the hooks: " + untouched})
	p.says("hooks uninstall claude", result{Code: 1, Stderr: "loopctl: uninstall the hooks: " + untouched})
	if r := p.loopctl("hooks install vim"); r.Code != 2 || !strings.Contains(r.Stderr, "vim") {
		t.Errorf("another harness: %+v", r)
	}
	p.env["PATH"] = "/nowhere"
	if r := p.loopctl("hooks show claude"); r.Code != 2 || !strings.Contains(r.Stderr, "hooks know Loop by the name of loopctl") {
		t.Errorf("under another name: %+v", r)
	}
}
