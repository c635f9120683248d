package harness

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/loop"
)

// Declared is the command line of an agent that the configuration declares. The argument vectors begin with the program;
// {id} and {cwd} in them are the conversation's id and the working folder, {prompt} is the prompt where Prompt is arg.
type Declared struct {
	Start  []string // begins a conversation; without {id} the agent names it itself
	Resume []string // goes on with conversation {id}
	Prompt string   // stdin or arg; an argument that stands nowhere else comes last
	Format
}

// The words of Declared.Prompt.
const (
	PromptStdin = "stdin"
	PromptArg   = "arg"
)

// What stands for something else in the argument vectors.
const (
	idPlace     = "{id}"
	cwdPlace    = "{cwd}"
	promptPlace = "{prompt}"
)

// declared is an agent that the configuration declares. It is safe for concurrent use: nothing in it changes.
type declared struct {
	program
	Declared
	overrule string // the program, where it is not the one that the argument vectors begin with
}

func newDeclared(name string, p Program, o Options) (*declared, error) {
	d := *p.Declared
	if len(d.Start) == 0 || len(d.Resume) == 0 {
		return nil, fmt.Errorf("harness.%s: start and resume must begin with a program: %w", name, loop.ErrInvalid)
	}
	base, err := newProgram(program{
		name: name, env: newEnviron(o, p.Env, nil),
		install: "install it, or set harness." + name + ".command to where it is",
	}, d.Start[0], p, nil)
	return &declared{base, d, p.Command}, err
}

func (d *declared) MintID() loop.SessionID {
	if !d.mints() {
		return ""
	}
	return loop.SessionID(uuid.NewString())
}

// mints reports whether a conversation gets its id from Loop.
func (d *declared) mints() bool {
	return slices.ContainsFunc(d.Declared.Start, func(arg string) bool { return strings.Contains(arg, idPlace) })
}

func (d *declared) Start(t Turn) (Command, error) {
	check := t.check
	if d.mints() {
		check = t.checkAll
	}
	if err := check(); err != nil {
		return Command{}, err
	}
	return d.turn(t, d.Declared.Start)
}

func (d *declared) Resume(t Turn) (Command, error) {
	if err := t.checkAll(); err != nil {
		return Command{}, err
	}
	return d.turn(t, d.Declared.Resume)
}

// turn fills an argument vector in. What is filled in is not looked through again: a prompt that speaks of {id} keeps its
// words.
func (d *declared) turn(t Turn, argv []string) (Command, error) {
	p := d.program
	p.command = cmp.Or(d.overrule, argv[0])
	argv = withArgs(argv[1:], d.args)
	places := []string{idPlace, string(t.ID), cwdPlace, filepath.Clean(t.Cwd)}
	if d.Prompt == PromptArg {
		text, err := d.asArgument(t)
		if err != nil {
			return Command{}, err
		}
		places = append(places, promptPlace, text)
		if !slices.ContainsFunc(argv, func(arg string) bool { return strings.Contains(arg, promptPlace) }) {
			argv = append(argv, promptPlace)
		}
	}
	fill := strings.NewReplacer(places...)
	for i, arg := range argv {
		argv[i] = fill.Replace(arg)
	}
	cmd, err := p.run(t, argv)
	cmd.Format = new(d.Format)
	if d.Prompt == PromptArg {
		cmd.Stdin = ""
	}
	return cmd, err
}

// withArgs returns argv with the configured arguments: at its end, or before a --, behind which they would be no flags.
func withArgs(argv, args []string) []string {
	at := slices.Index(argv, "--")
	if at < 0 {
		at = len(argv)
	}
	return slices.Concat(argv[:at], args, argv[at:])
}

func (d *declared) Complete(stdout []byte) bool { return d.complete(stdout) }

func (d *declared) Text(stdout []byte) string {
	r := d.read(stdout)
	if !r.ok {
		return ""
	}
	return r.text
}

// Read knows of a declared agent what its declaration says, and the words in which programs complain.
func (d *declared) Read(x Exit) loop.Outcome {
	r := d.read(x.Stdout)
	out := d.judge(r, x)
	out.SessionID, out.Duration, out.Killed = r.id, x.Took, x.Killed
	return out
}

func (d *declared) judge(r reply, x Exit) loop.Outcome {
	// What has no form may be half of it: only the program's own end says that it was all.
	answered := r.ok && (d.Output != OutputText || x.End == Exited)
	switch {
	case answered && x.clean():
		return loop.Outcome{Kind: loop.RunDone, Detail: oneLine(r.text)}
	case answered && d.Output != OutputText:
		return failed("%s answered, but ended with %s: %s", d.name, x.status(), oneLine(r.text))
	case x.End == Exited && d.OK != "" && r.found:
		if out, ok := d.complaint(r, x); ok {
			return out
		}
		said := cmp.Or(lastLine(string(x.Stderr)), lastLine(r.text))
		return failed("%s ended with %s and not with %s: %s", d.name, x.status(), d.OK, said)
	}
	return x.unanswered(d.name, func() (loop.Outcome, bool) { return d.complaint(r, x) })
}

// complaint reads what the program says on stderr.
func (d *declared) complaint(r reply, x Exit) (loop.Outcome, bool) {
	if x.Code == 0 {
		return loop.Outcome{}, false
	}
	said := uncolored(string(x.Stderr))
	if line := noSuchSession.FindString(said); line != "" && !r.found {
		return loop.Outcome{Kind: loop.RunLost, Detail: oneLine(line)}, true
	}
	if line := sessionInUse.FindString(said); line != "" && !r.found {
		return loop.Outcome{Kind: loop.RunFailed, Reason: loop.FailedIDInUse, Detail: oneLine(line)}, true
	}
	return lastComplaint(x.Stderr, x.At)
}

// In such lines gemini, opencode, copilot and others say that there is no such conversation, or that there is one already.
var (
	noSuchSession = regexp.MustCompile(`(?im)^.*(\b(session|conversation|thread|chat)\b.{0,60}\b(not found|does not exist|matched)\b|` +
		`\bno (previous |such )?(session|conversation|thread|chat)s?\b.{0,40}\b(found|exists?)\b|\bno such (session|conversation|thread|chat)\b|` +
		`\binvalid session identifier\b).*$`)
	sessionInUse = regexp.MustCompile(`(?im)^.*\b(session|conversation|thread|chat)\b.{0,80}\balready (in use|exists)\b.*$`)
)
