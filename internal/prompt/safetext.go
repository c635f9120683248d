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
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(invisible, r):
			return -1
		}
		return r
	}, s)
}

// invisible are the characters that show nothing and that are no format characters by category: fillers, variation
// selectors, and the unassigned rest of the planes' special blocks.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, // combining grapheme joiner
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x180B, Hi: 0x180F, Stride: 1}, // Mongolian selectors
		{Lo: 0x2060, Hi: 0x206F, Stride: 1},
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // Braille blank
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, // variation selectors
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, // half-width Hangul filler
		{Lo: 0xFFF0, Hi: 0xFFFB, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1D173, Hi: 0x1D17A, Stride: 1}, // musical format characters
		{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1}, // tags, more variation selectors
	},
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
