package runner_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
	"github.com/loop-daemon/loop/internal/tmux/tmuxtest"
)

func TestOccupiedNameIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]func(h *house, pane string){
		"by what a person started": func(*house, string) {},
		"by what has marks for another": func(h *house, pane string) {
			h.person("set-option", "-p", "-t", pane, "@loop_launch", tmuxtest.Mark())
			h.person("set-option", "-p", "-t", pane, "@loop_key", "another")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			s := h.session(15)
			if err := h.server.Ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			pane := h.person("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", tmux.Name(s.WorkItem.Slug()), "--", "/bin/sleep", "600")
			mark(h, strings.TrimSpace(pane))
			before, err := h.server.Probe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out := h.Deliver(t.Context(), h.handover(s, true, "hello"))
			if out.Kind != loop.RunUnreached || !strings.Contains(out.Detail, "remove it: tmux -S") {
				t.Errorf("%s: %s", out.Kind, out.Detail)
			}
			if got, err := h.End(t.Context(), s, loop.Wish{Terminal: loop.TerminalKill}); err != nil || got.Found || got.Removed != "" {
				t.Errorf("its end found %+v, %v", got, err)
			}
			after, err := h.server.Probe(t.Context())
			if diff := cmp.Diff(before, after); err != nil || diff != "" {
				t.Errorf("the occupant did not stay as it was: %v, %s", err, diff)
			}
		})
	}
}

// The record of a session is gone, or was replaced, and its agent lives on: what is for the next session is not for that conversation.
func TestAnotherConversationInTheTerminalGetsNothing(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(h *house, old loop.Session){
		"that nobody told of":      func(*house, loop.Session) {},
		"that idles, by its hooks": func(h *house, old loop.Session) { h.waker(met(old)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			old := h.session(15)
			h.delivers(old, true, "the first")
			prepare(h, old)
			next := h.session(15)
			if next.HarnessSessionID == old.HarnessSessionID {
				t.Fatal("the two sessions have one conversation")
			}
			h.reads(next, loop.WaitOccupied)
			out := h.Deliver(t.Context(), h.handover(next, true, "not for you"))
			if out.Kind != loop.RunDeferred || out.Reason != loop.WaitOccupied || !strings.Contains(out.Detail, string(old.HarnessSessionID)) {
				t.Errorf("it is %s (%s): %s", out.Kind, out.Reason, out.Detail)
			}
			renamed := next
			renamed.PreviousSessionIDs = []loop.SessionID{old.HarnessSessionID}
			if r := h.Ready(t.Context(), renamed); r.Wait == loop.WaitOccupied {
				t.Errorf("the same session after it went on in another conversation waits: %s", r.Detail)
			}
			if err := syscall.Kill(h.pane(old).PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			h.delivers(next, true, "now for you")
			if all := strings.Join(h.prompts(), "\n"); strings.Contains(all, "not for you") || !strings.Contains(all, "now for you") {
				t.Errorf("agents were told\n%s", all)
			}
		})
	}
}

func TestSilentServerStopsEverything(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	pane := h.pane(s)
	server := parentOf(t, pane.PID)
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(server, syscall.SIGCONT) }()
	if r := h.Ready(within(t, time.Second), s); r.Wait != loop.WaitTerminal {
		t.Errorf("the session is %q: %s", r.Wait, r.Detail)
	}
	if _, err := h.End(within(t, time.Second), s, loop.Wish{}); err == nil {
		t.Error("a session was ended in a terminal that nobody knows anything of")
	}
	if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.reads(s, "")
	if now := h.pane(s); now.PID != pane.PID || now.Dead {
		t.Errorf("the pane was %+v and is %+v", pane, now)
	}
}

func TestPaneWhoseRecordIsLostIsTakenUpByItsMarks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "the first")
	pid := h.pane(s).PID
	if err := os.RemoveAll(filepath.Join(h.dir, "panes")); err != nil {
		t.Fatal(err)
	}
	h.delivers(s, false, "the second")
	if now := h.pane(s); now.PID != pid {
		t.Errorf("the second prompt went to process %d, not to %d", now.PID, pid)
	}
	if got, err := h.End(t.Context(), s, loop.Wish{}); err != nil || !got.Found {
		t.Errorf("the end of the session found %+v, %v", got, err)
	}
}

