package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
)

const (
	lookAgain  = 2 * time.Second  // between two looks at a screen that something waits for
	typingLull = 15 * time.Second // somebody who touched a key since then may go on typing
	armTime    = 3 * time.Second  // from the end of a turn to its hook waiting for the next event
)

// way is how a prompt reaches a live harness.
type way string

const (
	byHook   way = "hook"   // its wake hook waits for one
	byTyping way = "typing" // its input line is free
)

// Ready says whether a prompt can be handed to a session's terminal now, or whether one can be opened for it.
func (t *Tmux) Ready(ctx context.Context, s loop.Session) loop.Readiness {
	freed := t.whenFreed()
	f, err := t.find(ctx, s)
	if err != nil {
		return unknownTerminal(err)
	}
	switch f.state {
	case tmux.Live:
		if r := t.occupied(f, s); r.Wait != "" {
			return r
		}
		r, _ := t.look(ctx, f, unmet(s))
		return r
	case tmux.Unknown:
		return unknownTerminal(errors.New("its state is unknown"))
	case tmux.Absent, tmux.Dead, tmux.Foreign:
	}
	t.rooms.Lock()
	defer t.rooms.Unlock()
	switch full, err := t.full(ctx, s); {
	case err != nil:
		return unknownTerminal(err)
	case full && !t.makeRoom(ctx, s):
		return loop.Readiness{Wait: loop.WaitRoom, Detail: errRoom.Error() + ", and none is idle", Again: time.Now().Add(lookAgain), Changed: freed}
	}
	return loop.Readiness{}
}

func unknownTerminal(err error) loop.Readiness {
	return loop.Readiness{
		Wait: loop.WaitTerminal, Detail: "tmux did not answer, so nothing was changed: " + loop.Plain(err), Again: time.Now().Add(lookAgain),
	}
}

// occupied says that in a live pane is something else than the session's conversation: one whose record is gone or was replaced, or a
// program that a person started there. Nothing is handed to that, and nothing of it is ended.
func (t *Tmux) occupied(f found, s loop.Session) loop.Readiness {
	if id, ours, err := f.running(); err == nil && !ours {
		return loop.Readiness{
			Wait: loop.WaitOccupied, Again: time.Now().Add(lookAgain), Changed: t.o.Live.Watch(f.item),
			Detail: fmt.Sprintf("its terminal runs process %d, which somebody started there in place of its agent: end that (loopctl attach %s --write), "+
				"and the agent is started again", id.PID, s.WorkItem.Ref()),
		}
	}
	here := t.presence(f.pane)
	if owns(s, f.pane.Harness, f.pane.SessionID) || owns(s, here.Harness, here.SessionID) {
		return loop.Readiness{}
	}
	return loop.Readiness{
		Wait: loop.WaitOccupied, Again: time.Now().Add(lookAgain), Changed: t.o.Live.Watch(f.item),
		Detail: fmt.Sprintf("its terminal holds conversation %[2]s of %[3]s, which is not its own: leave that (loopctl attach %[1]s --write), "+
			"or keep it: loopctl sessions register %[1]s --harness %[3]s --harness-session-id %[2]s --runner tmux --force",
			s.WorkItem.Ref(), f.pane.SessionID, f.pane.Harness),
	}
}

// unmet reports whether a session has had no prompt from Loop yet. Its first is typed where that can be: what a hook brings is not
// the user's word to the agent, but a typed prompt is, and it says that what the hook brings is to be acted on.
func unmet(s loop.Session) bool { return s.LastEventAt == nil }

