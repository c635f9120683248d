package cli

import (
	"io"
	"strings"
)

// What the tests reach inside for: text of strangers that is fuzzed, and the tree that the documentation is held against.
var (
	SafeLine    = safeLine
	SafeText    = safeText
	SafeJSON    = safeJSON
	SplitRemote = splitRemote
)

// Commands lists every command of the tree, such as "sessions register".
func Commands() ([]string, error) {
	parser, err := newParser(new(commands), &printer{stdout: io.Discard, stderr: io.Discard}, func(int) {})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, leaf := range parser.Model.Leaves(true) {
		names = append(names, strings.TrimPrefix(leaf.FullPath(), "loopctl "))
	}
	return names, nil
}
