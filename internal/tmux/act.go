package tmux

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// What an act may ask of its pane beside the mark.
const (
	isDead      = "#{==:#{pane_dead},1}"
	isDeadAlone = "#{&&:" + isDead + ",#{&&:#{==:#{session_windows},1},#{==:#{window_panes},1}}}"
	isOpen      = "#{&&:#{==:#{pane_dead},0},#{==:#{pane_input_off},0}}"
)

// act runs a script if the pane runs the launch and the condition holds, in one step.
func (s *Server) act(ctx context.Context, t Target, condition word, yes *script) error {
	c := new(script).when(t, condition, yes.then("display-message", "-p", "done"), refuse(t))
	out, err := s.change(ctx, c)
	return verdict(t, out, err)
}

// refuse prints what stood in the way.
func refuse(t Target) *script {
	return do("display-message", "-p", "-t").val(t.Pane).
		lit("refused|#{pane_id}|#{pane_dead}|#{pane_input_off}|#{pane_pid}|#{@loop_launch}")
}

// verdict reads the answer of an act.
func verdict(t Target, out string, err error) error {
	if errors.Is(err, errAbsent) {
		return &RefusedError{Target: t, State: Absent}
	}
	if err != nil {
		return err
	}
	out = strings.TrimSpace(out)
	if out == "done" {
		return nil
	}
	f := strings.SplitN(out, "|", 6)
	if len(f) != 6 || f[0] != "refused" {
		return unknown(out, errors.New("it neither acted nor refused"))
	}
	refused := &RefusedError{Target: t, State: Live, InputOff: f[3] == "1"}
	switch {
	case f[1] == "":
		refused.State = Absent
	case f[5] != t.Launch, t.PID != 0 && f[4] != strconv.Itoa(t.PID):
		refused.State = Foreign
	case f[2] == "1":
		refused.State = Dead
	}
	return refused
}

// Retain has the pane of a launch stay when its program ends, whatever a person has set for it since.
func (s *Server) Retain(ctx context.Context, t Target) error {
	return s.act(ctx, t, "1", do("set-option", "-p", "-t").val(t.Pane).lit("remain-on-exit", "on"))
}

// RemoveSession removes the session of a launch that has ended, with its pane and history. It is refused while the launch lives
// and where a person opened other panes in it.
func (s *Server) RemoveSession(ctx context.Context, t Target) error {
	err := s.act(ctx, t, isDeadAlone, do("kill-session", "-t").val(t.Pane))
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.State == Dead {
		refused.Shared = true
	}
	return err
}
