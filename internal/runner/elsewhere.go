package runner

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
)

// elsewhere hands prompts to conversations that are live in terminals which Loop does not own: through the hook that waits there, or
// not at all. Nothing is typed into such a terminal, and nothing in it is ended.
type elsewhere struct {
	runs   string
	live   Live
	agents func(name string) (harness.Agent, error)
	logger *slog.Logger
	stops  stops
}

// ready says whether a hook waits in the conversation, else what its turn has to come to first.
func (e *elsewhere) ready(s loop.Session, here loop.Presence) loop.Readiness {
	r := loop.Readiness{Again: time.Now().Add(lookAgain), Changed: e.live.Watch(s.WorkItem)}
	switch {
	case !owns(s, here.Harness, here.SessionID):
		r.Wait, r.Detail = loop.WaitElsewhere, fmt.Sprintf("conversation %s of %s, which is not the session's, is open in %s", here.SessionID, here.Harness, placeOf(here))
	case here.Waker:
		return loop.Readiness{}
	case here.Turn == loop.TurnBusy:
		r.Wait, r.Detail = loop.WaitBusy, "a turn runs in "+placeOf(here)
	case here.Turn == loop.TurnIdle && time.Since(here.Since) < armTime:
		r.Wait, r.Detail = loop.WaitStarting, "its hook is about to wait for events"
	default:
		r.Wait, r.Detail = loop.WaitElsewhere, "the conversation is open in "+placeOf(here)+", and no hook of it waits for events"
	}
	return r
}

// placeOf names the terminal of a conversation to a person.
func placeOf(here loop.Presence) string {
	where := "a terminal that is not Loop's"
	if here.Launch != "" {
		where = "a terminal of Loop's"
	}
	if here.Where != "" {
		where += " (" + here.Where + ")"
	}
	if here.Process.PID != 0 {
		where += fmt.Sprintf(", process %d", here.Process.PID)
	}
	return where
}

// Deliver hands a prompt to the hook that waits in the conversation, and waits for the word that the harness has shown it. Until
// then it is owed: when the program goes first, the outcome is RunDeferred and the next look finds another way.
func (e *elsewhere) deliver(ctx context.Context, ho loop.Handover, here loop.Presence) loop.Outcome {
	stopped, done := e.stops.add(ho.Run)
	defer done()
	if r := e.ready(ho.Session, here); r.Wait != "" {
		return loop.Outcome{Kind: loop.RunDeferred, Reason: r.Wait, Detail: r.Detail}
	}
	process := proc.Identity(here.Process)
	given := hand{
		Item: ho.Session.WorkItem.Ref(), Launch: here.Launch, Process: &process, By: byHook, Token: ho.Run, At: time.Now().UTC(),
	}
	if out := given.prepare(e.runs, ho); out != nil {
		return *out
	}
	if isDone(stopped) {
		return endedBefore()
	}
	text := ho.Run.Token() + " " + tmux.Clean(ho.Title) + "\n\n" + tmux.Clean(ho.Prompt)
	if !e.live.Hand(ho.Session.WorkItem, here.Launch, loop.Wake{Run: ho.Run, Title: ho.Title, Text: text}) {
		return *hookGone()
	}
	if ho.Handed != nil {
		ho.Handed()
	}
	return e.receipt(ctx, ho, given, stopped)
}

// receipt waits for the word that the harness has shown a prompt that it was given.
func (e *elsewhere) receipt(ctx context.Context, ho loop.Handover, given hand, stopped <-chan struct{}) loop.Outcome {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := make(chan struct{})
	go func() { // ends with the program, or with this call
		_ = proc.Wait(watching, *given.Process)
		close(gone)
	}()
	defer func() { cancel(); <-gone }()
	for {
		changed := e.live.Watch(ho.Session.WorkItem)
		left := !proc.Alive(*given.Process)
		if e.seen(ho.Session, given) { // looked for after the end too: that is the last word
			return loop.Outcome{Kind: loop.RunDone, Detail: "the conversation has it", SessionID: e.conversation(ho.Session, given), CostUSD: ho.Session.CostUSD}
		}
		switch {
		case left:
			return loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitUnconfirmed, Detail: "the program ended before it showed what it was given"}
		case e.lost(ho.Session, given):
			return loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitUnconfirmed, Detail: "it idles and has not shown what it was given"}
		case isDone(stopped):
			return loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request before it was seen"}
		case !pauseFor(ctx, receiptLook, changed, stopped, gone):
			return loop.Outcome{Kind: loop.RunDetached}
		}
	}
}

// seen reports whether the harness has shown the prompt of a run.
func (e *elsewhere) seen(s loop.Session, given hand) bool {
	agent, err := e.agents(s.Harness)
	if err != nil {
		return e.live.Shown(given.Token)
	}
	term, _ := agent.(harness.Terminal)
	seen, err := given.seen(e.live, term, conversations(s, e.conversation(s, given)))
	if err != nil {
		e.logger.Warn("whether a prompt was seen can't be told yet", "item", given.Item, "run", given.Token, "err", err)
	}
	return seen
}

// conversation is the one that the program has open, which a person may have cleared since.
func (e *elsewhere) conversation(s loop.Session, given hand) loop.SessionID {
	if here, ok := e.live.Presence(s.WorkItem); ok && proc.Identity(here.Process) == *given.Process {
		return here.SessionID
	}
	return s.HarnessSessionID
}

// lost reports whether the program waits for something to do, and so has not got what it was given.
func (e *elsewhere) lost(s loop.Session, given hand) bool {
	here, ok := e.live.Presence(s.WorkItem)
	return ok && proc.Identity(here.Process) == *given.Process && here.Waker && here.Turn == loop.TurnIdle &&
		time.Since(here.Since) > lostAfter && time.Since(given.At) > lostAfter
}

// settle finds out what became of a prompt that an earlier loopd has handed over.
func (e *elsewhere) settle(ctx context.Context, ho loop.Handover, given hand) loop.Outcome {
	stopped, done := e.stops.add(ho.Run)
	defer done()
	if ho.Handed != nil {
		ho.Handed()
	}
	return e.receipt(ctx, ho, given, stopped)
}
