package dispatch_test

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
)

// processes are those of a machine on which whoever calls is the process that it claims to be, until it is dead.
func (h *house) processes() session.LiveOptions {
	alive := func(p loop.Process) bool { return !slices.Contains(h.dead, p.PID) }
	return session.LiveOptions{
		Dir: filepath.Join(h.dir, "live"), Logger: slog.New(slog.DiscardHandler), Alive: alive,
		Prove: func(claimed, caller int) (loop.Process, bool) {
			p := loop.Process{PID: claimed, Start: 1, Boot: "this"}
			return p, claimed > 1 && claimed == caller && alive(p)
		},
	}
}

// program is a harness in a person's own terminal.
type program struct {
	h    *house
	pid  int
	id   loop.SessionID
	item loop.WorkItem // by the branch that it is on
	cwd  string
}

func (h *house) program(pid int, id loop.SessionID) program {
	return program{h, pid, id, shop15, "/"}
}

// tells reports what one of its hooks saw, and returns what the hook is to say.
func (p program) tells(event loop.HookEvent, change ...func(*loop.Report)) loop.HookAnswer {
	p.h.t.Helper()
	r := loop.Report{
		Event: event, Item: p.item, Harness: "claude", SessionID: p.id, PID: p.pid, Caller: p.pid, Cwd: p.cwd, Where: "pts/3", At: time.Now(),
	}
	for _, c := range change {
		c(&r)
	}
	a, err := p.h.d.Heard(p.h.t.Context(), r)
	p.h.must(err)
	synctest.Wait()
	return a
}

func source(s string) func(*loop.Report) { return func(r *loop.Report) { r.Source = s } }

// here wants the conversation of shop#15 to be one, and live in a process; 0 for nowhere.
func (h *house) here(id loop.SessionID, pid int) {
	h.t.Helper()
	if s := h.session(shop15); !s.Open() || s.HarnessSessionID != id {
		h.t.Errorf("the session of %s is %s (%s), want %s", shop15, s.HarnessSessionID, s.Status, id)
	}
	p, ok := h.live.Presence(shop15)
	if ok != (pid != 0) || p.Process.PID != pid {
		h.t.Errorf("%s is live in %d (%v), want %d", shop15, p.Process.PID, ok, pid)
	}
}

// says wants a note that holds the words; none for "".
func says(t *testing.T, a loop.HookAnswer, words string) {
	t.Helper()
	if (words == "") != (a.Note == "") || !strings.Contains(a.Note, words) {
		t.Errorf("the hook says %q, want %q in it", a.Note, words)
	}
}

// TestNothingIsPromisedThatDoesNotCome holds that a conversation which is not woken is not told that it will be.
func TestNothingIsPromisedThatDoesNotCome(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		a := h.program(21, "s-1").tells(loop.HookStart, source("startup"))
		says(t, a, "waits until this conversation is left")
		if a.Context != "" {
			t.Errorf("the agent is told %q", a.Context)
		}
	}, func(s *dispatch.Settings) { s.DeliverLive = false })
}

func TestAPersonsConversationIsRegisteredByItsStart(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		p := h.program(21, "s-1")
		a := p.tells(loop.HookStart, source("startup"))
		says(t, a, "what happens on github:acme/shop#15 comes into this conversation")
		if !strings.Contains(a.Context, "[loop") {
			t.Errorf("the agent is told %q", a.Context)
		}
		h.here("s-1", 21)
		if s := h.session(shop15); s.Runner != loop.RunnerHeadless || s.Cwd != "/" || s.Spawned {
			t.Errorf("registered %+v", s)
		}
		says(t, p.tells(loop.HookStart, source("compact")), "")
		says(t, p.tells(loop.HookPrompt), "")
		h.here("s-1", 21)
		p.tells(loop.HookEnd)
		h.here("s-1", 0)
		says(t, p.tells(loop.HookStart, source("resume")), "")
		h.here("s-1", 21)
		h.restart()
		h.here("s-1", 21)
	})
}

// What a run of ours tells, a process that nobody can watch, or a program on no item, registers nothing.
func TestNothingElseRegisters(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		p := h.program(21, "s-1")
		p.tells(loop.HookStart, func(r *loop.Report) { r.Run = "r-1" })
		p.tells(loop.HookStart, func(r *loop.Report) { r.Caller = 99 })
		p.tells(loop.HookStart, func(r *loop.Report) { r.Item = loop.WorkItem{} })
		p.tells(loop.HookStart, source("compact"))
		p.tells(loop.HookEnd)
		if s, ok := h.sessions.Find(shop15); ok {
			t.Errorf("registered %+v", s)
		}
		p.tells(loop.HookPrompt) // loopd was away at its start
		h.here("s-1", 21)
	})
}

