package tmux_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

func TestMain(m *testing.M) {
	tmuxtest.Play()
	os.Exit(tmuxtest.Main(m))
}

// launch describes a new launch for the slug.
func launch(slug string, argv ...string) tmux.Launch {
	return tmux.Launch{Session: tmux.Name(slug), Mark: tmuxtest.Mark(), Key: slug, Argv: argv}
}

func spawn(t *testing.T, s *tmux.Server, slug string, argv ...string) tmux.Pane {
	t.Helper()
	pane, err := s.Spawn(t.Context(), launch(slug, argv...))
	if err != nil {
		t.Fatal(err)
	}
	return pane
}

// sh is a program of a line of sh, which lives in a pane for as long as the line.
func sh(line string) []string { return []string{"/bin/sh", "-c", line} }

// script is a program of any text of sh.
func script(t *testing.T, text string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"/bin/sh", file}
}

// endAfter spawns a program that prints, and ends with 3 once its last words are seen: what a program prints right before its end
// may never reach a master on a machine under load.
func endAfter(t *testing.T, s *tmux.Server, slug, prints, lastWords string) tmux.Pane {
	t.Helper()
	pane := spawn(t, s, slug, script(t, prints+"\nread enter\nexit 3")...)
	waitForScreen(t, s, pane, lastWords)
	if err := s.Submit(t.Context(), pane.Target()); err != nil {
		t.Fatal(err)
	}
	return waitForDeath(t, s, pane)
}

// recorder spawns a recorder that asks for bracketed paste, and returns when it listens.
func recorder(t *testing.T, s *tmux.Server, slug string) (pane tmux.Pane, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "recorded")
	pane = spawn(t, s, slug, tmuxtest.Recorder{Log: log, Bracketed: true}.Argv()...)
	waitForScreen(t, s, pane, tmuxtest.Ready)
	return pane, log
}

func waitForScreen(t *testing.T, s *tmux.Server, pane tmux.Pane, text string) {
	t.Helper()
	tmuxtest.Eventually(t, text, func() bool {
		screen, err := s.Screen(t.Context(), pane.Target())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(screen, text)
	})
}

func transcript(t *testing.T, s *tmux.Server, pane tmux.Pane) string {
	t.Helper()
	var b strings.Builder
	if err := s.Transcript(t.Context(), pane.Target(), &b, 20<<20); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// waitForRecord waits until the recorder has got that much, and returns all that it has got.
func waitForRecord(t *testing.T, log string, length int) string {
	t.Helper()
	tmuxtest.Eventually(t, "the recorded text", func() bool { return len(tmuxtest.Recorded(log)) >= length })
	return tmuxtest.Recorded(log)
}

func waitForDeath(t *testing.T, s *tmux.Server, pane tmux.Pane) tmux.Pane {
	t.Helper()
	tmuxtest.Eventually(t, "the end of "+pane.Session, func() bool {
		pane = probe(t, s, pane.Launch)
		return pane.Dead && pane.Exit != (proc.Exit{Code: -1}) // the end of its output is seen before its own
	})
	return pane
}

// probe finds the pane of a launch that must be there.
func probe(t *testing.T, s *tmux.Server, mark string) tmux.Pane {
	t.Helper()
	panes, err := s.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pane, found := panes.Find(mark)
	if !found {
		t.Fatalf("no pane of launch %s in %+v", mark, panes)
	}
	return pane
}

func wantState(t *testing.T, s *tmux.Server, session, mark string, want tmux.State) {
	t.Helper()
	if got, err := s.State(t.Context(), session, mark); got != want {
		t.Errorf("%s is %v (%v), want %v", session, got, err, want)
	}
}

// person runs tmux as a person would who has the socket's path.
func person(t *testing.T, s *tmux.Server, args ...string) string {
	t.Helper()
	return strings.TrimSpace(tmuxtest.Run(t, s, "", args...))
}

func serverPID(t *testing.T, s *tmux.Server) int {
	t.Helper()
	pid, err := strconv.Atoi(person(t, s, "display-message", "-p", "#{pid}"))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func server(t *testing.T, s *tmux.Server) proc.Identity {
	t.Helper()
	id, err := proc.Of(serverPID(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// terminal is a program on a terminal of its own, and all that it has shown.
type terminal struct {
	cmd *exec.Cmd
	tty *os.File

	mu   sync.Mutex
	seen strings.Builder // guarded by mu
}

func openTerminal(t *testing.T, s *tmux.Server, columns, rows uint16, argv []string, env ...string) *terminal {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmuxtest.Home(s), "TERM=xterm-256color"}, env...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{cmd: cmd, tty: tty}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		chunk := make([]byte, 4096)
		for {
			n, err := tty.Read(chunk)
			term.mu.Lock()
			term.seen.Write(chunk[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = cmd.Wait()
		_ = tty.Close()
	})
	return term
}

func (term *terminal) shown() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.seen.String()
}

// watch attaches a viewer and returns when tmux knows it.
func watch(t *testing.T, s *tmux.Server, session string, columns, rows uint16, v tmux.Viewer) *terminal {
	t.Helper()
	attach, err := s.Attach(session, v)
	if err != nil {
		t.Fatal(err)
	}
	before := len(clients(t, s, session))
	term := openTerminal(t, s, columns, rows, attach.Argv)
	tmuxtest.Eventually(t, "a viewer of "+session, func() bool { return len(clients(t, s, session)) > before })
	return term
}

func clients(t *testing.T, s *tmux.Server, session string) []tmux.Client {
	t.Helper()
	all, err := s.Clients(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// shortDir is a temporary folder in which a socket can be.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "loop") //nolint:usetesting // its path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listenAt(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}
