package tmux_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

var validName = regexp.MustCompile(`^loop-[A-Za-z0-9_-]{1,100}$`)

func TestNamesAreValidAndNeverShared(t *testing.T) {
	t.Parallel()
	if got := tmux.Name("github-acme-shop-15"); got != "loop-github-acme-shop-15" {
		t.Errorf("an ordinary slug became %s", got)
	}
	names := map[string]string{}
	for _, slug := range []string{"foo.js", "foo_js", "a:b", "a_b", "é", "ü", "", "_", "a b", strings.Repeat("a", 100), strings.Repeat("a", 101), strings.Repeat("a", 300)} {
		name := tmux.Name(slug)
		if !validName.MatchString(name) {
			t.Errorf("slug %q became %s", slug, name)
		}
		if other, taken := names[name]; taken {
			t.Errorf("%q and %q are both %s", slug, other, name)
		}
		names[name] = slug
		if again := strings.TrimPrefix(name, "loop-"); again != slug && tmux.Name(again) == name {
			t.Errorf("slug %q can be had as %q too", slug, again)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		slugs := rapid.SliceOfN(rapid.StringOf(rapid.RuneFrom([]rune("ab-_.x0é"))), 2, 2).Draw(t, "slugs")
		a, b := tmux.Name(slugs[0]), tmux.Name(slugs[1])
		if !validName.MatchString(a) || (a == b) != (slugs[0] == slugs[1]) {
			t.Fatalf("%q is %s, %q is %s", slugs[0], a, slugs[1], b)
		}
	})
}

func TestNamesAreKeptAsTheyAreGiven(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	var want []string
	for _, slug := range []string{"foo.js", "foo_js", "a:b", "é", "", strings.Repeat("a", 300)} {
		l := launch("key", sh("exec cat")...)
		l.Session = tmux.Name(slug)
		if _, err := s.Spawn(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		want = append(want, l.Session)
	}
	slices.Sort(want)
	got := strings.Split(person(t, s, "list-sessions", "-F", "#{session_name}"), "\n")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSessionIsAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	slug := strings.Repeat("long.", 60)
	l := launch("key", sh("exec cat")...)
	l.Session = tmux.Name(slug)
	made, err := s.Spawn(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(probe(t, s, l.Mark), made); diff != "" {
		t.Errorf("what was made is not what is there: %s", diff)
	}
	got := person(t, s, "list-panes", "-a", "-F", "#{session_name} #{window_width}x#{window_height} #{pane_current_path} #{@loop_launch} #{@loop_key}")
	if want := fmt.Sprintf("%s 200x50 / %s key", l.Session, l.Mark); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgramThatEndsAtOnceIsKept(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	var panes []tmux.Pane
	for i := range 60 {
		panes = append(panes, spawn(t, s, fmt.Sprint("item-", i), sh("exit 3")...))
	}
	for _, pane := range panes {
		if got, want := waitForDeath(t, s, pane).Exit, (proc.Exit{Code: 3}); got != want {
			t.Errorf("exit %+v, want %+v", got, want)
		}
	}
}

func TestHowAProgramEndedIsKnown(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	for line, want := range map[string]proc.Exit{
		"exit 0":         {},
		"exit 3":         {Code: 3},
		"exit 137":       {Code: 137},
		"kill -TERM $$ ": {Code: -1, Signal: syscall.SIGTERM},
		"kill -KILL $$ ": {Code: -1, Signal: syscall.SIGKILL},
		"kill -SEGV $$ ": {Code: -1, Signal: syscall.SIGSEGV},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			pane := spawn(t, s, strings.NewReplacer(" ", "-", "$", "x").Replace(line), sh(line)...)
			if got := waitForDeath(t, s, pane).Exit; got != want {
				t.Errorf("exit %+v, want %+v", got, want)
			}
			wantState(t, s, pane.Session, pane.Launch, tmux.Dead)
		})
	}
}

func TestMissingProgramIsADeadLaunch(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane := spawn(t, s, "item", "/no/such/program", "argument")
	if got := waitForDeath(t, s, pane).Exit; got.Code <= 0 {
		t.Errorf("exit %+v, want a status that is not 0", got)
	}
}

func TestTakenNameIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	mine, _ := recorder(t, s, "mine")
	person(t, s, "new-session", "-d", "-s", tmux.Name("theirs"), "cat")
	for _, slug := range []string{"mine", "theirs"} {
		l := launch(slug, sh("exec cat")...)
		if _, err := s.Spawn(t.Context(), l); !errors.Is(err, loop.ErrExists) {
			t.Errorf("%s: err = %v, want ErrExists", slug, err)
		}
		wantState(t, s, l.Session, l.Mark, tmux.Foreign)
	}
	if got := probe(t, s, mine.Launch); got.PID != mine.PID || got.Dead {
		t.Errorf("the occupant is %+v, was %+v", got, mine)
	}
	if panes, err := s.Probe(t.Context()); err != nil || len(panes) != 2 {
		t.Errorf("panes %+v, %v, want two", panes, err)
	}
}

