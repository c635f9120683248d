package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// What Run takes where a Cmd says nothing.
const (
	DefaultStdoutLimit = 1 << 20
	DefaultStderrLimit = 64 << 10
	DefaultGrace       = 2 * time.Second
)

// drainDelay is how long Run waits for output once the program and its group are gone. Only a process that left the group and
// kept the pipe makes it wait that long.
const drainDelay = 500 * time.Millisecond

// Cmd is a short child of Run.
type Cmd struct {
	Path        string        // a name to be found in Env's PATH, or a path
	Args        []string      // without the program's own name
	Env         []string      // exactly the child's environment; nil: ours
	Dir         string        // where it works; "": where we do
	Stdin       io.Reader     // what it reads, from memory: a reader that blocks is waited for; nil: nothing
	StdoutLimit int           // bytes of output to keep, from its beginning; 0: DefaultStdoutLimit
	StderrLimit int           // bytes of stderr to keep, from its end; 0: DefaultStderrLimit
	Grace       time.Duration // between TERM and KILL when ctx ends; 0: DefaultGrace
}

// Result is what a child left.
type Result struct {
	Stdout          []byte
	Stderr          []byte
	StdoutTruncated bool // there was more stdout than the limit; the rest was read and dropped
}

// ExitError says that a program ran and did not succeed.
type ExitError struct {
	Path   string
	Args   []string
	Code   int            // -1 when a signal ended it
	Signal syscall.Signal // 0 when it exited by itself
	Stderr string         // the end of what it wrote there
}

// Error names the program, how it ended and the last line of its stderr.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("%s: exit status %d", e.name(), e.Code)
	if e.Signal != 0 {
		text = fmt.Sprintf("%s: ended by signal: %s", e.name(), e.Signal)
	}
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		text += ": " + last
	}
	return text
}

// name is the program with its first argument where that is a verb: «git fetch» says more than «git».
func (e *ExitError) name() string {
	name := filepath.Base(e.Path)
	if len(e.Args) > 0 && !strings.HasPrefix(e.Args[0], "-") {
		name += " " + e.Args[0]
	}
	return name
}

// Run runs a program to its end and returns its output. When ctx ends, the program gets TERM and, after the grace, it and
// everything that it started get KILL; the error then wraps ctx's cause. A program that fails is an *ExitError, with the Result
// beside it. Whatever happened, nothing of the program's process group is left when Run returns.
func Run(ctx context.Context, c Cmd) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("run %s: %w", c.Path, context.Cause(ctx))
	}
	pipes, err := openPlumbing(c)
	if err != nil {
		return Result{}, fmt.Errorf("run %s: %w", c.Path, err)
	}
	child, err := Start(Program{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir,
		Stdin: pipes.stdin.child, Stdout: pipes.stdout.child, Stderr: pipes.stderr.child,
	})
	pipes.closeChildEnds()
	if err != nil {
		pipes.closeOurEnds()
		return Result{}, err
	}
	pipes.flow(c.Stdin)

	waitErr := child.Exited(ctx)
	exit, endErr := finish(ctx, child, waitErr, orDefault(c.Grace, DefaultGrace))
	pipes.drain(drainDelay)

	result := Result{Stdout: pipes.out.kept, StdoutTruncated: pipes.out.dropped, Stderr: pipes.err.bytes()}
	switch {
	case waitErr != nil:
		return result, fmt.Errorf("run %s: %w", c.Path, errors.Join(orDefault(context.Cause(ctx), waitErr), endErr))
	case exit != Exit{}:
		return result, &ExitError{Path: c.Path, Args: c.Args, Code: exit.Code, Signal: exit.Signal, Stderr: string(result.Stderr)}
	}
	return result, nil
}

// finish leaves nothing of a child that has ended, or that must end because waiting for it did not succeed.
func finish(ctx context.Context, child *Child, waitErr error, grace time.Duration) (Exit, error) {
	if waitErr == nil {
		_ = syscall.Kill(-child.ID().PID, syscall.SIGKILL) // not reaped yet, so the group id is still the child's
		return child.Reap(), nil
	}
	tree := Tree{Root: child.ID(), Group: child.ID().PID}
	if _, err := tree.End(context.WithoutCancel(ctx), grace); err != nil {
		return Exit{}, err // not reaped: it has not ended
	}
	return child.Reap(), nil
}