func TestASecondTerminalIsToldWhereTheFirstIs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		first, same, other := h.program(21, "s-1"), h.program(22, "s-1"), h.program(23, "s-3")
		first.tells(loop.HookStart, source("startup"))
		says(t, same.tells(loop.HookStart, source("resume")), "open in another terminal (pts/3) already, process 21")
		says(t, other.tells(loop.HookStart, source("startup")), "process 21")
		says(t, other.tells(loop.HookPrompt), "")
		says(t, same.tells(loop.HookPrompt), "open in another terminal (pts/3) already, process 21")
		says(t, first.tells(loop.HookPrompt), "")
		h.here("s-1", 21)
		other.tells(loop.HookEnd)
		h.here("s-1", 21)
		first.tells(loop.HookEnd)
		h.here("s-1", 22)
		h.dead = append(h.dead, 22)
		h.here("s-1", 0)
		other.tells(loop.HookPrompt)
		h.here("s-1", 0)
		says(t, other.tells(loop.HookStart, source("startup")), "comes into this conversation")
		h.here("s-3", 23)
	})
}

func TestAnotherHarnessOnTheItemIsToldWhoHasIt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.program(21, "s-1").tells(loop.HookStart)
		a := h.program(22, "s-2").tells(loop.HookStart, func(r *loop.Report) { r.Harness = "codex" })
		says(t, a, "claude works on github:acme/shop#15")
		h.here("s-1", 21)
	})
}

func TestATerminalOfOursIsNamedToWhoOpensItsConversation(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		s := h.register(shop15)
		h.live.Report(loop.Report{Event: loop.HookStart, Item: shop15, Harness: "claude", SessionID: s.HarnessSessionID, Launch: "l-1"})
		says(t, h.program(21, s.HarnessSessionID).tells(loop.HookStart), "loopctl attach github:acme/shop#15 --write")
		says(t, h.program(22, "s-2").tells(loop.HookStart), "loopctl attach github:acme/shop#15 --write")
		if p, _ := h.live.Presence(shop15); p.Launch != "l-1" {
			t.Errorf("present is %+v", p)
		}
	}, terminals)
}

// The registration follows a conversation from id to id, and keeps those that it had.
func TestTheRegistrationFollowsTheConversation(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		p := h.program(21, "s-1")
		p.tells(loop.HookStart, source("startup"))
		p.tells(loop.HookEnd, source("clear"))
		p.id = "s-2"
		a := p.tells(loop.HookStart, source("clear"))
		says(t, a, "")
		if a.Context == "" {
			t.Error("the agent of the new conversation is told nothing")
		}
		h.here("s-2", 21)
		p.tells(loop.HookEnd, source("resume"))
		p.id = "s-3"
		p.tells(loop.HookStart, source("resume"))
		h.here("s-3", 21)
		p.tells(loop.HookEnd)

		forked := h.program(22, "s-4")
		forked.tells(loop.HookStart, source("fork"))
		h.here("s-4", 22)
		forked.tells(loop.HookEnd)

		elsewhere := h.program(23, "s-4") // claude --continue in another worktree
		elsewhere.cwd = "/tmp"
		elsewhere.tells(loop.HookStart, source("resume"))
		h.here("s-4", 23)
		s := h.session(shop15)
		if diff := cmp.Diff([]loop.SessionID{"s-1", "s-2", "s-3"}, s.PreviousSessionIDs); diff != "" || s.Cwd != "/tmp" {
			t.Errorf("cwd %s, previous ids (-want +got):\n%s", s.Cwd, diff)
		}
	})
}

// What a person has linked by hand counts more than the branch that the program is on.
func TestALinkByHandCountsMoreThanTheBranch(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		_, _, err := h.d.Register(t.Context(), dispatch.Registration{Item: shop15, Harness: "claude", SessionID: "s-1", Cwd: "/"})
		h.must(err)
		p := h.program(21, "s-1")
		p.item = loop.WorkItem{}
		p.tells(loop.HookPrompt)
		h.here("s-1", 21)
		p.item = mustItem("acme", "shop", 99)
		p.tells(loop.HookStop)
		h.here("s-1", 21)
		p.tells(loop.HookEnd, source("clear"))
		p.id, p.item = "s-2", loop.WorkItem{}
		p.tells(loop.HookStart, source("clear"))
		h.here("s-2", 21)
		if s, ok := h.sessions.Find(mustItem("acme", "shop", 99)); ok {
			t.Errorf("the branch was believed: %+v", s)
		}
	})
}