// edit changes what is on record of a session's pane, as a person could.
func (h *house) edit(s loop.Session, change func(record map[string]any)) {
	h.t.Helper()
	path := filepath.Join(h.dir, "panes", s.WorkItem.Slug()+".json")
	text, err := os.ReadFile(path)
	record := map[string]any{}
	if err = errors.Join(err, json.Unmarshal(text, &record)); err != nil {
		h.t.Fatal(err)
	}
	change(record)
	text, err = json.Marshal(record)
	if err = errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

func TestEditedRecordEndsNobodyElse(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	mine, other := h.session(1), h.session(2)
	h.delivers(mine, true, "hello")
	h.delivers(other, true, "hello")
	victim, mark := h.pane(other), h.Launched(other.WorkItem)
	h.edit(mine, func(record map[string]any) { record["launch"] = mark })
	if got, err := h.End(t.Context(), mine, loop.Wish{}); err != nil || !got.Found {
		t.Errorf("the session's own agent, which its marks tell: %+v, %v", got, err)
	}
	h.edit(mine, func(record map[string]any) { record["item"] = other.WorkItem.Ref() })
	if _, err := h.End(t.Context(), mine, loop.Wish{}); !errors.Is(err, loop.ErrInvalid) {
		t.Errorf("a record of another item: err = %v, want ErrInvalid", err)
	}
	if now := h.pane(other); now.Dead || now.PID != victim.PID {
		t.Errorf("the other's pane was %+v and is %+v", victim, now)
	}
}

func TestProgramOfAPersonInOurPaneIsLeftAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "hello")
	agent := h.pane(s)
	h.person("respawn-pane", "-k", "-t", agent.ID, "--", "/bin/sleep", "600")
	if _, err := h.End(t.Context(), s, loop.Wish{}); err != nil {
		t.Error(err)
	}
	if now := h.pane(s); now.Dead || now.PID == agent.PID {
		t.Errorf("the pane was %+v and is %+v, want the person's program in it", agent, now)
	}
	left, err := proc.Tree{Cookie: "LOOP_LAUNCH=" + agent.Launch}.Living()
	if err != nil || len(left) > 0 {
		t.Errorf("%d processes of the agent are left, %v", len(left), err)
	}
}

// A person's program may look like the agent: it may be another conversation of it. The pane has our marks still.
func TestProgramOfAPersonInOurPaneGetsNothing(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"after the agent ended": true, "in place of the agent": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, func(h *house) { h.settings.MaxLive = 1 })
			s, other := h.session(15), h.session(16)
			h.delivers(s, true, "hello")
			agent := h.pane(s)
			if ends {
				if err := syscall.Kill(agent.PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				tmuxtest.Eventually(t, "the agent's end", func() bool { return h.pane(s).Dead })
			}
			rule := strings.Repeat("─", 150)
			h.person("respawn-pane", "-k", "-t", agent.ID, "--", "/bin/sh", "-c", "echo '"+rule+"\n❯\u00a0\n"+rule+"'; exec cat > /dev/null")
			shown := func() string {
				screen, err := h.server.Screen(t.Context(), h.pane(s).Target())
				if err != nil {
					t.Fatal(err)
				}
				return screen
			}
			tmuxtest.Eventually(t, "an input line", func() bool { return strings.Contains(shown(), "❯\u00a0") })
			h.reads(s, loop.WaitOccupied)
			out := h.Deliver(t.Context(), h.handover(s, false, "not for you"))
			if out.Kind != loop.RunDeferred || out.Reason != loop.WaitOccupied || !strings.Contains(out.Detail, strconv.Itoa(h.pane(s).PID)) {
				t.Errorf("%+v, want it deferred, with the process that is there", out)
			}
			if text := shown(); strings.Contains(text, "not for you") {
				t.Errorf("it was typed:\n%s", text)
			}
			h.delivers(other, true, "hello") // what is not ours takes no place
		})
	}
}

func TestPaneThatAPersonAddedStays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "hello")
	h.person("split-window", "-d", "-t", h.pane(s).ID, "--", "/bin/sleep", "600")
	got, err := h.End(t.Context(), s, loop.Wish{Terminal: loop.TerminalKill})
	if err != nil || !got.Found || got.Retained == "" {
		t.Errorf("%+v, %v, want it to be found and its session to stay", got, err)
	}
	panes, err := h.server.Probe(t.Context())
	if err != nil || len(panes) != 2 {
		t.Fatalf("panes %+v, %v, want two", panes, err)
	}
	for _, p := range panes {
		if p.Dead != (p.Launch != "") {
			t.Errorf("%+v, want the agent's pane to be dead and the person's not", p)
		}
	}
}

