package hooks

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// strip returns a text without Loop's own entries, and without the lists and objects that Loop made for them; what the rest
// looks like is not touched. Whole says that the text was Loop's altogether, so that there was no file before it.
//
// Where Loop puts something into a list or an object that was empty it writes it right behind the bracket, and what it makes
// itself it begins with a new line. That is how they are told apart here.
func strip(text []byte) (rest []byte, whole bool, err error) {
	root, err := parse(text)
	if err != nil || root == nil {
		return text, false, err
	}
	s := stripper{text: text}
	if s.root(root) {
		before, after := text[:root.start], text[root.end:]
		return slices.Concat(before, after), len(before) == 0 && string(after) == "\n", nil
	}
	slices.SortFunc(s.cuts, func(a, b span) int { return a.start - b.start })
	at := 0
	for _, c := range s.cuts {
		rest = append(rest, text[at:c.start]...)
		at = c.end
	}
	return append(rest, text[at:]...), false, nil
}

// stripper finds what to cut out of a text.
type stripper struct {
	text []byte
	cuts []span
}

type span struct{ start, end int }

// The methods report whether nothing is left of a node, which then goes as a whole.

func (s *stripper) root(root *node) bool {
	last, before := len(root.items)-1, true // whether all before is gone
	return s.sweep(root, func(i int, it item) (gone bool) {
		switch {
		case it.name == "hooks" && it.value.kind == '{':
			gone = s.sweep(it.value, func(_ int, event item) bool { return s.list(event.value) })
		case it.name == "version" && i == last: // behind nothing but Loop's own it is Loop's too
			gone = i > 0 && before && s.made(root)
		}
		before = before && gone
		return gone
	})
}

func (s *stripper) list(list *node) bool {
	return s.sweep(list, func(_ int, it item) bool { return s.entry(it.value) })
}

// entry is a command, or in most harnesses a group of them.
func (s *stripper) entry(entry *node) bool {
	if entry.loopctl() != "" {
		return true
	}
	commands := entry.group()
	if commands == nil {
		return false
	}
	if slices.ContainsFunc(commands.items, func(it item) bool { return it.value.loopctl() == "" }) {
		s.list(commands)
		return false
	}
	return true
}

// sweep cuts the items that are gone.
func (s *stripper) sweep(n *node, gone func(int, item) bool) bool {
	going := make([]bool, len(n.items))
	for i, it := range n.items {
		going[i] = gone(i, it)
	}
	first := slices.Index(going, false) // that stays
	if first < 0 && len(going) > 0 {
		if !s.made(n) {
			s.cut(n.items[0].start, n.items[len(n.items)-1].value.end)
		}
		return s.made(n)
	}
	if first > 0 {
		s.cut(n.items[0].start, n.items[first].start)
	}
	for i := first + 1; i < len(n.items); i++ {
		if going[i] {
			s.cut(n.items[i-1].value.end, n.items[i].value.end)
		}
	}
	return false
}

func (s *stripper) cut(start, end int) { s.cuts = append(s.cuts, span{start, end}) }

// made reports whether Loop made the list or object.
func (s *stripper) made(n *node) bool {
	return bytes.HasPrefix(bytes.TrimPrefix(s.text[n.start+1:], []byte("\r")), []byte("\n"))
}

// group returns the commands of a group, nil where the entry is none.
func (n *node) group() *node {
	commands, err := n.get("hooks")
	if err != nil || commands == nil || commands.kind != '[' || len(commands.items) == 0 {
		return nil
	}
	return commands
}

// loopctl returns the path that a command of ours calls, "" for anything else.
func (n *node) loopctl() string {
	command, err := n.get("command")
	if err != nil || command == nil {
		return ""
	}
	return calls(command.text)
}

// found is what is Loop's own in a text.
type found struct {
	entries []string // each with its event, in the order of the events' names
	loopctl []string // the paths that they call, each once
}

// find looks for Loop's own entries. Of a group that others have a part in it takes the command alone, so that it is like none
// that Loop would write.
func find(text []byte, root *node) (f found) {
	if root == nil {
		return f
	}
	for _, member := range root.items {
		if member.name != "hooks" || member.value.kind != '{' {
			continue
		}
		for _, event := range member.value.items {
			f.list(text, event.name, event.value)
		}
	}
	slices.Sort(f.entries)
	slices.Sort(f.loopctl)
	f.loopctl = slices.Compact(f.loopctl)
	return f
}

func (f *found) list(text []byte, event string, list *node) {
	for _, it := range list.items {
		mine := 0
		if it.value.note(f) {
			mine = 1
		}
		all := mine
		if commands := it.value.group(); commands != nil {
			all = len(commands.items)
			for _, command := range commands.items {
				if command.value.note(f) {
					mine++
				}
			}
		}
		var entry strings.Builder
		entry.WriteString(event)
		if mine == all {
			var compact bytes.Buffer
			_ = json.Compact(&compact, text[it.value.start:it.value.end]) // it was parsed
			entry.Write(compact.Bytes())
		}
		if mine > 0 {
			f.entries = append(f.entries, entry.String())
		}
	}
}

// note takes down which loopctl a command calls, and reports whether it is ours.
func (n *node) note(f *found) bool {
	path := n.loopctl()
	if path != "" {
		f.loopctl = append(f.loopctl, path)
	}
	return path != ""
}
