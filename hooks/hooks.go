// Package hooks puts Loop into the hooks of harnesses, and takes it out again.
//
// A hook is a command that a harness runs when something happens in a conversation. Loop's call loopctl, which tells loopd; they
// lie beside this file, a fragment of settings for each harness, and are all that a harness needs to know of Loop. The same
// fragment goes to the sessions that loopd starts and into the settings of a person.
//
// What belongs to a person is handled with care. Installing adds to a file and changes nothing else in it, not a blank;
// uninstalling takes out Loop's own entries, whichever loopctl they call, and what was installed into a file that nobody touched
// since leaves it as it was, byte for byte. A file that does not parse is never written. Every write is whole or not there, and
// durable. No daemon is needed.
package hooks

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

//go:embed claude/settings.json codex/hooks.json cursor/hooks.json
var files embed.FS

// harnesses are those that there are hooks for, in the order in which people read them.
var harnesses = []struct{ name, fragment string }{
	{"claude", "claude/settings.json"},
	{"codex", "codex/hooks.json"},
	{"cursor", "cursor/hooks.json"},
}

// Names returns the names of the harnesses that there are hooks for.
func Names() []string {
	var names []string
	for _, h := range harnesses {
		names = append(names, h.name)
	}
	return names
}

// Fragment is the settings by which a harness calls loopctl.
type Fragment struct {
	harness string
	text    []byte
}

// loopctlPlace stands in the files for the path of loopctl.
const loopctlPlace = "LOOPCTL"

// closeFlag tells a hook to close the session when the conversation ends.
const closeFlag = "--close-on-end"

// For returns the fragment for a harness, with the absolute path of the loopctl that it shall call. With closeOnEnd the session
// is closed when its conversation ends. The error is ErrInvalid for a harness that there are no hooks for.
func For(harness, loopctl string, closeOnEnd bool) (Fragment, error) {
	for _, h := range harnesses {
		if h.name != harness {
			continue
		}
		text, err := files.ReadFile(h.fragment)
		if err != nil {
			return Fragment{}, err
		}
		word, err := json.Marshal(shellWord(loopctl))
		if err != nil {
			return Fragment{}, err
		}
		call, flags := "hook "+harness, ""
		if closeOnEnd {
			flags = " " + closeFlag
		}
		text = bytes.ReplaceAll(text, []byte(call), []byte(call+flags))
		text = bytes.ReplaceAll(text, []byte(loopctlPlace), word[1:len(word)-1])
		return Fragment{harness, text}, nil
	}
	return Fragment{}, unknown(harness)
}

func unknown(harness string) error {
	return fmt.Errorf("there are no hooks for %q, only for %s: %w", harness, strings.Join(Names(), ", "), loop.ErrInvalid)
}

// Text returns the fragment as a file of its own, which is JSON.
func (f Fragment) Text() []byte { return bytes.Clone(f.text) }

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./@%+=:,-]+$`)

// shellWord is a path as one word of a shell. One that needs no quotes gets none: a harness may take the command apart itself.
func shellWord(path string) string {
	if plainWord.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// A command of ours: a path that ends in loopctl, perhaps after a look whether it is there, and what it is to do. Quotes in a
// quoted path are left in.
var ourCommand = regexp.MustCompile(`^(?:\[ ! -x (?:` + word + `) \] \|\| )?(?:exec )?(` + word + `) hook [a-z0-9_-]+(?: ` + closeFlag + `)?(?: [a-z]+)?$`)

const word = `'(?:[^']|'\\'')+'|"[^"]+"|[^\s'"]+`

// calls returns the loopctl that a command of ours calls; "" for a command of somebody else.
func calls(command string) string {
	m := ourCommand.FindStringSubmatch(strings.TrimSpace(command))
	if m == nil {
		return ""
	}
	path := m[1]
	if quote := path[0]; quote == '\'' || quote == '"' {
		path = strings.ReplaceAll(path[1:len(path)-1], `'\''`, "'")
	}
	if path != "loopctl" && !strings.HasSuffix(path, "/loopctl") {
		return ""
	}
	return path
}
