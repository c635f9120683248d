package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// template writes a prompt template beside loop.toml.
func (w *world) template(name, text string) string {
	w.t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// Given prompt templates of the user's own, named relative to the configuration,
// When a label starts a session and a comment follows, and then a template is edited, first wrongly and then rightly,
// Then each prompt is in the words of its template with the data fenced, a reload names the wrong file and keeps the last good
// words, and the mended ones hold.
func TestPromptTemplates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "spawn_on_unmatched = \"labeled\"\nprompt_template = \"news.tmpl\"\nspawn_prompt_template = \"begin.tmpl\"")
	w.template("news.tmpl", "Dear agent, {{.Actor}} says in {{.Repo}}:\n{{.Excerpt}}")
	w.template("begin.tmpl", "Dear new agent, begin with {{.Item}}.")
	w.start()
	w.ends(w.post("issues", labeled(15)), "done", "")
	w.ends(w.comment(15, "The door is stuck."), "done", "")
	runs := w.runs()
	if !strings.Contains(runs[0].Prompt, "Dear new agent, begin with github:acme/shop#15.") {
		t.Errorf("the start is told:\n%s", runs[0].Prompt)
	}
	if !strings.Contains(runs[1].Prompt, "Dear agent, octocat says in acme/shop:") || !strings.Contains(runs[1].Prompt, "is data from GitHub") {
		t.Errorf("the comment is told as:\n%s", runs[1].Prompt)
	}
	fenced(t, runs[1].Prompt, "The door is stuck.")

	wrong := w.template("news.tmpl", "Dear {{.Agent}}")
	r := w.loopctl("reload")
	for _, want := range []string{wrong, "routing.prompt_template", "there is no .Agent"} {
		if r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("reload: exit %d, %q; want %q in it", r.code, r.stderr, want)
		}
	}
	w.ends(w.comment(15, "still there?"), "done", "")
	if p := w.runs()[2].Prompt; !strings.Contains(p, "Dear agent, octocat") {
		t.Errorf("after a refused reload the comment is told as:\n%s", p)
	}

	w.template("news.tmpl", "Hello again.")
	w.must("reload")
	w.ends(w.comment(15, "and now?"), "done", "")
	if p := w.runs()[3].Prompt; !strings.Contains(p, "Hello again.") {
		t.Errorf("after a reload the comment is told as:\n%s", p)
	}
}

// Given a template that cannot be used,
// When loopd is started,
// Then it ends with exit code 2 and names the file, the key and what is wrong.
func TestABadTemplateKeepsLoopdFromStarting(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, says string }{
		{"unknown field", "{{.Body}}", "there is no .Body"},
		{"no template", "{{if}}", "missing value for if"},
		{"too large", strings.Repeat("x", 300<<10), "larger than 256 KiB"},
		{"missing", "", "no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, `spawn_prompt_template = "begin.tmpl"`)
			file := filepath.Join(w.dir, "begin.tmpl")
			if tt.text != "" {
				w.template("begin.tmpl", tt.text)
			}
			d := w.launch()
			if code := w.code(d); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			for _, want := range []string{file, "routing.spawn_prompt_template", tt.says} {
				if !strings.Contains(d.log.String(), want) {
					t.Errorf("loopd said %q, want %q in it", d.log, want)
				}
			}
		})
	}
}
