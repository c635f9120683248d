package tmux_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// frame is what a program that asked for bracketed paste gets for a text.
func frame(text string) string {
	return tmuxtest.PasteBegins + strings.ReplaceAll(text, "\n", "\r") + tmuxtest.PasteEnds
}

func TestPasteArrivesAsOneFrame(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	for i, tt := range []struct{ name, text, want string }{
		{"lines, UTF-8 and what tmux or a shell could take for its own", "Grüße 你好 👍\n\t$HOME #{pid} `id` 'a' \"b\" \\x; c", ""},
		{"an end that is a separator", "fix this;", ""},
		{"an end that is an escape", `C:\`, `C:\ `},
		{"line ends of other systems", "a\r\nb\rc\u2028d\u2029e\u0085f\n\n", "a\nb\nc\nd\ne\nf"},
		{"an end of the paste inside the paste", "a\x1b[201~\rb\u009b201~c", "a[201~\nb201~c"},
		{"control characters", "a\x00\x01\x07\x08\x7f\u0090b", "ab"},
		{"no UTF-8", "a\xff\xfeb", "a\uFFFDb"},
		{"directions of writing", "a\u202eb\u2066c\u200fd", "abcd"},
		{"what agents take for commands", "!rm\n/clear", ""},
		{"as much as there may be", strings.Repeat("0123456789abcde\n", 1<<16-1) + "end", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pane, log := recorder(t, s, fmt.Sprint("item-", i))
			if err := s.Paste(t.Context(), pane.Target(), tt.text); err != nil {
				t.Fatal(err)
			}
			if err := s.Submit(t.Context(), pane.Target()); err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				tt.want = tt.text
			}
			want := frame(tt.want) + "\r"
			if got := waitForRecord(t, log, len(want)); got != want {
				t.Errorf("got %.200q, want %.200q", got, want)
			}
		})
	}
}

func TestCleanTextIsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text") + rapid.StringOf(rapid.RuneFrom([]rune("\\\n \u202e\u009b\x1b"))).Draw(t, "end")
		got := tmux.Clean(raw)
		odd := func(r rune) bool {
			return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, odd) || strings.HasSuffix(got, `\`) || strings.HasSuffix(got, "\n") {
			t.Fatalf("Clean(%q) = %q", raw, got)
		}
	})
}

func TestNothingToPasteIsInvalid(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, _ := recorder(t, s, "item")
	for _, text := range []string{"", "\x00\n ", strings.Repeat("x", 2<<20)} {
		if err := s.Paste(t.Context(), pane.Target(), text); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("paste %d bytes: err = %v, want ErrInvalid", len(text), err)
		}
	}
}

// On tmux 3.3 and older a paste into a dead pane ends the server with all sessions.
func TestPasteIntoAnEndedLaunchIsRefused(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	other, _ := recorder(t, s, "other")
	pane := waitForDeath(t, s, spawn(t, s, "item", sh("exit 0")...))
	want := &tmux.RefusedError{Target: pane.Target(), State: tmux.Dead}
	wantRefused(t, s.Paste(t.Context(), pane.Target(), "text"), want)
	wantRefused(t, s.Submit(t.Context(), pane.Target()), want)
	wantState(t, s, other.Session, other.Launch, tmux.Live)
	wantNoBuffers(t, s)
}

func TestLaunchThatEndsBetweenLoadAndPasteIsRefused(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	other, _ := recorder(t, s, "other")
	pane, _ := recorder(t, s, "item")
	person(t, s, "set-hook", "-g", "after-load-buffer", fmt.Sprintf("run-shell 'kill -9 %d; while [ $(%s -S %s display-message -p -t %s \"##{pane_dead}\") != 1 ]; do sleep .01; done'",
		pane.PID, s.Binary(), s.Socket(), pane.ID))
	wantRefused(t, s.Paste(t.Context(), pane.Target(), "text"), &tmux.RefusedError{Target: pane.Target(), State: tmux.Dead})
	wantState(t, s, other.Session, other.Launch, tmux.Live)
	wantNoBuffers(t, s)
}

func TestPasteForAnotherLaunchIsRefused(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, log := recorder(t, s, "item")
	stranger := tmux.Target{Pane: pane.ID, Launch: tmuxtest.Mark()}
	wantRefused(t, s.Paste(t.Context(), stranger, "text"), &tmux.RefusedError{Target: stranger, State: tmux.Foreign})
	gone := tmux.Target{Pane: "%99", Launch: pane.Launch}
	wantRefused(t, s.Paste(t.Context(), gone, "text"), &tmux.RefusedError{Target: gone, State: tmux.Absent})
	for _, bad := range []tmux.Target{{Pane: "loop-item", Launch: pane.Launch}, {Pane: pane.ID, Launch: ""}, {Pane: pane.ID, Launch: "},1}"}} {
		if err := s.Paste(t.Context(), bad, "text"); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("%+v: err = %v, want ErrInvalid", bad, err)
		}
	}
	if got := tmuxtest.Recorded(log); got != "" {
		t.Errorf("the program got %q", got)
	}
	wantNoBuffers(t, s)
}

// A pane keeps its marks when a person starts another program in it.
func TestNothingIsDoneToAProgramOfAPersonInAPaneOfOurs(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, _ := recorder(t, s, "item")
	log := filepath.Join(t.TempDir(), "log")
	person(t, s, append([]string{"respawn-pane", "-k", "-t", pane.ID, "--"}, tmuxtest.Recorder{Log: log, Bracketed: true}.Argv()...)...)
	now := probe(t, s, pane.Launch)
	waitForScreen(t, s, now, tmuxtest.Ready)
	for what, err := range map[string]error{
		"paste": s.Paste(t.Context(), pane.Target(), "text"), "submit": s.Submit(t.Context(), pane.Target()), "retain": s.Retain(t.Context(), pane.Target()),
		"remove":  s.RemoveSession(t.Context(), pane.Target()),
		"respawn": s.Respawn(t.Context(), pane.Target(), tmuxtest.Mark(), sh("exec cat")),
	} {
		t.Log(what)
		wantRefused(t, err, &tmux.RefusedError{Target: pane.Target(), State: tmux.Foreign})
	}
	if got := tmuxtest.Recorded(log); got != "" {
		t.Errorf("the person's program got %q", got)
	}
	wantNoBuffers(t, s)
}

func TestPasteIntoDisabledInputIsRefused(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, log := recorder(t, s, "item")
	person(t, s, "select-pane", "-d", "-t", pane.ID)
	wantRefused(t, s.Paste(t.Context(), pane.Target(), "text"), &tmux.RefusedError{Target: pane.Target(), State: tmux.Live, InputOff: true})
	if !probe(t, s, pane.Launch).InputOff {
		t.Error("the probe does not show that input is off")
	}
	person(t, s, "select-pane", "-e", "-t", pane.ID)
	if err := s.Paste(t.Context(), pane.Target(), "text"); err != nil {
		t.Fatal(err)
	}
	if got := waitForRecord(t, log, len(frame("text"))); got != frame("text") {
		t.Errorf("got %q", got)
	}
}

func TestPasteLeavesModes(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	text := map[string][]string{"view": {"echo shown"}}
	for name, enter := range map[string][]string{
		"copy": {"copy-mode", "-t"}, "clock": {"clock-mode", "-t"}, "view": {"run-shell", "-b", "-t"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pane, log := recorder(t, s, name)
			person(t, s, append(append(enter, pane.ID), text[name]...)...)
			tmuxtest.Eventually(t, "the mode", func() bool { return probe(t, s, pane.Launch).InMode })
			if err := s.Paste(t.Context(), pane.Target(), "a\nb"); err != nil {
				t.Fatal(err)
			}
			if got := waitForRecord(t, log, len(frame("a\nb"))); got != frame("a\nb") {
				t.Errorf("got %q", got)
			}
			if probe(t, s, pane.Launch).InMode {
				t.Error("the pane is still in its mode")
			}
		})
	}
}

func TestPasteReachesOnlyItsPane(t *testing.T) {
	t.Parallel()
	for name, rearrange := range map[string]func(t *testing.T, s *tmux.Server, pane tmux.Pane, helper []string){
		"a person split the window and looks elsewhere": func(t *testing.T, s *tmux.Server, pane tmux.Pane, helper []string) {
			person(t, s, append([]string{"split-window", "-t", pane.ID, "--"}, helper...)...)
		},
		"what is typed goes to all panes": func(t *testing.T, s *tmux.Server, pane tmux.Pane, helper []string) {
			person(t, s, append([]string{"split-window", "-t", pane.ID, "--"}, helper...)...)
			person(t, s, "set-option", "-w", "-t", pane.ID, "synchronize-panes", "on")
		},
		"a person opened another window": func(t *testing.T, s *tmux.Server, pane tmux.Pane, helper []string) {
			person(t, s, append([]string{"new-window", "-t", "=" + pane.Session + ":", "--"}, helper...)...)
		},
		"the pane was moved to another session": func(t *testing.T, s *tmux.Server, pane tmux.Pane, helper []string) {
			person(t, s, append([]string{"split-window", "-t", pane.ID, "--"}, helper...)...)
			person(t, s, "new-session", "-d", "-s", "mine", "cat")
			person(t, s, "break-pane", "-d", "-s", pane.ID, "-t", "mine:")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tmuxtest.New(t)
			pane, log := recorder(t, s, "item")
			otherLog := filepath.Join(t.TempDir(), "other")
			rearrange(t, s, pane, tmuxtest.Recorder{Log: otherLog}.Argv())
			if err := s.Paste(t.Context(), pane.Target(), "text"); err != nil {
				t.Fatal(err)
			}
			if got := waitForRecord(t, log, len(frame("text"))); got != frame("text") {
				t.Errorf("got %q", got)
			}
			if got := tmuxtest.Recorded(otherLog); got != "" {
				t.Errorf("another pane got %q", got)
			}
			wantState(t, s, pane.Session, pane.Launch, tmux.Live)
		})
	}
}

// Names that begin alike, and a window of the name, are what bare targets of tmux would hit.
func TestAbsentSessionTakesNothingWithIt(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	longer, log := recorder(t, s, "ab")
	person(t, s, "rename-window", "-t", longer.ID, tmux.Name("a"))
	wantState(t, s, tmux.Name("a"), tmuxtest.Mark(), tmux.Absent)
	gone := tmux.Target{Pane: "%7", Launch: tmuxtest.Mark()}
	wantRefused(t, s.Paste(t.Context(), gone, "text"), &tmux.RefusedError{Target: gone, State: tmux.Absent})
	wantRefused(t, s.RemoveSession(t.Context(), gone), &tmux.RefusedError{Target: gone, State: tmux.Absent})
	if _, err := s.Clients(t.Context(), tmux.Name("a")); !errors.Is(err, loop.ErrNotFound) {
		t.Errorf("clients of an absent session: err = %v, want ErrNotFound", err)
	}
	wantState(t, s, longer.Session, longer.Launch, tmux.Live)
	if got := tmuxtest.Recorded(log); got != "" {
		t.Errorf("the neighbour got %q", got)
	}
}

func TestParallelPastesStayApart(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	var group errgroup.Group
	for i := range 8 {
		pane, log := recorder(t, s, fmt.Sprint("item-", i))
		group.Go(func() error {
			var want strings.Builder
			for n := range 5 {
				text := fmt.Sprintf("event %d of %d\n", n, i) + strings.Repeat("x", 5000)
				want.WriteString(frame(text))
				if err := s.Paste(t.Context(), pane.Target(), text); err != nil {
					return err
				}
			}
			if diff := cmp.Diff(want.String(), waitForRecord(t, log, len(want.String()))); diff != "" {
				return errors.New(diff)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	wantNoBuffers(t, s)
}

func TestReadOnlyViewerDoesNotStopPastes(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, log := recorder(t, s, "item")
	watch(t, s, pane.Session, 80, 24, tmux.Viewer{})
	if err := s.Paste(t.Context(), pane.Target(), "text"); err != nil {
		t.Fatal(err)
	}
	if err := s.Submit(t.Context(), pane.Target()); err != nil {
		t.Fatal(err)
	}
	if got, want := waitForRecord(t, log, len(frame("text"))+1), frame("text")+"\r"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStoppedProgramGetsItsPasteLater(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	log := filepath.Join(t.TempDir(), "recorded")
	deaf := spawn(t, s, "deaf", tmuxtest.Recorder{Log: log, Bracketed: true, Deaf: true}.Argv()...)
	waitForScreen(t, s, deaf, tmuxtest.Ready)
	if err := s.Paste(t.Context(), deaf.Target(), strings.Repeat("x", 1<<20)); err != nil {
		t.Errorf("a program that does not read: %v", err)
	}
	wantState(t, s, deaf.Session, deaf.Launch, tmux.Live)
	if id, err := proc.Of(deaf.PID); err != nil || proc.Signal(id, syscall.SIGKILL) != nil {
		t.Fatal(err)
	}
	waitForDeath(t, s, deaf)
}

func TestLeftBuffersAreDropped(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	recorder(t, s, "item")
	person(t, s, "set-buffer", "-b", "loop-0123456789abcdef", "left")
	person(t, s, "set-buffer", "-b", "mine", "kept")
	if err := s.DropBuffers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := person(t, s, "list-buffers", "-F", "#{buffer_name}"); got != "mine" {
		t.Errorf("buffers %q, want mine alone", got)
	}
}

func wantRefused(t *testing.T, err error, want *tmux.RefusedError) {
	t.Helper()
	got, ok := errors.AsType[*tmux.RefusedError](err)
	if !ok || !errors.Is(err, loop.ErrConflict) {
		t.Errorf("err = %v, want %v", err, want)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func wantNoBuffers(t *testing.T, s *tmux.Server) {
	t.Helper()
	if got := person(t, s, "list-buffers"); got != "" {
		t.Errorf("buffers are left: %s", got)
	}
}
