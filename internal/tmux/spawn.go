package tmux

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/loop-daemon/loop/internal/loop"
)

// The size of every window, whoever looks at it.
const (
	width  = "200"
	height = "50"
)

// Launch is what Spawn starts.
type Launch struct {
	Session string   // the name of the new session, from Name
	Mark    string   // 16 to 64 random hex digits, used once
	Key     string   // what it is for, shown in Pane: the slug
	Argv    []string // the program's absolute path and at least one argument; words that are ours, never text from outside
}

var (
	keyPattern  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)
	madePattern = regexp.MustCompile(`(?m)^(\$[0-9]{1,10})\|(%[0-9]{1,10})\|([0-9]{1,10})\|([0-9]{1,10})$`)
)

// Spawn makes sure of the server and starts the program in a new session, in the folder /, in a window of 200 by 50, marked from
// its first moment. The error is loop.ErrExists when the session's name is taken, and whatever has it is left as it is. Of a
// launch that did not succeed nothing is left, unless the error is of the class ErrUnknown: then Probe tells.
func (s *Server) Spawn(ctx context.Context, l Launch) (Pane, error) {
	if err := l.check(); err != nil {
		return Pane{}, err
	}
	if err := s.Ensure(ctx); err != nil {
		return Pane{}, err
	}
	pane := exactly(l.Session)
	out, err := s.change(ctx, do("new-session", "-d", "-P", "-F", "#{session_id}|#{pane_id}|#{pane_pid}|#{pid}").
		lit("-n", "agent", "-x", width, "-y", height, "-c", "/", "-s").val(l.Session).lit("--").val(l.Argv...).
		then("set-option", "-p", "-t").val(pane).lit("@loop_launch").val(l.Mark).
		then("set-option", "-p", "-t").val(pane).lit("@loop_key").val(l.Key).
		then("resize-window", "-t").val(pane).lit("-x", width, "-y", height))
	made := madePattern.FindStringSubmatch(out)
	if err == nil && made == nil {
		err = unknown(out, errors.New("it does not say what it started"))
	}
	if err != nil {
		s.discard(ctx, made)
		return Pane{}, fmt.Errorf("spawn %s: %w", l.Session, err)
	}
	pid, _ := strconv.Atoi(made[3])
	return Pane{Session: l.Session, SessionID: made[1], ID: made[2], PID: pid, Launch: l.Mark, Key: l.Key}, nil
}

func (l Launch) check() error {
	if err := errors.Join(checkName(l.Session), checkMark(l.Mark), checkArgv(l.Argv)); err != nil {
		return err
	}
	if !keyPattern.MatchString(l.Key) {
		return fmt.Errorf("tmux launch key %q: %w", l.Key, loop.ErrInvalid)
	}
	return nil
}

// checkArgv asks for two words at least: tmux hands a single one to a shell.
func checkArgv(argv []string) error {
	if len(argv) < 2 || !filepath.IsAbs(argv[0]) {
		return fmt.Errorf("tmux needs a program's absolute path and an argument, not %q: %w", argv, loop.ErrInvalid)
	}
	return do("new-session").val(argv...).err
}

// discard removes the session that the first command of a failed launch has made, if it came that far. A session's id is given out
// once in a server's life, but starts anew in the next server.
func (s *Server) discard(ctx context.Context, made []string) {
	if made == nil {
		return
	}
	session, server := made[1], made[4]
	c := do("if-shell", "-F", "-t").val(session + ":")
	c.push("#{==:#{pid},"+server+"}", do("kill-session", "-t").val(session).text())
	if _, err := s.once(context.WithoutCancel(ctx), 2*s.patience, "", c); err != nil {
		s.log.Warn("session of a failed launch may be left", "session_id", session, "err", err)
	}
}

// Respawn starts a program anew in the pane of a launch that has ended, with a new mark. Who watches goes on watching, and the
// history stays, but the last screen goes: save it first. A pane that lives, or carries another mark, is left alone: the error is
// a *RefusedError.
func (s *Server) Respawn(ctx context.Context, old Target, mark string, argv []string) error {
	if err := errors.Join(checkMark(mark), checkArgv(argv)); err != nil {
		return err
	}
	yes := do("set-option", "-p", "-t").val(old.Pane).lit("@loop_launch").val(mark).
		then("respawn-pane", "-t").val(old.Pane).lit("-c", "/", "--").val(argv...)
	if err := s.act(ctx, old, isDead, yes); err != nil {
		return fmt.Errorf("respawn: %w", err)
	}
	return nil
}
