package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Given a session, and twenty comments that together make a prompt of more than a hundred kilobytes,
// When they are brought,
// Then the harness reads on stdin, byte for byte, what loopd wrote down, each comment is whole in it, and no process has any of it
// in its arguments or environment.
func TestALargePromptIsReadFromStdinAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "join_seconds = 4\n[harness.claude.env]\nAGENTTEST_DO = \"delay=2000\"")
	w.start()
	w.register("acme/shop#15", conversation)
	const token = "never-in-an-argument"
	texts := make([]string, 20)
	ids := make([]string, len(texts))
	for i := range texts {
		texts[i] = token + " " + word(i) + "\n\t\"quotes\" `ticks` $(date) 'single' \\ back\n" + strings.Repeat("Türen klemmen – 門が開かない。", 130) + "end " + word(i)
		ids[i] = w.comment(15, texts[i])
	}
	w.await("the run", func() bool { return len(w.runs()) >= 1 })
	if exposed := mentions(token); len(exposed) > 0 {
		t.Errorf("the prompt is in the arguments or the environment of %q", exposed)
	}
	for _, id := range ids {
		w.ends(id, "done", "")
	}
	var total strings.Builder
	for _, r := range w.runs() {
		files, _ := filepath.Glob(filepath.Join(w.state, "runs", "*", "prompt.txt"))
		if !slices.ContainsFunc(files, func(f string) bool { return w.read(f) == r.Prompt }) {
			t.Errorf("a prompt of %d bytes is not what loopd wrote down", len(r.Prompt))
		}
		if strings.Contains(strings.Join(r.Args, " "), token) {
			t.Errorf("arguments %q", r.Args)
		}
		total.WriteString(r.Prompt)
	}
	if len(total.String()) < 100_000 {
		t.Errorf("the prompts have %d bytes, fewer than this test is for", len(total.String()))
	}
	for i, text := range texts {
		if strings.Count(total.String(), text) != 1 {
			t.Errorf("comment %d is whole in the prompts %d times", i, strings.Count(total.String(), text))
		}
	}
}

// mentions lists the processes with a word in their arguments or environment.
func mentions(word string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/*")
	for _, file := range files {
		if name := filepath.Base(file); name != "cmdline" && name != "environ" {
			continue
		}
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), word) {
			found = append(found, file)
		}
	}
	return found
}

// Given a loopd that was started from within an agent and knows secrets,
// When it starts a harness,
// Then the harness has none of the secrets and nothing of that other agent in its environment, and knows its work item, the
// socket and its run.
func TestAHarnessIsGivenNoSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start("CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SSE_PORT=1234", "TMUX=/tmp/tmux-0/default,1,0", "TMUX_PANE=%1",
		"GITHUB_TOKEN=ghp_hush", "GH_TOKEN=ghp_hush", "AWS_SECRET_ACCESS_KEY=hush", "ANTHROPIC_API_KEY=sk-own", "LANG=C.UTF-8")
	w.register("acme/shop#15", conversation)
	w.ends(w.comment(15, "hello"), "done", "")
	env := w.runs()[0].Env
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if strings.Contains(value, secret) || strings.Contains(value, "hush") || strings.HasPrefix(name, "CLAUDECODE") ||
			strings.HasPrefix(name, "CLAUDE_CODE_") || strings.HasPrefix(name, "TMUX") || name == "LOOP_CONFIG" {
			t.Errorf("the harness is given %s", name)
		}
	}
	for _, want := range []string{
		"LOOP_WORK_ITEM=github:acme/shop#15", "LOOP_SESSION_KEY=github-acme-shop-15", "LOOP_SOCKET=" + filepath.Join(w.dir, "s", "loopd.sock"),
		"ANTHROPIC_API_KEY=sk-own", "LANG=C.UTF-8", "HOME=" + w.home,
	} {
		if !slices.Contains(env, want) {
			t.Errorf("the harness lacks %s", want)
		}
	}
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "LOOP_RUN=") }) {
		t.Error("the harness lacks LOOP_RUN")
	}
	err := filepath.Walk(w.state, func(file string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && strings.Contains(w.read(file), "sk-own") {
			t.Errorf("%s holds what is in the harness's environment", file)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
