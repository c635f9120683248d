package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// again is another client of the same server, as another process would have it.
func again(t *testing.T, s *tmux.Server, patience time.Duration) *tmux.Server {
	t.Helper()
	other, err := tmux.New(t.Context(), tmux.Options{
		Dir: filepath.Dir(s.Socket()), Environ: []string{"HOME=" + tmuxtest.Home(s), "PATH=" + os.Getenv("PATH")}, Patience: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func signal(t *testing.T, id proc.Identity, sig syscall.Signal) {
	t.Helper()
	if err := proc.Signal(id, sig); err != nil {
		t.Fatal(err)
	}
}

func TestParallelSpawnsShareOneServer(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	processes := []*tmux.Server{s, again(t, s, time.Minute)}
	var group errgroup.Group
	for i := range 20 {
		group.Go(func() error {
			_, err := processes[i%2].Spawn(t.Context(), launch(fmt.Sprint("item-", i), sh("exec cat")...))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	panes, err := s.Probe(t.Context())
	if err != nil || len(panes) != 20 {
		t.Fatalf("%d panes, %v, want 20", len(panes), err)
	}
	for _, pane := range panes {
		if pane.Dead {
			t.Errorf("%s is dead", pane.Session)
		}
	}
	// One server, 20 programs, and no other that has the test's environment.
	if living, err := (proc.Tree{Cookie: "HOME=" + tmuxtest.Home(s)}).Living(); err != nil || len(living) != 21 {
		t.Errorf("%d processes, %v, want 21", len(living), err)
	}
}

func TestParallelSpawnsOfOneItemStartOneProgram(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	errs := make(chan error, 20)
	for range cap(errs) {
		go func() {
			_, err := s.Spawn(t.Context(), launch("item", sh("exec cat")...))
			errs <- err
		}()
	}
	started := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			started++
		} else if !errors.Is(err, loop.ErrExists) {
			t.Errorf("err = %v, want ErrExists", err)
		}
	}
	if panes, err := s.Probe(t.Context()); err != nil || len(panes) != 1 || started != 1 {
		t.Errorf("%d panes, %v, from %d spawns, want one of one", len(panes), err, started)
	}
}

func TestServerOutlivesItsLastSession(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	if err := s.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := server(t, s)
	for range 100 {
		pane := spawn(t, s, "item", sh("exec cat")...)
		person(t, s, "kill-session", "-t", pane.SessionID)
		if panes, err := s.Probe(t.Context()); err != nil || len(panes) != 0 {
			t.Fatalf("panes %v, %v, want none", panes, err)
		}
	}
	if now := server(t, s); now != first {
		t.Errorf("server %v, want the first %v", now, first)
	}
}

func TestRemovedSocketIsHealed(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(s *tmux.Server) error{
		"the socket": func(s *tmux.Server) error { return os.Remove(s.Socket()) },
		"its folder": func(s *tmux.Server) error { return os.RemoveAll(filepath.Dir(s.Socket())) },
		"a file in its stead": func(s *tmux.Server) error {
			return errors.Join(os.Remove(s.Socket()), os.WriteFile(s.Socket(), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tmuxtest.New(t)
			pane, log := recorder(t, s, "item")
			first := server(t, s)
			if err := remove(s); err != nil {
				t.Fatal(err)
			}
			wantState(t, s, pane.Session, pane.Launch, tmux.Live)
			if err := remove(s); err != nil {
				t.Fatal(err)
			}
			if err := s.Paste(t.Context(), pane.Target(), "text"); err != nil {
				t.Fatal(err)
			}
			waitForRecord(t, log, len(frame("text")))
			if err := remove(s); err != nil {
				t.Fatal(err)
			}
			spawn(t, s, "next", sh("exec cat")...)
			if now := server(t, s); now != first {
				t.Errorf("server %v, want the first %v", now, first)
			}
		})
	}
}

func TestEndedServerIsAbsentAndItsIDsMeanNothing(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	old, _ := recorder(t, s, "item")
	first := server(t, s)
	signal(t, first, syscall.SIGKILL)
	if err := proc.Wait(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wantState(t, s, old.Session, old.Launch, tmux.Absent)
	wantRefused(t, s.Paste(t.Context(), old.Target(), "text"), &tmux.RefusedError{Target: old.Target(), State: tmux.Absent})
	pane, log := recorder(t, s, "item")
	if pane.ID != old.ID {
		t.Fatalf("the new pane is %s, not %s: this test tests nothing", pane.ID, old.ID)
	}
	wantRefused(t, s.Paste(t.Context(), old.Target(), "text"), &tmux.RefusedError{Target: old.Target(), State: tmux.Foreign})
	wantRefused(t, s.RemoveSession(t.Context(), old.Target()), &tmux.RefusedError{Target: old.Target(), State: tmux.Foreign})
	wantState(t, s, old.Session, old.Launch, tmux.Foreign)
	if got := tmuxtest.Recorded(log); got != "" {
		t.Errorf("the new launch got %q", got)
	}
}

func TestStoppedServerIsUnknown(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, log := recorder(t, s, "item")
	id, hasty := server(t, s), again(t, s, 0)
	signal(t, id, syscall.SIGSTOP)
	if state, err := hasty.State(t.Context(), pane.Session, pane.Launch); state != tmux.Unknown || !errors.Is(err, tmux.ErrUnknown) {
		t.Errorf("a stopped server: %v, %v, want unknown", state, err)
	}
	// In less time than a caller gives.
	brief, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if state, err := s.State(brief, pane.Session, pane.Launch); state != tmux.Unknown || !errors.Is(err, tmux.ErrUnknown) || !errors.Is(err, loop.ErrUnavailable) {
		t.Errorf("a stopped server: %v, %v, want unknown", state, err)
	}
	_, spawnErr := s.Spawn(brief, launch("next", sh("exec cat")...))
	for what, err := range map[string]error{"spawn": spawnErr, "paste": s.Paste(brief, pane.Target(), "text")} {
		if !errors.Is(err, tmux.ErrUnknown) {
			t.Errorf("%s: err = %v, want ErrUnknown", what, err)
		}
	}
	signal(t, id, syscall.SIGCONT)
	wantState(t, s, pane.Session, pane.Launch, tmux.Live)
	wantState(t, s, tmux.Name("next"), tmuxtest.Mark(), tmux.Absent)
	if got := tmuxtest.Recorded(log); got != "" {
		t.Errorf("the program got %q of a paste that was given up", got)
	}
	if now := server(t, s); now != id {
		t.Errorf("server %v, want %v", now, id)
	}
}

// Somebody else is who may not open the socket: root may open any.
func TestSocketThatMayNotBeOpenedIsUnknown(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, _ := recorder(t, s, "item")
	o := tmux.Options{Dir: shortDir(t), Socket: s.Socket(), Environ: []string{"PATH=" + os.Getenv("PATH")}, Patience: time.Minute}
	if os.Geteuid() == 0 {
		setpriv, err := exec.LookPath("setpriv")
		if err != nil {
			t.Skip("nothing here runs a program as somebody else: ", err)
		}
		o.Binary = filepath.Join(t.TempDir(), "tmux")
		tmuxtest.Command(t, o.Binary, "exec "+setpriv+" --reuid=65534 --regid=65534 --clear-groups "+s.Binary()+` "$@"`)
	} else if err := os.Chmod(s.Socket(), 0); err != nil {
		t.Fatal(err)
	}
	other, err := tmux.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	state, err := other.State(t.Context(), pane.Session, pane.Launch)
	if state != tmux.Unknown || !errors.Is(err, tmux.ErrUnknown) || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("%v, %v, want unknown for want of permission", state, err)
	}
	if _, err := other.Spawn(t.Context(), launch("next", sh("exec cat")...)); !errors.Is(err, tmux.ErrUnknown) {
		t.Errorf("err = %v, want ErrUnknown", err)
	}
	if err := os.Chmod(s.Socket(), 0o600); err != nil {
		t.Fatal(err)
	}
	if panes, err := s.Probe(t.Context()); err != nil || len(panes) != 1 || panes[0].PID != pane.PID {
		t.Errorf("panes %+v, %v, want the one that was there", panes, err)
	}
}

func TestAnswersAreReadInAnyLocale(t *testing.T) {
	t.Parallel()
	for name, locale := range map[string][]string{
		"none": nil, "C": {"LC_ALL=C"}, "one that is not there": {"LANG=xx_YY.UTF-8"}, "not UTF-8": {"LC_ALL=de_DE.ISO-8859-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tmuxtest.New(t, func(o *tmux.Options) { o.Environ = append(o.Environ, locale...) })
			pane := spawn(t, s, "item", script(t, "echo Grüße 你好; exec cat")...)
			person(t, s, "new-session", "-d", "-s", "a|b\tÄ", "cat")
			named, _, _ := strings.Cut(person(t, s, "list-sessions", "-F", "#{session_name}"), "\n") // what tmux has made of it
			waitForScreen(t, s, pane, "Grüße 你好\n")
			if got := probe(t, s, pane.Launch); got != pane {
				t.Errorf("pane %+v, want %+v", got, pane)
			}
			wantState(t, s, named, tmuxtest.Mark(), tmux.Foreign)
		})
	}
}

func TestServerOfAPersonTakesOurConfiguration(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	if err := os.MkdirAll(filepath.Dir(s.Socket()), 0o700); err != nil {
		t.Fatal(err)
	}
	person(t, s, "-f", "/dev/null", "new-session", "-d", "-s", "mine", "cat")
	first := server(t, s)
	spawn(t, s, "item", sh("exit 3")...)
	if now := server(t, s); now != first {
		t.Errorf("server %v, want the person's %v", now, first)
	}
	for option, want := range map[string]string{"exit-empty": "off", "remain-on-exit": "on", "window-size": "largest"} {
		if got := person(t, s, "show-options", "-gAqv", option); got != want && person(t, s, "show-options", "-gwv", option) != want {
			t.Errorf("%s is %q, want %q", option, got, want)
		}
	}
	if got := person(t, s, "show-options", "-gv", "@loop_conf"); got == "" {
		t.Error("the server does not say that it has our configuration")
	}
	wantState(t, s, "mine", tmuxtest.Mark(), tmux.Foreign)
}

func TestSecondServerOnTheSocketIsNotUsed(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	recorder(t, s, "item")
	if err := os.Remove(s.Socket()); err != nil {
		t.Fatal(err)
	}
	person(t, s, "-f", "/dev/null", "new-session", "-d", "-s", "mine", "cat")
	_, err := s.Spawn(t.Context(), launch("item", sh("exec cat")...))
	if !errors.Is(err, tmux.ErrUnknown) || !strings.Contains(err.Error(), strconv.Itoa(serverPID(t, s))) {
		t.Errorf("err = %v, want ErrUnknown that names the second server", err)
	}
}

func TestServerKnowsNothingOfItsStarter(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t, func(o *tmux.Options) {
		o.Environ = append(o.Environ, "SECRET=hunter2", "CLAUDECODE=1", "TMUX=/tmp/theirs,1,0", "LC_ALL=C")
	})
	pane := endAfter(t, s, "item", "env; echo all of it", "all of it\n")
	environment := transcript(t, s, pane)
	command, err := exec.CommandContext(t.Context(), "ps", "-o", "args=", "-p", strconv.Itoa(serverPID(t, s))).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"hunter2", "CLAUDECODE", "theirs"} {
		if strings.Contains(environment, word) || strings.Contains(string(command), word) {
			t.Errorf("%s came through: environment %q, command %q", word, environment, command)
		}
	}
	if strings.Contains(string(command), pane.Launch) || !strings.Contains(environment, "HOME=") {
		t.Errorf("environment %q, command %q", environment, command)
	}
}

func TestConfigurationOfAPersonChangesNothing(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	hostile := "set -g base-index 1\nset -g pane-base-index 1\nset -g destroy-unattached on\nset -g default-shell /bin/false\n" +
		"set-hook -g after-new-session 'rename-session x ; split-window'\nset-hook -g session-created kill-session\n"
	if err := os.WriteFile(filepath.Join(tmuxtest.Home(s), ".tmux.conf"), []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	pane := spawn(t, s, "item", sh("exec cat")...)
	wantState(t, s, pane.Session, pane.Launch, tmux.Live)
	if panes, err := s.Probe(t.Context()); err != nil || len(panes) != 1 {
		t.Errorf("panes %+v, %v, want one", panes, err)
	}
}

// The systemd of these tests is a script: it writes down how it was called, and starts what it is to start.
func TestServerStartsInAScopeOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script string
		log    string
	}{
		"where systemd runs services": {"echo \"$@\" >> $HOME/called\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"", "--user --scope --quiet --collect --unit=loopd-tmux-"},
		"plain where it does not":     {"echo \"$@\" >> $HOME/called\necho 'Failed to connect to bus' >&2\nexit 1", "--user --scope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, runtimeDir := t.TempDir(), shortDir(t)
			tmuxtest.Command(t, filepath.Join(bin, "systemd-run"), tt.script)
			listenAt(t, filepath.Join(runtimeDir, "systemd", "private"))
			s := tmuxtest.New(t, func(o *tmux.Options) {
				o.Environ = []string{o.Environ[0], "PATH=" + bin + ":" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + runtimeDir}
			})
			pane := endAfter(t, s, "item", "env; echo all of it", "all of it\n")
			called, err := os.ReadFile(filepath.Join(tmuxtest.Home(s), "called"))
			if err != nil || !strings.HasPrefix(string(called), tt.log) {
				t.Errorf("systemd-run was called with %q, %v", called, err)
			}
			if environment := transcript(t, s, pane); !strings.Contains(environment, "HOME=") || strings.Contains(environment, "XDG_RUNTIME_DIR=") {
				t.Errorf("environment %q", environment)
			}
		})
	}
}

func TestServerSurvivesARestartOfOurService(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "systemctl", "--user", "is-system-running").Run(); err != nil {
		t.Skip("systemd runs no services of this user: ", err)
	}
	s := tmuxtest.New(t, func(o *tmux.Options) { o.Environ = append(os.Environ(), o.Environ[0]) })
	if err := s.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	group, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", serverPID(t, s)))
	if err != nil || !strings.Contains(string(group), "loopd-tmux-") {
		t.Errorf("the server is in %q, %v, want a scope of its own", group, err)
	}
}