func TestLaunchThatFailsHalfwayLeavesNothing(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	other, _ := recorder(t, s, "other")
	person(t, s, "set-hook", "-g", "after-new-session", "rename-session elsewhere")
	if _, err := s.Spawn(t.Context(), launch("item", sh("exec cat")...)); err == nil {
		t.Fatal("a launch whose session was renamed succeeded")
	}
	panes, err := s.Probe(t.Context())
	if err != nil || len(panes) != 1 || panes[0].Launch != other.Launch {
		t.Errorf("panes %+v, %v, want that of the other alone", panes, err)
	}
}

func TestSmallViewerElsewhereDoesNotShrinkALaunch(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	other, _ := recorder(t, s, "other")
	watch(t, s, other.Session, 2, 1, tmux.Viewer{Write: true})
	pane := spawn(t, s, "item", sh("exec cat")...)
	if got := person(t, s, "display-message", "-p", "-t", pane.ID, "#{pane_width}x#{pane_height}"); got != "200x50" {
		t.Errorf("the pane is %s", got)
	}
}

func TestNoSessionsAreNoError(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	for range 2 { // without a server, and with one
		if panes, err := s.Probe(t.Context()); err != nil || len(panes) != 0 {
			t.Errorf("panes %v, %v, want none", panes, err)
		}
		if err := s.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOddPanesAreSeenAsTheyAre(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	background := spawn(t, s, "background", script(t, "sleep 300 &\nexit 0")...)
	closed := spawn(t, s, "closed", script(t, "exec 0<&- 1>&- 2>&-\nexec sleep 300")...)
	stopped, _ := recorder(t, s, "stopped")
	person(t, s, "split-window", "-d", "-t", stopped.ID, "")
	id, err := proc.Of(stopped.PID)
	if err != nil {
		t.Fatal(err)
	}
	signal(t, id, syscall.SIGSTOP)
	wantState(t, s, stopped.Session, stopped.Launch, tmux.Live)
	waitForDeath(t, s, background)
	waitForDeath(t, s, closed)
	panes, err := s.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, pane := range panes {
		if pane.Launch == "" && (!pane.Dead || pane.PID != 0) {
			t.Errorf("an empty pane is %+v", pane)
		}
	}
}

func TestManySessionsAreOneQuestion(t *testing.T) {
	t.Parallel()
	overhear, calls := tmuxtest.Overhear(t)
	s := tmuxtest.New(t, overhear)
	if err := s.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "sessions")
	var lines strings.Builder
	for i := range 200 {
		lines.WriteString("new-session -d -s many-" + strconv.Itoa(i) + " ''\n")
	}
	if err := os.WriteFile(script, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	person(t, s, "source-file", script)
	pane := spawn(t, s, "item", sh("exec cat")...)
	before := len(calls())
	panes, err := s.Probe(t.Context())
	if err != nil || len(panes) != 201 {
		t.Errorf("%d panes, %v, want 201", len(panes), err)
	}
	if asked := calls()[before:]; len(asked) != 1 {
		t.Errorf("tmux was asked %d times: %q", len(asked), asked)
	}
	if got := panes.State(pane.Session, pane.Launch); got != tmux.Live {
		t.Errorf("the launch among them is %v", got)
	}
}
