package tmux_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

func TestAttachReadsUnlessAskedToWrite(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	for _, tt := range []struct {
		viewer tmux.Viewer
		want   []string
		nested bool
	}{
		{tmux.Viewer{}, []string{"-r", "-t"}, false},
		{tmux.Viewer{Write: true}, []string{"-t"}, false},
		{tmux.Viewer{Tmux: "/tmp/tmux-0/default,12,0"}, []string{"-r", "-t"}, true},
	} {
		got, err := s.Attach("loop-item", tt.viewer)
		if err != nil {
			t.Fatal(err)
		}
		_, args, _ := strings.Cut(strings.Join(got.Argv, " "), "attach-session ")
		if diff := cmp.Diff(strings.Join(append(tt.want, "=loop-item:"), " "), args); diff != "" || got.Nested != tt.nested || !slices.Contains(got.Argv, s.Binary()) {
			t.Errorf("%+v: %+v %s", tt.viewer, got, diff)
		}
	}
}

func TestViewersNeverShrinkAWindow(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, _ := recorder(t, s, "item")
	watch(t, s, pane.Session, 40, 10, tmux.Viewer{})
	size := func() string {
		return person(t, s, "display-message", "-p", "-t", pane.ID, "#{window_width}x#{window_height}")
	}
	if got := size(); got != "200x50" {
		t.Errorf("with one that reads it is %s", got)
	}
	watch(t, s, pane.Session, 40, 10, tmux.Viewer{Write: true})
	if got := size(); got != "200x50" {
		t.Errorf("with one that writes it is %s", got)
	}
	got := clients(t, s, pane.Session)
	if len(got) != 2 || got[0].ReadOnly == got[1].ReadOnly || got[0].Activity.IsZero() {
		t.Errorf("clients %+v", got)
	}
}

func TestViewerOfARemovedSessionIsNotMoved(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	other, _ := recorder(t, s, "other")
	pane, _ := recorder(t, s, "item")
	viewer := watch(t, s, pane.Session, 80, 24, tmux.Viewer{})
	person(t, s, "kill-session", "-t", pane.SessionID)
	tmuxtest.Eventually(t, "the viewer's end", func() bool { return strings.Contains(viewer.shown(), "[exited]") })
	if got := clients(t, s, other.Session); len(got) != 0 {
		t.Errorf("the other session is watched by %+v", got)
	}
}

func TestAttachFromWithinMovesOnlyTheCaller(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	target, _ := recorder(t, s, "target")
	bystander, _ := recorder(t, s, "bystander")
	watch(t, s, bystander.Session, 80, 24, tmux.Viewer{Write: true})
	here := spawn(t, s, "here", sh("exec /bin/sh")...)
	caller := watch(t, s, here.Session, 80, 24, tmux.Viewer{Write: true})

	attach, err := s.Attach(target.Session, tmux.Viewer{
		Write: true, Tmux: fmt.Sprintf("%s,%d,0", s.Socket(), serverPID(t, s)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := caller.tty.WriteString(quoted(attach.Argv) + "\r"); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the caller", func() bool { return len(clients(t, s, target.Session)) == 1 })
	if got := clients(t, s, target.Session); !got[0].ReadOnly {
		t.Errorf("the caller may write: %+v", got)
	}
	if moved, left := clients(t, s, bystander.Session), clients(t, s, here.Session); len(moved) != 1 || moved[0].ReadOnly || len(left) != 0 {
		t.Errorf("bystander %+v, here %+v", moved, left)
	}
}

func TestAttachWithinAnotherTmux(t *testing.T) {
	t.Parallel()
	s, theirs := tmuxtest.New(t), tmuxtest.New(t)
	pane, _ := recorder(t, s, "item")
	attach, err := s.Attach(pane.Session, tmux.Viewer{Tmux: theirs.Socket() + ",1,0"})
	if err != nil || !attach.Nested {
		t.Fatalf("%+v, %v, want one that is nested", attach, err)
	}
	spawn(t, theirs, "shell", attach.Argv...)
	tmuxtest.Eventually(t, "the viewer", func() bool { return len(clients(t, s, pane.Session)) == 1 })
}

func TestPrintedCommandWorksAnywhere(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, _ := recorder(t, s, "item")
	line := s.AttachLine(pane.Session)
	if want := fmt.Sprintf("tmux -S %s attach -r -t '=%s'", s.Socket(), pane.Session); line != want {
		t.Errorf("the command is %s, want %s", line, want)
	}
	openTerminal(t, s, 80, 24, []string{"/bin/sh", "-c", "cd / && " + line}, "TMUX_TMPDIR=/nowhere", "LC_ALL=C")
	tmuxtest.Eventually(t, "the viewer", func() bool { return len(clients(t, s, pane.Session)) == 1 })
	if got := clients(t, s, pane.Session); !got[0].ReadOnly {
		t.Errorf("the viewer may write: %+v", got)
	}
}

// quoted is a command as it is typed into sh.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}
