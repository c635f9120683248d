package app

import (
	"errors"
	"fmt"
	"os"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/prompt"
)

// largestTemplate is the size of a file beyond which it is surely no template.
const largestTemplate = 256 << 10

// templates reads the prompt templates that a configuration names, and says what is wrong with each.
func templates(r config.Routing) (prompt.Templates, error) {
	deliver, err := template("routing.prompt_template", r.PromptTemplate)
	spawn, spawnErr := template("routing.spawn_prompt_template", r.SpawnPromptTemplate)
	return prompt.Templates{Deliver: deliver, Spawn: spawn}, errors.Join(err, spawnErr)
}

// template reads one template; nil, the built-in one, where no file is named.
func template(key, file string) (*prompt.Template, error) {
	if file == "" {
		return nil, nil
	}
	text, err := readTemplate(file)
	if err != nil {
		return nil, &config.Error{Key: key, Msg: err.Error()}
	}
	t, err := prompt.Parse(text)
	if err != nil {
		return nil, &config.Error{File: file, Key: key, Msg: err.Error()}
	}
	return t, nil
}

func readTemplate(file string) (string, error) {
	switch info, err := os.Stat(file); {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a file", file)
	case info.Size() > largestTemplate:
		return "", fmt.Errorf("%s is larger than 256 KiB: this is no template", file)
	}
	text, err := os.ReadFile(file)
	return string(text), err
}
