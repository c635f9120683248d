package harness

import (
	"regexp"
	"strings"
	"unicode"
)

// detailLength is how much of an answer or an error one line shows, in characters.
const detailLength = 300

// oneLine returns the beginning of text as one line that is safe to print: white space runs are one blank, and what could
// steer a terminal or hide text is gone.
func oneLine(text string) string {
	var b strings.Builder
	blank, n := false, 0
	for _, r := range uncolored(text[:min(len(text), 100*detailLength)]) {
		switch {
		case unicode.IsSpace(r):
			blank = n > 0
			continue
		case !unicode.IsPrint(r):
			continue
		}
		if n >= detailLength {
			return b.String() + "…"
		}
		if blank {
			b.WriteByte(' ')
			n, blank = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

var colors = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// uncolored returns text without what colors it in a terminal.
func uncolored(text string) string { return colors.ReplaceAllString(text, "") }

// lastLine returns the last line of text that says something: programs warn first and fail last.
func lastLine(text string) string {
	says := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for {
		text = strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
		at := strings.LastIndexByte(text, '\n') + 1
		if at == 0 || strings.ContainsFunc(text[at:], says) {
			return oneLine(text[at:])
		}
		text = text[:at]
	}
}
