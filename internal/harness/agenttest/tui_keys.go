package agenttest

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// What a key does.
type keyKind int

const (
	keyText keyKind = iota // printable characters
	keyPaste
	keyEnter
	keyNewline // a line within the prompt
	keyEscape
	keyInterrupt
	keyEOF
	keyBackspace
	keyClear // the line
	keyUp
	keyDown
	keyOther
)

type key struct {
	kind keyKind
	text string // of keyText and keyPaste
}

const pasteBegin, pasteEnd = "\x1b[200~", "\x1b[201~"

// keyboard makes keys of what a terminal sends. Its zero value is ready.
type keyboard struct{ rest []byte }

// waits reports whether there is the beginning of something that may be an Escape alone.
func (k *keyboard) waits() bool {
	return len(k.rest) > 0 && !bytes.HasPrefix(k.rest, []byte(pasteBegin))
}

// flush takes what waits as it is.
func (k *keyboard) flush() []key {
	rest := k.rest
	k.rest = nil
	if len(rest) == 0 || rest[0] != 0x1b {
		return nil
	}
	return append([]key{{kind: keyEscape}}, k.feed(rest[1:])...)
}

// feed takes the next bytes and returns the keys that are whole.
func (k *keyboard) feed(more []byte) (keys []key) {
	k.rest = append(k.rest, more...)
	for len(k.rest) > 0 {
		next, n := firstKey(k.rest)
		if n == 0 {
			break
		}
		k.rest = k.rest[n:]
		if last := len(keys) - 1; next.kind == keyText && last >= 0 && keys[last].kind == keyText {
			keys[last].text += next.text
		} else {
			keys = append(keys, next)
		}
	}
	return keys
}

// firstKey returns the first key and its length, which is 0 while it is not whole.
func firstKey(in []byte) (key, int) {
	if in[0] == 0x1b {
		return sequence(in)
	}
	if kind, ok := controls[in[0]]; ok {
		return key{kind: kind}, 1
	}
	if in[0] < ' ' {
		return key{kind: keyOther}, 1
	}
	if !utf8.FullRune(in) {
		return key{}, 0
	}
	r, n := utf8.DecodeRune(in)
	return key{keyText, string(r)}, n
}

var controls = map[byte]keyKind{
	'\r': keyEnter, '\n': keyNewline, 0x03: keyInterrupt, 0x04: keyEOF, 0x15: keyClear, 0x7f: keyBackspace, 0x08: keyBackspace,
}

// sequence reads what begins with ESC.
func sequence(in []byte) (key, int) {
	if pasted, ok := bytes.CutPrefix(in, []byte(pasteBegin)); ok {
		text, _, whole := bytes.Cut(pasted, []byte(pasteEnd))
		if !whole {
			return key{}, 0
		}
		return key{keyPaste, clean(string(text))}, len(pasteBegin) + len(text) + len(pasteEnd)
	}
	switch {
	case len(in) == 1:
		return key{}, 0
	case in[1] != '[' && in[1] != 'O':
		return key{kind: keyEscape}, 1
	}
	for i, b := range in[2:] {
		if b < '@' || b > '~' {
			continue
		}
		switch b {
		case 'A':
			return key{kind: keyUp}, i + 3
		case 'B':
			return key{kind: keyDown}, i + 3
		}
		return key{kind: keyOther}, i + 3
	}
	return key{}, 0
}

// clean makes of a paste what Claude Code was seen to make of one.
func clean(paste string) string {
	paste = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(paste)
	return strings.ToValidUTF8(paste, "\ufffd")
}
