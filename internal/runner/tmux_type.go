package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
)

const (
	evidenceTime  = 5 * time.Second        // for what was pasted to show
	evidenceLook  = 50 * time.Millisecond  // between two looks for it
	settleTime    = 150 * time.Millisecond // a return right behind a paste is swallowed
	submitTime    = 2 * time.Second        // for the input line to be taken
	submitRetries = 2
)

// enter types a prompt into a live pane whose input line is free, and submits it. Each step waits for the screen to show that the
// one before was understood; a dialog or a person that comes between stops it, and nothing is confirmed. The outcome is set when
// the prompt was not submitted.
func (t *Tmux) enter(ctx context.Context, ho loop.Handover, f found, given *hand) *loop.Outcome {
	first, rest := t.text(ho, f)
	screen, err := t.screen(ctx, f)
	if err != nil {
		return refusedPaste(err)
	}
	if left := loop.FindTokens(screen.Draft); len(left) > 0 {
		return t.takeUp(ctx, ho, f, given, left)
	}
	// On its own, so that it counts as typed and stands in the input line as it is.
	if err = t.o.Server.Paste(ctx, f.target(), first); err == nil {
		err = t.o.Server.Paste(ctx, f.target(), "\n\n"+rest)
	}
	if err != nil {
		return refusedPaste(err)
	}
	if !t.shows(ctx, ho.Run, f, evidenceTime) {
		return &loop.Outcome{
			Kind: loop.RunDeferred, Reason: loop.WaitUnconfirmed,
			Detail: "the prompt was pasted but not seen in the input line; it was not submitted",
		}
	}
	return t.submit(ctx, ho, f, *given)
}

// takeUp goes on with a draft of ours that an earlier try has left in the input line: it is submitted if it says the same.
func (t *Tmux) takeUp(ctx context.Context, ho loop.Handover, f found, given *hand, left []loop.RunID) *loop.Outcome {
	for _, run := range left {
		if before, err := openFolder(t.o.Runs, run); err == nil {
			same := string(before.tail(promptFile, 1<<20)) == ho.Prompt
			before.close()
			if given.Token = run; same {
				if err := t.note(ho, *given); err != nil {
					out := unreached(err)
					return &out
				}
				return t.submit(ctx, ho, f, *given)
			}
		}
	}
	return &loop.Outcome{
		Kind: loop.RunDeferred, Reason: loop.WaitDraft,
		Detail: "an older prompt of Loop's stands in the input line: send it or take it away (loopctl attach --write)",
	}
}

// finishTyping goes on where a loopd that was killed had stopped typing.
func (t *Tmux) finishTyping(ctx context.Context, ho loop.Handover, f found, given hand) *loop.Outcome {
	screen, err := t.screen(ctx, f)
	if err != nil || !slices.Contains(loop.FindTokens(screen.Draft), given.Token) {
		return nil // it was submitted, or never pasted: the receipt tells
	}
	return t.submit(ctx, ho, f, given)
}

// refusedPaste is the outcome of a paste that tmux did not make.
func refusedPaste(err error) *loop.Outcome {
	if errors.Is(err, loop.ErrConflict) {
		return &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitStarting, Detail: loop.Plain(err)}
	}
	return &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitTerminal, Detail: loop.Plain(err)}
}

// shows waits until the input line holds the token of a run.
func (t *Tmux) shows(ctx context.Context, run loop.RunID, f found, limit time.Duration) bool {
	for until := time.Now().Add(limit); time.Now().Before(until); {
		if screen, err := t.screen(ctx, f); err == nil && holds(screen, run) {
			return true
		}
		if !pauseFor(ctx, evidenceLook) {
			return false
		}
	}
	return false
}

// holds reports whether the input line is there and holds the token of a run.
func holds(s harness.Screen, run loop.RunID) bool {
	return s.Composer && slices.Contains(loop.FindTokens(s.Draft), run)
}

// submit sends the draft that is the prompt, and again while it provably still stands there. Where something else is on the screen
// after that, the receipt will tell.
func (t *Tmux) submit(ctx context.Context, ho loop.Handover, f found, given hand) *loop.Outcome {
	for try := range 1 + submitRetries {
		if !pauseFor(ctx, settleTime) {
			return &loop.Outcome{Kind: loop.RunDetached}
		}
		screen, err := t.screen(ctx, f)
		switch {
		case err != nil:
			return refusedPaste(err)
		case !holds(screen, given.Token) && try > 0:
			return nil
		case !holds(screen, given.Token):
			return &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitUnconfirmed, Detail: "something came before the prompt could be submitted: " + screen.Dialog}
		}
		if err := t.o.Server.Submit(ctx, f.target()); err != nil {
			return refusedPaste(err)
		}
		if t.taken(ctx, f, given) {
			if ho.Handed != nil {
				ho.Handed()
			}
			return nil
		}
	}
	return &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitUnconfirmed, Detail: "the prompt stands in the input line and is not taken"}
}

// taken waits until the input line does not hold the prompt any more, or the harness has seen it.
func (t *Tmux) taken(ctx context.Context, f found, given hand) bool {
	for until := time.Now().Add(submitTime); time.Now().Before(until); {
		if seen, err := t.seen(given, f.pane); err == nil && seen {
			return true
		}
		if screen, err := t.screen(ctx, f); err == nil && screen.Composer && !holds(screen, given.Token) {
			return true
		}
		if !pauseFor(ctx, evidenceLook, t.o.Live.Watch(f.item)) {
			return false
		}
	}
	return false
}
