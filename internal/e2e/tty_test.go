package e2e_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/creack/pty"
)

// clone makes the folder that sessions work in a repository of acme/shop, on the branch of issue 15.
func (w *world) clone() {
	w.t.Helper()
	w.git("init", "--quiet", "--initial-branch", "issue-15-fix-login")
	w.git("remote", "add", "origin", "git@github.com:acme/shop.git")
	w.git("-c", "user.name=Octo Cat", "-c", "user.email=octocat@example.com", "commit", "--quiet", "--allow-empty", "--message", "begin")
}

func (w *world) git(args ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env, cmd.Dir = w.env, w.work
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// tty is somebody's own terminal with a program in it: no more than a pseudo terminal.
type tty struct {
	w      *world
	screen *screen
	cmd    *exec.Cmd
	pty    *os.File
	drawn  chan struct{} // closed when nothing more is drawn
}

// opensTTY opens a terminal and starts a program there.
func (w *world) opensTTY(dir string, env map[string]string, program string, args ...string) *tty {
	w.t.Helper()
	s := &tty{w: w, screen: newScreen(45, 150), drawn: make(chan struct{})}
	s.cmd = exec.Command(program, args...) // ended with the test
	s.cmd.Dir = dir
	s.cmd.Env = append(w.env, "TERM=xterm-256color", "LANG=C.UTF-8")
	for name, value := range env {
		s.cmd.Env = append(s.cmd.Env, name+"="+value)
	}
	var err error
	if s.pty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 45, Cols: 150}); err != nil {
		w.t.Fatal(err)
	}
	s.screen.answers = s.pty
	go func() {
		_, _ = io.Copy(s.screen, s.pty) // ends with an error when the program does
		close(s.drawn)
	}()
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("terminal of process %d:\n%s", s.pid(), strings.TrimSpace(s.screen.String()))
		}
		_ = s.cmd.Process.Kill()
		s.ended()
	})
	return s
}

func (s *tty) pid() int { return s.cmd.Process.Pid }

// shows waits until the screen shows a text.
func (s *tty) shows(text string) {
	s.w.t.Helper()
	s.w.await("the screen to show "+strconv.Quote(text), func() bool { return strings.Contains(s.screen.String(), text) })
}

func (s *tty) keys(keys string) {
	s.w.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.w.t.Fatal(err)
	}
}

// ended waits until the program has ended.
func (s *tty) ended() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Wait()
	_ = s.pty.Close()
	<-s.drawn
}

// kill ends the program as a crash would.
func (s *tty) kill() {
	s.w.t.Helper()
	kill(s.w.t, s.pid())
	s.ended()
}

// closesWindow closes the terminal.
func (s *tty) closesWindow() {
	_ = s.pty.Close()
	_ = syscall.Kill(s.pid(), syscall.SIGHUP)
	s.ended()
}
