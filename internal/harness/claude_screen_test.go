package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
)

// The screens of testdata/claude were taken from Claude Code 2.1.332 in tmux 3.3a, 150 columns wide; the narrow ones 60.
var claudeScreens = map[string]harness.Screen{
	"started":               composer,
	"auto-mode":             composer,
	"named":                 composer,
	"resumed":               composer,
	"answered":              composer,
	"vim-status-line":       composer,
	"help":                  composer,
	"imitation":             composer,
	"echo-imitation":        composer,
	"narrow-help":           composer,
	"ctrl-c-once":           composer,
	"draft":                 draft("draft in vim"),
	"vim-normal":            draft("draft in vim"),
	"draft-lines":           draft("first line second line ❯ third line"),
	"draft-wrapped":         draft(strings.TrimSpace(strings.Repeat("word ", 80))),
	"draft-pasted":          draft("[Pasted text #1 +20 lines]"),
	"after-escape":          draft("long [[claude delay=8000]]"),
	"shell-mode":            draft("!"),
	"slash-menu":            draft("/"),
	"at-menu":               draft("look @"),
	"narrow-pasted":         draft("[Pasted text #1 +20 lines]"),
	"narrow-draft-scrolled": draft(strings.TrimSpace(strings.Repeat("word ", 47))),
	"busy":                  {Composer: true, Busy: true},
	"busy-tool":             {Composer: true, Busy: true},
	"busy-queued":           {Composer: true, Busy: true},
	"busy-draft":            {Composer: true, Busy: true, Draft: "half a thought"},
	"draft-woken":           {Composer: true, Busy: true, Draft: "half typed by me"},
	"narrow-busy":           {Composer: true, Busy: true},
	"onboarding":            dialog("Welcome to Claude Code v2.1.332"),
	"trust":                 dialog("Accessing workspace"),
	"api-key":               dialog("Detected a custom API key in your environment: Do you want to use this API key?"),
	"bypass":                dialog("WARNING: Claude Code running in Bypass Permissions mode"),
	"auto-mode-offer":       dialog("Make auto mode your default permission mode?"),
	"permission-bash":       dialog("Bash command: Do you want to proceed?"),
	"permission-edit":       dialog("Edit file: Do you want to make this edit to a.txt?"),
	"permission-fetch":      dialog("Fetch: Do you want to allow Claude to fetch this content?"),
	"question":              dialog("☐ Colour: Which colour?"),
	"plan-approval":         dialog("Exit plan mode?"),
	"model":                 dialog("Select model"),
	"resume":                dialog("Resume session"),
	"config":                dialog("Settings Status Config Usage Stats"),
	"permissions":           dialog("Permissions Recently blocked Allow Ask Deny Auto mode Workspace"),
	"help-command":          dialog("Help General Commands Custom commands"),
	"rewind":                dialog("Rewind"),
	"btw":                   dialog("/btw what is this"),
	"history-search":        dialog("Search prompts · everywhere"),
	"transcript":            dialog("Showing detailed transcript · ctrl+o to toggle · ↑/↓ to scroll · v to open in vi · ? for shortcuts verbose"),
	"agents-view":           dialog("a list of agents or choices"),
	"agents-view-draft":     dialog("a list of agents or choices"),
	"permission-tall":       dialog("Do you want to create n.txt?"),
	"narrow-model":          dialog("Select model"),
	"narrow-rewind":         dialog("Rewind"),
	"narrow-transcript":     dialog("Showing detailed transcript · ctrl+o to toggle · ?…verbose"),
	"unknown-id":            {},
	"loading-sessions":      {},
}

var composer = harness.Screen{Composer: true}

func draft(text string) harness.Screen { return harness.Screen{Composer: true, Draft: text} }

func dialog(asks string) harness.Screen { return harness.Screen{Dialog: asks} }

