package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// terminal is a person's own, with a program in it that has the conversation of shop#15 open.
type terminal struct {
	*bench
	*runner.Hosts
	t      *testing.T
	live   *session.Live
	child  *proc.Child
	home   string
	handed chan loop.Wake // what its hook was handed
	quit   context.CancelFunc
}

// newTerminal makes one, and hosts of which no headless run could be meant: its agent does what the steps say.
func newTerminal(t *testing.T, steps string) *terminal {
	t.Helper()
	child, err := proc.Start(proc.Program{Path: "sleep", Args: []string{"60"}})
	if err != nil {
		t.Fatal(err)
	}
	w := &terminal{bench: newBench(t, steps), t: t, child: child, home: t.TempDir(), handed: make(chan loop.Wake, 1)}
	w.Cwd = w.bench.Cwd
	t.Cleanup(w.exit)
	w.restart()
	return w
}

// restart makes what a loopd that has just started has.
func (w *terminal) restart() {
	w.t.Helper()
	var err error
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	if w.live, err = session.OpenLive(session.LiveOptions{Dir: filepath.Join(w.home, "live"), Logger: log}); err != nil {
		w.t.Fatal(err)
	}
	agents, err := harness.New(harness.Options{Agents: map[string]harness.Program{"claude": {Env: map[string]string{"HOME": w.home}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Hosts = runner.NewHosts(runner.HostsOptions{
		Headless: w.bench.open(w.t), Terminals: func() (*runner.Tmux, error) { return nil, errors.New("no tmux") }, Panes: w.home,
		Runs: w.Dir, Live: w.live, Agents: agents.Agent, Logger: log,
	})
}

// exit ends the program without a word.
func (w *terminal) exit() {
	_ = proc.Signal(w.child.ID(), syscall.SIGKILL)
	w.child.Reap()
}

// tells is a hook of the program that reports, of runs that a prompt shows.
func (w *terminal) tells(event loop.HookEvent, runs ...loop.RunID) {
	pid := w.child.ID().PID
	w.live.Report(loop.Report{
		Event: event, Item: w.handover("x").Session.WorkItem, Harness: "claude", SessionID: conversation, PID: pid, Caller: pid, Runs: runs,
	})
}

// clears has the program go on in another conversation.
func (w *terminal) clears(to loop.SessionID) {
	pid := w.child.ID().PID
	w.live.Report(loop.Report{
		Event: loop.HookStart, Source: "clear", Item: w.handover("x").Session.WorkItem, Harness: "claude", SessionID: to, PID: pid, Caller: pid,
	})
}

// waits has a hook of the program wait.
func (w *terminal) waits() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	w.quit = cancel
	pid, item := w.child.ID().PID, w.handover("x").Session.WorkItem
	arrived := w.live.Watch(item)
	go func() {
		if wake, ok := w.live.Wait(ctx, session.Waiter{Item: item, Harness: "claude", SessionID: conversation, PID: pid, Caller: pid}); ok {
			w.handed <- wake
		}
	}()
	<-arrived
}

// hands delivers a run and returns once the hook has it.
func (w *terminal) hands(run loop.RunID) (outcome <-chan loop.Outcome) {
	w.t.Helper()
	out := w.delivers(w.t.Context(), run)
	select {
	case wake := <-w.handed:
		if first, _, _ := strings.Cut(wake.Text, "\n"); first != run.Token()+" news for you" || !strings.HasSuffix(wake.Text, "look at -this\n\"now\"") {
			w.t.Errorf("the hook was handed\n%s", wake.Text)
		}
	case got := <-out:
		w.t.Fatalf("not handed: %+v", got)
	}
	return out
}

func (w *terminal) delivers(ctx context.Context, run loop.RunID) <-chan loop.Outcome {
	ho := w.handover(run)
	ho.Title = "news for you"
	out := make(chan loop.Outcome, 1)
	go func() { out <- w.Deliver(ctx, ho) }()
	return out
}

// ends wants an outcome, whatever else it tells.
func (w *terminal) ends(got loop.Outcome, kind loop.OutcomeKind, reason string) {
	w.t.Helper()
	want := loop.Outcome{Kind: kind, Reason: reason}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(loop.Outcome{}, "Detail", "SessionID", "Duration", "Turns")); diff != "" {
		w.t.Errorf("outcome, %q (-want +got):\n%s", got.Detail, diff)
	}
}

const run1 = loop.RunID("20260702-100000-123-abc234")

func TestAPromptGoesToTheHookThatWaitsElsewhere(t *testing.T) {
	t.Parallel()
	w := newTerminal(t, "answer")
	s := w.handover(run1).Session
	w.tells(loop.HookStart)
	w.tells(loop.HookPrompt)
	if r := w.Ready(t.Context(), s); r.Wait != loop.WaitBusy {
		t.Errorf("while a turn runs: %+v", r)
	}
	w.ends(<-w.delivers(t.Context(), run1), loop.RunDeferred, loop.WaitBusy)
	w.waits()
	if r := w.Ready(t.Context(), s); r.Wait != "" {
		t.Errorf("while a hook waits: %+v", r)
	}
	out := w.hands(run1)
	w.tells(loop.HookPrompt, run1)
	w.ends(<-out, loop.RunDone, "")
	if n := w.began(t); n != 0 {
		t.Errorf("%d headless runs were begun beside it", n)
	}
}

// A conversation that hooks tell of but in which none waits keeps its events back, and nothing is started beside it.
func TestWithoutAHookThatWaitsAPromptWaitsToo(t *testing.T) {
	t.Parallel()
	w := newTerminal(t, "answer")
	w.live.Report(loop.Report{
		Event: loop.HookStart, Item: w.handover("x").Session.WorkItem, Harness: "claude", SessionID: conversation, Where: "pts/3",
		PID: w.child.ID().PID, Caller: w.child.ID().PID, At: time.Now().Add(-time.Minute),
	})
	r := w.Ready(t.Context(), w.handover(run1).Session)
	if r.Wait != loop.WaitElsewhere || !strings.Contains(r.Detail, "a terminal that is not Loop's (pts/3), process") {
		t.Errorf("Ready: %+v", r)
	}
	w.ends(<-w.delivers(t.Context(), run1), loop.RunDeferred, loop.WaitElsewhere)
	w.exit()
	w.ends(<-w.delivers(t.Context(), "run-2"), loop.RunDone, "")
}

// Claude Code's own list counts where no hook is installed: for a person's terminal, and for one of Loop's whose session is headless
// now.
func TestNothingIsStartedBesideAProgramThatNoHookTellsOf(t *testing.T) {
	t.Parallel()
	for name, pane := range map[string]bool{"a person's terminal": false, "a terminal of Loop's": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			startsNothingBeside(t, pane)
		})
	}
}

