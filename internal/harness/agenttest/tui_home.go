package agenttest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
)

// memory is .claude.json, with all that is in it.
type memory map[string]any

// memoryFile lies beside the configuration's folder, or in it when that was chosen.
func memoryFile() string {
	if dir := os.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, ".claude.json")
	}
	return filepath.Join(os.Getenv("HOME"), ".claude.json")
}

func readMemory() (memory, error) {
	m := memory{}
	text, err := os.ReadFile(memoryFile())
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(text, &m)
}

func (m memory) write() error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(memoryFile(), text, 0o600)
}

// onboarded reports whether the first questions of all were answered.
func (m memory) onboarded() bool { return m["hasCompletedOnboarding"] == true }

// trusts reports whether a folder is trusted. A repository is trusted by its root, also in its worktrees; any other folder by
// each one above it.
func (m memory) trusts(dir string) bool {
	projects, _ := m["projects"].(map[string]any)
	said := func(dir string) bool {
		project, _ := projects[dir].(map[string]any)
		return project["hasTrustDialogAccepted"] == true
	}
	for at := dir; ; at = filepath.Dir(at) {
		if said(at) {
			return true
		}
		if root, ok := repository(at); ok {
			return said(root)
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// trust remembers that a folder is trusted.
func (m memory) trust(dir string) error {
	projects, _ := m["projects"].(map[string]any)
	if projects == nil {
		projects = map[string]any{}
	}
	project, _ := projects[dir].(map[string]any)
	if project == nil {
		project = map[string]any{}
	}
	project["hasTrustDialogAccepted"] = true
	projects[dir], m["projects"] = project, projects
	return m.write()
}

// repository returns the root of the repository that a folder is the root or a worktree of.
func repository(dir string) (root string, ok bool) {
	git := filepath.Join(dir, ".git")
	if info, err := os.Stat(git); err != nil || info.IsDir() {
		return dir, err == nil
	}
	link, err := os.ReadFile(git)
	if err != nil {
		return dir, true
	}
	of, _ := strings.CutPrefix(strings.TrimSpace(string(link)), "gitdir: ")
	if main, _, ok := strings.Cut(of, "/.git/worktrees/"); ok {
		return main, true
	}
	return dir, true
}

// transcript is the file in which a conversation is kept for its person to read.
type transcript struct {
	file, id, dir string
	last          string // the row before
}

func newTranscript(id, dir string) *transcript {
	project := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, dir)
	return &transcript{file: filepath.Join(configDir(), "projects", project, id+".jsonl"), id: id, dir: dir}
}

// said adds what the person, or the hook that stands for one, said.
func (t *transcript) said(text, source string) error {
	return t.add(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": text}, "promptSource": source})
}

// answered adds what the model said.
func (t *transcript) answered(text string) error {
	content := []any{map[string]any{"type": "text", "text": text}}
	return t.add(map[string]any{"type": "assistant", "message": map[string]any{"role": "assistant", "content": content}})
}

// queued adds what waits for its turn.
func (t *transcript) queued(text string) error {
	return t.add(map[string]any{"type": "queue-operation", "operation": "enqueue", "content": text})
}

func (t *transcript) add(row map[string]any) error {
	row["parentUuid"], row["uuid"] = t.last, uuid.NewString()
	row["sessionId"], row["cwd"], row["version"], row["entrypoint"] = t.id, t.dir, version, "cli"
	row["timestamp"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	t.last, _ = row["uuid"].(string)
	if err := os.MkdirAll(filepath.Dir(t.file), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(t.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line(row))
	return errors.Join(err, file.Close())
}
