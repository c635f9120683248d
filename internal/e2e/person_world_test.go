package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// person is a world in which somebody has the real Claude Code in terminals of their own, with Loop's hooks in its settings, and
// works on acme/shop#15: the branch says so.
type person struct{ realWorld }

// newPerson makes such a world and starts loopd. The hooks are installed with these arguments.
func newPerson(t *testing.T, config string, install ...string) person {
	t.Helper()
	p := person{newRealWorld(t, config)}
	claude := filepath.Join(p.dir, "bin", "claude")
	if err := os.Remove(claude); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.command, claude); err != nil {
		t.Fatal(err)
	}
	p.git("init", "--quiet", "--initial-branch", "issue-15-fix-login")
	p.git("remote", "add", "origin", "git@github.com:acme/shop.git")
	p.git("-c", "user.name=Octo Cat", "-c", "user.email=octocat@example.com", "commit", "--quiet", "--allow-empty", "--message", "begin")
	p.must(append([]string{"hooks", "install", "claude"}, install...)...)
	p.answers()
	p.start()
	return p
}

// answers writes what Claude Code keeps once a person has answered its first questions.
func (p person) answers() {
	p.t.Helper()
	truly, err := filepath.EvalSymlinks(p.work)
	if err != nil {
		p.t.Fatal(err)
	}
	trusted := map[string]bool{"hasTrustDialogAccepted": true}
	text, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "hasSeenAutoDefaultNudge": true, "projects": map[string]any{p.work: trusted, truly: trusted},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.home, ".claude.json"), text, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p person) git(args ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env, cmd.Dir = p.env, p.work
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// seat is a terminal with Claude Code in it: no more than a pseudo terminal.
type seat struct {
	p      person
	screen *screen
	cmd    *exec.Cmd
	pty    *os.File
	drawn  chan struct{} // closed when nothing more is drawn
}

// sits opens a terminal and starts Claude Code there, in which nothing is allowed without a question.
func (p person) sits(dir string, args ...string) *seat {
	p.t.Helper()
	s := &seat{p: p, screen: newScreen(45, 150), drawn: make(chan struct{})}
	s.cmd = exec.Command(p.command, append(args, "--permission-mode", "default")...) // ended with the test
	s.cmd.Dir = dir
	s.cmd.Env = append(p.env, "TERM=xterm-256color", "LANG=C.UTF-8")
	for name, value := range p.model.Env() {
		s.cmd.Env = append(s.cmd.Env, name+"="+value)
	}
	var err error
	if s.pty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 45, Cols: 150}); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_, _ = io.Copy(s.screen, s.pty) // ends with an error when the program does
		close(s.drawn)
	}()
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Logf("terminal of process %d:\n%s", s.pid(), strings.TrimSpace(s.screen.String()))
		}
		_ = s.cmd.Process.Kill()
		s.ended()
	})
	return s
}

// opens is sits for the folder of the branch, and waits until the input line is there and a hook waits.
func (p person) opens(args ...string) *seat {
	p.t.Helper()
	s := p.sits(p.work, args...)
	s.rests()
	return s
}

func (s *seat) pid() int { return s.cmd.Process.Pid }

// shows waits until the screen shows a text.
func (s *seat) shows(text string) {
	s.p.t.Helper()
	s.p.await("the screen to show "+strconv.Quote(text), func() bool { return strings.Contains(s.screen.String(), text) })
}

// rests waits until the agent is idle, its input line empty, and a hook waits in it.
func (s *seat) rests() {
	s.p.t.Helper()
	s.shows("? for shortcuts")
	s.p.await("a hook to wait", func() bool {
		here := s.p.presence()
		return here != nil && here.PID == s.pid() && here.Turn == "idle" && here.WakeHook
	})
}

// types writes into the input line, and waits until it stands there.
func (s *seat) types(text string) {
	s.p.t.Helper()
	s.keys(text)
	s.shows("❯\u00a0" + text)
}

// says is types and Enter.
func (s *seat) says(text string) {
	s.p.t.Helper()
	s.types(text)
	s.keys("\r")
}

func (s *seat) keys(keys string) {
	s.p.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.p.t.Fatal(err)
	}
}

// ended waits until the program has ended.
func (s *seat) ended() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Wait()
	_ = s.pty.Close()
	<-s.drawn
}

// kill ends the program as a crash would.
func (s *seat) kill() {
	s.p.t.Helper()
	kill(s.p.t, s.pid())
	s.ended()
}

// closesWindow closes the terminal.
func (s *seat) closesWindow() {
	_ = s.pty.Close()
	_ = syscall.Kill(s.pid(), syscall.SIGHUP)
	s.ended()
}

// row is a line of a conversation's record.
type row struct {
	Type, UUID, ParentUUID string
	IsSidechain            bool
	Message                struct{ Content any }
	Attachment             struct {
		Type   string
		Prompt any
	}
}

// told returns what a row tells the agent, which is "" for most.
func (r row) told() string {
	content := r.Message.Content
	switch {
	case r.Attachment.Type == "queued_command":
		content = r.Attachment.Prompt
	case r.Type != "user":
		return ""
	}
	if text, ok := content.(string); ok {
		return text
	}
	var b strings.Builder
	blocks, _ := content.([]any)
	for _, block := range blocks {
		if text, ok := block.(map[string]any)["text"].(string); ok {
			b.WriteString(text)
		}
	}
	return b.String()
}

// record reads what Claude Code has kept of a conversation.
func (p person) record(id string) (rows []row) {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.home, ".claude", "projects", "*", id+".jsonl"))
	if err != nil || len(files) != 1 {
		p.t.Fatalf("records of %s: %q, %v; want one", id, files, err)
	}
	for line := range bytes.Lines([]byte(p.read(files[0]))) {
		var r row
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		if err := json.Unmarshal(line, &r); err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		rows = append(rows, r)
	}
	return rows
}

// whole wants a conversation to be one line without a fork, in which each word was told once, and in this order.
func (p person) whole(id string, words ...string) {
	p.t.Helper()
	var told string
	p.await("the record of "+id+" to be written", func() bool {
		told = p.told(id)
		return strings.Contains(told, words[len(words)-1])
	})
	before := -1
	for _, word := range words {
		at := strings.Index(told, word)
		if n := strings.Count(told, word); n != 1 || at < before {
			p.t.Errorf("conversation %s was told %q %d times, at %d and after %d:\n%s", id, word, n, at, before, told)
		}
		before = at
	}
}

// told returns what a conversation was told so far, and wants it to be one line.
func (p person) told(id string) string {
	p.t.Helper()
	next, told := map[string]row{}, ""
	for _, r := range p.record(id) {
		if r.UUID == "" || r.IsSidechain {
			continue
		}
		if other, forked := next[r.ParentUUID]; forked {
			p.t.Fatalf("behind row %q of %s come two:\n%+v\n%+v", r.ParentUUID, id, other, r)
		}
		next[r.ParentUUID] = r
		told += r.told() + "\n"
	}
	return told
}
