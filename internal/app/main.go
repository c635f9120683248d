// Package app is loopd as a program: its command line and signals (Main), and the daemon, which opens everything in order,
// runs it, and reloads its configuration.
//
// It promises that a start which cannot work does nothing and says why, that one daemon uses a state folder and a socket, and
// that a stop takes seconds whatever the agents do: runs go on without it, and the next start settles them.
package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/grpclog"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/sys/build"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// Exit codes of loopd.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // wrong usage or wrong configuration
)

// Env is what Main takes from its process.
type Env struct {
	Args           []string // without the program's name
	Getenv         func(string) string
	Environ        []string // the whole environment, from which harnesses are given what they need
	Stdout, Stderr io.Writer

	// Starter is the argument vector that runs this program as the starter of a run: its own path and "exec".
	Starter []string
	// PaneStarter is the one that starts a program in a terminal: "pane-exec".
	PaneStarter []string
	// Client is loopctl, which the hooks of agents call; "" where it was not found.
	Client string
	// Step, RetryBase and ProbeBase are those of dispatch.Options, for tests.
	Step                 func(string)
	RetryBase, ProbeBase time.Duration
}

// Process returns the Env of the running process.
func Process() Env {
	e := Env{Args: os.Args[1:], Getenv: os.Getenv, Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}
	if self, err := os.Executable(); err == nil {
		e.Starter, e.PaneStarter, e.Client = []string{self, "exec"}, []string{self, "pane-exec"}, client(self)
	}
	return e
}

// client finds loopctl beside loopd, or in the PATH.
func client(self string) string {
	beside := filepath.Join(filepath.Dir(self), "loopctl")
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	path, err := proc.LookPath("loopctl", os.Environ())
	if err != nil {
		return ""
	}
	return path
}

// garbage is how much of what is no longer used may lie about, in percent of what is: half of what Go allows, since a daemon of a
// few megabytes is swept in a millisecond.
const garbage = 50

// Main runs loopd with the command line and returns its exit code. It alone knows signals: INT and TERM stop, and a second one
// at once; HUP reloads; and PIPE, when who reads the log is gone, does nothing.
func Main(ctx context.Context, e Env) int {
	if len(e.Args) > 0 && e.Args[0] == "exec" {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		return runner.ExecMain(ctx, e.Args[1:], e.Stderr)
	}
	if len(e.Args) > 0 && e.Args[0] == "pane-exec" {
		return runner.PaneExecMain(e.Args[1:], e.Environ, e.Stderr)
	}
	flags, code := parse(e)
	if flags == nil {
		return code
	}
	loaded, err := load(*flags, e.Getenv)
	if err != nil {
		say(e.Stderr, "loopd: %v\n", err)
		return exitUsage
	}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) // clients that hang up are no news
	debug.SetGCPercent(garbage)
	ctx, signals, release := catch(ctx)
	defer release()

	level, format := new(slog.LevelVar), new(logFormat)
	level.Set(loaded.Config.Daemon.Level())
	format.set(loaded.Config.Daemon.LogFormat)
	d := daemon{
		env: e, flags: *flags, loaded: loaded, level: level, format: format, log: slog.New(newLogHandler(e.Stderr, format, level)),
		reconfigured: make(chan struct{}, 1),
	}
	done := make(chan error, 1)
	go func() { done <- d.run(ctx, signals.hup) }()
	select {
	case err := <-done:
		return ended(err, e.Stderr)
	case <-signals.again: // nobody waits for what is still going on: the process ends with it
		say(e.Stderr, "loopd: ended by a second signal; what is not finished is taken up at the next start\n")
		return exitFailed
	}
}

// ended tells a person why loopd ended and returns the exit code for it.
func ended(err error, stderr io.Writer) int {
	if err == nil {
		return exitDone
	}
	say(stderr, "loopd: %s\n", loop.Plain(err))
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// signals are what is asked of loopd in this way beside a stop.
type signals struct {
	hup   <-chan os.Signal // read the configuration again
	again <-chan struct{}  // closed when a stop is asked for a second time
}

// catch returns a context that INT or TERM ends, and the other signals. PIPE is caught and does nothing; were it ignored, our
// children would ignore it too.
func catch(ctx context.Context) (_ context.Context, _ signals, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stops, hups, pipes := make(chan os.Signal, 2), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stops, syscall.SIGINT, syscall.SIGTERM)
	signal.Notify(hups, syscall.SIGHUP)
	signal.Notify(pipes, syscall.SIGPIPE)
	again, over := make(chan struct{}), make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for first := true; ; first = false {
			select {
			case s := <-stops:
				if !first {
					close(again)
					return
				}
				cancel(errors.New(s.String() + " signal received"))
			case <-over:
				return
			}
		}
	})
	return ctx, signals{hups, again}, func() {
		close(over)
		waiting.Wait()
		cancel(nil)
		for _, c := range []chan os.Signal{stops, hups, pipes} {
			signal.Stop(c)
		}
	}
}

// usageError is a start that cannot work as it was asked for.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// flagValues are the flags of loopd.
type flagValues struct {
	config string
	socket string
}

// parse reads the command line. It returns nil and an exit code where there is nothing to run.
func parse(e Env) (*flagValues, int) {
	var v flagValues
	fs := flag.NewFlagSet("loopd", flag.ContinueOnError)
	fs.SetOutput(e.Stderr)
	fs.StringVar(&v.config, "config", "", "configuration `file`; default $LOOP_CONFIG, else loop/loop.toml in $XDG_CONFIG_HOME")
	fs.StringVar(&v.socket, "socket", "", "Unix `socket` to listen on; default $LOOP_SOCKET, else daemon.socket")
	version := fs.Bool("version", false, "print the build and exit")
	fs.Usage = func() {
		say(e.Stderr, "loopd brings what happens on GitHub to coding-agent sessions on this machine. It runs in the foreground.\n\n"+
			"usage: loopd [--config FILE] [--socket PATH] [--version]\n\n")
		fs.PrintDefaults()
	}
	switch err := fs.Parse(e.Args); {
	case errors.Is(err, flag.ErrHelp):
		return nil, exitDone
	case err != nil:
		return nil, exitUsage
	case fs.NArg() > 0:
		say(e.Stderr, "loopd: unexpected argument %q; commands for people are in loopctl\n", fs.Arg(0))
		return nil, exitUsage
	case *version:
		say(e.Stdout, "loopd %s\n", build.Read())
		return nil, exitDone
	}
	return &v, exitDone
}

func load(f flagValues, getenv func(string) string) (config.Loaded, error) {
	place, err := config.Path(f.config, getenv)
	if err != nil {
		return config.Loaded{}, err
	}
	return config.Load(place, getenv)
}

// say writes to the terminal. Nothing can be done about a terminal that is gone.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
