package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// steers reports whether a rune could move a cursor, begin an escape sequence, hide text or turn its direction: controls and
// format characters but for the joiners that scripts and emoji need, and the separators of lines.
func steers(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != nonJoiner && r != joiner || r == '\u2028' || r == '\u2029'
}

// safeLine makes text harmless to a terminal, and one line: what steers is spelled out, blanks of all kinds become spaces.
func safeLine(s string) string {
	if isPlain(s) {
		return strings.TrimRight(s, " ")
	}
	return strings.TrimRight(spell(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s)), " ")
}

// isPlain reports whether text is what nearly all of it is: printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// safeText makes text harmless to a terminal and keeps its lines and tabs.
func safeText(s string) string {
	return spell(strings.ReplaceAll(s, "\r\n", "\n"))
}

func spell(s string) string {
	if isPlain(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if !strings.ContainsFunc(s, steers) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !steers(r) || r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// safeJSON makes JSON harmless to a terminal without changing its meaning: the encoder escapes the lower controls, this the
// others, which can only stand in its strings.
func safeJSON(s string) string {
	outside := func(r rune) bool { return r >= 0x7f && steers(r) }
	if !strings.ContainsFunc(s, outside) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !outside(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}