// plumbing is the three pipes between us and a child of Run, and what came through them.
type plumbing struct {
	stdin, stdout, stderr pipe
	out                   head
	err                   tail
	flows                 sync.WaitGroup
}

// pipe is one pipe; a child without stdin has none.
type pipe struct{ ours, child *os.File }

func openPlumbing(c Cmd) (*plumbing, error) {
	p := &plumbing{
		out: head{limit: orDefault(c.StdoutLimit, DefaultStdoutLimit)},
		err: tail{limit: orDefault(c.StderrLimit, DefaultStderrLimit)},
	}
	var inErr, outErr, errErr error
	if c.Stdin != nil {
		p.stdin.child, p.stdin.ours, inErr = os.Pipe()
	}
	p.stdout.ours, p.stdout.child, outErr = os.Pipe()
	p.stderr.ours, p.stderr.child, errErr = os.Pipe()
	for _, err := range []error{inErr, outErr, errErr} {
		if err != nil {
			p.closeChildEnds()
			p.closeOurEnds()
			return nil, err
		}
	}
	return p, nil
}

// flow copies until the pipes end.
func (p *plumbing) flow(stdin io.Reader) {
	if stdin != nil {
		p.flows.Go(func() {
			_, _ = io.Copy(p.stdin.ours, stdin) // a program need not read what it is given
			_ = p.stdin.ours.Close()
		})
	}
	p.flows.Go(func() { pour(&p.out, p.stdout.ours) })
	p.flows.Go(func() { pour(&p.err, p.stderr.ours) })
}

// largestPipe is how much an unprivileged process can have a pipe hold.
const largestPipe = 1 << 20

// pour copies until the pipe ends, or until its deadline has passed and all is copied that stood in it: on a machine under load we
// may not have got to read what a program wrote long before its end.
func pour(to io.Writer, from *os.File) {
	if _, err := io.Copy(to, from); !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	conn, err := from.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		chunk := make([]byte, 64<<10)
		for left := largestPipe; left > 0; {
			n, err := syscall.Read(int(fd), chunk)
			if n <= 0 && !errors.Is(err, syscall.EINTR) {
				return // it is empty, or has ended
			}
			_, _ = to.Write(chunk[:max(n, 0)])
			left -= max(n, 0)
		}
	})
}

// drain takes what is still in the pipes, and gives up on a pipe that a process outside the group keeps open.
func (p *plumbing) drain(delay time.Duration) {
	deadline := time.Now().Add(delay)
	for _, f := range []*os.File{p.stdin.ours, p.stdout.ours, p.stderr.ours} {
		if f != nil {
			_ = f.SetDeadline(deadline)
		}
	}
	p.flows.Wait()
	p.closeOurEnds()
}

func (p *plumbing) closeChildEnds() { closeAll(p.stdin.child, p.stdout.child, p.stderr.child) }
func (p *plumbing) closeOurEnds()   { closeAll(p.stdin.ours, p.stdout.ours, p.stderr.ours) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// head keeps the beginning of what is written to it.
type head struct {
	limit   int
	kept    []byte
	dropped bool
}

func (h *head) Write(b []byte) (int, error) {
	room := min(len(b), h.limit-len(h.kept))
	h.kept = append(h.kept, b[:room]...)
	h.dropped = h.dropped || room < len(b)
	return len(b), nil
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	kept  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if len(t.kept) > 2*t.limit { // so that each byte is moved once, not at every write
		t.kept = append(t.kept[:0], t.bytes()...)
	}
	return len(b), nil
}

func (t *tail) bytes() []byte { return t.kept[max(0, len(t.kept)-t.limit):] }

func orDefault[T comparable](v, byDefault T) T {
	var zero T
	if v == zero {
		return byDefault
	}
	return v
}
