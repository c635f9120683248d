package agenttest_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTypingIsAnswered(t *testing.T) {
	t.Parallel()
	p := newPane(t).start("--permission-mode", "default")
	p.asks("hello there")
	same(t, "turns", []string{"hello there"}, p.did(1, agenttest.ActTurn))
	p.did(1, agenttest.ActAnswer)
	p.await("the answer", func() bool { return strings.Contains(p.screen(), "● Fake answer to turn 1: hello there") })
	p.await("the footer", func() bool { return strings.HasSuffix(p.footer(), "? for shortcuts") })
	if screen := p.screen(); !strings.Contains(screen, "❯ hello there") {
		t.Errorf("the history does not hold the prompt:\n%s", screen)
	}
	if act := p.run().Did(agenttest.ActPrompt)[0]; act.How != "typed" || act.Session != p.id {
		t.Errorf("got %+v", act)
	}
}

func TestPastes(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("line\n", 30)
	for name, c := range map[string]struct{ paste, shown, prompt string }{
		"short":           {"one\ntwo\tend\n", "one\n  two    end", "one\ntwo    end"},
		"a reader's mark": {"do\\", "do\\", ""},
		"many lines":      {lines, "[Pasted text #1 +30 lines]", "\n\n<pasted_content id=ID>\n" + lines + "</pasted_content id=ID>\n"},
		"long line":       {strings.Repeat("x", 801), "[Pasted text #1]", "\n\n<pasted_content id=ID>\n" + strings.Repeat("x", 801) + "\n</pasted_content id=ID>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPane(t).start()
			p.shows("")
			p.pastes(c.paste)
			p.shows(c.shown)
			if c.prompt == "" {
				p.await("the backslash to become a line", func() bool {
					p.types("\r")
					draft, _ := p.composer()
					return draft == "do"
				})
				same(t, "prompts", 0, len(p.run().Did(agenttest.ActPrompt)))
				return
			}
			p.await("the paste to be submitted", func() bool {
				p.types("\r")
				return len(p.run().Did(agenttest.ActPrompt)) == 1
			})
			got := p.did(1, agenttest.ActPrompt)[0]
			if _, id, ok := strings.Cut(got, "id="); ok {
				got = strings.ReplaceAll(got, id[:6], "ID")
			}
			same(t, "prompt", c.prompt, got)
		})
	}
}

func TestEnterRightBehindAPasteIsLost(t *testing.T) {
	t.Parallel()
	p := newPane(t).start()
	p.shows("")
	p.types("\x1b[200~pasted\x1b[201~\r") // in one write
	p.shows("pasted")
	p.types(" and typed")
	p.shows("pasted and typed")
	same(t, "prompts", 0, len(p.run().Did(agenttest.ActPrompt)))
}

func TestPromptsWhileBusy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first string
		turns []string
	}{
		"an answer is thought of": {"[[agent delay=2500]] 0", []string{"[[agent delay=2500]] 0", "one\ntwo"}},
		"a tool runs":             {"[[agent delay=2500 tool]] 0", []string{"[[agent delay=2500 tool]] 0", "one\ntwo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPane(t)
			p.hook("Stop", "exit 0")
			p.start()
			p.asks(c.first)
			p.did(1, agenttest.ActTurn)
			p.await("the footer", func() bool { return strings.HasSuffix(p.footer(), "esc to interrupt") })
			for _, text := range []string{"one", "two"} {
				p.types(text)
				p.shows(text)
				p.types("\r")
				p.shows("Press up to edit queued messages")
			}
			same(t, "prompts", []string{c.first, "one", "two"}, p.did(3, agenttest.ActPrompt))
			same(t, "turns", c.turns, p.did(2, agenttest.ActTurn))
			p.shows("")
			stops := 2
			if strings.Contains(c.first, "tool") {
				stops = 1
			}
			p.did(stops, agenttest.ActHook)
			p.await("idle", func() bool { return strings.HasSuffix(p.footer(), "? for shortcuts") })
			same(t, "stops", stops, len(p.run().Did(agenttest.ActHook)))
		})
	}
}

func TestDialogTakesEnterForAnAnswer(t *testing.T) {
	t.Parallel()
	p := newPane(t)
	p.hook("PermissionRequest", "cat > permission")
	p.start()
	p.asks("[[agent ask=Bash]]")
	p.await("the dialog", func() bool { return strings.Contains(p.screen(), " ❯ 1. Yes") })
	if draft, ok := p.composer(); ok {
		t.Errorf("there is a composer beside a dialog: %q", draft)
	}
	p.pastes("an event")
	same(t, "dropped", []string{"an event"}, p.did(1, agenttest.ActDropped))
	p.types("\r")
	same(t, "choices", []string{"Yes"}, p.did(1, agenttest.ActChoice))
	same(t, "answers", 1, len(p.did(1, agenttest.ActAnswer)))
	told, err := os.ReadFile(filepath.Join(p.home, "permission"))
	if err != nil || !strings.Contains(string(told), `"tool_name":"Bash"`) {
		t.Errorf("the hook was told %q, %v", told, err)
	}

	p.asks("[[agent ask=Bash]]")
	p.did(2, agenttest.ActDialog)
	p.types("\x1b")
	same(t, "choices", []string{"Yes", "No"}, p.did(2, agenttest.ActChoice))
	p.shows("")
	same(t, "how it ended", "interrupted", p.run().Did(agenttest.ActAnswer)[1].How)
}