// look says whether and how a prompt can be handed to a live pane, by typing if that is preferred.
func (t *Tmux) look(ctx context.Context, f found, typing bool) (loop.Readiness, way) {
	r := loop.Readiness{Again: time.Now().Add(lookAgain), Changed: t.o.Live.Watch(f.item)}
	here := t.presence(f.pane)
	if here.Waker && !typing {
		return loop.Readiness{}, byHook
	}
	screen, err := t.screen(ctx, f)
	if err != nil {
		return unknownTerminal(err), ""
	}
	r.Wait, r.Detail = t.obstacle(ctx, f, here, screen)
	if r.Wait == "" && !typing && t.arms(f.pane, here) {
		r.Wait, r.Detail = loop.WaitStarting, "its hook is about to wait for events"
	}
	switch {
	case r.Wait == "":
		return loop.Readiness{}, byTyping
	case here.Waker && (r.Wait != loop.WaitStarting || time.Since(f.StartedAt) > startPatience):
		return loop.Readiness{}, byHook
	}
	return r, ""
}

// arms reports whether a hook of a harness that idles is about to wait for events.
func (t *Tmux) arms(p pane, here loop.Presence) bool {
	return p.Hooked && here.Launch == "" && time.Since(p.StartedAt) < 5*armTime || here.Turn == loop.TurnIdle && time.Since(here.Since) < armTime
}

// presence is what hooks told of the very harness that is in the pane.
func (t *Tmux) presence(p pane) loop.Presence {
	here, ok := t.o.Live.Presence(p.item)
	if !ok || here.Launch != p.Launch {
		return loop.Presence{}
	}
	return here
}

// sight is what a harness shows, as it is read and as it stands there.
type sight struct {
	harness.Screen
	text string
}

// screen reads what the harness in a pane shows.
func (t *Tmux) screen(ctx context.Context, f found) (sight, error) {
	term, err := t.terminal(f.Harness)
	if err != nil {
		return sight{}, err
	}
	text, err := t.o.Server.Screen(ctx, f.Target())
	if err != nil {
		return sight{}, err
	}
	return sight{term.Screen(text), text}, nil
}

// obstacle says why nothing can be typed into a pane now; "" where it can.
func (t *Tmux) obstacle(ctx context.Context, f found, here loop.Presence, screen sight) (wait, detail string) {
	ours := len(loop.FindTokens(screen.Draft)) > 0
	switch {
	case f.InputOff:
		return loop.WaitDialog, "the input to its pane is disabled (select-pane -d)"
	case screen.Dialog != "":
		return loop.WaitDialog, "it waits for a person: " + screen.Dialog
	case here.Turn == loop.TurnWaiting && !screen.Composer:
		return loop.WaitDialog, "it waits for a person: " + here.Detail
	case screen.Busy:
		return loop.WaitBusy, "a turn runs"
	case !screen.Composer:
		return loop.WaitStarting, "its screen shows no input line"
	case screen.Draft != "" && !ours:
		return loop.WaitDraft, "somebody's draft stands in its input line"
	case !ours && t.isDeaf(f, screen):
		return loop.WaitUnconfirmed, "it has not shown what was pasted into it, and nothing else since"
	}
	if who := t.typist(ctx, f); who != "" && !ours {
		return loop.WaitDraft, who
	}
	return "", ""
}

// typist says that somebody has been typing into a pane just now; "" when nobody has.
func (t *Tmux) typist(ctx context.Context, f found) string {
	clients, err := t.o.Server.Clients(ctx, f.Pane.SessionID)
	if err != nil {
		return "" // there is none to be seen
	}
	busy := slices.ContainsFunc(clients, func(c tmux.Client) bool {
		return !c.ReadOnly && time.Since(c.Activity) < typingLull
	})
	if !busy {
		return ""
	}
	return "somebody is typing in " + f.Session
}

// full reports whether as many harnesses are live as may be, without the session's own. rooms is held.
func (t *Tmux) full(ctx context.Context, s loop.Session) (bool, error) {
	live, err := t.living(ctx)
	if err != nil {
		return false, err
	}
	live = slices.DeleteFunc(live, func(f found) bool { return f.item.Key() == s.WorkItem.Key() })
	return len(live) >= t.o.Settings(s.Harness).MaxLive, nil
}

