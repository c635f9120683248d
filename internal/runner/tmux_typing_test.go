package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

// A return goes to whatever is on the screen, and is a yes to a dialog.
func TestDialogThatComesAfterThePasteIsNotConfirmed(t *testing.T) {
	t.Parallel()
	dialog := file(filepath.Join(t.TempDir(), "dialog"))
	st := newStage(t, tmuxtest.Composer{Dialog: string(dialog)})
	s := st.session(15)
	st.delivers(s, true, "the first")
	st.seen = func(harness.Screen) {
		st.seen = func(harness.Screen) {}
		st.opens(s, dialog)
	}
	out := st.Deliver(t.Context(), st.handover(s, false, "the second"))
	if out.Kind != loop.RunDeferred || out.Reason != loop.WaitUnconfirmed {
		t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
	st.reads(s, loop.WaitDialog)
	st.wantPrompts(s, "the first")
	dialog.remove(t)
	st.reads(s, "")
	st.delivers(s, false, "the second")
	st.wantPrompts(s, "the first", "the second")
}

func TestDialogThatFollowsTheReturnIsNotConfirmed(t *testing.T) {
	t.Parallel()
	for name, swallowed := range map[string]bool{"of the prompt's own turn": false, "when the return was swallowed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overhear, calls := tmuxtest.Overhear(t)
			dir := t.TempDir()
			dialog, swallows := file(filepath.Join(dir, "dialog")), file(filepath.Join(dir, "swallows"))
			if swallowed {
				swallows.make(t)
			}
			c := tmuxtest.Composer{Dialog: string(dialog), Asks: !swallowed, Swallows: string(swallows)}
			st := newStage(t, c, func(h *house) { h.tmux = append(h.tmux, overhear) })
			s := st.session(15)
			st.records = func() bool { return !dialog.there() }
			opened := false
			st.seen = func(harness.Screen) {
				if swallowed && !opened && count(calls(), "load-buffer") == 3 { // its first line, the rest, and the return
					opened = true
					st.opens(s, dialog)
				}
			}
			ended := make(chan loop.Outcome, 1)
			go func() { ended <- st.Deliver(t.Context(), st.handover(s, true, "only once")) }()
			tmuxtest.Eventually(t, "the dialog", dialog.there)
			probes := count(calls(), "list-panes")
			tmuxtest.Eventually(t, "the wait for a receipt", func() bool { return count(calls(), "list-panes") > probes+2 })
			for _, took := range st.took(s) {
				if took.Kind == "dialog" {
					t.Errorf("the dialog was answered with %q", took.Text)
				}
			}
			dialog.remove(t)
			if out := <-ended; swallowed {
				swallows.remove(t)
				if out.Kind != loop.RunDeferred || out.Reason != loop.WaitUnconfirmed {
					t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
				}
				st.delivers(s, false, "only once")
			} else if out.Kind != loop.RunDone {
				t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
			}
			st.wantPrompts(s, "only once")
		})
	}
}

// opens has a dialog open in the pane of a session.
func (st *stage) opens(s loop.Session, dialog file) {
	dialog.make(st.t)
	tmuxtest.Eventually(st.t, "the dialog", func() bool {
		screen, err := st.server.Screen(st.t.Context(), st.pane(s).Target())
		return err == nil && strings.Contains(screen, "❯ 1. Yes")
	})
}

func count(lines []string, word string) (n int) {
	for _, line := range lines {
		n += strings.Count(line, word)
	}
	return n
}

func TestDraftThatIsBegunMeanwhileIsLeftAlone(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Composer{})
	s := st.session(15)
	st.delivers(s, true, "the first")
	st.reads(s, "")
	ho := st.handover(s, false, "beside a draft")
	ho.Began = func() {
		if err := st.server.Paste(t.Context(), st.pane(s).Target(), "half a thought"); err != nil {
			t.Error(err)
		}
		st.reads(s, loop.WaitDraft)
	}
	if out := st.Deliver(t.Context(), ho); out.Kind != loop.RunDeferred || out.Reason != loop.WaitDraft {
		t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
	screen, err := st.server.Screen(t.Context(), st.pane(s).Target())
	if err != nil || !strings.Contains(screen, tmuxtest.InputLine+"half a thought\n") {
		t.Errorf("the draft has changed (%v):\n%s", err, screen)
	}
	st.wantPrompts(s, "the first")
}

// An agent takes a return that follows a paste at once for a part of it. Composers do so for a tenth of a second.
func TestReturnIsNotSentRightBehindAPaste(t *testing.T) {
	t.Parallel()
	overhear, calls := tmuxtest.Overhear(t)
	st := newStage(t, tmuxtest.Composer{}, func(h *house) { h.tmux = append(h.tmux, overhear) })
	s := st.session(15)
	var looks []time.Time // at the prompt in the input line, before the return
	st.seen = func(harness.Screen) {
		if count(calls(), "load-buffer") == 2 { // its first line, and the rest
			looks = append(looks, time.Now())
		}
	}
	st.delivers(s, true, "the first")
	if n := len(looks); n < 2 {
		t.Errorf("it was looked at %d times, want once to see it and once more right before the return", n)
	} else if pause := looks[n-1].Sub(looks[n-2]); pause < 100*time.Millisecond {
		t.Errorf("it is seen only %v before the return", pause)
	}
	st.wantPrompts(s, "the first")
}

