package config

import (
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// largest is the size of a file beyond which it is surely not a configuration.
const largest = 256 << 10

// Decode reads a configuration. The file's absolute name is what errors name and what relative paths are relative to; home
// is the folder that a leading ~/ stands for. On error the Config is empty, and the error joins an [Error] for each problem.
func Decode(data []byte, file, home string) (Config, []Warning, error) {
	d := decoder{problems: problems{file: file}, home: home}
	doc, err := d.parse(data)
	if err != nil {
		return Config{}, nil, err
	}
	cfg := Default()
	d.table("", doc, reflect.ValueOf(&cfg).Elem())
	check(&cfg, &d.problems)
	refuseAbsent(cfg, &d.problems)
	if err := d.err(); err != nil {
		return Config{}, nil, err
	}
	cfg.Routing.AuthorizedUsers = distinct(cfg.Routing.AuthorizedUsers)
	return cfg, warnings(cfg), nil
}

// decoder assigns a parsed document to the fields of a Config, and goes on after a problem.
type decoder struct {
	problems
	home  string
	known map[string][]field // the keys of each table, once a key asked for them
}

func (d *decoder) parse(data []byte) (map[string]any, error) {
	if len(data) > largest {
		return nil, &Error{File: d.file, Msg: "larger than 256 KiB: this is no configuration"}
	}
	doc := map[string]any{}
	if err := toml.Unmarshal(data, &doc); err != nil {
		return nil, d.syntax(err)
	}
	d.at = locate(data)
	return doc, nil
}

func (d *decoder) syntax(err error) *Error {
	e := &Error{File: d.file, Msg: "not valid TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	if de, ok := errors.AsType[*toml.DecodeError](err); ok {
		e.Line, e.Column = de.Position()
	}
	return e
}

func (d *decoder) table(key string, src map[string]any, dst reflect.Value) {
	fields := fieldsOf(dst.Type())
	for name, v := range src {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			d.unknown(key, name, v, fields)
			continue
		}
		d.value(join(key, name), v, dst.Field(i), fields[i].rule)
	}
}

// value assigns v to dst, whose type says what is wanted.
func (d *decoder) value(key string, v any, dst reflect.Value, rule rule) {
	switch dst := dst.Addr().Interface().(type) {
	case *string:
		d.text(key, v, dst, rule)
	case *bool:
		want(d, key, v, "true or false", dst)
	case *int:
		d.integer(key, v, dst)
	case *time.Duration:
		d.seconds(key, v, dst)
	case *[]string:
		d.texts(key, v, dst, rule)
	case *map[string]string:
		d.env(key, v, dst)
	case *map[string][]string:
		d.lists(key, v, *dst)
	case *map[string]Harness:
		d.harnesses(key, v, *dst)
	case *[]Source:
		d.sources(key, v, dst)
	default:
		var t map[string]any
		if want(d, key, v, "a table", &t) {
			d.table(key, t, reflect.ValueOf(dst).Elem())
		}
	}
}

// want assigns v when it is of the type asked for. The value is not part of the message: it may be a secret in the wrong
// place.
func want[T any](d *decoder, key string, v any, what string, dst *T) bool {
	t, ok := v.(T)
	if !ok {
		d.add(key, "must be %s, not %s", what, typeName(v))
		return false
	}
	*dst = t
	return true
}

func (d *decoder) text(key string, v any, dst *string, rule rule) {
	var s string
	if !want(d, key, v, "a string", &s) {
		return
	}
	if strings.ContainsRune(s, 0) {
		d.add(key, "must not contain a NUL character")
		return
	}
	*dst = d.path(key, s, rule)
}

func (d *decoder) integer(key string, v any, dst *int) {
	var n int64
	if !want(d, key, v, "a whole number", &n) {
		return
	}
	if int64(int(n)) != n {
		d.add(key, "%d is too large a number", n)
		return
	}
	*dst = int(n)
}

// seconds keeps microseconds: no setting needs finer ones, and down to there a value survives being shown and read again.
func (d *decoder) seconds(key string, v any, dst *time.Duration) {
	const year = 365 * 24 * 60 * 60
	n, whole := v.(int64)
	f := float64(n)
	if !whole && !want(d, key, v, "a number of seconds", &f) {
		return
	}
	if !(f >= 0 && f <= year) { // refuses NaN as well
		d.add(key, "%v is no number of seconds from 0 to %d (a year)", f, year)
		return
	}
	*dst = time.Duration(math.Round(f*1e6)) * time.Microsecond
}

func (d *decoder) texts(key string, v any, dst *[]string, rule rule) {
	var list []any
	if !want(d, key, v, "a list of strings", &list) {
		return
	}
	out := make([]string, len(list))
	for i := range list {
		r := rule
		if i > 0 && r.has("program") {
			r = "" // only the first word of an argv is a program
		}
		d.text(element(key, i), list[i], &out[i], r)
	}
	*dst = out
}

func (d *decoder) env(key string, v any, dst *map[string]string) {
	var t map[string]any
	if !want(d, key, v, "a table of strings", &t) {
		return
	}
	out := map[string]string{}
	for name, v := range t {
		var s string
		d.text(join(key, name), v, &s, "")
		out[name] = s
	}
	*dst = out
}

func (d *decoder) lists(key string, v any, dst map[string][]string) {
	var t map[string]any
	if !want(d, key, v, "a table of lists", &t) {
		return
	}
	for name, v := range t {
		if _, known := dst[name]; !known {
			d.unknown(key, name, v, fieldsNamed(eventTypes()))
			continue
		}
		list := dst[name]
		d.texts(join(key, name), v, &list, "")
		dst[name] = list
	}
}

func (d *decoder) harnesses(key string, v any, dst map[string]Harness) {
	var t map[string]any
	if !want(d, key, v, "a table of harnesses", &t) {
		return
	}
	for name, v := range t {
		var src map[string]any
		if !want(d, join(key, name), v, "a table", &src) {
			continue
		}
		h, known := dst[name]
		if !known {
			h = Harness{Trust: true}
		}
		d.table(join(key, name), src, reflect.ValueOf(&h).Elem())
		dst[name] = h
	}
}

func (d *decoder) sources(key string, v any, dst *[]Source) {
	var list []any
	if !want(d, key, v, "a list of tables, each under [["+key+"]]", &list) {
		return
	}
	out := make([]Source, len(list))
	for i, v := range list {
		out[i] = Source{Provider: "github", Issues: true, PullRequests: true}
		var src map[string]any
		if want(d, element(key, i), v, "a table", &src) {
			d.table(element(key, i), src, reflect.ValueOf(&out[i]).Elem())
		}
	}
	*dst = out
}

// path resolves a value that names a file, a folder or a program.
func (d *decoder) path(key, s string, rule rule) string {
	lookedUp := rule.has("program") && !strings.Contains(s, "/")
	switch {
	case s == "" || lookedUp || !rule.isPath():
		return s
	case strings.HasPrefix(s, "~/"):
		if d.home == "" {
			d.add(key, "begins with ~/, but $HOME is not set: write the whole path")
			return s
		}
		return filepath.Join(d.home, s[2:])
	case rule.has("home") || filepath.IsAbs(s):
		return s
	case strings.HasPrefix(s, "~"):
		d.add(key, "only a leading ~/ is expanded: write the whole path")
		return s
	}
	return filepath.Join(filepath.Dir(d.file), s)
}
