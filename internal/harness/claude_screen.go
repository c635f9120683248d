package harness

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What Claude Code draws at the left edge is its own: whatever the agent, its tools or a person says is indented, or stands
// behind a mark. So a full-width rule, and below it the mark of the input line, which is followed by a space that does not
// break, can't be imitated by a text. The options of a dialog, the echo of a prompt and the input line of the list of agents
// have a plain space there.
const (
	claudeInput = "❯\u00a0"
	claudeShell = "!\u00a0"
	claudePick  = "❯ "
)

// rule lengths below this are a part of something else.
const shortestRule = 20

// claudeKeys is what a dialog says at its end about its keys.
var claudeKeys = regexp.MustCompile(`(?i)\b(esc|enter|ctrl\+[a-z]) to (cancel|close|go back|toggle|confirm|select|continue|return|create|save|use|show)\b`)

const (
	claudeBusy    = "esc to interrupt"
	claudeScrolls = "↑ "    // in a rule: the beginning of the draft is above it
	claudeTryHint = `Try "` // stands in an empty input line by itself

	claudeUnnamed = "a list of agents or choices"
)

// claudeHints stand in an empty input line by themselves: while prompts are queued, and after a request to the model failed.
var claudeHints = []string{
	"Press up to edit queued messages", "Resend your message to try again", "Once fixed, resend your message", "Run /rewind to go back",
}

// Screen is part of Terminal.
func (c *claude) Screen(text string) Screen {
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	top, bottom := claudeBox(lines)
	if bottom >= 0 && claudeComposer(lines, top, bottom) {
		return Screen{
			Composer: true,
			Draft:    claudeDraft(lines[top+1 : bottom]),
			Busy:     claudeTurns(lines[:top], lines[bottom+1:]),
		}
	}
	return Screen{Dialog: claudeDialog(lines, top, bottom)}
}

// claudeBox returns where the last two rules stand; -1 for one that there is not.
func claudeBox(lines []string) (top, bottom int) {
	top, bottom = -1, -1
	for i, line := range lines {
		if isRule(line) {
			top, bottom = bottom, i
		}
	}
	return top, bottom
}

// isRule reports whether the line is a full-width rule. It may carry a label: the conversation's name, or how much of a long
// draft is above.
func isRule(line string) bool {
	if utf8.RuneCountInString(line) < shortestRule {
		return false
	}
	if strings.Trim(line, "▔") == "" {
		return true
	}
	label := strings.Trim(line, "─")
	return strings.HasPrefix(line, "──") && strings.HasSuffix(line, "─") && !strings.Contains(label, "─") &&
		(label == "" || strings.HasPrefix(label, " ") && strings.HasSuffix(label, " "))
}

// claudeComposer reports whether the input line stands between the two rules, with nothing but indented lines below.
func claudeComposer(lines []string, top, bottom int) bool {
	if top < 0 || bottom-top < 2 || !plainRule(lines[bottom]) || strings.HasPrefix(lines[top], "▔") {
		return false
	}
	if plainRule(lines[top]) && lines[top] != lines[bottom] {
		return false
	}
	first := lines[top+1]
	if !strings.HasPrefix(first, claudeInput) && !strings.HasPrefix(first, claudeShell) &&
		(!strings.Contains(lines[top], claudeScrolls) || !indented(first)) {
		return false
	}
	return !slices.ContainsFunc(lines[top+2:bottom], notIndented) && !slices.ContainsFunc(lines[bottom+1:], notIndented)
}

func plainRule(line string) bool { return strings.Trim(line, "─") == "" }

func indented(line string) bool { return line == "" || strings.HasPrefix(line, "  ") }

func notIndented(line string) bool { return !indented(line) }

// claudeDraft returns what stands in the input line.
func claudeDraft(box []string) string {
	var words []string
	for i, line := range box {
		if i == 0 {
			line = strings.TrimPrefix(line, claudeInput)
		}
		words = append(words, strings.Fields(line)...)
	}
	draft := strings.Join(words, " ")
	if slices.Contains(claudeHints, draft) || strings.HasPrefix(draft, claudeTryHint) {
		return ""
	}
	return draft
}

// claudeTurns reports whether a turn runs: the line that moves above the input line says so, or the one below it, which gives
// way to other advice while there is a draft.
func claudeTurns(above, below []string) bool {
	const near = 30 // lines: a list of tasks may stand between
	return strings.Contains(strings.Join(below, " "), claudeBusy) ||
		slices.ContainsFunc(above[max(len(above)-near, 0):], spins)
}

// spins reports whether it is the line that moves while a turn runs: "✻ Mending… (2s · ↓ 9 tokens)". When the turn is over it
// has no dots: "✻ Cooked for 5s".
func spins(line string) bool {
	star, rest, _ := strings.Cut(line, " ")
	doing, after, dots := strings.Cut(rest, "…")
	return dots && doing != "" && utf8.RuneCountInString(star) == 1 && strings.Contains("·✢✳✶✻✽*", star) &&
		(after == "" || strings.HasPrefix(after, " ("))
}

// claudeDialog returns what is asked by the dialog in the frame of the last two rules or, without one, below the last rule; ""
// where nothing is asked.
func claudeDialog(lines []string, top, bottom int) string {
	if top >= 0 && slices.ContainsFunc(lines[top:bottom], claudeAsks) {
		return claudeQuestion(lines[top:])
	}
	if block := lines[max(bottom, 0):]; slices.ContainsFunc(block, claudeAsks) {
		return claudeQuestion(block)
	}
	return ""
}

// claudeAsks reports whether a line is one by which a dialog takes an answer: a picked option, or what its keys do.
func claudeAsks(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), claudePick) ||
		strings.Contains(line, " to ") && claudeKeys.MatchString(line)
}

// claudeQuestion returns the title of a dialog, and the question before its picked option. Of one that is taller than the
// screen the title is not seen; then the question is all.
func claudeQuestion(block []string) string {
	title, question := "", ""
	for _, line := range block {
		words := strings.TrimSpace(line)
		if strings.HasPrefix(words, claudePick) {
			break
		}
		switch {
		case !strings.ContainsFunc(words, unicode.IsLetter):
		case title == "":
			title = strings.TrimSuffix(words, ":")
		case strings.HasSuffix(words, "?"):
			question = words
		}
	}
	switch {
	case title == "":
		return claudeUnnamed
	case question == "":
		return oneLine(title)
	case !isRule(block[0]):
		return oneLine(question)
	}
	return oneLine(title + ": " + question)
}
