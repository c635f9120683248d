package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The checks that several keys share. Each reports to problems when a value is impossible.

func (p *problems) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		p.add(key, "%q is none of %s%s", value, strings.Join(allowed, ", "), didYouMean(value, allowed))
	}
}

func (p *problems) between(key string, n, least, most int) {
	switch {
	case n < least:
		p.add(key, "must be at least %d, not %d", least, n)
	case n > most:
		p.add(key, "must be at most %d, not %d", most, n)
	}
}

func (p *problems) notBlank(key, value string) {
	if strings.TrimSpace(value) == "" {
		p.add(key, "must not be blank")
	}
}

func (p *problems) noBlanks(key string, values []string) {
	for i, v := range values {
		p.notBlank(element(key, i), v)
	}
}

// program checks an argv: it may be empty, but then as a whole.
func (p *problems) program(key string, argv []string) {
	if len(argv) > 0 {
		p.notBlank(element(key, 0), argv[0])
	}
}

// envName wants capitals, as variables have by custom: a secret that was pasted here is then refused. It is not repeated.
func (p *problems) envName(key, value string) {
	if !envName.MatchString(value) {
		p.add(key, "must be the name of an environment variable, in capital letters, digits and _; "+
			"a secret has no place in this file")
	}
}

func (p *problems) login(key, value string) {
	switch {
	case !login.MatchString(value):
		p.add(key, "%q is no GitHub login: write each alone, as octocat or my-app[bot], without an @ and without wildcards", value)
	case strings.EqualFold(value, "ghost"):
		p.add(key, "ghost stands for every deleted account: nobody can be authorized by it")
	}
}

func (p *problems) reaction(key, value string) {
	if value != "" {
		p.oneOf(key, value, "+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
	}
}

func notVisible(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }

func didYouMean(value string, allowed []string) string {
	if near := nearest(value, fieldsNamed(allowed)); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// distinct drops the logins that are there already in another case. GitHub compares them without it.
func distinct(logins []string) []string {
	var out []string
	for _, l := range logins {
		if !slices.ContainsFunc(out, func(have string) bool { return strings.EqualFold(have, l) }) {
			out = append(out, l)
		}
	}
	return out
}
