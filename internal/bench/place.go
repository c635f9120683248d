package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

const (
	startLimit = time.Minute // for a program to say that it is there, and for an answer of loopctl
	stopLimit  = 15 * time.Second
)

// place is a machine of its own within this one: a folder that holds all that there is, and a loopd.
type place struct {
	bin    string
	dir    string // short, because a socket is in it
	state  string
	secret string
	env    []string

	loopd *daemon // nil while none runs
	addr  string  // of its receiver
}

// newPlace makes the folder and the configuration, and starts nothing; remove takes it away.
func newPlace(bin string) (*place, error) {
	dir, err := os.MkdirTemp("", "loop-bench-")
	if err != nil {
		return nil, err
	}
	p := &place{dir: dir, state: filepath.Join(dir, "state"), secret: rand.Text()}
	if p.bin, err = filepath.Abs(bin); err == nil {
		err = p.furnish()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

func (p *place) furnish() error {
	p.env = []string{
		"HOME=" + p.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.dir,
		"LOOP_CONFIG=" + p.in("loop.toml"), "LOOP_SOCKET=" + p.in("loopd.sock"),
	}
	settings := fmt.Sprintf(`[daemon]
state_dir = %q
[webhook]
listen = "127.0.0.1:0"
secret_file = "secret"
[routing]
runner = "headless"
authorized_users = ["ana"]
join_seconds = 0
[harness.claude]
command = %q
`, p.state, p.in("harness"))
	for name, text := range map[string]string{"loop.toml": settings, "secret": p.secret} {
		if err := os.WriteFile(p.in(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (p *place) in(name string) string { return filepath.Join(p.dir, name) }

// start starts loopd and returns how long it took until it takes deliveries.
func (p *place) start(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	var err error
	if p.loopd, err = launch(proc.Program{Path: filepath.Join(p.bin, "loopd"), Env: p.env, Dir: p.dir}); err != nil {
		return 0, fmt.Errorf("%w: run make build first", err)
	}
	line, err := p.loopd.says(ctx, "loopd is ready")
	if err != nil {
		return 0, err
	}
	_, url, _ := strings.Cut(line, "webhook=http://")
	p.addr, _, _ = strings.Cut(url, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/healthz", http.NoBody)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return time.Since(begun), res.Body.Close()
}

// stop has loopd end in order.
func (p *place) stop(ctx context.Context) error {
	if p.loopd == nil {
		return nil
	}
	err := p.loopd.end(ctx)
	p.loopd = nil
	return err
}

// remove ends whatever runs here and removes the folder.
func (p *place) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	stopErr := p.stop(ctx)
	// Runs and terminals outlive the loopd that they were started by, but they have inherited this.
	_, restErr := proc.Tree{Cookie: "HOME=" + p.dir}.End(ctx, stopLimit)
	return errors.Join(stopErr, restErr, os.RemoveAll(p.dir))
}

// loopctl runs a command of the client and returns how long the whole process took.
func (p *place) loopctl(ctx context.Context, args ...string) (time.Duration, error) {
	return timed(ctx, proc.Cmd{Path: filepath.Join(p.bin, "loopctl"), Args: args, Env: p.env, Dir: p.dir})
}

// timed runs a program to its end.
func timed(ctx context.Context, c proc.Cmd) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it had not ended after %s", startLimit))
	defer cancel()
	begun := time.Now()
	_, err := proc.Run(ctx, c)
	return time.Since(begun), err
}

// daemon is a program that runs until it is ended, and what it prints.
type daemon struct {
	child   *proc.Child
	lines   chan string // what it prints first; more is only kept
	reading sync.WaitGroup
	mu      sync.Mutex
	tail    bytes.Buffer // guarded by mu
}

// launch starts a program whose stdout and stderr are read line by line.
func launch(program proc.Program) (*daemon, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	program.Stdout, program.Stderr = theirs, theirs
	d := &daemon{lines: make(chan string, 100)}
	d.child, err = proc.Start(program)
	if err := errors.Join(err, theirs.Close()); err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	d.reading.Go(func() { d.read(ours) })
	return d, nil
}

func (d *daemon) read(from io.ReadCloser) {
	defer func() { _ = from.Close() }()
	defer close(d.lines)
	for scan := bufio.NewScanner(from); scan.Scan(); {
		select {
		case d.lines <- scan.Text():
		default: // nobody looks any more
		}
		d.mu.Lock()
		if d.tail.Len() > 16<<10 {
			d.tail.Next(8 << 10)
		}
		d.tail.WriteString(scan.Text() + "\n")
		d.mu.Unlock()
	}
}

// says waits for a line that holds a text; "" is any.
func (d *daemon) says(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it did not say %q within %s", text, startLimit))
	defer cancel()
	for {
		select {
		case line, ok := <-d.lines:
			if !ok {
				return "", fmt.Errorf("it ended at once:\n%s", d.said())
			}
			if strings.Contains(line, text) {
				return line, nil
			}
		case <-ctx.Done():
			return "", fmt.Errorf("%w:\n%s", context.Cause(ctx), d.said())
		}
	}
}

func (d *daemon) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tail.String()
}

func (d *daemon) pid() int { return d.child.ID().PID }

// end ends the program, in order where it can.
func (d *daemon) end(ctx context.Context) error {
	err := proc.Signal(d.child.ID(), syscall.SIGTERM)
	waiting, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	if exited := d.child.Exited(waiting); exited != nil {
		_, killed := proc.Tree{Root: d.child.ID(), Group: d.pid()}.Kill()
		err = errors.Join(err, exited, killed)
	}
	d.child.Reap()
	d.reading.Wait()
	return err
}
