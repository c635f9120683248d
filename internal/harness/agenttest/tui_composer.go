package agenttest

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// quiet is how long after a paste Enter does nothing.
const quiet = 100 * time.Millisecond

// A paste with more line ends or characters than these is shown as one word.
const foldLines, foldChars = 2, 800

// composer is the box in which a prompt is written.
type composer struct {
	draft    string            // as it is shown
	folded   map[string]string // what words in it stand for
	pastes   int
	pastedAt time.Time
}

func (c *composer) write(text string) { c.draft += text }

// paste adds what was pasted, as a word that stands for it when it is long.
func (c *composer) paste(text string) {
	c.pastedAt = time.Now()
	lines := strings.Count(text, "\n")
	text = strings.TrimRight(text, "\n")
	if lines <= foldLines && utf8.RuneCountInString(text) <= foldChars {
		c.draft += text
		return
	}
	c.pastes++
	word := fmt.Sprintf("[Pasted text #%d]", c.pastes)
	if lines > 0 {
		word = fmt.Sprintf("[Pasted text #%d +%d lines]", c.pastes, lines)
	}
	if c.folded == nil {
		c.folded = map[string]string{}
	}
	c.folded[word] = text
	c.draft += word
}

// settled reports whether Enter counts.
func (c *composer) settled() bool { return time.Since(c.pastedAt) >= quiet }

// escaped takes a backslash at the end for the beginning of another line.
func (c *composer) escaped() bool {
	before, ok := strings.CutSuffix(c.draft, `\`)
	if ok {
		c.draft = before + "\n"
	}
	return ok
}

// erase takes the last character away, or a word that stands for a paste.
func (c *composer) erase() {
	for word := range c.folded {
		if before, ok := strings.CutSuffix(c.draft, word); ok {
			c.draft = before
			return
		}
	}
	_, n := utf8.DecodeLastRuneInString(c.draft)
	c.draft = c.draft[:len(c.draft)-n]
}

// eraseLine takes the last line away.
func (c *composer) eraseLine() { c.draft = c.draft[:strings.LastIndexByte(c.draft, '\n')+1] }

// take empties the composer and returns what was written there, as it was shown and as the model is to get it.
func (c *composer) take() (shown, whole string) {
	var unfold []string
	for word, text := range c.folded {
		mark := make([]byte, 2)
		_, _ = rand.Read(mark) // never fails
		id := hex.EncodeToString(mark)
		unfold = append(unfold, word, fmt.Sprintf("\n\n<pasted_content id=%q>\n%s\n</pasted_content id=%q>\n", id, text, id))
	}
	shown, whole = c.draft, strings.NewReplacer(unfold...).Replace(c.draft)
	c.draft, c.folded = "", nil
	return shown, whole
}
