package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// Lister is an agent that keeps a list of its own of the conversations that are open, whether our hooks are installed or not.
type Lister interface {
	Agent

	// Opened returns the processes that have conversation id open now.
	Opened(id loop.SessionID) ([]proc.Identity, error)
}

var _ Lister = (*claude)(nil)

const (
	maxListed = 64 << 10    // bytes of an entry of the list
	listedBy  = time.Minute // after its start a process has made its entry
)

// listed is what Claude Code writes of each program that runs. One that is killed leaves its entry behind.
type listed struct {
	PID       int            `json:"pid"`
	SessionID loop.SessionID `json:"sessionId"`
	ProcStart string         `json:"procStart"` // the kernel's own word for the start
	StartedAt int64          `json:"startedAt"` // in milliseconds
}

// Opened reads the list that Claude Code keeps in its configuration. An entry counts only while its very process lives.
func (c *claude) Opened(id loop.SessionID) ([]proc.Identity, error) {
	home, err := c.home()
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(home, "sessions", "*.json"))
	if err != nil {
		return nil, fmt.Errorf("look for open conversations of claude: %w", err)
	}
	var open []proc.Identity
	for _, name := range names {
		if p, ok := readListed(name, id); ok {
			open = append(open, p)
		}
	}
	return open, nil
}

// readListed returns the process of an entry, if it has the conversation open and lives. What cannot be read is no entry: it is
// being written, or it is not ours to understand.
func readListed(name string, id loop.SessionID) (proc.Identity, bool) {
	info, err := os.Stat(name)
	if err != nil || info.Size() > maxListed {
		return proc.Identity{}, false
	}
	text, err := os.ReadFile(name)
	var e listed
	if err != nil || json.Unmarshal(text, &e) != nil || e.SessionID != id || e.PID <= 1 {
		return proc.Identity{}, false
	}
	p, err := proc.Of(e.PID)
	return p, err == nil && e.isOf(p)
}

// isOf tells whether an entry is that of the process which has its pid now. Without the kernel's word for the start, which is in
// another unit on some systems, the entry was made soon after it.
func (e listed) isOf(p proc.Identity) bool {
	if e.ProcStart == strconv.FormatUint(p.Start, 10) {
		return true
	}
	after := time.UnixMilli(e.StartedAt).Sub(time.UnixMicro(int64(p.Start)))
	return after >= 0 && after < listedBy
}
