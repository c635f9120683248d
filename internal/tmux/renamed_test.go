package tmux_test

import (
	"fmt"
	"testing"

	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

func TestRenamedSessionIsWatchedByItsID(t *testing.T) {
	t.Parallel()
	s := tmuxtest.New(t)
	pane, _ := recorder(t, s, "item")
	recorder(t, s, "other")
	person(t, s, "rename-session", "-t", pane.ID, "mine; 'all' mine")
	panes, err := s.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pane, found := panes.Find(pane.Launch)
	if !found || pane.Session == tmux.Name("item") {
		t.Fatalf("the renamed session's pane is %+v", pane)
	}
	watch(t, s, pane.SessionID, 80, 24, tmux.Viewer{})
	if got := clients(t, s, pane.SessionID); len(got) != 1 || !got[0].ReadOnly {
		t.Errorf("it is watched by %+v", got)
	}

	here := spawn(t, s, "here", sh("exec /bin/sh")...)
	caller := watch(t, s, here.Session, 80, 24, tmux.Viewer{Write: true})
	attach, err := s.Attach(pane.SessionID, tmux.Viewer{Tmux: fmt.Sprintf("%s,%d,0", s.Socket(), serverPID(t, s))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := caller.tty.WriteString(quoted(attach.Argv) + "\r"); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the caller from within", func() bool { return len(clients(t, s, pane.SessionID)) == 2 })
}
