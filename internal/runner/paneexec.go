package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// What a shell answers for a program that cannot be run, and for one that is not there.
const (
	statusCannotRun = 126
	statusNotFound  = 127
)

const (
	statusQuery = "\x1b[5n"       // Device Status Report of ECMA-48, 8.3.35
	showTime    = 2 * time.Second // in which a terminal that can has answered it
)

// PaneExecMain is `loopd pane-exec DIR LAUNCH`, which a pane runs: it reads what to run from a file in DIR, removes the file, and
// becomes that program, in the same process. It returns only when it could not, with an exit code as a shell's; why stands in
// the pane then.
func PaneExecMain(args []string, environ []string, stderr io.Writer) int {
	if len(args) != 2 {
		_, _ = fmt.Fprintln(stderr, "usage: loopd pane-exec DIR LAUNCH (loopd starts it; it is not for people)")
		return 2
	}
	defer awaitShown()
	l, err := takeLaunch(filepath.Join(args[0], filepath.Base(args[1])+".json"))
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "loopd: cannot start what this pane is for:", err)
		return statusCannotRun
	}
	if err := os.Chdir(l.Dir); err != nil {
		_, _ = fmt.Fprintf(stderr, "loopd: cannot start %s: working directory %s: %v\n", l.Path, l.Dir, err)
		return statusCannotRun
	}
	err = syscall.Exec(l.Path, append([]string{l.Path}, l.Args...), paneEnviron(l.Env, environ))
	_, _ = fmt.Fprintf(stderr, "loopd: cannot start %s: %v\n", l.Path, err)
	if os.IsNotExist(err) {
		return statusNotFound
	}
	return statusCannotRun
}

// awaitShown returns when the terminal has taken in all that was written to it, as it answers what was asked of it after that, or
// when it had its time. tmux drops what it has not read yet of a program whose end it hears of first.
func awaitShown() {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer func() { _ = tty.Close() }()
	fd := int(tty.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return
	}
	defer func() { _ = term.Restore(fd, before) }()
	_, _ = tty.WriteString(statusQuery)
	answered := make(chan struct{})
	go func() {
		_, _ = tty.Read(make([]byte, 1))
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(showTime):
	}
}

// takeLaunch reads a launch and removes it: it may hold secrets, and is for one start alone.
func takeLaunch(path string) (paneLaunch, error) {
	var l paneLaunch
	b, err := os.ReadFile(path)
	if err != nil {
		return l, err
	}
	if err := os.Remove(path); err != nil {
		return l, err
	}
	return l, json.Unmarshal(b, &l)
}

// paneEnviron is the program's environment: its own, with the kind of terminal that the pane is. Nothing tells it of the tmux
// server that it is in, which is not its to command.
func paneEnviron(env, own []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "TERM=") })
	for _, kv := range own {
		if strings.HasPrefix(kv, "TERM=") {
			env = append(env, kv)
		}
	}
	return env
}