func TestFiftyPromptsAreSubmittedOnceEach(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Composer{})
	var group errgroup.Group
	for n := 1; n <= 5; n++ {
		s := st.session(n)
		var want []string
		for i := range 10 {
			want = append(want, fmt.Sprintf("event %d for %d", i, n)+strings.Repeat("\nof many lines", i%2*20))
		}
		group.Go(func() error {
			for i, prompt := range want {
				if err := st.insists(st.Tmux, s, i == 0, prompt); err != nil {
					return err
				}
			}
			return nil
		})
		defer func() { st.wantPrompts(s, want...) }()
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTwoLoopdsTypeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Composer{})
	s := st.session(15)
	st.delivers(s, true, "the first")
	second, err := runner.NewTmux(st.options)
	if err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	for name, host := range map[string]*runner.Tmux{"one": st.Tmux, "two": second} {
		group.Go(func() error {
			for i := range 5 {
				if err := st.insists(host, s, false, fmt.Sprintf("event %d of loopd %s", i, name)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	next := map[string]int{}
	for _, took := range st.took(s)[1:] {
		_, said, _ := strings.Cut(took.Text, "\n\n")
		_, name, _ := strings.Cut(said, "of loopd ")
		if want := fmt.Sprintf("event %d of loopd %s", next[name], name); took.Kind != "prompt" || said != want {
			t.Errorf("the agent took %q, want %q", took.Text, want)
		}
		next[name]++
	}
	if next["one"] != 5 || next["two"] != 5 {
		t.Errorf("the agent took %v prompts of 5 each", next)
	}
}

func TestAgentThatDoesNotReadGetsItsPromptOnce(t *testing.T) {
	t.Parallel()
	overhear, calls := tmuxtest.Overhear(t)
	deaf := file(filepath.Join(t.TempDir(), "deaf"))
	deaf.make(t)
	st := newStage(t, tmuxtest.Composer{Deaf: string(deaf)}, func(h *house) { h.tmux = append(h.tmux, overhear) })
	s := st.session(15)
	for fresh := range []bool{true, false} {
		out := st.Deliver(t.Context(), st.handover(s, fresh == 0, "only once"))
		if out.Kind != loop.RunDeferred || out.Reason != loop.WaitUnconfirmed {
			t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
		}
		st.reads(s, loop.WaitUnconfirmed)
		// What a program does not read the server keeps, so that must not become more with each try.
		if n := count(calls(), "load-buffer"); n != 2 {
			t.Errorf("%d pastes, want those of the one prompt's two parts", n)
		}
	}
	deaf.remove(t)
	st.reads(s, "")
	st.delivers(s, false, "only once")
	st.wantPrompts(s, "only once")
}

func TestPromptTooLongForATerminalIsAFile(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Composer{})
	s := st.session(15)
	long := strings.Repeat("a line of a long text\n", 20<<10) + "and its end"
	st.delivers(s, true, long)
	st.wantPrompts(s, long)
	tooLong := strings.Repeat("x", 1<<20) + "y"
	st.delivers(s, false, tooLong)
	got := st.took(s)
	if len(got) != 2 || len(got[1].Text) > 1000 {
		t.Fatalf("the agent took %d prompts: %.300q", len(got), got)
	}
	for word := range strings.FieldsSeq(got[1].Text) {
		if path := strings.Trim(word, ":"); filepath.IsAbs(path) {
			if text, err := os.ReadFile(path); err != nil || string(text) != tooLong {
				t.Errorf("%s has %d bytes, %v, want %d", path, len(text), err, len(tooLong))
			}
			return
		}
	}
	t.Errorf("the prompt names no file: %q", got[1].Text)
}

func TestDisabledInputIsWaitedFor(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Composer{})
	s := st.session(15)
	st.delivers(s, true, "the first")
	st.reads(s, "")
	pane := st.pane(s)
	st.person("select-pane", "-d", "-t", pane.ID)
	if r := st.Ready(t.Context(), s); r.Wait != loop.WaitDialog || !strings.Contains(r.Detail, "select-pane -d") {
		t.Errorf("%q: %s", r.Wait, r.Detail)
	}
	if out := st.Deliver(t.Context(), st.handover(s, false, "the second")); out.Kind != loop.RunDeferred {
		t.Errorf("%s (%s): %s", out.Kind, out.Reason, out.Detail)
	}
	st.person("select-pane", "-e", "-t", pane.ID)
	st.delivers(s, false, "the second")
	st.wantPrompts(s, "the first", "the second")
}

func TestAgentThatStartsSlowlyIsWaitedFor(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Composer{Starts: 3 * time.Second})
	s := st.session(15)
	var shown atomic.Bool
	st.seen = func(harness.Screen) { shown.Store(true) }
	st.delivers(s, true, "once it listens")
	if !shown.Load() {
		t.Error("it was submitted unseen")
	}
	st.wantPrompts(s, "once it listens")
	if state, err := st.server.State(t.Context(), tmux.Name(s.WorkItem.Slug()), st.Launched(s.WorkItem)); state != tmux.Live {
		t.Errorf("it is %s, %v", state, err)
	}
}
