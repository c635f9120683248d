package harness

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// codexEvent is one line of what codex prints.
type codexEvent struct {
	Type     string         `json:"type"`
	ThreadID loop.SessionID `json:"thread_id"` // of thread.started
	Message  string         `json:"message"`   // of error, which need not be the end: it tries again
	Error    struct {
		Message string `json:"message"`
	} `json:"error"` // of turn.failed
	Item struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"item"`
}

// ends reports whether the event is the last of a turn.
func (e codexEvent) ends() bool { return e.Type == "turn.completed" || e.Type == "turn.failed" }

func parseCodexEvent(line []byte) (codexEvent, bool) {
	var e codexEvent
	line = bytes.TrimSpace(line)
	ok := len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &e) == nil && e.Type != ""
	return e, ok
}

// codexRun is what codex told of a run.
type codexRun struct {
	thread loop.SessionID
	turns  int    // that were completed
	text   string // the last thing that the agent said
	last   codexEvent
}

func readCodex(stdout []byte) codexRun {
	var r codexRun
	for line := range bytes.Lines(stdout) {
		e, ok := parseCodexEvent(line)
		if !ok {
			continue
		}
		switch {
		case e.Type == "thread.started" && e.ThreadID.Check() == nil:
			r.thread = e.ThreadID
		case e.Type == "turn.completed":
			r.turns++
		case e.Item.Type == "agent_message" && e.Item.Text != "":
			r.text = e.Item.Text
		}
		r.last = e
	}
	return r
}

// Complete looks at the last event alone: there may be another turn after a first.
func (c *codex) Complete(stdout []byte) bool {
	for rest := bytes.TrimSpace(stdout); len(rest) > 0; {
		end := bytes.LastIndexByte(rest, '\n')
		if e, ok := parseCodexEvent(rest[end+1:]); ok {
			return e.ends()
		}
		rest = rest[:max(end, 0)]
	}
	return false
}

func (c *codex) Text(stdout []byte) string {
	r := readCodex(stdout)
	if r.last.Type == "turn.failed" {
		return r.last.Error.Message
	}
	if r.last.Type == "turn.completed" {
		return r.text
	}
	return ""
}

// Read names the conversation whatever became of the run: once codex has named it, it can be resumed.
func (c *codex) Read(x Exit) loop.Outcome {
	r := readCodex(x.Stdout)
	out := c.judge(r, x)
	out.SessionID, out.Turns, out.Duration, out.Killed = r.thread, r.turns, x.Took, x.Killed
	return out
}

func (c *codex) judge(r codexRun, x Exit) loop.Outcome {
	text, failure := oneLine(r.text), oneLine(r.last.Error.Message)
	switch {
	case r.last.Type == "turn.completed" && x.clean():
		return loop.Outcome{Kind: loop.RunDone, Detail: text}
	case r.last.Type == "turn.completed":
		return failed("codex answered, but ended with %s: %s", x.status(), text)
	case r.last.Type == "turn.failed" && x.End == Stopped:
		return loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request: " + failure}
	case r.last.Type == "turn.failed":
		if out, ok := readComplaint(r.last.Error.Message, x.At); ok {
			out.Detail = failure
			return out
		}
		return failed("codex could not finish the turn: %s", cmp.Or(failure, "it gave no reason"))
	case x.End == TimedOut && strings.Contains(r.last.Message, waitsForNetwork):
		return loop.Outcome{Kind: loop.RunHeld, Reason: loop.HeldUnreachable, Detail: oneLine(r.last.Message)}
	case r.last.Type != "" && x.End == Exited:
		said := cmp.Or(lastLine(string(x.Stderr)), oneLine(r.last.Message))
		return failed("codex ended with %s in the middle of the turn: %s", x.status(), cmp.Or(said, "it gave no reason"))
	}
	return x.unanswered(codexName, func() (loop.Outcome, bool) { return c.complaint(x) })
}

// complaint reads what codex says on stderr alone.
func (c *codex) complaint(x Exit) (loop.Outcome, bool) {
	switch {
	case x.refused(noRollout):
		return loop.Outcome{Kind: loop.RunLost}, true
	case x.refused(noGitRepository):
		return failed("codex works in folders that it trusts and in git repositories: run codex there once and trust it, or add "+
			"--skip-git-repo-check to harness.codex.args: %s", lastLine(string(x.Stderr))), true
	case x.Code != 0:
		return readComplaint(lastLine(string(x.Stderr)), x.At)
	}
	return loop.Outcome{}, false
}

// waitsForNetwork is what codex says while it waits for a network, which it does for as long as it is let.
const waitsForNetwork = "waiting for network"

var (
	noRollout       = regexp.MustCompile(`no rollout found for thread id`)
	noGitRepository = regexp.MustCompile(`Not inside a trusted directory`)
)
