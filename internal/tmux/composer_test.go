package tmux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// composer spawns one, and returns when it shows its input line.
func composer(t *testing.T, s *tmux.Server, c tmuxtest.Composer) tmux.Pane {
	t.Helper()
	pane := spawn(t, s, "item", c.Argv()...)
	waitForScreen(t, s, pane, tmuxtest.InputLine)
	return pane
}

// These are promises of the composer that tests of others stand on, and show that pastes reach something like an agent.
func TestComposerTakesPastes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text, shows string
		want        tmuxtest.Submission
	}{
		"text":                {"an event\nof two lines", "of two lines", tmuxtest.Submission{Kind: "prompt", Text: "an event\nof two lines"}},
		"long text is folded": {"an event" + strings.Repeat("\nx", 20), "[Pasted text #1 +20 lines]", tmuxtest.Submission{Kind: "prompt", Text: "an event" + strings.Repeat("\nx", 20)}},
		"lines like commands": {"an event\n!rm\n/clear\nC:\\", "C:\\", tmuxtest.Submission{Kind: "prompt", Text: "an event\n!rm\n/clear\nC:\\"}},
		"a shell's command":   {"!rm", "!rm", tmuxtest.Submission{Kind: "shell", Text: "!rm"}},
		"an agent's command":  {"/clear", "/clear", tmuxtest.Submission{Kind: "command", Text: "/clear"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tmuxtest.New(t)
			log := filepath.Join(t.TempDir(), "log")
			pane := composer(t, s, tmuxtest.Composer{Log: log})
			if err := s.Paste(t.Context(), pane.Target(), tt.text); err != nil {
				t.Fatal(err)
			}
			waitForScreen(t, s, pane, tt.shows)
			tmuxtest.Eventually(t, "the submission", func() bool {
				if err := s.Submit(t.Context(), pane.Target()); err != nil {
					t.Fatal(err)
				}
				return len(tmuxtest.Submitted(log)) > 0
			})
			if diff := cmp.Diff([]tmuxtest.Submission{tt.want}, tmuxtest.Submitted(log)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestComposerHasADialogAndADraft(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	dir := t.TempDir()
	dialog, log := filepath.Join(dir, "dialog"), filepath.Join(dir, "log")
	pane := composer(t, s, tmuxtest.Composer{Log: log, Dialog: dialog, Draft: "half a thought", Starts: time.Millisecond})
	waitForScreen(t, s, pane, tmuxtest.InputLine+"half a thought")
	if err := os.WriteFile(dialog, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waitForScreen(t, s, pane, "❯ 1. Yes")
	if err := s.Submit(t.Context(), pane.Target()); err != nil {
		t.Fatal(err)
	}
	waitForScreen(t, s, pane, tmuxtest.InputLine+"half a thought")
	if diff := cmp.Diff([]tmuxtest.Submission{{Kind: "dialog", Text: "\r"}}, tmuxtest.Submitted(log)); diff != "" {
		t.Error(diff)
	}
}
