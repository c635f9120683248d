package agenttest

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

var directivePattern = regexp.MustCompile(`\[\[(?:agent|claude) ([^\]]*)\]\]`)

// Directives are the words of all [[agent …]] in a text: [[agent delay=300 tool=Bash {"command":"true"}]]. A word without a
// value has an empty one; an object in braces belongs to the last word and is kept as "input". [[claude …]] is the same.
type Directives map[string]string

// FindDirectives returns the directives in a text.
func FindDirectives(text string) Directives {
	found := Directives{}
	for _, m := range directivePattern.FindAllStringSubmatch(text, -1) {
		found.read(m[1])
	}
	return found
}

func (d Directives) read(spec string) {
	if i := strings.IndexByte(spec, '{'); i >= 0 {
		if input := strings.TrimSpace(spec[i:]); json.Valid([]byte(input)) {
			d["input"] = input
		}
		spec = spec[:i]
	}
	for word := range strings.FieldsSeq(spec) {
		name, value, _ := strings.Cut(word, "=")
		d[name] = value
	}
}

// Has reports whether a word is among the directives.
func (d Directives) Has(name string) bool {
	_, ok := d[name]
	return ok
}

// Number returns the value of a word, or otherwise where it is missing or no number.
func (d Directives) Number(name string, otherwise int) int {
	n, err := strconv.Atoi(d[name])
	if err != nil {
		return otherwise
	}
	return n
}
