package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// deepest is how far below the root a place is kept. No key of ours lies deeper, and a file of ten thousand brackets then
// costs nothing.
const deepest = 8

type position struct{ line, column int }

// positions tells where each key stands in the file, by its dotted name; elements of lists are name[0], name[1].
type positions map[string]position

// of is the place of key, else of the nearest table or list around it that stands in the file.
func (ps positions) of(key string) position {
	for key != "" {
		if p, ok := ps[key]; ok {
			return p
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return position{}
}

// locate finds the place of every key in a document that has been decoded without an error.
func locate(data []byte) positions {
	l := locator{found: positions{}, count: map[string]int{}, lines: []int{0}}
	for i, c := range data {
		if c == '\n' {
			l.lines = append(l.lines, i+1)
		}
	}
	l.parser.Reset(data)
	for table := ""; l.parser.NextExpression(); {
		switch n := l.parser.Expression(); n.Kind {
		case unstable.Table:
			table, _ = l.key("", n.Key())
			table = l.last(table)
		case unstable.ArrayTable:
			name, raw := l.key("", n.Key())
			l.count[name]++
			table = l.last(name)
			l.mark(table, raw)
		case unstable.KeyValue:
			l.keyValue(table, n, 0)
		default: // comments
		}
	}
	return l.found
}

type locator struct {
	parser unstable.Parser
	lines  []int // where each line begins
	found  positions
	count  map[string]int // how many tables [[name]] have been seen
}

// key is the dotted name of parts below table, and the place of its last part. Each prefix is marked where it is first seen.
func (l *locator) key(table string, parts unstable.Iterator) (name string, raw unstable.Range) {
	name = table
	for depth := 0; parts.Next() && depth < deepest; depth++ {
		raw = parts.Node().Raw
		name = join(l.last(name), string(parts.Node().Data))
		l.mark(name, raw)
	}
	return name, raw
}

// last is the last of the tables [[name]]: in TOML [a.b] after [[a]] means a[n].b.
func (l *locator) last(name string) string {
	if n := l.count[name]; n > 0 {
		return fmt.Sprintf("%s[%d]", name, n-1)
	}
	return name
}

func (l *locator) keyValue(table string, n *unstable.Node, depth int) {
	name, _ := l.key(table, n.Key())
	l.value(name, n.Value(), depth+1)
}

func (l *locator) value(key string, n *unstable.Node, depth int) {
	if depth > deepest {
		return
	}
	switch children := n.Children(); n.Kind {
	case unstable.Array:
		for i := 0; children.Next(); i++ {
			element := fmt.Sprintf("%s[%d]", key, i)
			l.mark(element, children.Node().Raw)
			l.value(element, children.Node(), depth+1)
		}
	case unstable.InlineTable:
		for children.Next() {
			l.keyValue(key, children.Node(), depth+1)
		}
	default: // a scalar has no keys in it
	}
}

func (l *locator) mark(key string, raw unstable.Range) {
	if _, seen := l.found[key]; seen || raw.Length == 0 {
		return
	}
	line, exact := slices.BinarySearch(l.lines, int(raw.Offset))
	if exact {
		line++
	}
	l.found[key] = position{line: line, column: int(raw.Offset) - l.lines[line-1] + 1}
}

// join is the dotted name of a key in a table, quoted where TOML asks for quotes.
func join(table, name string) string {
	if !bare(name) {
		name = quote(name)
	}
	if table == "" {
		return name
	}
	return table + "." + name
}

func bare(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
