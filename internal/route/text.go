package route

import (
	"regexp"
	"strings"
)

// maxText is how much of a text is looked at: GitHub takes 65,536 characters of at most four bytes.
const maxText = 4 * 65536

// mask stands for what the author of a text did not say: no word, number or space.
const mask = 0

// said returns a text of the same length, lines and offsets, in which code, quotes and HTML comments are masked: what is
// in them was shown or repeated, and asks for nothing.
func said(text string) string {
	text = text[:min(len(text), maxText)]
	s := scanner{text: text, lower: lowerASCII(text), out: []byte(text), afterBlank: true, noEnd: map[string]bool{}}
	for s.pos < len(text) {
		s.line()
		s.pos = afterLine(text, s.pos)
	}
	return string(s.out)
}

var (
	listMark  = regexp.MustCompile(`^[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)`)
	quoteMark = regexp.MustCompile(`^[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*>`)
	fenceMark = regexp.MustCompile("^[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(`{3,}[^`]*$|~{3,})")
	indented  = regexp.MustCompile(`^(?: {0,3}\t| {4})`)
	rawTag    = regexp.MustCompile(`^(?i)<(pre|code|blockquote)[\s>]`)
)

type scanner struct {
	text       string
	lower      string // the same with small letters, where they are ASCII
	out        []byte
	pos        int             // where the scanner is; after line() at the end of a line
	paragraph  int             // where the paragraph ends that pos is in, once asked
	afterBlank bool            // the line before was blank, or code
	inList     bool            // indented lines belong to a list item, they are no code
	noEnd      map[string]bool // closing tags that do not come any more
}

// line scans one line, and the following ones as far as something that began in it reaches.
func (s *scanner) line() {
	line := s.text[s.pos:lineEnd(s.text, s.pos)]
	blank := strings.TrimSpace(line) == ""
	if listMark.MatchString(line) {
		s.inList = true
	} else if !blank && s.afterBlank && line[0] != ' ' && line[0] != '\t' {
		s.inList = false
	}
	switch {
	case blank:
		s.afterBlank = true
		s.pos += len(line)
		return
	case s.afterBlank && !s.inList && indented.MatchString(line):
		s.hide(s.pos + len(line))
		return // code goes on: afterBlank stays
	case quoteMark.MatchString(line):
		s.hide(s.pos + len(line))
	case fenceMark.MatchString(line):
		s.hide(s.fenceEnd(fenceMark.FindStringSubmatch(line)[1]))
	default:
		s.inline()
	}
	s.afterBlank = false
}

// hide masks all up to end, but for line ends, and goes there.
func (s *scanner) hide(end int) {
	for i := s.pos; i < end; i++ {
		if c := s.text[i]; c != '\n' && c != '\r' {
			s.out[i] = mask
		}
	}
	s.pos = end
}

// fenceEnd returns the end of the line that closes the fence which begins at pos, or of the text.
func (s *scanner) fenceEnd(open string) int {
	mark := open[:1]
	length := len(open) - len(strings.TrimLeft(open, mark))
	for i := afterLine(s.text, lineEnd(s.text, s.pos)); i < len(s.text); i = afterLine(s.text, lineEnd(s.text, i)) {
		end := lineEnd(s.text, i)
		line := strings.TrimSpace(s.text[i:end])
		if len(line) >= length && strings.Trim(line, mark) == "" {
			return end
		}
	}
	return len(s.text)
}

// inline scans to the end of the line for code spans, comments and raw HTML, which may take it to a later line.
func (s *scanner) inline() {
	for s.pos < len(s.text) {
		rest := s.text[s.pos:]
		switch c := rest[0]; {
		case c == '\n' || c == '\r':
			return
		case c == '\\' && len(rest) > 1 && rest[1] != '\n' && rest[1] != '\r':
			s.pos += 2
		case c == '`':
			s.codeSpan()
		case strings.HasPrefix(rest, "<!--"):
			s.hideThrough("-->", len("<!"))
		case c == '<' && rawTag.MatchString(rest):
			s.rawHTML(rawTag.FindStringSubmatch(rest)[1])
		default:
			s.pos++
		}
	}
}

// codeSpan hides a code span. Backticks without their like in the paragraph are just backticks.
func (s *scanner) codeSpan() {
	rest := s.text[s.pos:s.paragraphEnd()]
	open := len(rest) - len(strings.TrimLeft(rest, "`"))
	for i := open; i < len(rest); {
		next := strings.IndexByte(rest[i:], '`')
		if next < 0 {
			break
		}
		i += next
		run := len(rest[i:]) - len(strings.TrimLeft(rest[i:], "`"))
		i += run
		if run == open {
			s.hide(s.pos + i)
			return
		}
	}
	s.pos += open
}

// paragraphEnd returns where the paragraph ends: at a blank line, a quote or a fence.
func (s *scanner) paragraphEnd() int {
	if s.pos < s.paragraph {
		return s.paragraph
	}
	end := lineEnd(s.text, s.pos)
	for end < len(s.text) {
		next := afterLine(s.text, end)
		line := s.text[next:lineEnd(s.text, next)]
		if strings.TrimSpace(line) == "" || quoteMark.MatchString(line) || fenceMark.MatchString(line) {
			break
		}
		end = next + len(line)
	}
	s.paragraph = end
	return end
}

// hideThrough hides all through the next occurrence of a mark, at least skip bytes on, or to the end of the text.
func (s *scanner) hideThrough(mark string, skip int) {
	if i := strings.Index(s.text[s.pos+skip:], mark); i >= 0 {
		s.hide(s.pos + skip + i + len(mark))
		return
	}
	s.hide(len(s.text))
}

// rawHTML hides an element whose content is code or a quote, where it is closed.
func (s *scanner) rawHTML(tag string) {
	tag = strings.ToLower(tag)
	if !s.noEnd[tag] {
		if i := strings.Index(s.lower[s.pos:], "</"+tag); i >= 0 {
			s.hideThrough(">", i)
			return
		}
		s.noEnd[tag] = true
	}
	s.pos++
}

// lowerASCII leaves all other letters alone: some change their length with their case.
func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// lineEnd returns the offset of the line end at or after i.
func lineEnd(text string, i int) int {
	if n := strings.IndexAny(text[i:], "\r\n"); n >= 0 {
		return i + n
	}
	return len(text)
}

// afterLine returns the offset of the line after the line end at i.
func afterLine(text string, i int) int {
	if strings.HasPrefix(text[i:], "\r\n") {
		return i + 2
	}
	return min(i+1, len(text))
}