func startsNothingBeside(t *testing.T, pane bool) {
	t.Helper()
	w := newTerminal(t, "answer")
	dir := filepath.Join(w.home, ".claude", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	id := w.child.ID()
	entry := fmt.Sprintf(`{"pid":%d,"procStart":"%d","sessionId":%q}`, id.PID, id.Start, conversation)
	if err := os.WriteFile(filepath.Join(dir, "1.json"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	if pane {
		s := w.handover(run1).Session
		record := fmt.Sprintf(`{"item":%q,"harness":"claude","harnessSessionId":%q,"launch":"l-1","process":{"pid":%d,"start":%d,"boot":%q}}`,
			s.WorkItem.Ref(), conversation, id.PID, id.Start, id.Boot)
		if err := os.WriteFile(filepath.Join(w.home, s.WorkItem.Slug()+".json"), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := w.Ready(t.Context(), w.handover(run1).Session)
	if r.Wait != loop.WaitElsewhere || !strings.Contains(r.Detail, "loopctl hooks install claude") || r.Again.IsZero() {
		t.Errorf("Ready: %+v", r)
	}
	w.ends(<-w.delivers(t.Context(), run1), loop.RunDeferred, loop.WaitElsewhere)
	w.exit()
	w.ends(<-w.delivers(t.Context(), "run-2"), loop.RunDone, "")
}

func TestAPromptIsOwedAgainWhenTheProgramGoesFirst(t *testing.T) {
	t.Parallel()
	w := newTerminal(t, "answer")
	w.tells(loop.HookStart)
	w.waits()
	out := w.hands(run1)
	w.exit()
	w.ends(<-out, loop.RunDeferred, loop.WaitUnconfirmed)
}

// What the program has written down counts, also where no hook could tell.
// What is live on the item may be another conversation than the session's: one whose session was replaced goes on in its terminal.
func TestAnotherConversationOnTheItemGetsNothing(t *testing.T) {
	t.Parallel()
	w := newTerminal(t, "answer")
	w.tells(loop.HookStart)
	w.waits()
	ho := w.handover(run1)
	ho.Session.HarnessSessionID = "another"
	if r := w.Ready(t.Context(), ho.Session); r.Wait != loop.WaitElsewhere || !strings.Contains(r.Detail, conversation) {
		t.Errorf("it is ready, or waits for %q: %s", r.Wait, r.Detail)
	}
	w.ends(w.Deliver(t.Context(), ho), loop.RunDeferred, loop.WaitElsewhere)
	ho.Session.PreviousSessionIDs = []loop.SessionID{conversation}
	if r := w.Ready(t.Context(), ho.Session); r.Wait != "" {
		t.Errorf("what the session's own conversation was before waits for %q: %s", r.Wait, r.Detail)
	}
}

// The program's record of a conversation tells that it was shown, whatever conversation it has gone on to since.
func TestTheRecordOfAConversationIsAReceipt(t *testing.T) {
	t.Parallel()
	for name, cleared := range map[string]bool{"the same": false, "cleared since": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTerminal(t, "answer")
			w.tells(loop.HookStart)
			w.waits()
			out := w.hands(run1)
			if cleared {
				w.clears("another")
			}
			dir := filepath.Join(w.home, ".claude", "projects", "shop")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			row := `{"type":"user","message":{"content":"` + run1.Token() + ` news"}}` + "\n"
			if err := os.WriteFile(filepath.Join(dir, conversation+".jsonl"), []byte(row), 0o600); err != nil {
				t.Fatal(err)
			}
			if !cleared { // else it lives on
				w.exit()
			}
			w.ends(<-out, loop.RunDone, "")
		})
	}
}

func TestAHandOverSurvivesARestart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		then   func(w *terminal)
		kind   loop.OutcomeKind
		reason string
	}{
		"seen before it ended":   {func(w *terminal) { w.tells(loop.HookPrompt, run1) }, loop.RunDone, ""},
		"the program goes first": {(*terminal).exit, loop.RunDeferred, loop.WaitUnconfirmed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTerminal(t, "answer")
			w.tells(loop.HookStart)
			w.waits()
			ctx, stop := context.WithCancel(t.Context())
			out := w.delivers(ctx, run1)
			<-w.handed
			stop()
			w.ends(<-out, loop.RunDetached, "")
			w.restart()
			settled := make(chan loop.Outcome, 1)
			go func() { settled <- w.Settle(t.Context(), w.handover(run1)) }()
			tt.then(w)
			w.ends(<-settled, tt.kind, tt.reason)
		})
	}
}

