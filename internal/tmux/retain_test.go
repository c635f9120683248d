package tmux_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// numbers are the lines of seq.
func numbers(last int) string {
	var b strings.Builder
	for n := range last {
		fmt.Fprintln(&b, n+1)
	}
	return b.String()
}

func TestTranscriptIsAllThatWasShown(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	for _, lines := range []int{3, 49, 50, 2049, 9000} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			t.Parallel()
			pane := spawn(t, s, fmt.Sprint("item-", lines), script(t, fmt.Sprintf("seq %d; exec cat", lines))...)
			waitForScreen(t, s, pane, fmt.Sprintf("\n%d\n", lines))
			got := transcript(t, s, pane)
			if diff := cmp.Diff(numbers(lines), strings.TrimRight(got, "\n")+"\n"); diff != "" {
				t.Errorf("transcript of %d bytes: %.500s", len(got), diff)
			}
		})
	}
}

// The server answers one at a time, so a long history is asked for in pieces.
func TestLongTranscriptLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	overhear, calls := tmuxtest.Overhear(t)
	s := tmuxtest.New(t, overhear)
	other, log := recorder(t, s, "other")
	pane := spawn(t, s, "item", script(t, "seq 50000; exec cat")...)
	waitForScreen(t, s, pane, "\n50000\n")
	before := len(calls())
	pasted := make(chan error, 1)
	go func() { pasted <- s.Paste(t.Context(), other.Target(), "meanwhile") }()
	got := transcript(t, s, pane)
	if err := <-pasted; err != nil {
		t.Error(err)
	}
	waitForRecord(t, log, len(frame("meanwhile")))
	whole := person(t, s, "capture-pane", "-p", "-J", "-S", "-", "-t", pane.ID) + "\n"
	if diff := cmp.Diff(whole, strings.TrimRight(got, "\n")+"\n"); diff != "" {
		t.Errorf("transcript of %d bytes, of %d: %.500s", len(got), len(whole), diff)
	}
	if kept := strings.Count(got, "\n"); kept < 18000 || !strings.HasSuffix(numbers(50000), whole) {
		t.Errorf("%d lines, want the last 18000 and more", kept)
	}
	slices := 0
	for _, call := range calls()[before:] {
		slice := slicePattern.FindStringSubmatch(call)
		if slice == nil {
			continue
		}
		slices++
		first, _ := strconv.Atoi(slice[1])
		if last, _ := strconv.Atoi(slice[2]); last-first >= 2000 {
			t.Errorf("%d lines were asked for at once", last-first+1)
		}
	}
	if slices < 9 {
		t.Errorf("the history was asked for in %d pieces", slices)
	}
}

var slicePattern = regexp.MustCompile(`capture-pane -p -J -S (-\d+) -E (-\d+) `)

func TestTranscriptOverTheLimitKeepsTheEnd(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane := spawn(t, s, "item", script(t, "seq 10000; exec cat")...)
	waitForScreen(t, s, pane, "\n10000\n")
	var b strings.Builder
	if err := s.Transcript(t.Context(), pane.Target(), &b, 1000); err != nil {
		t.Fatal(err)
	}
	note, kept, _ := strings.Cut(b.String(), "\n")
	if !strings.Contains(note, "dropped") || len(kept) > 1000 || len(kept) < 990 || !strings.Contains(kept, "\n9999\n10000\n") {
		t.Errorf("note %q, then %d bytes: %q", note, len(kept), kept)
	}
	if first, _, _ := strings.Cut(kept, "\n"); len(first) != 4 {
		t.Errorf("the first line %q is not whole", first)
	}
}

func TestWrappedLinesAreJoined(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	long := strings.Repeat("0123456789", 70)
	pane := spawn(t, s, "item", script(t, "echo "+long+"; exec cat")...)
	waitForScreen(t, s, pane, long+"\n")
	if got := transcript(t, s, pane); !strings.HasPrefix(got, long+"\n") {
		t.Errorf("transcript %q", got)
	}
}

func TestTranscriptHasBothScreens(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane := spawn(t, s, "item", tmuxtest.Recorder{Log: filepath.Join(t.TempDir(), "log"), Alternate: true}.Argv()...)
	waitForScreen(t, s, pane, tmuxtest.Ready)
	id, err := proc.Of(pane.PID)
	if err != nil {
		t.Fatal(err)
	}
	signal(t, id, syscall.SIGKILL)
	waitForDeath(t, s, pane)
	got := transcript(t, s, pane)
	before, after, found := strings.Cut(got, "[alternate screen]")
	if !found || !strings.Contains(before, "before the alternate screen") || !strings.Contains(after, "ended (signal 9)") {
		t.Errorf("transcript %q", got)
	}
}

