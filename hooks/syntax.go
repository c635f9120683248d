package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// node is a JSON value and where in the text it stands.
type node struct {
	start, end int
	kind       byte // { [ or 0 for what holds nothing
	items      []item
	text       string // of a string
}

// item is a member of an object, or an element of an array.
type item struct {
	start int // of the name, where it has one
	name  string
	value *node
}

// blanks are what JSON takes for such.
const blanks = " \t\r\n"

// byteOrderMark may stand before JSON; some editors leave one.
var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads the one value in a text; nil where there is nothing but blanks. An error says in which line the text stops being
// JSON.
func parse(text []byte) (*node, error) {
	body := bytes.TrimPrefix(text, byteOrderMark)
	p := parser{text: text, skipped: len(text) - len(body)}
	p.dec = json.NewDecoder(bytes.NewReader(body))
	p.dec.UseNumber()
	if len(bytes.Trim(body, blanks)) == 0 {
		return nil, nil //nolint:nilnil // nothing is something that a file may hold
	}
	root, err := p.value()
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, p.place(err)
	}
	return root, nil
}

// parser reads a text token by token. The decoder checks the syntax, and tells where each token ends.
type parser struct {
	text    []byte
	skipped int // bytes of the text that the decoder does not see
	depth   int // of what is open
	dec     *json.Decoder
}

// at is where the last token ends.
func (p *parser) at() int { return p.skipped + int(p.dec.InputOffset()) }

// next reads a token, and returns where it begins as well.
func (p *parser) next() (tok json.Token, start int, err error) {
	start = p.at()
	for start < len(p.text) && strings.IndexByte(blanks+",:", p.text[start]) >= 0 {
		start++
	}
	tok, err = p.dec.Token()
	return tok, start, err
}

func (p *parser) value() (*node, error) {
	tok, start, err := p.next()
	if err != nil {
		return nil, err
	}
	return p.valueOf(tok, start)
}

func (p *parser) valueOf(tok json.Token, start int) (n *node, err error) {
	n = &node{start: start}
	if text, ok := tok.(string); ok {
		n.text = text
	}
	if open, ok := tok.(json.Delim); ok {
		n.kind = byte(open)
		if n.items, err = p.items(n.kind); err != nil {
			return nil, err
		}
	}
	n.end = p.at()
	return n, nil
}

// maxDepth is deeper than any settings are.
const maxDepth = 1000

// items reads up to the bracket that closes.
func (p *parser) items(kind byte) (items []item, err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errors.New("it is nested too deeply")
	}
	defer func() { p.depth-- }()
	for p.dec.More() {
		tok, start, err := p.next()
		if err != nil {
			return nil, err
		}
		it := item{start: start}
		if kind == '{' {
			it.name, _ = tok.(string)
			it.value, err = p.value()
		} else {
			it.value, err = p.valueOf(tok, start)
		}
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	_, _, err = p.next()
	return items, err
}

// end holds that nothing follows.
func (p *parser) end() error {
	if _, _, err := p.next(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("something follows the value")
		}
		return err
	}
	return nil
}

// place says in which line an error is.
func (p *parser) place(err error) error {
	at := p.at()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = p.skipped + int(syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = len(p.text), errors.New("it ends too early")
	}
	return fmt.Errorf("line %d: %w", lineOf(p.text, at), err)
}

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:min(at, len(text))], []byte("\n")) }

// get returns the member of that name, nil where there is none. The error is for one that is there twice: harnesses do not
// agree which of them counts.
func (n *node) get(name string) (found *node, err error) {
	for _, it := range n.items {
		if n.kind != '{' || it.name != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%q is in it twice", name)
		}
		found = it.value
	}
	return found, nil
}
