package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Given a session that is registered,
// When the person at this machine, whose login nobody listed, says something to it, and again while it is paused,
// Then its conversation is resumed with their words, unfenced; and the second time they are told why that does not go.
func TestAPersonSaysSomethingToASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "authorized_users = []")
	w.start()
	w.register("acme/shop#15", conversation)
	var sent struct{ DeliveryID string }
	w.decode(w.must("send", "acme/shop#15", "Leave the door alone.", "-o", "json"), &sent)
	w.ends(sent.DeliveryID, "done", "")
	runs := w.runs()
	if len(runs) != 1 || !strings.Contains(runs[0].Prompt, "\n\nLeave the door alone.\n") || strings.Contains(runs[0].Prompt, "github-data") {
		t.Errorf("runs = %+v, want one with their words and no fence", runs)
	}
	w.must("sessions", "pause", "acme/shop#15")
	const why = "loopctl: the session of github:acme/shop#15 is paused (by a person)"
	if r := w.loopctl("send", "acme/shop#15", "And the window."); r.code != 1 || !strings.HasPrefix(r.stderr, why) {
		t.Errorf("said to a paused session: exit %d, %s", r.code, r.stderr)
	}
}

// Given a conversation whose hooks tell of it, and a hook that waits in it,
// When loopd is killed and started again,
// Then the hook waits there again and sessions show it, and it ends in silence once a newer one waits in its place.
func TestAHookThatWaitsOutlivesLoopd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.start()
	w.register("acme/shop#15", conversation)
	if r := w.hook("SessionStart").end(); r.code != 0 || r.stdout+r.stderr != "" {
		t.Errorf("the hook that tells: %+v", r)
	}
	if p := w.presence(); p == nil || p.Turn != "idle" || p.PID != 0 || p.WakeHook {
		t.Errorf("presence = %+v, want idle and nobody waiting", p)
	}
	waiting := w.hook("SessionStart", "wait")
	woken := func() bool { p := w.presence(); return p != nil && p.WakeHook }
	w.await("a hook to wait", woken)
	w.loopd.kill()
	w.start()
	w.await("the hook to wait again", woken)
	newer := w.hook("Stop", "wait")
	if r := waiting.end(); r.code != 0 || r.stdout+r.stderr != "" {
		t.Errorf("the older hook: %+v", r)
	}
	_ = newer.cmd.Process.Signal(syscall.SIGTERM)
	newer.end()
	w.await("nobody to wait", func() bool { return !woken() })
}

// livePresence is what is asked of the presence in `loopctl sessions show -o json`.
type livePresence struct {
	HarnessSessionID string
	Turn             string
	PID              int
	WakeHook         bool
}

func (w *world) presence() *livePresence {
	w.t.Helper()
	var shown struct{ Presence *livePresence }
	r := w.ask("sessions", "show", "acme/shop#15", "-o", "json")
	if r.code == 0 {
		w.decode(r.stdout, &shown)
	}
	return shown.Presence
}

// hooked is a hook that a harness has called.
type hooked struct {
	w         *world
	cmd       *exec.Cmd
	out, errs bytes.Buffer
}

// hook calls loopctl as the hook of a harness that works on acme/shop#15.
func (w *world) hook(event string, more ...string) *hooked {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	h := &hooked{w: w, cmd: exec.CommandContext(ctx, filepath.Join(w.dir, "bin", "loopctl"), append([]string{"hook", "claude"}, more...)...)}
	h.cmd.Env = slices.Concat(w.env, []string{"LOOP_WORK_ITEM=github:acme/shop#15", "LOOP_LAUNCH=l-1"})
	h.cmd.Stdin = strings.NewReader(`{"session_id":"` + conversation + `","hook_event_name":"` + event + `"}`)
	h.cmd.Stdout, h.cmd.Stderr = &h.out, &h.errs
	if err := h.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return h
}

// end waits until the hook has ended by itself.
func (h *hooked) end() result {
	h.w.t.Helper()
	err := h.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		h.w.t.Fatal(err)
	}
	return result{h.out.String(), h.errs.String(), h.cmd.ProcessState.ExitCode()}
}
