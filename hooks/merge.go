package hooks

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// merge returns a text with the fragment in it, and in it once: what an older Loop put there goes. A text that has it already
// comes back as it is. The error is ErrConflict for what is no settings with room for hooks.
func (f Fragment) merge(text []byte) ([]byte, error) {
	root, err := parse(text)
	if err != nil {
		return nil, conflict(err)
	}
	ours, err := parse(f.text)
	if err != nil {
		return nil, err
	}
	if slices.Equal(find(text, root).entries, find(f.text, ours).entries) {
		return text, nil
	}
	if text, _, err = strip(text); err != nil {
		return nil, err
	}
	if root, err = parse(text); err != nil {
		return nil, err
	}
	m := merger{text: text, from: f.text, newline: newlineOf(text)}
	if root == nil {
		return append(bytes.Clone(text), m.lines(bytes.TrimSpace(f.text))...), nil
	}
	m.unit = unitOf(text, root)
	if err := m.merge(root, ours); err != nil {
		return nil, conflict(err)
	}
	return m.result(), nil
}

func conflict(err error) error { return fmt.Errorf("%w: %w", err, loop.ErrConflict) }

// merger collects what to put into a text.
type merger struct {
	text, from    []byte
	newline, unit string // of the text: how a line ends, and how deep it is indented for each bracket around it
	additions     []addition
}

type addition struct {
	at   int
	text []byte
}

func (m *merger) merge(root, ours *node) error {
	if root.kind != '{' {
		return m.wrong(root, "the file", '{')
	}
	if err := m.versions(root, ours); err != nil {
		return err
	}
	theirs, err := root.get("hooks")
	if err != nil {
		return err
	}
	wanted, err := ours.get("hooks")
	if err != nil {
		return err
	}
	if theirs == nil {
		m.add(root, 1, []item{{name: "hooks", value: wanted}})
		return nil
	}
	if theirs.kind != '{' {
		return m.wrong(theirs, `"hooks"`, '{')
	}
	var missing []item
	for _, event := range wanted.items {
		list, err := theirs.get(event.name)
		switch {
		case err != nil:
			return err
		case list == nil:
			missing = append(missing, event)
		case list.kind != '[':
			return m.wrong(list, `"hooks", "`+event.name+`"`, '[')
		default:
			m.add(list, 3, event.value.items)
		}
	}
	m.add(theirs, 2, missing)
	return nil
}

// versions holds that the file is of the version that the fragment is for, where it has one.
func (m *merger) versions(root, ours *node) error {
	wanted, err := ours.get("version")
	if err != nil || wanted == nil {
		return err
	}
	theirs, err := root.get("version")
	if err != nil {
		return err
	}
	if theirs == nil || !bytes.Equal(m.text[theirs.start:theirs.end], m.from[wanted.start:wanted.end]) {
		return errors.New(`it has no "version": 1, without which the harness does not read it`)
	}
	return nil
}

func (m *merger) wrong(n *node, what string, want byte) error {
	kinds := map[byte]string{'{': "an object", '[': "a list", 0: "neither a list nor an object"}
	if string(m.text[n.start:n.end]) == "null" {
		kinds[0] = "null"
	}
	return fmt.Errorf("line %d: %s is %s, and must be %s", lineOf(m.text, n.start), what, kinds[n.kind], kinds[want])
}

// add puts items of the fragment behind those of a list or an object, so many brackets deep.
func (m *merger) add(to *node, depth int, items []item) {
	if len(items) == 0 {
		return
	}
	line := m.newline + strings.Repeat(m.unit, depth)
	var all [][]byte
	for _, it := range items {
		all = append(all, m.render(it, depth))
	}
	text, at := bytes.Join(all, []byte(","+line)), to.start+1
	if len(to.items) > 0 {
		text, at = append([]byte(","+line), text...), to.items[len(to.items)-1].value.end
	}
	m.additions = append(m.additions, addition{at, text})
}

// render writes an item of the fragment as it is indented in the text.
func (m *merger) render(it item, depth int) []byte {
	var b bytes.Buffer
	if it.name != "" {
		fmt.Fprintf(&b, "%q: ", it.name)
	}
	// The fragment is JSON.
	_ = json.Indent(&b, m.from[it.value.start:it.value.end], strings.Repeat(m.unit, depth), m.unit)
	return m.lines(b.Bytes())
}

// lines ends the lines of a text of ours as those of the other.
func (m *merger) lines(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("\n"), []byte(m.newline))
}

func (m *merger) result() []byte {
	slices.SortFunc(m.additions, func(a, b addition) int { return cmp.Compare(a.at, b.at) })
	var b bytes.Buffer
	at := 0
	for _, a := range m.additions {
		b.Write(m.text[at:a.at])
		b.Write(a.text)
		at = a.at
	}
	b.Write(m.text[at:])
	return b.Bytes()
}

// newlineOf is how the first line of a text ends.
func newlineOf(text []byte) string {
	if at := bytes.IndexByte(text, '\n'); at > 0 && text[at-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// unitOf is how far the first member of the root is indented, where it has a line of its own.
func unitOf(text []byte, root *node) string {
	const usual = "  "
	if len(root.items) == 0 {
		return usual
	}
	before := text[root.start+1 : root.items[0].start]
	at := bytes.LastIndexByte(before, '\n')
	if at < 0 || at+1 == len(before) {
		return usual
	}
	return string(before[at+1:])
}