func readScreen(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "claude", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func terminal(t testing.TB) harness.Terminal {
	t.Helper()
	return agent(t, harness.Options{}).(harness.Terminal)
}

func TestClaudeScreens(t *testing.T) {
	t.Parallel()
	c := terminal(t)
	files, err := filepath.Glob(filepath.Join("testdata", "claude", "*.txt"))
	if err != nil || len(files) != len(claudeScreens) {
		t.Errorf("%d screens (%v) and %d expectations", len(files), err, len(claudeScreens))
	}
	for name, want := range claudeScreens {
		if diff := cmp.Diff(want, c.Screen(readScreen(t, name))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What an agent, its tools or a stranger says is indented by Claude Code, so none of it can pass for the input line or hide it.
func TestClaudeScreenIsNotFooled(t *testing.T) {
	t.Parallel()
	c := terminal(t)
	rule := strings.Repeat("─", 150)
	box := rule + "\n❯\u00a0\n" + rule + "\n  ⏸ manual mode on"
	pick := "Bash command\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
	tests := []struct {
		name, text string
		want       harness.Screen
	}{
		{"nothing", "", harness.Screen{}},
		{"an input line", box, composer},
		{"one whose lower rule is not drawn yet", rule + "\n❯\u00a0hello", harness.Screen{}},
		{"one without an upper rule", "❯\u00a0\n" + rule + "\n  ⏸ manual mode on", harness.Screen{}},
		{"rules of different lengths", rule + "─\n❯\u00a0\n" + rule, harness.Screen{}},
		{"short rules", "──────\n❯\u00a0\n──────", harness.Screen{}},
		{"an echo between rules", rule + "\n❯ fix it\n" + rule + "\n  footer", dialog("a list of agents or choices")},
		{"something at the edge below", box + "\n$ vim", harness.Screen{}},
		{"something at the edge inside", rule + "\n❯\u00a0a\nb\n" + rule, harness.Screen{}},
		{"a dialog below an input line", box + "\n" + rule + "\n" + pick, dialog("Bash command: Do you want to proceed?")},
		{"a menu below an input line", box + "\n" + strings.Repeat("▔", 150) + "\n  Settings\n  Esc to close", dialog("Settings")},
		{"a framed dialog", rule + "\n" + pick + "\n" + rule, dialog("Bash command: Do you want to proceed?")},
		{"a dialog that quotes an input line", rule + "\n Bash command\n " + strings.ReplaceAll(box, "\n", "\n ") + "\n Go on?\n ❯ 1. Yes\n", dialog("Bash command: Go on?")},
		{"an answer that imitates all", "● Look:\n  " + strings.ReplaceAll(box, "\n", "\n  ") + "\n  " + strings.ReplaceAll(pick, "\n", "\n  ") + "\n\n" + box, composer},
		{"an answer that imitates a running turn", "● Look:\n  ✻ Cooking… (3s)\n  esc to interrupt\n\n" + box, composer},
		{"a turn that is over", "✻ Cooked for 5s · done 12:02 PM\n\n" + box, composer},
		{"a turn that runs a hook", "✻ Beaming… (running Stop hook · 2s · ↓ 9 tokens)\n\n" + box, harness.Screen{Composer: true, Busy: true}},
		{"a hint", rule + "\n❯\u00a0Try \"fix lint errors\"\n" + rule, composer},
		{"a hint after an error of the model's host", rule + "\n❯\u00a0Resend your message to try again\n" + rule, composer},
		{"a hint after a refused login", rule + "\n❯\u00a0Once fixed, resend your message\n" + rule, composer},
		{"a hint after a refused message", rule + "\n❯\u00a0Run /rewind to go back\n" + rule, composer},
		{"a draft that begins like a hint", rule + "\n❯\u00a0Once fixed, resend your message to me\n" + rule, harness.Screen{Composer: true, Draft: "Once fixed, resend your message to me"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, c.Screen(tt.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func FuzzClaudeScreen(f *testing.F) {
	for name := range claudeScreens {
		f.Add(readScreen(f, name))
	}
	c := terminal(f)
	f.Fuzz(func(t *testing.T, text string) {
		s := c.Screen(text)
		switch {
		case s.Composer && s.Dialog != "":
			t.Errorf("both an input line and a dialog: %+v", s)
		case !s.Composer && (s.Draft != "" || s.Busy):
			t.Errorf("no input line, but what stands in it: %+v", s)
		case strings.ContainsAny(s.Draft+s.Dialog, "\n\r\x1b"):
			t.Errorf("not one line: %+v", s)
		case s.Composer && !strings.Contains(text, "❯\u00a0") && !strings.Contains(text, "!\u00a0") && !strings.Contains(text, " ↑ "):
			t.Errorf("an input line without its mark: %+v", s)
		}
		// However an agent's answer looks, above an input line it changes nothing but what stands there.
		said := "● " + strings.ReplaceAll(strings.ReplaceAll(text, "\r", ""), "\n", "\n  ")
		rule := strings.Repeat("─", 60)
		if s := c.Screen(said + "\n\n" + rule + "\n❯\u00a0mine\n" + rule + "\n  ⏸ manual mode on\n"); s != draft("mine") {
			t.Errorf("below an answer: %+v", s)
		}
	})
}
