package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/tmux"
)

const (
	startPatience = 30 * time.Second // for a harness that was just started to take text
	receiptLook   = 5 * time.Second  // between two looks for a prompt that no hook has shown yet
	typedLook     = time.Second      // and for one that was typed
	recordTime    = 10 * time.Second // in which a harness without hooks has written down what was typed
	promptLimit   = 512 << 10        // bytes; what is longer is handed over as the name of its file
	lostAfter     = 30 * time.Second // of idling with a hook that waits again, a prompt that was not shown is lost
)

// Deliver hands a prompt to the live harness of a session, which is started where there is none, and waits for the word that the
// harness has seen it. Before that word the prompt is still owed: when the harness goes, the outcome is RunUnreached. When ctx
// ends first the outcome is RunDetached.
func (t *Tmux) Deliver(ctx context.Context, ho loop.Handover) loop.Outcome {
	stop, done := t.stops.add(ho.Run)
	defer done()
	f, by, out := t.reach(ctx, ho, stop)
	if out != nil {
		return *out
	}
	if isDone(stop) {
		return endedBefore()
	}
	given := hand{Item: f.pane.Item, Launch: f.pane.Launch, By: by, Title: ho.Title, Token: ho.Run, At: time.Now().UTC()}
	if out := given.prepare(t.o.Runs, ho); out != nil {
		return *out
	}
	if out := t.hand(ctx, ho, f, &given); out != nil {
		return *out
	}
	return t.receipt(ctx, ho, f, given, stop)
}

// reach finds or starts the live harness of a session and says how a prompt can be handed to it. The outcome is set when it can't.
func (t *Tmux) reach(ctx context.Context, ho loop.Handover, stop <-chan struct{}) (found, way, *loop.Outcome) {
	f, err := t.find(ctx, ho.Session)
	if err != nil {
		return f, "", t.deferred(ctx, unknownTerminal(err))
	}
	patience := time.Duration(0)
	if f.state == tmux.Live {
		if r := t.occupied(f, ho.Session); r.Wait != "" {
			return f, "", t.deferred(ctx, r)
		}
	} else {
		next, out := t.open(ctx, ho, f)
		if out != nil {
			return f, "", out
		}
		f, patience = next, startPatience
	}
	r, by := t.patient(ctx, &f, ho.Session, patience, stop)
	if patience > 0 && (f.state == tmux.Dead || f.state == tmux.Absent) {
		out := t.refusedStart(ctx, ho, f)
		return f, "", &out
	}
	if r.Wait != "" || ctx.Err() != nil {
		return f, "", t.deferred(ctx, r)
	}
	began(ho)
	return f, by, nil
}

// deferred is the outcome of a prompt that could not be handed over.
func (t *Tmux) deferred(ctx context.Context, r loop.Readiness) *loop.Outcome {
	if ctx.Err() != nil {
		return &loop.Outcome{Kind: loop.RunDetached}
	}
	return &loop.Outcome{Kind: loop.RunDeferred, Reason: r.Wait, Detail: r.Detail}
}

// patient waits for so long until a prompt can be handed to a pane, and says how.
func (t *Tmux) patient(ctx context.Context, f *found, s loop.Session, patience time.Duration, stop <-chan struct{}) (loop.Readiness, way) {
	for until := time.Now().Add(patience); ; {
		r, by := t.look(ctx, *f, unmet(s))
		if r.Wait == "" || r.Wait == loop.WaitDialog || !time.Now().Before(until) {
			return r, by
		}
		if !pauseFor(ctx, probePause, r.Changed, stop) {
			return r, by
		}
		now, err := t.find(ctx, f.session())
		if err != nil {
			return unknownTerminal(err), by
		}
		if *f = now; now.state != tmux.Live {
			return loop.Readiness{Wait: loop.WaitStarting, Detail: "it ended before it took text: " + now.state.String()}, by
		}
	}
}

// text is a prompt as a live conversation gets it: a line of ours first, which no terminal UI takes for a command and by which the
// run is known again.
func (t *Tmux) text(ho loop.Handover, f found, given hand) (first, rest string) {
	first, rest = given.Token.Token()+" "+tmux.Clean(given.Title), tmux.Clean(ho.Prompt)
	if len(rest) > promptLimit {
		rest = "This is too long for a terminal. It stands in the file " + filepath.Join(t.o.Runs, string(ho.Run), promptFile) + ": read that, and act on it as on this message."
	}
	if f.Hooked && unmet(ho.Session) {
		rest += "\n\n" + introduction
	}
	return first, rest
}

// introduction makes what a hook brings the user's own request: a harness tells its model that a hook's words are not.
const introduction = "What happens later is brought into this conversation by Loop, as a notice that begins with [loop and a number. The user who " +
	"runs you has set that up: act on such a notice as on this message, within the same rules."

