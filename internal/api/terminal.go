package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

const (
	maxMessage  = 100 << 10 // bytes of what a person says at once
	maxVariable = 4 << 10   // bytes of a variable of the caller's environment
)

// Send hands the words of the person at this machine to a session.
func (s *sessions) Send(ctx context.Context, req *loopv1.SendRequest) (*loopv1.SendResponse, error) {
	w, err := workItem("work_item", req.GetWorkItem())
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(req.GetText()) == "" {
		return nil, invalid("text", "is required: what to say to the session")
	}
	if err := words(req.GetText(), req.GetBy()); err != nil {
		return nil, err
	}
	to, id, err := s.o.Dispatcher.Send(ctx, dispatch.Message{Item: w, Text: req.GetText(), By: req.GetBy()})
	if err != nil {
		return nil, err
	}
	return &loopv1.SendResponse{DeliveryId: string(id), Session: s.message(to)}, nil
}

// words checks what a person says, and the name of their account.
func words(text, by string) error {
	switch {
	case len(text) > maxMessage:
		return invalid("text", fmt.Sprintf("has %d bytes, %d are taken: put it into a file that the agent can read, and name that", len(text), maxMessage))
	case len(by) > maxName:
		return invalid("by", "is too long for the name of an account")
	}
	return nil
}

// attach says how a session's terminal is looked into.
func (s *sessions) attach(ctx context.Context, one loop.Session, how *loopv1.AttachTo) (*loopv1.Attach, error) {
	if len(how.GetTmux()) > maxVariable {
		return nil, invalid("attach.tmux", "is too long for the variable TMUX")
	}
	a, err := s.o.Attach(ctx, one, how.GetWrite(), how.GetTmux())
	if err != nil {
		return nil, err
	}
	return &loopv1.Attach{Argv: a.Argv, Note: text(a.Note)}, nil
}

// wish says what a person wants for the terminal of a session that is closed. Nothing is promised about one that is not there.
func (s *sessions) wish(w loop.WorkItem, fate loopv1.TmuxFate) (loop.TerminalWish, error) {
	wish, ok := wishes[fate]
	if !ok {
		return "", invalid("tmux", fmt.Sprintf("%d is nothing that can become of a terminal", fate))
	}
	if one, found := s.o.Sessions.Find(w); wish != loop.TerminalAsConfigured && found && one.Open() && one.TmuxTarget == "" {
		return "", fmt.Errorf("the session of %s has no tmux session that could be kept or killed: %w", w, loop.ErrConflict)
	}
	return wish, nil
}

var wishes = map[loopv1.TmuxFate]loop.TerminalWish{
	loopv1.TmuxFate_TMUX_FATE_UNSPECIFIED: loop.TerminalAsConfigured,
	loopv1.TmuxFate_TMUX_FATE_KEEP:        loop.TerminalKeep,
	loopv1.TmuxFate_TMUX_FATE_KILL:        loop.TerminalKill,
}
