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

// declared is an agent that is declared so.
func declared(d harness.Declared, args ...string) harness.Program {
	return harness.Program{Args: args, Declared: &d}
}

var json = harness.Format{Output: harness.OutputJSON, ID: "id", OK: "done"}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	bin, cwd := t.TempDir(), t.TempDir()
	for _, name := range []string{"codex", "cursor-agent", "tool", "tool2", "named"} {
		program(t, bin, name)
	}
	const text = "-p {id} {cwd} {prompt}"
	stdin := harness.Declared{
		Start: []string{"tool", "new", "--in={cwd}"}, Resume: []string{"tool2", "go", "{id}", "--", "{cwd}"}, Prompt: harness.PromptStdin, Format: json,
	}
	arg := harness.Declared{
		Start: []string{"tool", "--session={id}", "-p", "{prompt}"}, Resume: []string{"tool", "{id}"}, Prompt: harness.PromptArg, Format: json,
	}
	tests := []struct {
		name, agent   string
		program       harness.Program
		start, resume []string // the program first
		stdin         bool
	}{
		{
			"codex", "codex",
			harness.Program{Args: []string{"--sandbox", "read-only"}},
			[]string{"codex", "exec", "--sandbox", "read-only", "--json", "-"},
			[]string{"codex", "exec", "--sandbox", "read-only", "--json", "resume", conversation, "-"},
			true,
		},
		{
			"cursor", "cursor",
			harness.Program{Args: []string{"--trust"}},
			[]string{"cursor-agent", "-p", "--resume", conversation, "--output-format", "json", "--trust", "--", " " + text},
			[]string{"cursor-agent", "-p", "--resume", conversation, "--output-format", "json", "--trust", "--", " " + text},
			false,
		},
		{
			"declared, on stdin", "own", declared(stdin, "--yes"),
			[]string{"tool", "new", "--in=" + cwd, "--yes"},
			[]string{"tool2", "go", conversation, "--yes", "--", cwd},
			true,
		},
		{
			"declared, as argument", "own", declared(arg, "--yes"),
			[]string{"tool", "--session=" + conversation, "-p", " " + text, "--yes"},
			[]string{"tool", conversation, "--yes", " " + text},
			false,
		},
		{
			"declared, with a command", "own",
			harness.Program{Command: "named", Declared: &stdin},
			[]string{"named", "new", "--in=" + cwd},
			[]string{"named", "go", conversation, "--", cwd},
			true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if err := os.MkdirAll(filepath.Join(home, ".cursor/projects/tmp-x/agent-transcripts", conversation), 0o700); err != nil {
				t.Fatal(err)
			}
			a := newAgent(t, tt.agent, harness.Options{Environ: []string{"PATH=" + bin, "HOME=" + home}}, tt.program)
			turn := harness.Turn{Item: item, ID: conversation, Cwd: cwd, Prompt: text}
			for want, build := range map[*[]string]func(harness.Turn) (harness.Command, error){&tt.start: a.Start, &tt.resume: a.Resume} {
				cmd, err := build(turn)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(*want, append([]string{filepath.Base(cmd.Path)}, cmd.Args...)); diff != "" {
					t.Errorf("command line (-want +got):\n%s", diff)
				}
				if wantStdin := map[bool]string{true: text}[tt.stdin]; cmd.Stdin != wantStdin || cmd.Dir != cwd {
					t.Errorf("stdin %q in %s, want %q in %s", cmd.Stdin, cmd.Dir, wantStdin, cwd)
				}
				if (cmd.Format != nil) != (tt.program.Declared != nil) {
					t.Errorf("format %v", cmd.Format)
				}
			}
		})
	}
}