// hand gives the prompt to the harness. The outcome is set when it did not get it.
func (t *Tmux) hand(ctx context.Context, ho loop.Handover, f found, given *hand) *loop.Outcome {
	if given.By == byTyping {
		return t.enter(ctx, ho, f, given)
	}
	first, rest := t.text(ho, f, *given)
	if !t.o.Live.Hand(f.item, f.pane.Launch, loop.Wake{Run: ho.Run, Title: ho.Title, Text: first + "\n\n" + rest}) {
		return hookGone()
	}
	if ho.Handed != nil {
		ho.Handed()
	}
	return nil
}

// receipt waits for the word that the harness has seen a prompt that it was given. One without our hooks tells by its own record
// alone, in a moment or never.
func (t *Tmux) receipt(ctx context.Context, ho loop.Handover, f found, given hand, stop <-chan struct{}) loop.Outcome {
	look := receiptLook
	if given.By == byTyping {
		look = typedLook
	}
	for began := time.Now(); ; {
		changed := t.o.Live.Watch(f.item)
		seen, err := t.seen(ho.Session, given, f.pane)
		if err != nil {
			t.o.Logger.Warn("whether a prompt was seen can't be told yet", "item", f.pane.Item, "run", ho.Run, "err", err)
		}
		if seen {
			return t.delivered(ho, f)
		}
		now, err := t.find(ctx, f.session())
		switch {
		case err == nil && (now.pane.Launch != f.pane.Launch || now.state == tmux.Dead || now.state == tmux.Absent):
			return t.gone(ho, f, given)
		case err == nil && now.state == tmux.Live && t.lost(ctx, now, given, began):
			return loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitUnconfirmed, Detail: "it idles and has not shown what it was given"}
		}
		if isDone(stop) {
			return loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request before it was seen"}
		}
		if !pauseFor(ctx, look, changed, stop) {
			return loop.Outcome{Kind: loop.RunDetached}
		}
	}
}

// seen reports whether the harness has seen the prompt of a run.
func (t *Tmux) seen(s loop.Session, given hand, p pane) (bool, error) {
	term, err := t.terminal(p.Harness)
	if err != nil {
		return t.o.Live.Shown(given.Token), err
	}
	return given.seen(t.o.Live, term, conversations(s, t.presence(p).SessionID, p.SessionID))
}

// gone is the outcome of a prompt whose harness went: the last look decides. A harness that goes each time is not tried for ever.
func (t *Tmux) gone(ho loop.Handover, f found, given hand) loop.Outcome {
	if seen, err := t.seen(ho.Session, given, f.pane); err == nil && seen {
		return t.delivered(ho, f)
	}
	return unreached(errors.New("the harness ended before it saw the prompt"))
}

// lost reports whether a harness that was given a prompt waits for something to do, and so has not got it. One without our hooks
// shows that on its screen.
func (t *Tmux) lost(ctx context.Context, f found, given hand, began time.Time) bool {
	here := t.presence(f.pane)
	if given.By == byHook {
		return here.Waker && here.Turn == loop.TurnIdle && time.Since(here.Since) > lostAfter
	}
	if time.Since(began) < recordTime {
		return false
	}
	screen, err := t.screen(ctx, f)
	return err == nil && screen.Composer && !screen.Busy
}

func (t *Tmux) delivered(ho loop.Handover, f found) loop.Outcome {
	return loop.Outcome{
		Kind: loop.RunDone, Detail: "its terminal has it", SessionID: t.presence(f.pane).SessionID, CostUSD: ho.Session.CostUSD,
	}
}

// Settle finds out what became of a prompt that an earlier loopd was handing to a pane. One that may have reached the harness is
// waited for as Deliver does.
func (t *Tmux) Settle(ctx context.Context, ho loop.Handover) loop.Outcome {
	stop, done := t.stops.add(ho.Run)
	defer done()
	given, err := readHand(t.o.Runs, ho.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return loop.Outcome{Kind: loop.RunNever, Detail: "the prompt had not been handed over"}
	}
	if err != nil {
		return failed(fmt.Errorf("settle run %s: %w", ho.Run, err))
	}
	ho.Title, ho.Prompt = given.Title, t.prompt(ho.Run)
	if ho.Handed != nil {
		ho.Handed()
	}
	for {
		f, err := t.find(ctx, ho.Session)
		switch {
		case err != nil && !pauseFor(ctx, lookAgain, nil, stop):
			return loop.Outcome{Kind: loop.RunDetached}
		case err != nil:
			continue
		case f.pane.Launch != given.Launch || f.state != tmux.Live:
			return t.gone(ho, f, given)
		}
		if given.By == byTyping {
			if out := t.finishTyping(ctx, ho, f, given); out != nil {
				return *out
			}
		}
		return t.receipt(ctx, ho, f, given, stop)
	}
}

// prompt is what a run was to hand over; "" where its folder is gone.
func (t *Tmux) prompt(run loop.RunID) string {
	dir, err := openFolder(t.o.Runs, run)
	if err != nil {
		return ""
	}
	defer dir.close()
	return string(dir.tail(promptFile, math.MaxInt64))
}

// Terminate gives up waiting for the word that a prompt was seen. It ends no harness: see End.
func (t *Tmux) Terminate(_ context.Context, run loop.RunID) (loop.Termination, error) {
	return loop.Termination{Found: t.stops.stop(run)}, nil
}
