package runner

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/unixsock"
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
	done, err := t.keyboard(ctx, f.item)
	if err != nil {
		return t.refusedPaste(ctx, err)
	}
	defer done()
	screen, err := t.screen(ctx, f)
	if err != nil {
		return t.refusedPaste(ctx, err)
	}
	if wait, detail := t.obstacle(ctx, f, t.presence(f.pane), screen); wait != "" {
		return &loop.Outcome{Kind: loop.RunDeferred, Reason: wait, Detail: detail}
	}
	if left := loop.FindTokens(screen.Draft); len(left) > 0 {
		return t.takeUp(ctx, ho, f, given, screen, left)
	}
	first, rest := t.text(ho, f, *given)
	// On its own, so that it counts as typed and stands in the input line as it is.
	if err := t.o.Server.Paste(ctx, f.Target(), first); err != nil {
		return t.refusedPaste(ctx, err)
	}
	return t.complete(ctx, ho, f, *given, rest)
}

// keyboard waits until nobody else types into the terminal of an item, in this process or another.
func (t *Tmux) keyboard(ctx context.Context, w loop.WorkItem) (done func(), err error) {
	for {
		lock, err := unixsock.Lock(filepath.Join(t.o.Dir, w.Slug()+".lock"))
		if err == nil {
			return func() { _ = lock.Close() }, nil
		}
		if _, held := errors.AsType[*unixsock.HeldError](err); !held {
			return nil, err
		}
		if !pauseFor(ctx, evidenceLook) {
			return nil, ctx.Err()
		}
	}
}

// complete adds the rest to a draft of ours that has its first line, and submits it.
func (t *Tmux) complete(ctx context.Context, ho loop.Handover, f found, given hand, rest string) *loop.Outcome {
	if err := t.o.Server.Paste(ctx, f.Target(), "\n\n"+rest); err != nil {
		return t.refusedPaste(ctx, err)
	}
	if !t.shows(ctx, f, given) {
		return &loop.Outcome{
			Kind: loop.RunDeferred, Reason: loop.WaitUnconfirmed,
			Detail: "the prompt was pasted but not seen in the input line; it was not submitted",
		}
	}
	return t.submit(ctx, ho, f, given)
}

// goOn submits a draft of ours. Who wrote it may have come no further than its first line.
func (t *Tmux) goOn(ctx context.Context, ho loop.Handover, f found, given hand, screen sight) *loop.Outcome {
	if first, rest := t.text(ho, f, given); bare(screen.Draft) == bare(first) {
		return t.complete(ctx, ho, f, given, rest)
	}
	return t.submit(ctx, ho, f, given)
}

// bare is a text without its spaces: an input line breaks where it is full.
func bare(text string) string { return strings.Join(strings.Fields(text), "") }

// takeUp goes on with a draft of ours that an earlier try has left in the input line: it is submitted if it says the same.
func (t *Tmux) takeUp(ctx context.Context, ho loop.Handover, f found, given *hand, screen sight, left []loop.RunID) *loop.Outcome {
	for _, run := range left {
		before, err := readHand(t.o.Runs, run)
		if err != nil {
			continue
		}
		given.Token, given.Title = run, before.Title
		if t.prompt(run) != ho.Prompt {
			continue
		}
		if err := given.note(t.o.Runs, ho.Run); err != nil {
			out := unreached(err)
			return &out
		}
		return t.goOn(ctx, ho, f, *given, screen)
	}
	return &loop.Outcome{
		Kind: loop.RunDeferred, Reason: loop.WaitDraft,
		Detail: "an older prompt of Loop's stands in the input line: send it or take it away (loopctl attach --write)",
	}
}

// finishTyping goes on where a loopd that was killed had stopped typing.
func (t *Tmux) finishTyping(ctx context.Context, ho loop.Handover, f found, given hand) *loop.Outcome {
	done, err := t.keyboard(ctx, f.item)
	if err != nil {
		return t.refusedPaste(ctx, err)
	}
	defer done()
	screen, err := t.screen(ctx, f)
	if err != nil || !slices.Contains(loop.FindTokens(screen.Draft), given.Token) {
		return nil // it was submitted, or never pasted: the receipt tells
	}
	return t.goOn(ctx, ho, f, given, screen)
}

// refusedPaste is the outcome of a paste that tmux did not make.
func (t *Tmux) refusedPaste(ctx context.Context, err error) *loop.Outcome {
	if ctx.Err() != nil {
		return &loop.Outcome{Kind: loop.RunDetached}
	}
	if errors.Is(err, loop.ErrConflict) {
		return &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitStarting, Detail: loop.Plain(err)}
	}
	return &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitTerminal, Detail: loop.Plain(err)}
}

// shows waits until the input line holds what was pasted. What stands on the screen instead is remembered.
func (t *Tmux) shows(ctx context.Context, f found, given hand) bool {
	for until := time.Now().Add(evidenceTime); ; {
		screen, err := t.screen(ctx, f)
		switch {
		case err == nil && holds(screen, given.Token):
			return true
		case err == nil && time.Now().After(until):
			t.mu.Lock()
			defer t.mu.Unlock()
			t.deaf[f.pane.Launch] = screen.text
			return false
		case time.Now().After(until), !pauseFor(ctx, evidenceLook):
			return false
		}
	}
}

// isDeaf reports whether a harness has not drawn anything since it did not show what was pasted into it: it may not have read that
// yet, and would get it twice.
func (t *Tmux) isDeaf(f found, screen sight) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, ok := t.deaf[f.pane.Launch]; ok && before == screen.text {
		return true
	}
	delete(t.deaf, f.pane.Launch)
	return false
}

// holds reports whether the input line is there and holds the token of a run.
func holds(s sight, run loop.RunID) bool {
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
			return t.refusedPaste(ctx, err)
		case !holds(screen, given.Token) && try > 0:
			return nil
		case !holds(screen, given.Token):
			return &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitUnconfirmed, Detail: "something came before the prompt could be submitted: " + screen.Dialog}
		}
		if err := t.o.Server.Submit(ctx, f.Target()); err != nil {
			return t.refusedPaste(ctx, err)
		}
		if t.taken(ctx, ho, f, given) {
			if ho.Handed != nil {
				ho.Handed()
			}
			return nil
		}
	}
	return &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitUnconfirmed, Detail: "the prompt stands in the input line and is not taken"}
}

// taken waits until the input line does not hold the prompt any more, or the harness has seen it.
func (t *Tmux) taken(ctx context.Context, ho loop.Handover, f found, given hand) bool {
	for until := time.Now().Add(submitTime); time.Now().Before(until); {
		if seen, err := t.seen(ho.Session, given, f.pane); err == nil && seen {
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