func TestWhoNamesConversations(t *testing.T) {
	t.Parallel()
	ours := harness.Declared{Start: []string{"tool", "{id}"}, Resume: []string{"tool", "{id}"}, Format: json}
	theirs := harness.Declared{Start: []string{"tool"}, Resume: []string{"tool", "{id}"}, Format: json}
	for name, tt := range map[string]struct {
		agent   string
		program harness.Program
		mints   bool
	}{
		"claude": {"claude", harness.Program{}, true}, "cursor": {"cursor", harness.Program{}, true}, "codex": {"codex", harness.Program{}, false},
		"declared with an id": {"own", declared(ours), true}, "declared without": {"own", declared(theirs), false},
	} {
		a := newAgent(t, tt.agent, harness.Options{}, tt.program)
		id := a.MintID()
		if _, err := uuid.Parse(string(id)); (err == nil) != tt.mints || id == a.MintID() && tt.mints {
			t.Errorf("%s: minted %q", name, id)
		}
	}
}

func TestTurnsThatOthersRefuse(t *testing.T) {
	t.Parallel()
	bin, cwd := t.TempDir(), t.TempDir()
	for _, name := range []string{"codex", "cursor-agent", "tool"} {
		program(t, bin, name)
	}
	own := declared(harness.Declared{Start: []string{"tool"}, Resume: []string{"tool", "{id}"}, Prompt: harness.PromptArg, Format: json})
	minted := declared(harness.Declared{Start: []string{"tool", "{id}"}, Resume: []string{"tool", "{id}"}, Prompt: harness.PromptArg, Format: json})
	good := harness.Turn{Item: item, ID: conversation, Cwd: cwd, Prompt: "hello"}
	with := func(spoil func(*harness.Turn)) harness.Turn { turn := good; spoil(&turn); return turn }
	tests := []struct {
		name, agent string
		program     harness.Program
		turn        harness.Turn
		start       error
		resume      error
	}{
		{"codex: a name", "codex", harness.Program{}, with(func(t *harness.Turn) { t.ID = "my-thread" }), nil, loop.ErrInvalid},
		{"codex: no id", "codex", harness.Program{}, with(func(t *harness.Turn) { t.ID = "" }), nil, loop.ErrInvalid},
		{"codex: no prompt", "codex", harness.Program{}, with(func(t *harness.Turn) { t.Prompt = "" }), loop.ErrInvalid, loop.ErrInvalid},
		{"cursor: no chat of that id", "cursor", harness.Program{}, good, nil, loop.ErrNotFound},
		{"cursor: no UUID", "cursor", harness.Program{}, with(func(t *harness.Turn) { t.ID = "abc" }), loop.ErrInvalid, loop.ErrNotFound},
		{"cursor: id that is a path", "cursor", harness.Program{}, with(func(t *harness.Turn) { t.ID = "../x" }), loop.ErrInvalid, loop.ErrInvalid},
		{"declared: flag as id", "own", own, with(func(t *harness.Turn) { t.ID = "--yes" }), nil, loop.ErrInvalid},
		{"declared: flag as id of ours", "own", minted, with(func(t *harness.Turn) { t.ID = "--yes" }), loop.ErrInvalid, loop.ErrInvalid},
		{"declared: long argument", "own", own, with(func(t *harness.Turn) { t.Prompt = strings.Repeat("x", 130<<10) }), loop.ErrInvalid, loop.ErrInvalid},
		{"declared: NUL in an argument", "own", own, with(func(t *harness.Turn) { t.Prompt = "a\x00b" }), loop.ErrInvalid, loop.ErrInvalid},
		{"declared: folder gone", "own", own, with(func(t *harness.Turn) { t.Cwd = "/nowhere" }), loop.ErrUnavailable, loop.ErrUnavailable},
		{"declared: no program", "own", harness.Program{Command: "gone", Declared: own.Declared}, good, loop.ErrUnavailable, loop.ErrUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, tt.agent, harness.Options{Environ: []string{"PATH=" + bin, "HOME=" + t.TempDir()}}, tt.program)
			if _, err := a.Start(tt.turn); !errors.Is(err, tt.start) {
				t.Errorf("Start: got %v, want %v", err, tt.start)
			}
			if _, err := a.Resume(tt.turn); !errors.Is(err, tt.resume) {
				t.Errorf("Resume: got %v, want %v", err, tt.resume)
			}
		})
	}
}

