package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// program is an agent's program as the configuration names it. It never changes.
type program struct {
	name    string // of the agent
	command string
	install string // the way to get it
	args    []string
	env     environ
}

// newProgram returns a program that is usually found under a name, unless the configuration says otherwise. Own are the
// flags by which Loop decides what it depends on; a configured argument that says the same would contradict it.
func newProgram(p program, usual string, configured Program, own []string) (program, error) {
	for _, arg := range configured.Args {
		flag, _, _ := strings.Cut(arg, "=")
		if slices.Contains(own, flag) {
			return program{}, fmt.Errorf("harness.%s.args: %s is what Loop itself decides: %w", p.name, arg, loop.ErrInvalid)
		}
	}
	p.command, p.args = usual, slices.Clone(configured.Args)
	if configured.Command != "" {
		p.command = configured.Command
	}
	return p, nil
}

// Name is part of every agent.
func (p program) Name() string { return p.name }

// Available is part of every agent.
func (p program) Available() error {
	_, err := p.find()
	return err
}

func (p program) find() (string, error) {
	file, err := lookPath(p.command, p.env.path())
	if err != nil {
		return "", fmt.Errorf("%s can't be started: %w; %s", p.name, err, p.install)
	}
	return file, nil
}

// run returns the command that runs the program with args on a turn, which has been checked. The prompt goes to its standard
// input.
func (p program) run(t Turn, args []string) (Command, error) {
	file, err := p.find()
	if err != nil {
		return Command{}, err
	}
	return Command{Path: file, Args: args, Env: p.env.of(t.Item), Dir: t.Cwd, Stdin: t.Prompt}, nil
}

// longestArgument is the size of a prompt that still fits into an argument: Linux takes 128 KiB.
const longestArgument = 120 << 10

// asArgument returns the prompt of a turn for a program that takes it no other way.
func (p program) asArgument(t Turn) (string, error) {
	switch {
	case len(t.Prompt) > longestArgument:
		return "", fmt.Errorf("the prompt for %s is %d bytes long, and %s takes no more than %d, since it takes it as an argument: %w",
			t.Item, len(t.Prompt), p.name, longestArgument, loop.ErrInvalid)
	case strings.ContainsRune(t.Prompt, 0):
		return "", fmt.Errorf("the prompt for %s holds a NUL character, which no argument can: %w", t.Item, loop.ErrInvalid)
	case strings.HasPrefix(t.Prompt, "-"):
		return " " + t.Prompt, nil // never a flag
	}
	return t.Prompt, nil
}
