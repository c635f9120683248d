package harness

import (
	"cmp"
	"regexp"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// Complete looks for the result object, whose form is that of Claude Code's without the turns.
func (c *cursor) Complete(stdout []byte) bool {
	_, ok := findAnswer(stdout)
	return ok
}

func (c *cursor) Text(stdout []byte) string {
	a, _ := findAnswer(stdout)
	return a.Result
}

// Read judges by the answer where there is one. A program that fails prints none, and says why on stderr.
func (c *cursor) Read(x Exit) loop.Outcome {
	a, answered := findAnswer(x.Stdout)
	var out loop.Outcome
	switch text := oneLine(a.Result); {
	case !answered:
		out = x.unanswered(cursorName, func() (loop.Outcome, bool) { return c.complaint(x) })
	case !*a.IsError && x.clean():
		out = loop.Outcome{Kind: loop.RunDone, Detail: text}
	case !*a.IsError:
		out = failed("cursor answered, but ended with %s: %s", x.status(), text)
	case x.End == Stopped:
		out = loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request: " + text}
	default:
		var ok bool
		if out, ok = readComplaint(a.Result, x.At); ok {
			out.Detail = text
		} else {
			out = failed("cursor could not finish the turn: %s", cmp.Or(text, "it gave no reason"))
		}
	}
	out.Duration, out.Killed = cmp.Or(time.Duration(a.DurationMS)*time.Millisecond, x.Took), x.Killed
	if a.SessionID.Check() == nil {
		out.SessionID = a.SessionID
	}
	return out
}

// complaint reads what cursor-agent says on stderr.
func (c *cursor) complaint(x Exit) (loop.Outcome, bool) {
	switch {
	case x.Code == 0:
		return loop.Outcome{}, false
	case x.refused(untrustedWorkspace):
		return failed("cursor does not trust the folder: run cursor-agent there once and trust it, or add --trust to " +
			"harness.cursor.args"), true
	}
	return lastComplaint(x.Stderr, x.At)
}

var untrustedWorkspace = regexp.MustCompile(`(?i)workspace trust required`)
