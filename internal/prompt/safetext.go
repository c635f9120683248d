package prompt

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// safeText returns text from a stranger as an agent may read it: what a page would show, and nothing that steers a
// terminal or makes a harness read a file.
func safeText(s string) string {
	return guardFiles(blunt(dropComments(visible(s))))
}

// safeLine is safeText in one line.
func safeLine(s string) string {
	return strings.Join(strings.Fields(safeText(s)), " ")
}

// visible returns s as valid UTF-8 with LF line ends and without control and invisible characters.
func visible(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || invisible(r):
			return -1
		}
		return r
	}, s)
}

// invisible reports whether r shows nothing: format characters (zero width, direction, tags), fillers, variation selectors
// and what is reserved for more of them.
func invisible(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r):
	case r == 0x034F: // combining grapheme joiner
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0: // Hangul fillers
	case r == 0x17B4, r == 0x17B5: // Khmer inherent vowels
	case r >= 0x180B && r <= 0x180F: // Mongolian selectors
	case r >= 0x2060 && r <= 0x206F, r >= 0xFFF0 && r <= 0xFFFB, r >= 0xE0000 && r <= 0xE0FFF:
	case r == 0x2800: // Braille blank
	case r >= 0xFE00 && r <= 0xFE0F: // variation selectors
	default:
		return false
	}
	return true
}

const (
	commentOpens  = "<!--"
	commentCloses = "-->"
)

// dropComments replaces what stands in HTML comments, which no page shows, by how much it was. From one that never closes
// the rest of a page is hidden: it is kept, and said to be.
func dropComments(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, commentOpens)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after, empty := cutEmptyComment(rest); empty {
			s = after
			continue
		}
		hidden, after, closed := strings.Cut(rest, commentCloses)
		if !closed {
			b.WriteString("[hidden on the page from here on:]" + rest)
			return b.String()
		}
		fmt.Fprintf(&b, "[hidden comment of %s removed]", characters(utf8.RuneCountInString(hidden)))
		s = after
	}
}

// cutEmptyComment reads <!--> and <!--->, which are whole comments.
func cutEmptyComment(rest string) (after string, found bool) {
	if after, found = strings.CutPrefix(rest, ">"); found {
		return after, true
	}
	return strings.CutPrefix(rest, "->")
}

// guardFiles puts a zero-width space behind each @ at the start or behind white space, where a harness would read the file
// that follows without a tool call and without asking.
func guardFiles(s string) string {
	var b strings.Builder
	blank := true
	for _, r := range s {
		b.WriteRune(r)
		if r == '@' && blank {
			b.WriteRune('\u200B')
		}
		blank = unicode.IsSpace(r)
	}
	return b.String()
}

// clip returns at most limit characters of s, the last of which say how many are missing.
func clip(s string, limit int) string {
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return s
	}
	const room = len("… [cut: 1,000,000,000 more characters]")
	keep := max(limit-room, 0)
	return string([]rune(s)[:keep]) + fmt.Sprintf("… [cut: %s more characters]", thousands(n-keep))
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return thousands(n) + " characters"
}

// thousands writes 16500 as 16,500.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