func TestAClosedSessionIsToldAndOpensAnewByItsStartAlone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		p := h.program(21, "s-1")
		p.tells(loop.HookStart, source("startup"))
		_, err := h.d.Close(t.Context(), shop15, "", true)
		h.must(err)
		says(t, p.tells(loop.HookPrompt), "the session of github:acme/shop#15 is closed (manual)")
		says(t, p.tells(loop.HookPrompt), "")
		p.tells(loop.HookStop)
		p.tells(loop.HookStart, source("compact"))
		p.tells(loop.HookStart, source("clear"))
		if s := h.session(shop15); s.Open() {
			t.Errorf("it is open again: %+v", s)
		}
		p.tells(loop.HookEnd)
		h.idle()
		says(t, p.tells(loop.HookStart, source("resume")), "comes into this conversation")
		h.here("s-1", 21)
		h.idle()
	})
}

func TestTheEndClosesOnlyWhereThatIsInstalled(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		closing := func(r *loop.Report) { r.CloseOnEnd = true }
		p := h.program(21, "s-1")
		p.tells(loop.HookStart)
		p.tells(loop.HookEnd)
		h.here("s-1", 0)
		p.tells(loop.HookStart)
		h.program(22, "s-1").tells(loop.HookEnd, closing) // another process
		p.tells(loop.HookEnd, closing, source("clear"))
		p.tells(loop.HookEnd, closing, func(r *loop.Report) { r.Run = "r-1" })
		h.here("s-1", 21)
		p.tells(loop.HookEnd, closing, source("prompt_input_exit"))
		if s := h.session(shop15); s.Open() || s.CloseReason != loop.CloseManual {
			t.Errorf("session is %s (%s), want closed by hand", s.Status, s.CloseReason)
		}
	})
}

// A person wins: the run that has their conversation is ended, and what it was for goes back, uncounted.
func TestAPersonTakesTheConversationFromARun(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]func(program) loop.HookAnswer{
		"by opening it":       func(p program) loop.HookAnswer { return p.tells(loop.HookStart, source("resume")) },
		"by being heard late": func(p program) loop.HookAnswer { p.tells(loop.HookPrompt); return loop.HookAnswer{Note: "ended"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *house) {
				s := h.register(shop15)
				id := h.comment(15, "one")
				run := h.only()
				if !h.live.Lease(shop15, run.Run) {
					t.Fatal("the run could not have the conversation")
				}
				h.runner.waits(shop15, loop.WaitElsewhere)
				says(t, notice(h.program(21, s.HarnessSessionID)), "ended")
				h.live.Release(shop15, run.Run)
				if d := h.is(id, loop.StateWaiting, loop.WaitElsewhere); d.Attempts != 0 {
					t.Errorf("it was counted: %+v", d)
				}
				h.idle()
				h.runner.waits(shop15, "")
				time.Sleep(time.Minute)
				h.told(h.only(), "one")
				h.only().done()
				h.is(id, loop.StateDone, "")
			})
		})
	}
}

// A run that ends after its session has moved on to another conversation does not move it back.
func TestARunDoesNotTakeTheSessionBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		h.comment(15, "one")
		run := h.only()
		h.program(21, "s-2").tells(loop.HookStart, source("startup"))
		run.done()
		h.here("s-2", 21)
	})
}

func TestAHookThatWaitsIsASignOfLife(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		_, _, err := h.d.Register(t.Context(), dispatch.Registration{Item: shop15, Harness: "claude", SessionID: "s-1", Cwd: "/"})
		h.must(err)
		type answer struct {
			wake loop.Wake
			ok   bool
		}
		wait := func(id loop.SessionID, pid int) <-chan answer {
			c := make(chan answer, 1)
			go func() {
				w, ok := h.d.Await(t.Context(), session.Waiter{Harness: "claude", SessionID: id, PID: pid, Caller: pid})
				c <- answer{w, ok}
			}()
			synctest.Wait()
			return c
		}
		if got := <-wait("s-9", 29); got.ok {
			t.Errorf("a stranger was woken: %+v", got)
		}
		woken := wait("s-1", 21)
		h.here("s-1", 21)
		if !h.live.Hand(shop15, "", loop.Wake{Text: "news"}) {
			t.Fatal("nobody waits")
		}
		if got := <-woken; got.wake.Text != "news" {
			t.Errorf("woken with %+v", got)
		}
		other := make(chan answer, 1)
		go func() {
			w, ok := h.d.Await(t.Context(), session.Waiter{Item: mustItem("acme", "shop", 16), Harness: "claude", SessionID: "s-6", PID: 26, Caller: 26, Cwd: "/"})
			other <- answer{w, ok}
		}()
		synctest.Wait()
		if s := h.session(mustItem("acme", "shop", 16)); s.HarnessSessionID != "s-6" || !h.live.Hand(s.WorkItem, "", loop.Wake{Text: "news"}) {
			t.Errorf("one who waits on an item without a session is not registered: %+v", s)
		}
		<-other
		h.settings.DeliverLive = false
		if got := <-wait("s-1", 21); got.ok {
			t.Errorf("woken while hooks are off: %+v", got)
		}
	})
}
