package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/loop-daemon/loop/internal/loop"
)

// record is a line of a conversation's record, as far as it tells what was said to the agent.
type record struct {
	Type      string `json:"type"`
	Sidechain bool   `json:"isSidechain"` // what the agent said to a helper of its own
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Attachment struct {
		Type   string          `json:"type"`
		Prompt json.RawMessage `json:"prompt"`
	} `json:"attachment"`
}

// heard returns what the line says was said to the agent: a prompt at the beginning of a turn, whoever gave it, or one that
// was taken into a turn that ran. The queue has lines of its own, which are written long before and count for nothing, and a
// prompt that was queued when the program was killed has none at all.
func (r record) heard() json.RawMessage {
	switch {
	case r.Sidechain:
		return nil
	case r.Type == "user":
		return r.Message.Content
	case r.Type == "attachment" && r.Attachment.Type == "queued_command":
		return r.Attachment.Prompt
	}
	return nil
}

// saysIn reports whether token stands in content that is a text or has texts among its blocks. What a tool brought is none.
func saysIn(content json.RawMessage, token []byte) bool {
	var blocks []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return bytes.Contains(content, token)
	}
	for _, b := range blocks {
		if b.Type == "text" && bytes.Contains(b.Text, token) {
			return true
		}
	}
	return false
}

// Heard looks through the records of the conversation, whatever the folder that it was in.
func (c *claude) Heard(id loop.SessionID, token string) (bool, error) {
	if err := id.Check(); err != nil {
		return false, err
	}
	if token == "" {
		return false, fmt.Errorf("look for a prompt in %s: no token: %w", id, loop.ErrInvalid)
	}
	home, err := c.home()
	if err != nil {
		return false, err
	}
	projects := filepath.Join(home, "projects")
	entries, err := os.ReadDir(projects)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the record of %s: %w", id, err)
	}
	for _, e := range entries {
		heard, err := heardIn(filepath.Join(projects, e.Name(), string(id)+".jsonl"), []byte(token))
		if heard || err != nil {
			return heard, err
		}
	}
	return false, nil
}

// heardIn reads a record. Its last line may not be whole yet.
func heardIn(name string, token []byte) (heard bool, err error) {
	f, err := os.Open(name)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read a record: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewReaderSize(f, 256<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if bytes.Contains(line, token) {
			var r record
			if json.Unmarshal(line, &r) == nil && saysIn(r.heard(), token) {
				return true, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read a record: %w", err)
		}
	}
}
