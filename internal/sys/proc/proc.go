// Package proc starts, names, awaits and ends processes. It is the only package that starts programs.
//
// Programs are argument vectors, never shell lines. Each is started in a process group of its own, so that what it leaves
// behind can be found. A process is named by its pid, start time and boot (Identity), and nothing is ever signalled by a pid
// alone: pids are given out again. What must end whole is ended as a Tree.
//
// Three ways to start one: Run for a short child whose output is wanted, Start for a child that the caller watches, Detach
// for one that outlives the caller.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ErrNoProgram is the class of errors that say that a program is not there or may not be executed.
var ErrNoProgram = errors.New("program not found")

// Program is what Start and Detach start. A file that is nil stands for /dev/null. The files are the child's and the caller's:
// the caller closes its own.
type Program struct {
	Path   string   // a name to be found in Env's PATH, or a path, relative to Dir
	Args   []string // without the program's own name
	Env    []string // exactly the child's environment; nil: ours
	Dir    string   // where it works; "": where we do
	Stdin  *os.File
	Stdout *os.File
	Stderr *os.File
}

// Child is a process that we started and have not reaped yet.
type Child struct {
	cmd *exec.Cmd
	id  Identity
}

// Exit is how a process ended: with a code of its own, or by a signal (then Code is -1).
type Exit struct {
	Code   int
	Signal syscall.Signal
}

// Start starts a program as the leader of a process group of its own. The caller must reap it: with Child.Wait, or with
// Child.Exited and Child.Reap. An error is of the class ErrNoProgram when there is no such program.
func Start(p Program) (*Child, error) {
	return start(p, &syscall.SysProcAttr{Setpgid: true})
}

// Detach starts a program in a session of its own, so that neither our end nor our terminal's is its end. While we live it is
// our child, to be reaped like any other.
func Detach(p Program) (*Child, error) {
	return start(p, &syscall.SysProcAttr{Setsid: true})
}

func start(p Program, attr *syscall.SysProcAttr) (*Child, error) {
	if p.Env == nil {
		p.Env = os.Environ()
	}
	if err := checkDir(p.Dir); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Path, err)
	}
	path, err := lookPath(p)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Path, err)
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{p.Path}, p.Args...), Env: p.Env, Dir: p.Dir, SysProcAttr: attr}
	if p.Dir != "" {
		cmd.Env = append(slices.Clone(p.Env), "PWD="+p.Dir)
	}
	// A nil *os.File in an interface would not be nil.
	if p.Stdin != nil {
		cmd.Stdin = p.Stdin
	}
	if p.Stdout != nil {
		cmd.Stdout = p.Stdout
	}
	if p.Stderr != nil {
		cmd.Stderr = p.Stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.Path, err)
	}
	// Until it is reaped the pid is the child's, ended or not.
	row, err := stat(cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("start %s: %w", p.Path, err)
	}
	return &Child{cmd: cmd, id: row.identity()}, nil
}

// ID names the child.
func (c *Child) ID() Identity { return c.id }

// Exited blocks until the program has ended, or returns ctx's error. It does not reap: until Reap the child's pid and group id
// can't go to anybody else.
func (c *Child) Exited(ctx context.Context) error { return Wait(ctx, c.id) }

// Reap waits for the program's end, takes it out of the process table and says how it ended.
func (c *Child) Reap() Exit {
	_ = c.cmd.Wait() // the state says more than the error
	state, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok {
		return Exit{Code: -1}
	}
	if state.Signaled() {
		return Exit{Code: -1, Signal: state.Signal()}
	}
	return Exit{Code: state.ExitStatus()}
}

// Wait blocks until the program has ended and reaps it. When ctx ends first it returns ctx's error, and the child is neither
// ended nor reaped.
func (c *Child) Wait(ctx context.Context) (Exit, error) {
	if err := c.Exited(ctx); err != nil {
		return Exit{}, err
	}
	return c.Reap(), nil
}

// checkDir names the missing folder: the kernel's own error would blame the program.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("working folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("working folder %s: %w", dir, syscall.ENOTDIR)
	}
	return nil
}

// LookPath returns the path of the program that a child with this environment (nil: ours) would start by that name. The error is of
// the class ErrNoProgram when there is none.
func LookPath(name string, env []string) (string, error) {
	if env == nil {
		env = os.Environ()
	}
	return lookPath(Program{Path: name, Env: env})
}

// lookPath finds the program the way the child itself would: in the PATH that it is given, from the folder that it works in.
// Relative entries of PATH are skipped: a repository must not decide what runs.
func lookPath(p Program) (string, error) {
	if strings.Contains(p.Path, "/") {
		path := p.Path
		if !filepath.IsAbs(path) && p.Dir != "" {
			path = filepath.Join(p.Dir, path)
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		if err := executable(abs); err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoProgram, err)
		}
		return abs, nil
	}
	list := lookEnv(p.Env, "PATH")
	for _, dir := range filepath.SplitList(list) {
		path := filepath.Join(dir, p.Path)
		if p.Path != "" && filepath.IsAbs(path) && executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w in PATH (%s)", ErrNoProgram, list)
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s: %w", path, syscall.EACCES)
	}
	return nil
}

// lookEnv returns the value that a program would see: of two entries the last one counts.
func lookEnv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
