package harness_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
)

var item = loop.WorkItem{Provider: loop.ProviderGitHub, Owner: "acme", Repo: "shop", Number: 15}

const conversation = "8ab7a7b5-c9a3-4e23-bb06-7dcad570706e"

// program writes an executable file and returns its path.
func program(t *testing.T, dir, name string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// agent returns claude as the options configure it.
func agent(t testing.TB, o harness.Options) harness.Agent {
	t.Helper()
	if o.Agents == nil {
		o.Agents = map[string]harness.Program{"claude": {}}
	}
	set, err := harness.New(o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := set.Agent("claude")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	bin, cwd := t.TempDir(), t.TempDir()
	file := program(t, bin, "claude")
	a := agent(t, harness.Options{
		Socket:  "/run/loopd.sock",
		Environ: []string{"PATH=" + bin},
		Agents:  map[string]harness.Program{"claude": {Args: []string{"--allowedTools", "Edit"}}},
	})
	turn := harness.Turn{Item: item, ID: conversation, Cwd: cwd, Prompt: "-p --dangerously-skip-permissions"}
	want := harness.Command{
		Path: file,
		Args: []string{"-p", "--resume", conversation, "--output-format", "json", "--allowedTools", "Edit"},
		Env: []string{
			"LOOP_SESSION_KEY=github-acme-shop-15", "LOOP_SOCKET=/run/loopd.sock",
			"LOOP_WORK_ITEM=github:acme/shop#15", "PATH=" + bin,
		},
		Dir:   cwd,
		Stdin: turn.Prompt,
	}
	got, err := a.Resume(turn)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Resume (-want +got):\n%s", diff)
	}

	want.Args[1] = "--session-id"
	got, err = a.Start(turn)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Start (-want +got):\n%s", diff)
	}
}

func TestRefusedTurns(t *testing.T) {
	t.Parallel()
	bin, cwd := t.TempDir(), t.TempDir()
	plain := program(t, bin, "claude")
	good := harness.Turn{Item: item, ID: conversation, Cwd: cwd, Prompt: "hello"}
	tests := []struct {
		name  string
		spoil func(*harness.Turn)
		start bool // start only: resuming such a turn is fine
		class error
		says  string
	}{
		{name: "id that is a flag", spoil: func(t *harness.Turn) { t.ID = "--dangerously-skip-permissions" }, class: loop.ErrInvalid},
		{name: "id with a blank", spoil: func(t *harness.Turn) { t.ID = "a b" }, class: loop.ErrInvalid},
		{name: "no id", spoil: func(t *harness.Turn) { t.ID = "" }, class: loop.ErrInvalid},
		{name: "id that is no UUID", spoil: func(t *harness.Turn) { t.ID = "abc" }, start: true, class: loop.ErrInvalid, says: "UUID"},
		{name: "no prompt", spoil: func(t *harness.Turn) { t.Prompt = "" }, class: loop.ErrInvalid, says: "no prompt"},
		{name: "relative folder", spoil: func(t *harness.Turn) { t.Cwd = "." }, class: loop.ErrInvalid, says: "absolute"},
		{name: "folder gone", spoil: func(t *harness.Turn) { t.Cwd = filepath.Join(cwd, "gone") }, class: loop.ErrUnavailable, says: "gone: no such file or directory; make it"},
		{name: "folder is a file", spoil: func(t *harness.Turn) { t.Cwd = plain }, class: loop.ErrUnavailable, says: "not a folder"},
	}
	a := agent(t, harness.Options{Environ: []string{"PATH=" + bin}})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			turn := good
			tt.spoil(&turn)
			_, err := a.Start(turn)
			if !errors.Is(err, tt.class) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Start: got %v, want %v that says %q", err, tt.class, tt.says)
			}
			if _, err = a.Resume(turn); errors.Is(err, tt.class) == tt.start {
				t.Errorf("Resume: got %v", err)
			}
		})
	}
}