// Wherever cursor-agent may keep a chat, it is found.
func TestCursorStores(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	program(t, bin, "cursor-agent")
	for _, tt := range []struct{ variable, file string }{
		{"HOME", ".cursor/chats/0f/" + conversation + "/store.db"},
		{"HOME", ".cursor/projects/home-u-shop/agent-transcripts/" + conversation + ".jsonl"},
		{"HOME", ".cursor/projects/home-u-shop/agent-transcripts/" + conversation + "/" + conversation + ".jsonl"},
		{"XDG_CONFIG_HOME", "cursor/chats/0f/" + conversation + "/store.db"},
		{"CURSOR_CONFIG_DIR", "chats/0f/" + conversation + "/store.db"},
		{"CURSOR_DATA_DIR", "chats/0f/" + conversation + "/store.db"},
	} {
		dir := t.TempDir()
		a := newAgent(t, "cursor", harness.Options{Environ: []string{"PATH=" + bin, "HOME=" + t.TempDir(), tt.variable + "=" + dir}}, harness.Program{})
		turn := harness.Turn{Item: item, ID: conversation, Cwd: t.TempDir(), Prompt: "hello"}
		if _, err := a.Resume(turn); !errors.Is(err, loop.ErrNotFound) {
			t.Errorf("before: got %v, want ErrNotFound", err)
		}
		file := filepath.Join(dir, tt.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Resume(turn); err != nil {
			t.Errorf("%s in $%s: %v", tt.file, tt.variable, err)
		}
	}
}

func TestEnvironmentOfOthers(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	for _, name := range []string{"codex", "cursor-agent", "tool"} {
		program(t, bin, name)
	}
	all := []string{
		"PATH=" + bin, "OPENAI_API_KEY=1", "CODEX_HOME=2", "CODEX_API_KEY=3", "CODEX_SANDBOX=x", "CURSOR_API_KEY=4", "CURSOR_TRACE_ID=x",
		"ANTHROPIC_API_KEY=5", "LOOP_GH_WEBHOOK_SECRET=x", "GEMINI_API_KEY=x",
	}
	for name, want := range map[string][]string{"codex": {"1", "2", "3"}, "cursor": {"4"}, "own": nil} {
		p := harness.Program{}
		if name == "own" {
			p = declared(harness.Declared{Start: []string{"tool"}, Resume: []string{"tool", "{id}"}, Format: json})
		}
		a := newAgent(t, name, harness.Options{Environ: all}, p)
		cmd, err := a.Start(harness.Turn{Item: item, ID: conversation, Cwd: t.TempDir(), Prompt: "x"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, kv := range cmd.Env {
			if _, value, _ := strings.Cut(kv, "="); len(value) == 1 {
				got = append(got, value)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is given (-want +got):\n%s", name, diff)
		}
	}
}

func TestArgumentsThatContradictOthers(t *testing.T) {
	t.Parallel()
	for arg, name := range map[string]string{
		"--json": "codex", "--ephemeral": "codex", "-": "codex", "--cd=/": "codex",
		"--resume=x": "cursor", "-p": "cursor", "--workspace": "cursor", "--": "cursor",
	} {
		_, err := harness.New(harness.Options{Agents: map[string]harness.Program{name: {Args: []string{"--model", "x", arg}}}})
		if !errors.Is(err, loop.ErrInvalid) || !strings.Contains(err.Error(), "harness."+name+".args: "+arg) {
			t.Errorf("%s for %s: got %v, want ErrInvalid that names it", arg, name, err)
		}
	}
	for name, d := range map[string]harness.Declared{
		"codex": {Start: []string{"x"}, Resume: []string{"x"}}, "own": {Resume: []string{"x"}}, "other": {Start: []string{"x"}},
	} {
		if _, err := harness.New(harness.Options{Agents: map[string]harness.Program{name: declared(d)}}); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("declared %s: got %v, want ErrInvalid", name, err)
		}
	}
}
