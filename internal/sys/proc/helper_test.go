package proc_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// cookie is the environment entry that the trees of these tests are known by; newCookie adds a value to it.
const cookie = "PROC_TEST_RUN="

// newCookie is unlike every other, also those of another run of these tests on the same machine.
func newCookie() string { return cookie + rand.Text() }

// TestMain makes the test binary its own zoo: with helper=NAME as first argument it is that program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if name, ok := strings.CutPrefix(os.Args[1], "helper="); ok {
			time.AfterFunc(time.Minute, func() { os.Exit(99) }) // whatever a test forgets
			os.Exit(help(name, os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

func help(name string, args []string) int {
	switch name {
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "where":
		dir, _ := os.Getwd()
		fmt.Println(dir, os.Getenv("PWD"), os.Getenv("WORD"))
	case "fail":
		fmt.Fprintf(os.Stderr, "%s\nfatal: no such thing\n", strings.Repeat("noise ", 50_000))
		return 7
	case "flood":
		n, _ := strconv.Atoi(args[0])
		_, _ = os.Stdout.Write(bytes.Repeat([]byte("x"), n))
	case "wait":
		announce()
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		announce()
		select {}
	case "family", "stubborn-family":
		family(name)
	case "leave": // exits at once, with a child that keeps the output open
		spawn(strings.Contains(args[0], "session"), os.Environ(), "stubborn")
	case "detach":
		_, err := proc.Detach(proc.Program{Path: os.Args[0], Args: []string{"helper=wait"}, Stdout: os.Stdout, Stderr: os.Stderr})
		if err != nil {
			fmt.Println(err)
			return 1
		}
	case "grandchild": // starts one and never looks after it
		spawn(false, os.Environ(), "wait")
		select {}
	default:
		return helpHost(name, args)
	}
	return 0
}

// family is a program with a tool that ignores TERM and HUP, one more in a session of its own, and one in a session of its own
// with nothing in its environment.
func family(name string) {
	if name == "stubborn-family" {
		signal.Ignore(syscall.SIGTERM)
	}
	spawn(false, os.Environ(), "stubborn")
	spawn(true, os.Environ(), "stubborn")
	spawn(true, []string{}, "stubborn")
	announce()
	select {}
}

func announce() { fmt.Println(os.Getpid()) }

func spawn(session bool, env []string, name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "helper="+name)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd
}

// self is the path of this test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// troop is a started helper and what came out of it. Every process that it starts holds the pipe, so the pipe's end is the
// proof that none is left.
type troop struct {
	child  *proc.Child
	cookie string
	pipe   *os.File
	out    *bufio.Reader
}

func startTroop(t *testing.T, start func(proc.Program) (*proc.Child, error), helper string, args ...string) *troop {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	mark := newCookie()
	child, err := start(proc.Program{
		Path: self(t), Args: append([]string{"helper=" + helper}, args...), Env: append(os.Environ(), mark), Stdout: w, Stderr: os.Stderr,
	})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = proc.Tree{Root: child.ID(), Cookie: mark}.Kill()
		_ = r.Close()
	})
	return &troop{child: child, cookie: mark, pipe: r, out: bufio.NewReader(r)}
}

// identities reads n pids that the troop prints and names them.
func (tr *troop) identities(t *testing.T, n int) []proc.Identity {
	t.Helper()
	var ids []proc.Identity
	for range n {
		pid, err := strconv.Atoi(tr.line(t))
		if err != nil {
			t.Fatal(err)
		}
		id, err := proc.Of(pid)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func (tr *troop) line(t *testing.T) string {
	t.Helper()
	_ = tr.pipe.SetReadDeadline(time.Now().Add(30 * time.Second))
	line, err := tr.out.ReadString('\n')
	if err != nil {
		t.Fatalf("read from helper: %v (after %q)", err, line)
	}
	return strings.TrimSpace(line)
}

// wantGone fails unless every process of the troop has ended.
func (tr *troop) wantGone(t *testing.T, ids []proc.Identity) {
	t.Helper()
	for _, id := range ids {
		if proc.Alive(id) {
			t.Errorf("process %d lives on", id.PID)
		}
	}
	_ = tr.pipe.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadAll(tr.out); err != nil {
		t.Errorf("somebody still holds the output: %v", err)
	}
}

// waitForLiving waits until n processes of the tree live, the one without the cookie counted as a descendant.
func waitForLiving(t *testing.T, tree proc.Tree, n int) []proc.Identity {
	t.Helper()
	for ctx := within(t, 30*time.Second); ctx.Err() == nil; {
		living, err := tree.Living()
		if err != nil {
			t.Fatal(err)
		}
		if len(living) == n {
			return living
		}
		runtime.Gosched()
	}
	t.Fatalf("there were never %d processes of the tree", n)
	return nil
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
