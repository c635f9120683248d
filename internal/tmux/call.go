package tmux

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/sys/proc"
)

// query asks and change acts; both return what tmux printed. Their errors are errAbsent, loop.ErrExists or ErrUnknown.
func (s *Server) query(ctx context.Context, c *script) (string, error) {
	return s.call(ctx, s.patience, "", c)
}

func (s *Server) change(ctx context.Context, c *script) (string, error) {
	return s.call(ctx, 2*s.patience, "", c)
}

// call runs the script on the server. When nobody listens on the socket, nothing has happened yet: a server of ours that lost
// its socket file is healed, and asked again.
func (s *Server) call(ctx context.Context, limit time.Duration, stdin string, c *script) (string, error) {
	out, err := s.once(ctx, limit, stdin, c)
	if !errors.Is(err, errNoServer) {
		return out, err
	}
	healed, healErr := s.Heal(ctx)
	if healErr != nil {
		return "", healErr
	}
	if !healed {
		return "", fmt.Errorf("%w: %w", err, errAbsent)
	}
	if out, err = s.once(ctx, limit, stdin, c); errors.Is(err, errNoServer) {
		return "", unknown("", err)
	}
	return out, err
}

// once runs the script with the server as it is. Its error may be errNoServer too.
func (s *Server) once(ctx context.Context, limit time.Duration, stdin string, c *script) (string, error) {
	// An exit status of 0 proves nothing; the server's pid at the beginning of the answer does.
	args, err := (&script{commands: append([][]string{{"display-message", "-p", "#{pid}"}}, c.commands...), err: c.err}).argv()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := proc.Cmd{
		Path: s.binary, Args: append(s.flags("-N"), args...), Env: s.tmuxEnviron(), Dir: "/",
		StdoutLimit: maxAnswer, Grace: killGrace,
	}
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	res, err := proc.Run(ctx, cmd)
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		if known := classify(exit.Stderr); known != nil {
			return string(res.Stdout), known
		}
	}
	if err != nil {
		return string(res.Stdout), unknown(string(res.Stderr), err)
	}
	first, rest, found := strings.Cut(string(res.Stdout), "\n")
	if _, err := strconv.Atoi(first); err != nil || !found || res.StdoutTruncated {
		return "", unknown(string(res.Stderr), fmt.Errorf("its answer is not what was asked for: %.80q", res.Stdout))
	}
	return rest, nil
}

// flags are those of every tmux: the extra ones, UTF-8, our socket, our configuration.
func (s *Server) flags(extra ...string) []string {
	return append(extra, "-u", "-S", s.socket, "-f", s.confPath())
}

func (s *Server) confPath() string { return filepath.Join(s.dir, "tmux.conf") }
