package config

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

// leaf is one key with its value as TOML.
type leaf struct {
	table, name, value string
	rule               rule
}

func (l leaf) key() string { return join(l.table, l.name) }

// Render writes a configuration as TOML, every key of it, such that Decode reads the same configuration back.
func Render(cfg Config) []byte {
	var b bytes.Buffer
	table := ""
	for _, l := range leaves(cfg) {
		if l.table != table {
			if table != "" {
				b.WriteByte('\n')
			}
			table = l.table
			fmt.Fprintf(&b, "[%s]\n", table)
		}
		fmt.Fprintf(&b, "%s = %s\n", join("", l.name), l.value)
	}
	return b.Bytes()
}

// Tree is a configuration as Render writes it, for other formats: tables are maps, and every key is there.
func Tree(cfg Config) (map[string]any, error) {
	var tree map[string]any
	if err := toml.Unmarshal(Render(cfg), &tree); err != nil {
		return nil, fmt.Errorf("read rendered configuration: %w", err)
	}
	return tree, nil
}

// Redacted is the configuration with the values of each harness's environment masked, for showing it to a person.
func (c Config) Redacted() Config {
	c.Harness = maps.Clone(c.Harness)
	for name, h := range c.Harness {
		h.Env = maps.Clone(h.Env)
		for k := range h.Env {
			h.Env[k] = hidden
		}
		c.Harness[name] = h
	}
	return c
}

const hidden = "***"

// leaves lists every key of a configuration. A table's own keys come before the tables in it, as TOML needs them.
func leaves(cfg Config) []leaf {
	return appendLeaves(nil, "", reflect.ValueOf(cfg))
}

func appendLeaves(out []leaf, table string, v reflect.Value) []leaf {
	fields := fieldsOf(v.Type())
	for i, f := range fields {
		if isTable(v.Field(i)) || f.omitEmpty && isEmpty(v.Field(i)) {
			continue
		}
		out = append(out, leaf{table, f.name, literal(v.Field(i)), f.rule})
	}
	for i, f := range fields {
		switch inner := v.Field(i).Interface().(type) {
		case map[string][]string:
			for _, name := range slices.Sorted(maps.Keys(inner)) {
				out = append(out, leaf{join(table, f.name), name, listOf(inner[name], quote), ""})
			}
		case map[string]Harness:
			for _, name := range slices.Sorted(maps.Keys(inner)) {
				out = appendLeaves(out, join(join(table, f.name), name), reflect.ValueOf(inner[name]))
			}
		default:
			if isTable(v.Field(i)) {
				out = appendLeaves(out, join(table, f.name), v.Field(i))
			}
		}
	}
	return out
}

func isTable(v reflect.Value) bool {
	switch v.Interface().(type) {
	case map[string][]string, map[string]Harness:
		return true
	}
	return v.Kind() == reflect.Struct
}

func isEmpty(v reflect.Value) bool { return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 }

// literal writes a value that is no table of its own.
func literal(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case string:
		return quote(x)
	case time.Duration:
		return strconv.FormatFloat(x.Seconds(), 'f', -1, 64)
	case []string:
		return listOf(x, quote)
	case map[string]string:
		return inline(slices.Sorted(maps.Keys(x)), func(k string) string { return quote(x[k]) })
	case []Source:
		return listOf(x, func(s Source) string {
			values := map[string]string{}
			names := []string{}
			for _, l := range appendLeaves(nil, "", reflect.ValueOf(s)) {
				names, values[l.name] = append(names, l.name), l.value
			}
			return inline(names, func(name string) string { return values[name] })
		})
	default:
		return fmt.Sprint(x) // a bool or an int
	}
}

func listOf[T any](list []T, write func(T) string) string {
	parts := make([]string, len(list))
	for i, x := range list {
		parts[i] = write(x)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func inline(names []string, write func(string) string) string {
	if len(names) == 0 {
		return "{}"
	}
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = join("", name) + " = " + write(name)
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// quote writes a basic string of TOML. (strconv.Quote would write \x and \a, which TOML does not know.)
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case !unicode.IsPrint(r): // it could rewrite the terminal that it is shown on
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
