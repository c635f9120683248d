package harness

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// Format says how a declared agent answers. A path is the names, with dots between them, that lead to a value: part.reason;
// in a list a number is one.
type Format struct {
	Output string `json:"output"`       // json: one object; jsonl: an object a line; text
	ID     string `json:"id,omitempty"` // the path to the conversation's id; of several lines the first that has it counts
	OK     string `json:"ok,omitempty"` // the path to what tells success, of several lines in the last that has it; see satisfies
}

// The words of Format.Output.
const (
	OutputJSON  = "json"
	OutputJSONL = "jsonl"
	OutputText  = "text"
)

// Complete reports whether stdout holds a whole answer of an agent, good or bad, without its configuration: for a host that
// does not read it. Format is that of the Command.
func Complete(name string, f *Format, stdout []byte) bool {
	if f != nil {
		return f.complete(stdout)
	}
	switch name {
	case claudeName:
		return new(claude).Complete(stdout)
	case cursorName:
		return new(cursor).Complete(stdout)
	case codexName:
		return new(codex).Complete(stdout)
	}
	return false
}

// reply is what an output says, in its format.
type reply struct {
	found bool           // there is something of the format
	told  bool           // and in it what OK leads to
	ok    bool           // and that is a success
	id    loop.SessionID // "" where none was told
	text  string         // what it says to people, or all of it
}

// complete reports whether nothing is to follow: an object that says whether it is a success, or a last line that says that
// it is one. Of everything else only the end of the program tells.
func (f Format) complete(stdout []byte) bool {
	r := f.read(stdout)
	switch f.Output {
	case OutputJSON:
		return r.found && (f.OK == "" || r.told)
	case OutputJSONL:
		return r.ok && f.OK != ""
	}
	return false
}

func (f Format) read(stdout []byte) reply {
	r := reply{text: strings.TrimSpace(string(stdout))}
	switch f.Output {
	case OutputJSON:
		if object, ok := lastObject(stdout); ok {
			f.look(object, &r)
		}
	case OutputJSONL:
		for line := range bytes.Lines(stdout) {
			if object, ok := parseObject(line); ok {
				f.look(object, &r)
			}
		}
	default:
		r.found, r.ok = r.text != "", r.text != ""
	}
	return r
}

// look takes over what an object says.
func (f Format) look(object map[string]any, r *reply) {
	r.found = true
	if text := saying(object); text != "" {
		r.text = text
	}
	if r.id == "" && f.ID != "" {
		if id, _ := find(object, f.ID).(string); loop.SessionID(id).Check() == nil {
			r.id = loop.SessionID(id)
		}
	}
	if f.OK == "" {
		r.ok = true
		return
	}
	path, want, compares := strings.Cut(f.OK, "=")
	value := find(object, path)
	if value == nil {
		return
	}
	r.told, r.ok = true, satisfies(value, want, compares)
	if text, is := value.(string); is && r.ok && !compares {
		r.text = text // the success is the answer itself
	}
}

// saying returns what an object probably says to people: the text under a name that is common for it, or what an object in it
// has under one of the two that are commonest.
func saying(object map[string]any) string {
	if text := textUnder(object, "response", "result", "text", "content", "message"); text != "" {
		return text
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if inner, ok := object[name].(map[string]any); ok {
			if text := textUnder(inner, "text", "content"); text != "" {
				return text
			}
		}
	}
	return ""
}

func textUnder(object map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := object[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// satisfies reports whether a value tells success: it is what is wanted, or, where nothing is, neither false, 0 nor empty.
func satisfies(value any, want string, compares bool) bool {
	text := ""
	switch v := value.(type) {
	case string:
		text = v
	case json.Number:
		if text = v.String(); !compares {
			return text != "0"
		}
	case bool:
		if text = strconv.FormatBool(v); !compares {
			return v
		}
	case map[string]any:
		return !compares && len(v) > 0
	case []any:
		return !compares && len(v) > 0
	}
	if !compares {
		return text != ""
	}
	return text == want
}

// find follows a path; nil where it leads nowhere, or to null.
func find(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// objectTries bounds how often the beginning of an object is looked for.
const objectTries = 16

// lastObject finds the last object that begins a line, whatever stands before and after it.
func lastObject(stdout []byte) (map[string]any, bool) {
	rest := stdout
	for range objectTries {
		at := bytes.LastIndex(rest, []byte("\n{")) + 1
		if at == 0 && !bytes.HasPrefix(rest, []byte("{")) {
			return nil, false
		}
		if object, ok := parseObject(stdout[at:]); ok {
			return object, true
		}
		if at == 0 {
			return nil, false
		}
		rest = rest[:at]
	}
	return nil, false
}

// parseObject returns the object that text begins with.
func parseObject(text []byte) (map[string]any, bool) {
	text = bytes.TrimLeft(text, " \t")
	if len(text) == 0 || text[0] != '{' {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var object map[string]any
	return object, d.Decode(&object) == nil
}