func TestCaptureOfAnotherLaunchIsRefused(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, _ := recorder(t, s, "item")
	stranger := tmux.Target{Pane: pane.ID, Launch: tmuxtest.Mark()}
	_, err := s.Screen(t.Context(), stranger)
	wantRefused(t, err, &tmux.RefusedError{Target: stranger, State: tmux.Foreign})
	gone := tmux.Target{Pane: "%99", Launch: pane.Launch}
	wantRefused(t, s.Transcript(t.Context(), gone, new(strings.Builder), 1000), &tmux.RefusedError{Target: gone, State: tmux.Absent})
}

func TestRespawnKeepsPaneViewerAndHistory(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	old := endAfter(t, s, "item", "seq 100", "\n100\n")
	watch(t, s, old.Session, 200, 50, tmux.Viewer{})
	next := tmux.Target{Pane: old.ID, Launch: tmuxtest.Mark()}
	log := filepath.Join(t.TempDir(), "log")
	if err := s.Respawn(t.Context(), old.Target(), next.Launch, tmuxtest.Recorder{Log: log, Bracketed: true}.Argv()); err != nil {
		t.Fatal(err)
	}
	pane := probe(t, s, next.Launch)
	waitForScreen(t, s, pane, tmuxtest.Ready)
	if pane.ID != old.ID || pane.Dead || pane.Session != old.Session {
		t.Errorf("pane %+v, was %+v", pane, old)
	}
	if got := clients(t, s, pane.Session); len(got) != 1 || !got[0].ReadOnly {
		t.Errorf("viewers %+v, want the one that reads", got)
	}
	if got := transcript(t, s, pane); !strings.HasPrefix(got, "1\n2\n3\n") {
		t.Errorf("the history is lost: %q", got)
	}
	wantRefused(t, s.Respawn(t.Context(), old.Target(), tmuxtest.Mark(), sh("exec cat")), &tmux.RefusedError{Target: old.Target(), State: tmux.Foreign})
	wantRefused(t, s.Respawn(t.Context(), next, tmuxtest.Mark(), sh("exec cat")), &tmux.RefusedError{Target: next, State: tmux.Live})
	if now := probe(t, s, next.Launch); now.PID != pane.PID {
		t.Errorf("the program was replaced: %+v", now)
	}
}

func TestEndedLaunchIsShownAndTakesNoKeys(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane := endAfter(t, s, "item", "echo the last words", "the last words")
	if want := (proc.Exit{Code: 3}); pane.Exit != want {
		t.Errorf("exit %+v, want %+v", pane.Exit, want)
	}
	before := transcript(t, s, pane)
	viewer := watch(t, s, pane.Session, 200, 60, tmux.Viewer{}) // all of the window and the status line
	tmuxtest.Eventually(t, "how it ended", func() bool { return strings.Contains(viewer.shown(), "ended (status 3)") })
	if _, err := viewer.tty.WriteString("some keys\r\x03\x02x"); err != nil {
		t.Fatal(err)
	}
	wantState(t, s, pane.Session, pane.Launch, tmux.Dead)
	if diff := cmp.Diff(before, transcript(t, s, pane)); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyEndedSessionsAreRemoved(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	live, _ := recorder(t, s, "live")
	dead := waitForDeath(t, s, spawn(t, s, "dead", sh("exit 0")...))
	shared := waitForDeath(t, s, spawn(t, s, "shared", sh("exit 0")...))
	person(t, s, "split-window", "-d", "-t", shared.ID, "cat")
	stranger := tmux.Target{Pane: dead.ID, Launch: live.Launch}

	wantRefused(t, s.RemoveSession(t.Context(), live.Target()), &tmux.RefusedError{Target: live.Target(), State: tmux.Live})
	wantRefused(t, s.RemoveSession(t.Context(), stranger), &tmux.RefusedError{Target: stranger, State: tmux.Foreign})
	wantRefused(t, s.RemoveSession(t.Context(), shared.Target()), &tmux.RefusedError{Target: shared.Target(), State: tmux.Dead, Shared: true})
	if err := s.RemoveSession(t.Context(), dead.Target()); err != nil {
		t.Error(err)
	}
	wantState(t, s, dead.Session, dead.Launch, tmux.Absent)
	wantState(t, s, shared.Session, shared.Launch, tmux.Dead)
	wantState(t, s, live.Session, live.Launch, tmux.Live)
}
