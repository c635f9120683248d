package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// rule is the tag of a field that says more of its value than the type; see Config.
type rule string

func (r rule) has(word string) bool { return slices.Contains(strings.Fields(string(r)), word) }

// isPath tells whether a leading ~/ is expanded in the value.
func (r rule) isPath() bool { return r.has("path") || r.has("program") || r.has("home") }

// field is a key of a table.
type field struct {
	name      string
	rule      rule
	omitEmpty bool
}

// fieldsOf are the keys of a table, in the order of its struct's fields.
func fieldsOf(t reflect.Type) []field {
	fields := make([]field, t.NumField())
	for i := range fields {
		tag := t.Field(i).Tag
		name, opt, _ := strings.Cut(tag.Get("toml"), ",")
		fields[i] = field{name: name, rule: rule(tag.Get("rule")), omitEmpty: opt == "omitempty"}
	}
	return fields
}

func fieldsNamed(names []string) []field {
	fields := make([]field, len(names))
	for i, name := range names {
		fields[i] = field{name: name}
	}
	return fields
}

func element(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

func typeName(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	default:
		return "a date or time"
	}
}
