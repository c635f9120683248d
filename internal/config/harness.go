package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

func checkHarnesses(harnesses map[string]Harness, p *problems) {
	builtIn := Default().Harness
	for name, h := range harnesses {
		key := join("harness", name)
		if !harnessName.MatchString(name) {
			p.add(key, "a harness's name is a lower-case word of letters, digits, - and _, 32 at most")
			continue
		}
		for variable := range h.Env {
			if !anyEnvName.MatchString(variable) {
				p.add(join(key+".env", variable), "is no name of an environment variable")
			}
		}
		switch _, known := builtIn[name]; {
		case known && h.Declared():
			p.add(key, "Loop knows %s by itself: declare another name, or leave out start, resume, prompt, output, id and ok", name)
		case known:
			p.notBlank(key+".command", h.Command)
		case !h.Declared():
			p.add(key, "Loop knows %s by itself, and no %s: declare it with start, resume, prompt and output%s",
				strings.Join(slices.Sorted(maps.Keys(builtIn)), ", "), name, didYouMean(name, slices.Sorted(maps.Keys(builtIn))))
		default:
			checkDeclared(key, h, p)
		}
	}
}

// checkDeclared refuses a declaration by which a conversation could not be begun, gone on with, or understood.
func checkDeclared(key string, h Harness, p *problems) {
	checkArgv(key+".start", h.Start, h.Prompt, p)
	checkArgv(key+".resume", h.Resume, h.Prompt, p)
	p.oneOf(key+".prompt", h.Prompt, "stdin", "arg")
	p.oneOf(key+".output", h.Output, "json", "jsonl", "text")
	if len(h.Resume) > 0 && !mentions(h.Resume, "{id}") {
		p.add(key+".resume", "must say where the conversation's id goes, as {id}: another conversation would be gone on with")
	}
	switch {
	case h.Output == "text" && h.ID != "":
		p.add(key+".id", "text has no place where an id could stand: leave it out")
	case h.Output == "text" && !mentions(h.Start, "{id}"):
		p.add(key+".start", "must say where the conversation's id goes, as {id}: an agent that prints text cannot tell its own")
	case h.ID != "" && !dottedPath.MatchString(h.ID):
		p.add(key+".id", "%q is no path such as session_id or data.session.id", h.ID)
	case h.ID == "" && !mentions(h.Start, "{id}"):
		p.add(key+".id", "must say where in the output the conversation's id stands, or start must take one as {id}: "+
			"the conversation could not be gone on with")
	}
	path, _, _ := strings.Cut(h.OK, "=")
	switch {
	case h.Output == "text" && h.OK != "":
		p.add(key+".ok", "text has no place where a success could stand: leave it out")
	case h.OK != "" && !dottedPath.MatchString(path):
		p.add(key+".ok", "%q is no path such as response, nor one with a value such as type=result", h.OK)
	}
}

// checkArgv checks a command line with placeholders.
func checkArgv(key string, argv []string, prompt string, p *problems) {
	if len(argv) == 0 {
		p.add(key, "must be a command line, word by word, that begins with the program")
		return
	}
	if program := argv[0]; strings.TrimSpace(program) == "" || strings.HasPrefix(program, "-") || strings.ContainsAny(program, "{}") {
		p.add(element(key, 0), "%q is no program: a command line begins with one", program)
	}
	prompts := 0
	for i, arg := range argv {
		for _, place := range placeholder.FindAllString(arg, -1) {
			switch {
			case place == "{prompt}" && prompt == "stdin":
				p.add(element(key, i), "{prompt} has no place here: it goes to stdin")
			case place == "{prompt}":
				prompts++
			case place != "{id}" && place != "{cwd}":
				p.add(element(key, i), "%s is nothing that Loop can fill in; there are {id}, {cwd} and {prompt}%s",
					place, didYouMean(place, []string{"{id}", "{cwd}", "{prompt}"}))
			}
		}
	}
	if prompts > 1 {
		p.add(key, "{prompt} must stand in it once")
	}
}

func mentions(argv []string, place string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool { return strings.Contains(arg, place) })
}

var (
	placeholder = regexp.MustCompile(`\{[A-Za-z_]+\}`)
	dottedPath  = regexp.MustCompile(`^[^.=\s]+(\.[^.=\s]+)*$`)
)
