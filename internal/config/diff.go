package config

import (
	"reflect"
	"strings"
)

// Change is one key whose value differs between two configurations.
type Change struct {
	Key      string // dotted
	Old, New string // as TOML; "" where the key is not there, and masked where it may be a secret
}

// Diff lists the keys that differ, in the order of loop.toml, and which of them wait for a restart of the daemon.
func Diff(old, next Config) (changed []Change, needRestart []string) {
	was := map[string]string{}
	for _, l := range leaves(old) {
		was[l.key()] = l.value
	}
	for _, l := range leaves(next) {
		key := l.key()
		if before, there := was[key]; !there || before != l.value {
			changed = append(changed, masked(Change{key, before, l.value}))
			if l.rule.has("restart") {
				needRestart = append(needRestart, key)
			}
		}
		delete(was, key)
	}
	for _, l := range leaves(old) {
		if _, gone := was[l.key()]; gone {
			changed = append(changed, masked(Change{l.key(), l.value, ""}))
		}
	}
	return changed, needRestart
}

func masked(c Change) Change {
	if strings.HasPrefix(c.Key, "harness.") && strings.HasSuffix(c.Key, ".env") {
		c.Old, c.New = hidden, hidden
	}
	return c
}

// keepRunning gives next the values that the running configuration has for the keys that wait for a restart.
func keepRunning(next *Config, running Config) {
	copyRestart(reflect.ValueOf(next).Elem(), reflect.ValueOf(running))
}

func copyRestart(dst, src reflect.Value) {
	for i, f := range fieldsOf(dst.Type()) {
		switch {
		case f.rule.has("restart"):
			dst.Field(i).Set(src.Field(i))
		case dst.Field(i).Kind() == reflect.Struct:
			copyRestart(dst.Field(i), src.Field(i))
		}
	}
}
