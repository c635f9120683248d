package tmux

import (
	"strings"
	"unicode"
)

// Clean returns text that a terminal takes as text: valid UTF-8, lines ended by LF, no control characters but that and tab, none
// that change the direction of writing, no white space at the end, and no backslash there, which would make the next Enter a line
// break. Releases of tmux differ in what they do to control characters; of this text all deliver the same bytes.
func Clean(text string) string {
	lineEnds := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	text = lineEnds.Replace(strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if strings.HasSuffix(text, `\`) {
		text += " "
	}
	return text
}
