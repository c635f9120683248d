package tmux

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Client is somebody who watches a session.
type Client struct {
	PID      int
	ReadOnly bool
	Activity time.Time // when it last sent a key
}

// Clients lists who watches a session now, which is named or told by its id. The error is loop.ErrNotFound when there is no such session.
func (s *Server) Clients(ctx context.Context, session string) ([]Client, error) {
	target, err := sessionTarget(session)
	if err != nil {
		return nil, err
	}
	out, err := s.query(ctx, do("list-clients", "-t").val(target).lit("-F", "#{client_pid}|#{client_readonly}|#{client_activity}"))
	if err != nil {
		return nil, fmt.Errorf("list clients of %s: %w", session, err)
	}
	var clients []Client
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 3 {
			return nil, unknown(line, errors.New("no description of a client"))
		}
		pid, pidErr := strconv.Atoi(f[0])
		active, activeErr := strconv.ParseInt(f[2], 10, 64)
		if err := errors.Join(pidErr, activeErr); err != nil {
			return nil, unknown(line, err)
		}
		clients = append(clients, Client{PID: pid, ReadOnly: f[1] == "1", Activity: time.Unix(active, 0)})
	}
	return clients, nil
}
