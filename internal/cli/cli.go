// Package cli is loopctl: what a person and the hooks ask of loopd, one file per noun.
//
// The command tree is a struct: a field is a command or a flag, and a command's Run carries it out with what it asks for
// by type. Nothing is dialled before a command's first call, so help, version and the commands of the configuration need
// no daemon. What a command prints goes to stdout, as a table for people or as JSON for programs; warnings and errors go
// to stderr. Text that came over the network can't steer the terminal.
//
// Of a running daemon loopctl can do nothing that the API can't.
package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"github.com/loop-daemon/loop/internal/sys/build"
)

// commands is the tree of commands, in the order of the help.
type commands struct {
	globals `group:"Flags of every command:"`

	Sessions   sessions     `cmd:"" help:"The conversations that work on work items."`
	Deliveries deliveries   `cmd:"" help:"What arrived, and what became of it."`
	Explain    explain      `cmd:"" help:"Say why a delivery, or the deliveries of a work item, ended as they did."`
	Events     events       `cmd:"" help:"Show the event log, and follow it."`
	Attach     attach       `cmd:"" help:"Look into the terminal of a session."`
	Logs       logs         `cmd:"" help:"Show what went into and came out of a session's runs."`
	Send       send         `cmd:"" help:"Say something to a session."`
	Comment    comment      `cmd:"" help:"For agents: post a comment on a work item."`
	Ask        ask          `cmd:"" help:"For agents: ask something on a work item, and wait for the answer."`
	Status     status       `cmd:"" help:"Say how loopd is."`
	Reload     reload       `cmd:"" help:"Have loopd read its configuration again."`
	Poll       poll         `cmd:"" help:"Have loopd ask GitHub now what happened."`
	Simulate   simulate     `cmd:"" help:"Have loopd sign a sample delivery and post it to its own receiver."`
	Hook       hook         `cmd:"" help:"For the hooks of harnesses: tell loopd what a conversation does, or wait for it."`
	Hooks      hookSettings `cmd:"" help:"Have harnesses tell loopd what your sessions do. No daemon is needed."`
	Config     configs      `cmd:"" help:"Check and show the configuration. No daemon is needed."`
	Version    version      `cmd:"" help:"Print the build. No daemon is needed."`
}

// globals are the flags that every command takes.
type globals struct {
	Socket     string           `placeholder:"PATH" help:"The socket of loopd (default: $$LOOP_SOCKET, else daemon.socket of the configuration, else loop/loopd.sock in $$XDG_RUNTIME_DIR, else loopd.sock in the state folder)."`
	ConfigFile string           `name:"config" placeholder:"FILE" help:"The configuration file (default: $$LOOP_CONFIG, else loop/loop.toml in $$XDG_CONFIG_HOME or ~/.config)."`
	Output     string           `short:"o" enum:"table,json" default:"table" placeholder:"FORMAT" help:"How to print: table or json."`
	Timeout    time.Duration    `placeholder:"DURATION" help:"How long to wait for an answer of loopd (default: 30s, and 2m for a close and a poll)."`
	PrintBuild kong.VersionFlag `name:"version" help:"Print the build and exit."`
}

// caller is the process that runs loopctl, as far as a command looks at it.
type caller struct {
	stdin  io.Reader
	getenv func(string) string
}

// Main runs loopctl with the arguments after the program's name and returns the exit code: 0 done, 1 failed, 2 wrong usage
// or wrong configuration, 3 loopd cannot be reached. A command that follows returns 0 when ctx ends, and on INT and TERM.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	out := &printer{stdout: stdout, stderr: stderr}
	link := &link{getenv: getenv}
	who := caller{stdin, getenv}
	all := func() error {
		defer link.close()
		return run(ctx, args, out, link, who)
	}
	if forHook(args) {
		return hookMain(args, all, stdout, stderr)
	}
	code, message := exit(all(), link)
	if message != "" {
		out.complain(message)
	}
	return code
}

func run(ctx context.Context, args []string, out *printer, link *link, who caller) error {
	var tree commands
	answered := false // by --help or --version
	parser, err := newParser(&tree, out, func(int) { answered = true })
	if err != nil {
		return fmt.Errorf("build the command tree: %w", err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if answered {
		return nil
	}
	if err != nil {
		return err
	}
	out.configure(tree.Output == "json", who.getenv)
	link.flags = tree.globals

	parsed.BindTo(ctx, (*context.Context)(nil))
	parsed.Bind(out, who, tree.globals)
	if err := parsed.BindSingletonProvider(link.client); err != nil {
		return fmt.Errorf("bind the client: %w", err)
	}
	return parsed.Run()
}

func newParser(tree *commands, out *printer, answered func(int)) (*kong.Kong, error) {
	return kong.New(tree,
		kong.Name("loopctl"),
		kong.Description("Loop brings what happens on GitHub to the coding-agent session that works on it. "+
			"loopctl asks its daemon, loopd, over a Unix socket."),
		kong.Vars{"version": "loopctl " + build.Read().String(), "ref": refHelp},
		kong.Writers(out.stdout, out.stderr),
		kong.Exit(answered),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
}
