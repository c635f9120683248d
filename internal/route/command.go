package route

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loop-daemon/loop/internal/loop"
)

var verbs = []loop.Verb{loop.VerbStart, loop.VerbStop, loop.VerbPause, loop.VerbResume, loop.VerbStatus}

// ParseCommand finds the command in a comment: a line that begins with the prefix and a command word, in any case, outside
// code, quotes and HTML comments. The command's text is the comment without those words, and its verb is "" where there is
// none. A word twice is one command; two different ones are none, and the error, ErrConflict, names them.
func ParseCommand(body, prefix string) (loop.Command, error) {
	var cmd loop.Command
	var beside strings.Builder
	heard := said(body)
	kept := 0
	for i := 0; i < len(heard) && prefix != ""; i = afterLine(heard, lineEnd(heard, i)) {
		line := heard[i:lineEnd(heard, i)]
		verb, length := commandAt(line, prefix)
		switch {
		case verb == "":
			continue
		case cmd.Verb != "" && cmd.Verb != verb:
			return loop.Command{}, fmt.Errorf("the comment holds both %s %s and %s %s, so neither is carried out: %w",
				prefix, cmd.Verb, prefix, verb, loop.ErrConflict)
		}
		cmd.Verb = verb
		beside.WriteString(body[kept:i])
		kept = i + length
	}
	if cmd.Verb != "" {
		cmd.Text = strings.TrimSpace(beside.String() + body[kept:])
	}
	return cmd, nil
}

// commandAt returns the command word that a line begins with, and how much of the line it takes with the space after it.
func commandAt(line, prefix string) (loop.Verb, int) {
	start := strings.TrimLeft(line, " ")
	if len(line)-len(start) > 3 || len(start) < len(prefix) || !strings.EqualFold(start[:len(prefix)], prefix) {
		return "", 0
	}
	after := start[len(prefix):]
	word := strings.TrimLeft(after, " \t")
	if len(word) == len(after) {
		return "", 0
	}
	for _, verb := range verbs {
		n := len(verb)
		if len(word) < n || !strings.EqualFold(word[:n], string(verb)) || goesOn(word[n:]) {
			continue
		}
		return verb, len(line) - len(strings.TrimLeft(word[n:], " \t"))
	}
	return "", 0
}

// goesOn reports whether a word does not end here.
func goesOn(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("-_:", r) && rest != ""
}
