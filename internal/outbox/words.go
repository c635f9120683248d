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

// GaveUp says that an event came to nothing, what being its summary.
func GaveUp(w loop.WorkItem, what string, tries int) string {
	return fmt.Sprintf("Loop has given up on something that was to reach the agent, after %s: %s. Whoever runs Loop sees why with\n\n```\nloopctl explain %s\n```",
		count(tries, "try", "tries"), what, w.Ref())
}

// Runaway says that a session is paused because it had as many runs in an hour as it may have.
func Runaway(w loop.WorkItem, runs int) string {
	return fmt.Sprintf("The agent that works on this has been called %s within an hour, as often as it may, and is paused: what comes now does not reach it. "+
		"Whoever runs Loop can look into it and let it go on:\n\n```\nloopctl logs %[2]s\nloopctl sessions resume --work-item %[2]s\n```", count(runs, "time", "times"), w.Ref())
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
