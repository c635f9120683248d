package runner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/tmux"
)

const (
	probeTime  = 2 * time.Second        // in which a harness that won't start has ended
	probePause = 100 * time.Millisecond // between two looks at one that starts
	lastWords  = 4 << 10                // bytes of what one has shown that ended at once
)

// errRoom says that there are as many live harnesses as may be.
var errRoom = errors.New("as many agents are live as routing.max_live_sessions lets be")

// open starts the harness of a session in its pane and returns when it has lived for the time in which one that can't start ends.
// The outcome is set when it did not.
func (t *Tmux) open(ctx context.Context, ho loop.Handover, old found) (found, *loop.Outcome) {
	f, err := t.launch(ctx, ho, old)
	switch {
	case errors.Is(err, errRoom):
		return f, &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitRoom, Detail: loop.Plain(err)}
	case errors.Is(err, tmux.ErrUnknown):
		return f, &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitTerminal, Detail: loop.Plain(err)}
	case errors.Is(err, loop.ErrNotFound):
		return f, &loop.Outcome{Kind: loop.RunLost, Detail: loop.Plain(err)}
	case err != nil:
		out := unreached(err)
		return f, &out
	}
	began(ho)
	f, err = t.await(ctx, f)
	if err != nil {
		return f, &loop.Outcome{Kind: loop.RunDeferred, Reason: loop.WaitTerminal, Detail: loop.Plain(err)}
	}
	if f.state == tmux.Live {
		t.watch(f.pane)
		if old.pane.Launch != "" {
			t.o.Log(ctx, loop.LogEvent{
				Type: loop.LogSessionRespawned, Item: f.item, Run: ho.Run, Message: ho.Session.Harness + " of " + f.item.Ref() + " is live again",
				Fields: map[string]string{"harness": ho.Session.Harness},
			})
		}
		return f, nil
	}
	out := t.refusedStart(ctx, ho, f)
	return f, &out
}

// launch starts the harness, in the dead pane if there is one.
func (t *Tmux) launch(ctx context.Context, ho loop.Handover, old found) (found, error) {
	t.rooms.Lock()
	defer t.rooms.Unlock()
	if full, err := t.full(ctx, ho.Session); err != nil || full {
		return old, errors.Join(err, errFull(full))
	}
	if _, err := t.endRest(ctx, old.pane); err != nil {
		return old, fmt.Errorf("end what an earlier launch has left: %w", err)
	}
	cmd, hooks, err := t.command(ctx, ho)
	if err != nil {
		return old, err
	}
	next := found{pane: pane{
		item: ho.Session.WorkItem, Item: ho.Session.WorkItem.Ref(), Harness: ho.Session.Harness, SessionID: ho.Session.HarnessSessionID,
		Name: tmux.Name(ho.Session.WorkItem.Slug()), Launch: newMark(), Hooked: hooks, StartedAt: time.Now().UTC(),
	}}
	if err := t.writeLaunch(next.pane, cmd); err != nil {
		return old, err
	}
	if old.state == tmux.Dead {
		before := old.pane
		before.Before, next.Before = nil, &before
		if err := t.record(ctx, old); err != nil {
			t.o.Logger.Warn("what a terminal showed could not be saved", "item", old.pane.Item, "err", err)
		}
	}
	if err := t.save(next.pane); err != nil {
		return old, err
	}
	if old.state == tmux.Dead {
		err = t.o.Server.Respawn(ctx, old.Target(), next.pane.Launch, t.argv(next.pane))
	} else {
		_, err = t.o.Server.Spawn(ctx, tmux.Launch{Session: next.Name, Mark: next.pane.Launch, Key: next.item.Slug(), Argv: t.argv(next.pane)})
	}
	if errors.Is(err, loop.ErrExists) {
		err = fmt.Errorf("tmux session %s exists but was not started by loopd; remove it: tmux -S %s kill-session -t '=%s': %w",
			next.Name, t.o.Server.Socket(), next.Name, loop.ErrConflict)
	}
	return next, err
}

func errFull(full bool) error {
	if full {
		return errRoom
	}
	return nil
}

// command is the command line that opens a session's terminal. Trust for its folder is given before, where Loop chose that.
func (t *Tmux) command(ctx context.Context, ho loop.Handover) (cmd harness.Command, hooked bool, err error) {
	s := ho.Session
	term, err := t.terminal(s.Harness)
	if err != nil {
		return cmd, false, err
	}
	set := t.o.Settings(s.Harness)
	if s.Spawned && set.Trust {
		t.trust(ctx, term, s)
	}
	cmd, err = term.Open(harness.Turn{Item: s.WorkItem, ID: s.HarnessSessionID, Cwd: s.Cwd}, ho.Fresh, set.Hooks)
	return cmd, set.Hooks != "", err
}

