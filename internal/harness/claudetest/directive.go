package claudetest

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

var directivePattern = regexp.MustCompile(`\[\[claude ([^\]]*)\]\]`)

// directives are the words of all [[claude …]] in a text: [[claude delay=300 tool=Bash {"command":"true"}]]. A word without a
// value has an empty one; an object in braces belongs to the last word and is kept as "input".
type directives map[string]string

func findDirectives(text string) directives {
	found := directives{}
	for _, m := range directivePattern.FindAllStringSubmatch(text, -1) {
		found.read(m[1])
	}
	return found
}

func (d directives) read(spec string) {
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

func (d directives) has(name string) bool {
	_, ok := d[name]
	return ok
}

// number returns the value of a word, or otherwise where it is missing or no number.
func (d directives) number(name string, otherwise int) int {
	n, err := strconv.Atoi(d[name])
	if err != nil {
		return otherwise
	}
	return n
}
