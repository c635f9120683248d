package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
)

// object is a JSON object. What is not touched keeps its value to the letter.
type object map[string]json.RawMessage

// assignment is a value for a path in an object.
type assignment struct {
	value any
	path  []string
}

// editJSON changes the object in a file that belongs to another program, and reports whether it had to. Links are followed,
// the file's permissions stay, it is whole at every moment, and it is not touched when everything is as it should be. A file
// that can't be understood is left alone: the error is ErrConflict. One that is not there is made, for the user alone.
func editJSON(name string, edits func(object) ([]assignment, error)) (changed bool, err error) {
	if truly, err := filepath.EvalSymlinks(name); err == nil {
		name = truly
	}
	text, perm, err := readJSON(name)
	if err != nil {
		return false, err
	}
	o, err := toObject(text)
	if err == nil {
		changed, err = o.apply(edits)
	}
	if err != nil {
		return false, fmt.Errorf("%s can't be understood, and was not touched: %w; mend it or move it away: %w", name, err, loop.ErrConflict)
	}
	if !changed {
		return false, nil
	}
	if err := o.write(name, perm); err != nil {
		return false, fmt.Errorf("change %s: %w", name, err)
	}
	return true, nil
}

func readJSON(name string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(name)
	switch {
	case absent(err):
		return []byte("{}"), 0o600, nil
	case err != nil:
		return nil, 0, err
	}
	text, err := os.ReadFile(name)
	return text, info.Mode().Perm(), err
}

func toObject(text []byte) (object, error) {
	o := object{}
	if len(bytes.TrimSpace(text)) == 0 {
		return o, nil
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, errors.New("it holds null and no object")
	}
	return o, nil
}

func (o object) apply(edits func(object) ([]assignment, error)) (changed bool, err error) {
	all, err := edits(o)
	if err != nil {
		return false, err
	}
	for _, a := range all {
		did, err := o.set(a.value, a.path...)
		if err != nil {
			return false, err
		}
		changed = changed || did
	}
	return changed, nil
}

// set puts a value at a path, makes the objects on the way, and reports whether that was a change.
func (o object) set(value any, path ...string) (changed bool, err error) {
	old := o[path[0]]
	if len(path) > 1 {
		inner, err := toObject(old)
		if err != nil {
			return false, fmt.Errorf("%s: %w", path[0], err)
		}
		if changed, err = inner.set(value, path[1:]...); err != nil || !changed {
			return false, err
		}
		value = inner
	}
	raw, err := marshal(value)
	if err != nil || bytes.Equal(raw, bytes.TrimSpace(old)) {
		return false, err
	}
	o[path[0]] = raw
	return true, nil
}

// marshal is json.Marshal without its escapes for HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func (o object) write(name string, perm fs.FileMode) error {
	compact, err := marshal(o)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, compact, "", "  "); err != nil {
		return err
	}
	text.WriteByte('\n')
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	dir, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(atomicfile.Write(dir, filepath.Base(name), text.Bytes(), perm), dir.Close())
}