func TestMintedIDStarts(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	program(t, bin, "claude")
	a := agent(t, harness.Options{Environ: []string{"PATH=" + bin}})
	one, two := a.MintID(), a.MintID()
	if one == two {
		t.Errorf("both are %s", one)
	}
	if id, err := uuid.Parse(string(one)); err != nil || id.Version() != 4 {
		t.Errorf("%s is not a random UUID: %v", one, err)
	}
	if _, err := a.Start(harness.Turn{Item: item, ID: one, Cwd: t.TempDir(), Prompt: "x"}); err != nil {
		t.Error(err)
	}
}

func TestMissingProgram(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "unready"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, command, says string
		class               error
	}{
		{name: "not on the PATH", command: "", says: "claude is not on the PATH that it would be given (" + bin + ")", class: loop.ErrUnavailable},
		{name: "named by path", command: filepath.Join(bin, "gone"), says: filepath.Join(bin, "gone"), class: loop.ErrUnavailable},
		{name: "not executable", command: "unready", says: "unready is not a program", class: loop.ErrUnavailable},
		{name: "a folder", command: bin, says: "is not a program", class: loop.ErrUnavailable},
		{name: "relative path", command: "./claude", says: "absolute", class: loop.ErrInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := agent(t, harness.Options{
				Environ: []string{"PATH=" + bin},
				Agents:  map[string]harness.Program{"claude": {Command: tt.command}},
			})
			err := a.Available()
			if !errors.Is(err, tt.class) {
				t.Fatalf("got %v, want %v", err, tt.class)
			}
			for _, says := range []string{tt.says, "npm install -g @anthropic-ai/claude-code", "harness.claude.command"} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
			_, err = a.Start(harness.Turn{Item: item, ID: conversation, Cwd: bin, Prompt: "x"})
			if !errors.Is(err, tt.class) {
				t.Errorf("Start: got %v, want %v", err, tt.class)
			}
		})
	}
}

// The program is looked for where the agent itself would look, and never in the folder that it works in.
func TestProgramIsFoundInTheAgentsPath(t *testing.T) {
	// Not parallel: the working folder is the process's.
	daemon, agents, cwd := t.TempDir(), t.TempDir(), t.TempDir()
	t.Chdir(cwd)
	program(t, daemon, "claude")
	program(t, cwd, "claude")
	want := program(t, agents, "claude")
	search := strings.Join([]string{".", "", agents}, string(os.PathListSeparator))
	a := agent(t, harness.Options{
		Environ: []string{"PATH=" + daemon},
		Agents:  map[string]harness.Program{"claude": {Env: map[string]string{"PATH": search}}},
	})
	cmd, err := a.Start(harness.Turn{Item: item, ID: conversation, Cwd: cwd, Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Path != want || !slices.Contains(cmd.Env, "PATH="+search) {
		t.Errorf("got %s with %q, want %s with PATH=%s", cmd.Path, cmd.Env, want, search)
	}
}

func TestUnknownAgents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gemini", "Claude", ""} {
		_, err := harness.New(harness.Options{Agents: map[string]harness.Program{name: {}}})
		if !errors.Is(err, loop.ErrInvalid) || !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("New with %q: got %v, want ErrInvalid that names it", name, err)
		}
	}
	set, err := harness.New(harness.Options{Agents: map[string]harness.Program{"claude": {}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Agent("codex"); !errors.Is(err, loop.ErrInvalid) || !strings.Contains(err.Error(), "claude") {
		t.Errorf("Agent: got %v, want ErrInvalid that names claude", err)
	}
	if diff := cmp.Diff([]string{"claude"}, set.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsThatContradict(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"-p", "--resume=x", "--session-id", "--output-format=text", "--no-session-persistence", "--"} {
		_, err := harness.New(harness.Options{Agents: map[string]harness.Program{"claude": {Args: []string{"--model", "x", arg}}}})
		if !errors.Is(err, loop.ErrInvalid) || !strings.Contains(err.Error(), arg) {
			t.Errorf("%s: got %v, want ErrInvalid that names it", arg, err)
		}
	}
}