// living returns the panes of ours whose harness is live.
func (t *Tmux) living(ctx context.Context) ([]found, error) {
	known, err := t.held(ctx)
	return slices.DeleteFunc(known, func(f found) bool {
		if f.state != tmux.Live {
			return true
		}
		_, ours, err := f.running()
		return err == nil && !ours
	}), err
}

// makeRoom ends the harness that has been idle longest, if nobody watches it, writes there, or waits for it. It resumes on its
// next event. rooms is held.
func (t *Tmux) makeRoom(ctx context.Context, s loop.Session) bool {
	live, err := t.living(ctx)
	if err != nil {
		return false
	}
	live = slices.DeleteFunc(live, func(f found) bool {
		return f.item.Key() == s.WorkItem.Key() || t.presence(f.pane).Turn != loop.TurnIdle
	})
	slices.SortFunc(live, func(a, b found) int { return t.presence(a.pane).Since.Compare(t.presence(b.pane).Since) })
	for _, f := range live {
		if !t.spare(ctx, f) {
			continue
		}
		if _, err := t.endPane(ctx, f, false); err != nil {
			t.o.Logger.Warn("an idle agent could not be ended to make room for another", "item", f.pane.Item, "err", err)
			continue
		}
		t.o.Logger.Info("an idle agent was ended to make room for another", "item", f.pane.Item, "for", s.WorkItem.Ref())
		return true
	}
	return false
}

// spare reports whether an idle harness can go without anybody missing it.
func (t *Tmux) spare(ctx context.Context, f found) bool {
	if t.o.Queued(f.item) {
		return false
	}
	if clients, err := t.o.Server.Clients(ctx, f.Pane.SessionID); err != nil || len(clients) > 0 {
		return false
	}
	screen, err := t.screen(ctx, f)
	return err == nil && screen.Composer && screen.Draft == "" && !screen.Busy
}

// whenFreed returns a channel that is closed when a harness has ended.
func (t *Tmux) whenFreed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.freed
}

// watch has somebody wait for the end of a pane's harness, which then is saved and forgotten.
func (t *Tmux) watch(p pane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil || t.ctx.Err() != nil || p.Process.PID == 0 {
		return
	}
	ctx := t.ctx
	t.wg.Go(func() {
		if err := proc.Wait(ctx, p.Process); err == nil {
			t.died(ctx, p)
		}
	})
}

// died keeps what a harness showed that has just ended, whoever ended it.
func (t *Tmux) died(ctx context.Context, p pane) {
	turn := t.presence(p).Turn
	t.o.Live.Forget(p.item, p.Launch)
	t.mu.Lock()
	close(t.freed)
	t.freed = make(chan struct{})
	how, ours := t.ends[p.Launch]
	delete(t.ends, p.Launch)
	delete(t.deaf, p.Launch)
	t.mu.Unlock()
	if !ours && (turn == loop.TurnBusy || turn == loop.TurnWaiting) {
		t.o.Logger.Warn("an agent ended in the middle of a turn", "item", p.Item)
		t.o.Log(ctx, loop.LogEvent{
			Type: loop.LogHarnessTerminated, Item: p.item,
			Message: "the agent of " + p.Item + " ended by itself in the middle of a turn; it resumes at its next event: loopctl logs " + p.Item,
			Fields:  map[string]string{"turn": string(turn)},
		})
	}
	f, err := t.find(ctx, p.session())
	if err != nil || f.pane.Launch != p.Launch || f.state != tmux.Dead {
		return
	}
	if err := t.record(ctx, f); err != nil {
		t.o.Logger.Warn("what a terminal showed could not be saved", "item", p.Item, "err", err)
		return
	}
	if !how.keep && !t.o.Settings(p.Harness).RemainOnExit {
		t.remove(ctx, f)
	}
}

// remove takes a dead pane away, and reports whether it is gone.
func (t *Tmux) remove(ctx context.Context, f found) bool {
	err := t.o.Server.RemoveSession(ctx, f.Target())
	if err != nil {
		t.o.Logger.Warn("a dead terminal could not be removed", "item", f.pane.Item, "err", err)
	}
	return err == nil
}