func TestAgentsOfAServerThatWasKilledComeBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first, second := h.session(1), h.session(2)
	h.delivers(first, true, "the first")
	before := h.pane(first)
	if err := syscall.Kill(parentOf(t, before.PID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.delivers(second, true, "hello") // its pane has the id that the other's had
	if got := h.pane(second); got.ID != before.ID {
		t.Fatalf("the new pane is %s, not %s: this test tests nothing", got.ID, before.ID)
	}
	h.delivers(first, false, "the second")
	if now := h.pane(first); now.Dead || now.ID == before.ID || now.Launch == before.Launch {
		t.Errorf("it was %+v and is %+v", before, now)
	}
	if left, err := (proc.Tree{Cookie: "LOOP_LAUNCH=" + before.Launch}).Living(); err != nil || len(left) > 0 {
		t.Errorf("%d processes of the first launch are left, %v", len(left), err)
	}
	if h.told(loop.LogSessionRespawned) != 1 {
		t.Error("its return was not told")
	}
}

// A death is known by the process itself: tmux is silent here.
func TestDeathIsNoticedWithoutTmux(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	s := h.session(15)
	h.delivers(s, true, "hello")
	h.reads(s, "")
	h.live.Report(loop.Report{
		Event: loop.HookPrompt, Item: s.WorkItem, Harness: "claude", SessionID: s.HarnessSessionID, Launch: h.Launched(s.WorkItem),
	})
	agent := h.pane(s).PID
	server := parentOf(t, agent)
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(server, syscall.SIGCONT) }()
	if err := syscall.Kill(agent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the news", func() bool { return h.told(loop.LogHarnessTerminated) == 1 })
	if _, there := h.live.Presence(s.WorkItem); there {
		t.Error("its presence is believed in after its death")
	}
}

func TestOldestDeadTerminalsGoFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var dead []tmux.Pane
	for n := range 4 {
		s := h.session(n + 1)
		h.delivers(s, true, "hello")
		if n == 3 {
			continue // it lives on
		}
		if _, err := h.End(t.Context(), s, loop.Wish{}); err != nil {
			t.Fatal(err)
		}
		dead = append(dead, h.pane(s))
	}
	stranger, err := h.server.Spawn(t.Context(), tmux.Launch{Session: tmux.Name("theirs"), Mark: tmuxtest.Mark(), Key: "theirs", Argv: []string{"/bin/sh", "-c", "exit 0"}})
	if err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the stranger's end", func() bool {
		state, err := h.server.State(t.Context(), stranger.Session, stranger.Launch)
		return err == nil && state == tmux.Dead
	})
	if n, err := h.PruneTerminals(t.Context(), 2, time.Hour); err != nil || n != 1 {
		t.Errorf("%d things pruned, %v; want the oldest dead terminal", n, err)
	}
	panes, err := h.server.Probe(t.Context())
	if err != nil || len(panes) != 4 {
		t.Errorf("panes %+v, %v, want four", panes, err)
	}
	if _, there := panes.Find(dead[0].Launch); there {
		t.Error("the oldest dead terminal is still there")
	}
	if text, err := filepath.Glob(filepath.Join(h.dir, "transcripts", "*", "*.txt")); err != nil || len(text) != 3 {
		t.Errorf("transcripts %v, %v, want those of all that have ended", text, err)
	}
}

// Whatever happens to a terminal, no key is sent, which a viewer who only reads would stop on tmux 3.7, and nothing is asked of tmux
// that ends a server of some release.
func TestALifeIsAskedOfTmuxInSafeWords(t *testing.T) {
	t.Parallel()
	overhear, calls := tmuxtest.Overhear(t)
	h := newHouse(t, func(h *house) { h.tmux = append(h.tmux, overhear) })
	s := h.session(15)
	h.delivers(s, true, "hello")
	if err := syscall.Kill(h.pane(s).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tmuxtest.Eventually(t, "the death", func() bool { return h.pane(s).Dead })
	h.delivers(s, false, "hello again, kill-server; it says")
	if _, err := h.End(t.Context(), s, loop.Wish{}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.PruneTerminals(t.Context(), 0, time.Hour); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(calls(), "\n")
	for _, word := range []string{"new-session", "paste-buffer", "respawn-pane", "capture-pane", "kill-session"} {
		if !strings.Contains(all, word) {
			t.Errorf("%s was not asked for: this test tests less than it says", word)
		}
	}
	for _, word := range []string{"send-keys", "kill-server", "kill-pane", "respawn-pane -k", "switch-client", "window-size", "hello", " -L "} {
		if strings.Contains(all, word) {
			t.Errorf("tmux was called with %q:\n%s", word, all)
		}
	}
}

// parentOf returns the parent of a process.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Skip("the parent of a process is only looked up in /proc: ", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}
