package agenttest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// pane is a stand-in in a terminal of a tmux server of its own.
type pane struct {
	t      *testing.T
	server *tmux.Server
	home   string // also where it works
	id     string // the conversation that it is started with
	hooks  map[string][]any
	env    []string
}

// newPane makes a home in which a stand-in can be started without a question.
func newPane(t *testing.T) *pane {
	t.Helper()
	server := tmuxtest.New(t)
	home := tmuxtest.Home(server)
	p := &pane{t: t, server: server, home: home, id: uuid.NewString(), hooks: map[string][]any{}}
	if err := server.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen at the end:\n%s", strings.TrimSpace(p.screen()))
		}
	})
	p.env = []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=tmux-256color", "TMPDIR=" + home,
		agenttest.EnvRecord + "=" + filepath.Join(home, "record"), agenttest.EnvState + "=" + filepath.Join(home, "state"),
	}
	if err := os.Mkdir(filepath.Join(home, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write(".claude.json", map[string]any{"projects": map[string]any{home: map[string]any{"hasTrustDialogAccepted": true}}})
	return p
}

func (p *pane) write(name string, content any) string {
	p.t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		p.t.Fatal(err)
	}
	file := filepath.Join(p.home, name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	return file
}

// tmux runs a command of the server.
func (p *pane) tmux(stdin string, args ...string) string {
	p.t.Helper()
	return tmuxtest.Run(p.t, p.server, stdin, args...)
}

// hook adds a command that is run at an event, in a shell.
func (p *pane) hook(event, command string, more ...any) {
	h := map[string]any{"type": "command", "command": command, "timeout": 20}
	for i := 0; i < len(more); i += 2 {
		h[more[i].(string)] = more[i+1]
	}
	p.hooks[event] = append(p.hooks[event], map[string]any{"hooks": []any{h}})
}

// start starts a stand-in on the pane's conversation.
func (p *pane) start(args ...string) *pane {
	p.t.Helper()
	return p.launch(append([]string{"--session-id", p.id}, args...)...)
}

func (p *pane) launch(args ...string) *pane {
	p.t.Helper()
	args = append([]string{"--settings", p.write("hooks.json", map[string]any{"hooks": p.hooks})}, args...)
	command := slices.Concat([]string{"env", "-i"}, p.env, []string{install(p.t)}, args)
	p.tmux("", slices.Concat([]string{"new-session", "-d", "-s", "a", "-x", "200", "-y", "50", "-c", p.home, "--"}, command)...)
	return p
}

// await waits for an outcome.
func (p *pane) await(what string, came func() bool) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); !came(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("waited for %s; acts: %+v", what, p.run().Acts)
		}
	}
}

func (p *pane) screen() string { return p.tmux("", "capture-pane", "-p", "-t", "a:") }

// all is the screen with what has scrolled away, as the first line does when tmux says that the pane is dead.
func (p *pane) all() string { return p.tmux("", "capture-pane", "-p", "-S", "-", "-t", "a:") }

// composer returns what is written in the box between two rules; ok is false while there is none.
func (p *pane) composer() (draft string, ok bool) {
	lines := strings.Split(strings.TrimRight(p.screen(), "\n"), "\n")
	rule := strings.Repeat("─", 200)
	for i, line := range lines {
		if line == rule && i+2 < len(lines) && strings.HasPrefix(lines[i+1], "❯\u00a0") {
			if end := slices.Index(lines[i+1:], rule); end > 0 {
				return strings.TrimSpace(strings.TrimPrefix(strings.Join(lines[i+1:i+1+end], "\n"), "❯")), true
			}
		}
	}
	return "", false
}

// shows waits for a composer with a draft.
func (p *pane) shows(draft string) {
	p.t.Helper()
	p.await("the composer to show "+strconv.Quote(draft), func() bool {
		got, ok := p.composer()
		return ok && got == draft
	})
}

func (p *pane) footer() string {
	lines := strings.Split(strings.TrimRight(p.screen(), "\n"), "\n")
	return lines[len(lines)-1]
}

// types puts bytes into the terminal as they are.
func (p *pane) types(text string) {
	p.t.Helper()
	p.tmux(text, "load-buffer", "-b", "t", "-", ";", "paste-buffer", "-d", "-r", "-b", "t", "-t", "a:")
}

func (p *pane) pastes(text string) {
	p.t.Helper()
	p.tmux(text, "load-buffer", "-b", "p", "-", ";", "paste-buffer", "-d", "-p", "-b", "p", "-t", "a:")
}

// asks types a prompt and submits it.
func (p *pane) asks(prompt string) {
	p.t.Helper()
	p.shows("")
	p.types(prompt)
	p.shows(prompt)
	p.types("\r")
	p.await("the composer to be empty or gone", func() bool {
		draft, ok := p.composer()
		return !ok || draft != prompt
	})
}

func (p *pane) runs() []agenttest.Run {
	p.t.Helper()
	runs, err := agenttest.ReadRuns(filepath.Join(p.home, "record"))
	if err != nil {
		p.t.Fatal(err)
	}
	return runs
}

// run is the newest.
func (p *pane) run() agenttest.Run {
	runs := p.runs()
	if len(runs) == 0 {
		return agenttest.Run{}
	}
	return runs[len(runs)-1]
}

// did waits until something was done n times, and returns the texts.
func (p *pane) did(n int, what agenttest.What) (texts []string) {
	p.t.Helper()
	p.await(strconv.Itoa(n)+" of "+string(what), func() bool { return len(p.run().Did(what)) >= n })
	for _, act := range p.run().Did(what) {
		texts = append(texts, act.Text)
	}
	return texts
}

// dead waits for the program's end and returns its exit status.
func (p *pane) dead() string {
	p.t.Helper()
	p.await("the pane to be dead", func() bool {
		return strings.HasPrefix(p.tmux("", "display-message", "-p", "-t", "a:", "#{pane_dead}"), "1")
	})
	p.await("the run to be over", func() bool { return !p.run().Ended.IsZero() })
	return strconv.Itoa(p.run().Code)
}
