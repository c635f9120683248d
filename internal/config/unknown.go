package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// unknown reports a key that its table does not have, with the key that was probably meant. A table that resembles none is
// entered instead: whoever wrote it needs to know where each of its keys belongs now.
func (d *decoder) unknown(table, name string, v any, siblings []field) {
	key := join(table, name)
	if near := nearest(name, siblings); near != "" {
		d.add(key, "unknown key; did you mean %s?", join(table, near))
		return
	}
	inner, _ := v.(map[string]any)
	if len(inner) == 0 || strings.Count(key, ".") >= deepest {
		d.add(key, "unknown key%s", d.elsewhere(name))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(inner)) {
		d.unknown(key, name, inner[name], nil)
	}
}

// elsewhere says in which other table the name is known, where that is clear.
func (d *decoder) elsewhere(name string) string {
	if d.known == nil {
		d.known = map[string][]field{}
		for _, l := range leaves(Default()) {
			d.known[l.table] = append(d.known[l.table], field{name: l.name})
		}
	}
	var exact, near []string
	for _, table := range slices.Sorted(maps.Keys(d.known)) {
		switch n := nearest(name, d.known[table]); n {
		case "":
		case name:
			exact = append(exact, table)
		default:
			near = append(near, join(table, n))
		}
	}
	switch {
	case len(exact) == 1:
		return fmt.Sprintf(": it belongs to [%s]", exact[0])
	case len(exact) == 0 && len(near) == 1:
		return fmt.Sprintf("; did you mean %s?", near[0])
	}
	return ""
}

// nearest is the field that name resembles most, "" where it resembles none. Case and separators do not count, so that
// authorizedUsers finds authorized_users.
func nearest(name string, fields []field) string {
	best, least := "", 0
	plain := flatten(name)
	if len(plain) > 64 {
		return "" // longer than any key: not worth the comparison
	}
	for _, f := range fields {
		known := flatten(f.name)
		n := distance(plain, known)
		close := n <= max(1, len(known)/4) || len(plain) >= 4 && strings.HasPrefix(known, plain)
		if close && (best == "" || n < least) {
			best, least = f.name, n
		}
	}
	return best
}

func flatten(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// distance is the number of single letters to insert, remove or replace to make a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
