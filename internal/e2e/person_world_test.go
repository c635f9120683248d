package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	p.clone()
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

// seat is a terminal with Claude Code in it.
type seat struct {
	*tty

	p person
}

// sits opens a terminal and starts Claude Code there, in which nothing is allowed without a question.
func (p person) sits(dir string, args ...string) *seat {
	p.t.Helper()
	return &seat{p.opensTTY(dir, p.model.Env(), p.command, append(args, "--permission-mode", "default")...), p}
}

// opens is sits for the folder of the branch, and waits until the input line is there and a hook waits.
func (p person) opens(args ...string) *seat {
	p.t.Helper()
	s := p.sits(p.work, args...)
	s.rests()
	return s
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