func TestEscapeInterrupts(t *testing.T) {
	t.Parallel()
	p := newPane(t)
	p.hook("Stop", "exit 0")
	p.start()
	p.asks("[[agent hang]]")
	p.did(1, agenttest.ActTurn)
	p.asks("next")
	p.did(2, agenttest.ActPrompt)
	p.types("\x1b")
	same(t, "turns", []string{"[[agent hang]]", "next"}, p.did(2, agenttest.ActTurn))
	p.did(1, agenttest.ActHook)
	same(t, "ends", "interrupted", p.run().Did(agenttest.ActAnswer)[0].How)
}

func TestShellAndCommands(t *testing.T) {
	t.Parallel()
	p := newPane(t)
	p.hook("SessionStart", "exit 0")
	p.start()
	p.shows("")
	p.types("!rm -rf x")
	p.await("the shell mode", func() bool { return strings.HasSuffix(p.footer(), "! for shell mode") })
	p.types("\r")
	same(t, "shell", []string{"!rm -rf x"}, p.did(1, agenttest.ActShell))
	p.shows("")
	p.asks("/clear")
	same(t, "starts", []string{"startup", "clear"}, p.did(2, agenttest.ActReady))
	if id := p.run().Did(agenttest.ActReady)[1].Session; id == p.id {
		t.Error("the conversation has its old id")
	}
	p.asks("/exit")
	same(t, "exit status", "0", p.dead())
	same(t, "commands", []string{"/clear", "/exit"}, p.did(2, agenttest.ActCommand))
}

func TestTerm(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string]string{"idle": "", "with a tool": "[[agent hang tool]]"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPane(t)
			p.hook("SessionEnd", "cat > end")
			p.start()
			p.shows("")
			if prompt != "" {
				p.asks(prompt)
				p.did(1, agenttest.ActTurn)
			}
			self, err := proc.Of(p.run().PID)
			if err != nil {
				t.Fatal(err)
			}
			tree := proc.Tree{Under: self}
			tools, err := tree.Living()
			if err != nil || (prompt != "") != (len(tools) > 0) {
				t.Errorf("tools %v, %v", tools, err)
			}
			if err := proc.Signal(self, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			same(t, "exit status", "143", p.dead())
			p.await("the hint", func() bool { return strings.Contains(p.all(), "--resume "+p.id) })
			for _, tool := range tools {
				if proc.Alive(tool) {
					t.Errorf("tool %v lives on", tool)
				}
			}
			if end, err := os.ReadFile(filepath.Join(p.home, "end")); err != nil || !strings.Contains(string(end), `"reason":"other"`) {
				t.Errorf("SessionEnd was told %q, %v", end, err)
			}
		})
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	p := newPane(t)
	p.hook("SessionEnd", "cat > end")
	p.launch("--resume", p.id)
	same(t, "exit status", "1", p.dead())
	p.await("the reason", func() bool { return strings.Contains(p.all(), "No conversation found with session ID: "+p.id) })
	if _, err := os.Stat(filepath.Join(p.home, "end")); err != nil {
		t.Error("SessionEnd was not told:", err)
	}

	p.tmux("", "kill-session", "-t", "a")
	p.start("first")
	p.did(1, agenttest.ActAnswer)
	p.asks("/exit")
	p.dead()

	// What was said in one way is known in the other.
	headless := proc.Cmd{
		Path: install(t), Args: []string{"-p", "--resume", p.id, "--output-format", "json"}, Env: p.env, Dir: p.home,
		Stdin: strings.NewReader("second"),
	}
	if out, err := proc.Run(t.Context(), headless); err != nil || !strings.Contains(string(out.Stdout), "answer to turn 2: second") {
		t.Errorf("headless: %s, %v", out.Stdout, err)
	}
	p.tmux("", "kill-session", "-t", "a")
	p.start()
	same(t, "exit status of one more start", "1", p.dead())
	p.tmux("", "kill-session", "-t", "a")
	p.launch("--resume", p.id)
	p.asks("third")
	p.await("the answer", func() bool { return strings.Contains(p.screen(), "answer to turn 3: third") })

	files, err := filepath.Glob(filepath.Join(p.home, ".claude", "projects", "*", p.id+".jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("transcripts %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"content":"first"`, "answer to turn 1: first", `"content":"third"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the transcript lacks %s", want)
		}
	}
}