func TestGivingUpAHandOverEndsNoProgram(t *testing.T) {
	t.Parallel()
	w := newTerminal(t, "answer")
	w.tells(loop.HookStart)
	w.waits()
	out := w.hands(run1)
	if got, err := w.Terminate(t.Context(), run1); err != nil || !got.Found {
		t.Errorf("Terminate = %+v, %v", got, err)
	}
	w.ends(<-out, loop.RunEnded, "")
	if got, err := w.End(t.Context(), w.handover("x").Session, loop.Wish{}); err != nil || got.Found {
		t.Errorf("End = %+v, %v", got, err)
	}
	if !proc.Alive(w.child.ID()) {
		t.Error("a program that is not Loop's was ended")
	}
}

// A run that an earlier loopd has started is ended where somebody has opened its conversation meanwhile.
func TestAFoundRunGivesWayToAPerson(t *testing.T) {
	t.Parallel()
	w := newTerminal(t, "wait=ever")
	ctx, stop := context.WithCancel(t.Context())
	out := w.delivers(ctx, "run-1")
	await(t, w.file("run-1", "started.json"))
	if w.live.Writer(w.handover("x").Session.WorkItem) != "run-1" {
		t.Error("the run does not have the conversation")
	}
	w.ends(<-w.delivers(t.Context(), "run-2"), loop.RunDeferred, loop.WaitElsewhere)
	stop()
	w.ends(<-out, loop.RunDetached, "")
	w.restart()
	w.tells(loop.HookStart)
	w.ends(w.Settle(within(t, time.Minute), w.handover("run-1")), loop.RunEnded, "")
	w.wantGone(t, "run-1")
}
