package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/config"
)

// A harness as a person declares one.
const gemini = `[harness.gemini]
start = ["gemini", "--output-format", "json"]
resume = ["~/bin/gemini", "--resume={id}", "-C", "{cwd}", "~/not-a-path"]
prompt = "stdin"
output = "json"
id = "session_id"
ok = "response"
args = ["--yolo"]
env = { GEMINI_API_KEY = "hush" }
`

func TestDeclaredHarness(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := config.Decode([]byte(gemini+"[routing]\ndefault_harness = 'gemini'"), file, home)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		if strings.HasPrefix(w.Key, "harness") {
			t.Errorf("warning: %s", w)
		}
	}
	want := config.Harness{
		Start: []string{"gemini", "--output-format", "json"}, Resume: []string{home + "/bin/gemini", "--resume={id}", "-C", "{cwd}", "~/not-a-path"},
		Prompt: "stdin", Output: "json", ID: "session_id", OK: "response", Args: []string{"--yolo"},
		Env: map[string]string{"GEMINI_API_KEY": "hush"}, Trust: true,
	}
	if diff := cmp.Diff(want, cfg.Harness["gemini"]); diff != "" || cfg.Routing.DefaultHarness != "gemini" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !cfg.Harness["gemini"].Declared() || cfg.Harness["codex"].Declared() {
		t.Error("declared are gemini and no other")
	}
	again, _, err := config.Decode(config.Render(cfg), file, home)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cfg, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what is shown is not what holds (-want +got):\n%s", diff)
	}
}

func TestRefusedDeclarations(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, old, new, says string }{
		{"nothing declared", gemini, "[harness.gemini]\ncommand = 'gemini'\n", "1:10: harness.gemini: Loop knows claude, codex, cursor by itself, and no gemini: declare it"},
		{"misspelt", gemini, "[harness.claud]\ncommand = 'claude'\n[harness.gemini]\n", "harness.claud: Loop knows claude, codex, cursor by itself, and no claud: declare it with start, resume, prompt and output; did you mean claude?"},
		{"built in", "[harness.gemini]", "[harness.gemini]\ncommand='g'\n[harness.codex]\nresume = []\n[harness.gemini.env]\n[harness.x]", "harness.codex: Loop knows codex by itself: declare another name"},
		{"no start", `start = ["gemini", "--output-format", "json"]`, "", "harness.gemini.start: must be a command line"},
		{"empty resume", `resume = ["~/bin/gemini", "--resume={id}", "-C", "{cwd}", "~/not-a-path"]`, "resume = []", "3:1: harness.gemini.resume: must be a command line"},
		{"blank program", `start = ["gemini"`, `start = [" "`, `harness.gemini.start[0]: " " is no program`},
		{"flag as program", `start = ["gemini"`, `start = ["--yolo"`, `2:10: harness.gemini.start[0]: "--yolo" is no program`},
		{"program from outside", `start = ["gemini"`, `start = ["{prompt}"`, `harness.gemini.start[0]: "{prompt}" is no program`},
		{"unknown placeholder", `"--output-format"`, `"--dir={dir}"`, "2:20: harness.gemini.start[1]: {dir} is nothing that Loop can fill in; there are {id}, {cwd} and {prompt}"},
		{"misspelt placeholder", `"{cwd}"`, `"{cw}"`, "did you mean {cwd}?"},
		{"prompt nowhere", `prompt = "stdin"`, `prompt = "nowhere"`, `4:1: harness.gemini.prompt: "nowhere" is none of stdin, arg`},
		{"prompt to both", `"json"]`, `"{prompt}"]`, "harness.gemini.start[2]: {prompt} has no place here: it goes to stdin"},
		{"resume of anything", `"--resume={id}"`, `"--resume=latest"`, "harness.gemini.resume: must say where the conversation's id goes"},
		{"no prompt", `prompt = "stdin"`, "", `1:10: harness.gemini.prompt: "" is none of stdin, arg`},
		{"no output", `output = "json"`, "", `harness.gemini.output: "" is none of json, jsonl, text`},
		{"bad path", `id = "session_id"`, `id = "$.session id"`, `6:1: harness.gemini.id: "$.session id" is no path`},
		{"empty name in a path", `id = "session_id"`, `id = "a..b"`, `"a..b" is no path`},
		{"no id anywhere", `id = "session_id"`, "", "harness.gemini.id: must say where in the output the conversation's id stands, or start must take one as {id}"},
		{"bad ok", `ok = "response"`, `ok = "=true"`, `7:1: harness.gemini.ok: "=true" is no path`},
		{"text with an id", `output = "json"`, `output = "text"`, "6:1: harness.gemini.id: text has no place"},
		{"text that tells no id", "output = \"json\"\nid = \"session_id\"", `output = "text"`, "harness.gemini.start: must say where the conversation's id goes"},
		{"text with ok", `output = "json"`, `output = "text"`, "harness.gemini.ok: text has no place"},
		{"unknown key", `ok = "response"`, `okay = "response"`, "harness.gemini.okay: unknown key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(gemini, tt.old) {
				t.Fatalf("%q is not in the declaration", tt.old)
			}
			_, _, err := config.Decode([]byte(strings.Replace(gemini, tt.old, tt.new, 1)), file, home)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q in it", err, tt.says)
			}
		})
	}
	argument := strings.NewReplacer(`"stdin"`, `"arg"`, `"json"]`, `"{prompt}", "{prompt}"]`).Replace(gemini)
	if _, _, err := config.Decode([]byte(argument), file, home); err == nil || !strings.Contains(err.Error(), "{prompt} must stand in it once") {
		t.Errorf("a prompt twice: got %v", err)
	}
}
