package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// Terminal is an agent with a terminal UI, which can be hosted in a pane. All its methods may be called at the same time.
type Terminal interface {
	Agent

	// Open returns the command that opens conversation t.ID in a terminal, without a prompt: t.Prompt is not looked at. Fresh
	// begins it under that id, else it is resumed. Settings is a file of settings of ours to add to the user's own, such as
	// hooks; "" is none. The errors are those of Start and Resume.
	Open(t Turn, fresh bool, settings string) (Command, error)

	// Screen reads what the terminal shows: the visible pane as plain text, its lines joined with newlines.
	Screen(text string) Screen

	// Heard reports whether a prompt with the token reached conversation id, by the agent's own record of it. One that only
	// waits in the agent's queue has not been heard yet.
	Heard(id loop.SessionID, token string) (bool, error)

	// Trust answers beforehand what the agent asks at its first start in dir, which is absolute, in the agent's own
	// configuration. It reports whether it had to write. It is to be called before a start, for a folder that Loop made or
	// was told to work in.
	Trust(dir string) (changed bool, err error)
}

// Screen is what a terminal UI shows. What is not recognised is no composer: nothing may be typed then.
type Screen struct {
	Composer bool   // the input line is shown and takes text
	Draft    string // what stands in it, on one line; "" nothing, or a hint of the program's own
	Busy     bool   // a turn runs
	Dialog   string // what a dialog or a menu that has the keyboard asks, on one line; then there is no Composer
}

// checkTerminal returns what is wrong with opening a terminal on the turn with these configured arguments.
func (p program) checkTerminal(t Turn, unfit []string) error {
	if err := t.ID.Check(); err != nil {
		return err
	}
	for _, arg := range p.args {
		if flag, _, _ := strings.Cut(arg, "="); slices.Contains(unfit, flag) {
			return fmt.Errorf("harness.%s.args: with %s there is no terminal to host; leave it out, or host %s headless: %w", p.name, arg, t.Item, loop.ErrInvalid)
		}
	}
	return t.checkPlace()
}

// open returns the command that runs the program with args in a terminal, on a turn that has been checked. Usual are
// variables for where the configuration says nothing else. TERM is the host's to say; that the terminal speaks UTF-8 and
// takes every colour a daemon's environment may not tell.
func (p program) open(t Turn, args []string, usual ...string) (Command, error) {
	t.Prompt = ""
	cmd, err := p.run(t, args)
	if err != nil {
		return Command{}, err
	}
	usual = append(usual, "COLORTERM=truecolor")
	if !slices.ContainsFunc(cmd.Env, namesCharacters) {
		usual = append(usual, "LANG="+utf8Locale)
	}
	for _, kv := range usual {
		name, _, _ := strings.Cut(kv, "=")
		if p.env.vars[name] == "" {
			cmd.Env = append(slices.DeleteFunc(cmd.Env, func(e string) bool { return e == name+"=" }), kv)
		}
	}
	slices.Sort(cmd.Env)
	return cmd, nil
}

func namesCharacters(kv string) bool {
	name, value, _ := strings.Cut(kv, "=")
	return value != "" && (name == "LANG" || name == "LC_ALL" || name == "LC_CTYPE")
}
