package outbox

import (
	"fmt"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// announced is how each announcement begins, of whatever Loop. It must never change: others know an announcement by it.
const announced = "Loop has started an agent on this."

// Announce returns the announcement of a session that was started. What it says holds on every machine: no path, no id, no host.
func Announce(w loop.WorkItem) string {
	return fmt.Sprintf("%s Whoever runs it can look into it with\n\n```\nloopctl attach %s\n```", announced, w.Ref())
}

// IsAnnouncement reports whether a comment is the announcement of some Loop.
func IsAnnouncement(body string) bool {
	return loop.HasMarker(body) && strings.HasPrefix(body, announced)
}