// trust answers the harness's first-run dialogs for the folder of a session that loopd made. Where that fails the dialog will be
// seen on the screen.
func (t *Tmux) trust(ctx context.Context, term harness.Terminal, s loop.Session) {
	changed, err := term.Trust(s.Cwd)
	ev := loop.LogEvent{Item: s.WorkItem, Fields: map[string]string{"harness": s.Harness, "cwd": s.Cwd}}
	switch {
	case err != nil:
		ev.Type, ev.Message = loop.LogTrustFailed, s.Harness+" may ask for trust in its folder: "+loop.Plain(err)
		t.o.Logger.Warn("a folder could not be trusted beforehand", "item", s.WorkItem.Ref(), "harness", s.Harness, "err", err)
	case changed:
		ev.Type, ev.Message = loop.LogWorkspaceTrusted, s.Harness+" trusts "+s.Cwd
	default:
		return
	}
	t.o.Log(ctx, ev)
}

// paneLaunch is what a pane is to run. It is removed before it runs.
type paneLaunch struct {
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env"`
	Dir  string   `json:"cwd"`
}

func (t *Tmux) writeLaunch(p pane, cmd harness.Command) error {
	b, err := json.Marshal(paneLaunch{Path: cmd.Path, Args: cmd.Args, Env: append(cmd.Env, p.cookie()), Dir: cmd.Dir})
	if err != nil {
		return err
	}
	root, err := privateRoot(filepath.Join(t.o.Dir, launchDir))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return atomicfile.Write(root, p.Launch+".json", b, 0o600)
}

// dropLaunches removes what an earlier loopd was about to start when it was killed. What has a pane is left to its starter.
func (t *Tmux) dropLaunches(ctx context.Context) {
	t.rooms.Lock()
	defer t.rooms.Unlock()
	dir := filepath.Join(t.o.Dir, launchDir)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) == 0 {
		return
	}
	panes, err := t.o.Server.Probe(ctx)
	if err != nil {
		return // the next loopd will
	}
	for _, e := range left {
		if _, made := panes.Find(strings.TrimSuffix(e.Name(), ".json")); made {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			t.o.Logger.Warn("what an earlier loopd was about to start could not be removed; it may hold secrets", "err", err)
		}
	}
}

// argv runs the program of a launch: words of ours alone.
func (t *Tmux) argv(p pane) []string {
	return append(slices.Clip(t.o.Exec), filepath.Join(t.o.Dir, launchDir), p.Launch)
}

// await looks at a pane that was just started until its harness has shown that it runs, has ended, or has had its time.
func (t *Tmux) await(ctx context.Context, f found) (found, error) {
	until := time.Now().Add(probeTime)
	for {
		now, err := t.find(ctx, f.session())
		if err != nil {
			return f, err
		}
		if now.state != tmux.Live {
			return now, nil
		}
		if now.Process.PID == 0 {
			t.identify(&now)
		}
		if p, ok := t.o.Live.Presence(f.item); ok && p.Launch == now.pane.Launch || time.Now().After(until) {
			return now, nil
		}
		if !pauseFor(ctx, probePause, t.o.Live.Watch(f.item)) {
			return now, ctx.Err()
		}
	}
}

// identify notes which process is in a live pane.
func (t *Tmux) identify(f *found) {
	id, err := proc.Of(f.PID)
	if err != nil {
		return // it just ended, as the next look shows
	}
	f.Process = id
	if err := t.save(f.pane); err != nil {
		t.o.Logger.Error("what is known of a terminal could not be written", "item", f.pane.Item, "err", err)
	}
}

// refusedStart says why a harness ended as soon as it was started, by what it printed; tmux may have dropped what that was right
// before its end.
func (t *Tmux) refusedStart(ctx context.Context, ho loop.Handover, f found) loop.Outcome {
	if f.state != tmux.Dead {
		return unreached(fmt.Errorf("the terminal of %s is gone as soon as it was made", f.item))
	}
	var last bytes.Buffer // the end of a program moves its first line off the screen
	err := t.o.Server.Transcript(ctx, f.Target(), &last, lastWords)
	if err != nil {
		return unreached(fmt.Errorf("%s ended with status %d as soon as it was started: %w", ho.Session.Harness, f.Exit.Code, err))
	}
	term, err := t.terminal(ho.Session.Harness)
	if err != nil {
		return unreached(err)
	}
	shown := withoutEpitaph(last.String())
	out := term.Read(harness.Exit{End: harness.Exited, Code: f.Exit.Code, Signal: f.Exit.Signal, Stderr: []byte(shown), At: time.Now()})
	if out.Kind == loop.RunDone || out.Kind == loop.RunFailed && out.Reason == "" {
		why := cmp.Or(said(shown), "it shows nothing; start it by hand in "+ho.Session.Cwd+" to see why")
		return unreached(fmt.Errorf("%s ended with status %d as soon as it was started: %s", ho.Session.Harness, f.Exit.Code, why))
	}
	return out
}

// withoutEpitaph leaves out what tmux has written below what a program showed.
func withoutEpitaph(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasSuffix(text, tmux.Epitaph) {
		return text
	}
	return text[:strings.LastIndexByte(text, '\n')+1]
}

// pauseFor waits for the time or one of three wake-ups; false when ctx ended.
func pauseFor(ctx context.Context, d time.Duration, wakes ...<-chan struct{}) bool {
	wakes = append(wakes, nil, nil, nil)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-wakes[0]:
	case <-wakes[1]:
	case <-wakes[2]:
	}
	return true
}
