package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	"github.com/loop-daemon/loop/internal/sys/unixsock"
)

const (
	turnTimeout = time.Minute // for somebody else to start or heal the server
	turnPause   = 10 * time.Millisecond
	healTries   = 40
	healPause   = 50 * time.Millisecond
)

// Ensure returns when the server runs with our configuration: one that runs is taken over, one that we recorded and that lost its
// socket file is healed, and else one is started, in a scope of its own where systemd runs the person's services. The error is of
// the class ErrUnknown where it can't be known whether a server runs, and then none is started.
func (s *Server) Ensure(ctx context.Context) error {
	if found, err := s.identify(ctx); err == nil && s.isUsed(found) {
		return nil
	}
	release, err := s.takeTurn(ctx)
	if err != nil {
		return err
	}
	defer release()
	found, err := s.identify(ctx)
	if errors.Is(err, errNoServer) {
		found, err = s.revive(ctx)
	}
	if errors.Is(err, errNoServer) {
		found, err = s.start(ctx)
	}
	if err != nil {
		return err
	}
	return s.settle(ctx, found)
}

// Heal gives the server that we recorded its socket back, should it live and the file be gone, and says whether a server answers
// now. It never starts one.
func (s *Server) Heal(ctx context.Context) (bool, error) {
	release, err := s.takeTurn(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	_, err = s.identify(ctx)
	if errors.Is(err, errNoServer) {
		_, err = s.revive(ctx)
	}
	if errors.Is(err, errNoServer) {
		return false, nil
	}
	return err == nil, err
}

// takeTurn waits until nobody else starts or heals the server, in this process or another.
func (s *Server) takeTurn(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, unknown("", ctx.Err())
	}
	for {
		lock, err := unixsock.Lock(filepath.Join(s.dir, "lock"))
		if err == nil {
			return func() { _ = lock.Close(); <-s.turn }, nil
		}
		if _, held := errors.AsType[*unixsock.HeldError](err); !held {
			<-s.turn
			return nil, fmt.Errorf("tmux: %w: %w", err, ErrUnknown)
		}
		select {
		case <-time.After(turnPause):
		case <-ctx.Done():
			<-s.turn
			return nil, unknown("", err)
		}
	}
}

// instance is a server as it describes itself.
type instance struct {
	process proc.Identity
	version string
	hash    string // of the configuration that it read; "" when that is not ours
}

func (s *Server) identify(ctx context.Context) (instance, error) {
	out, err := s.once(ctx, s.patience, "", do("display-message", "-p", "#{pid}|#{version}|#{@loop_conf}"))
	if err != nil {
		return instance{}, err
	}
	fields := strings.SplitN(strings.TrimSpace(out), "|", 3)
	if len(fields) != 3 {
		return instance{}, unknown(out, errors.New("it does not describe itself"))
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil {
		return instance{}, unknown(out, err)
	}
	process, err := proc.Of(pid)
	if err != nil {
		return instance{}, unknown("", err) // it has just ended, or is in another pid namespace
	}
	return instance{process: process, version: fields[1], hash: fields[2]}, nil
}

// revive asks the server that we recorded to make its socket anew. Without such a server the error is errNoServer.
func (s *Server) revive(ctx context.Context) (instance, error) {
	last, err := s.recorded()
	if err != nil {
		return instance{}, err
	}
	if !proc.Alive(last.Process) {
		return instance{}, errNoServer
	}
	if err := s.prepareSocketFolder(); err != nil {
		return instance{}, err
	}
	for range healTries {
		if err := proc.Signal(last.Process, syscall.SIGUSR1); errors.Is(err, os.ErrProcessDone) {
			return instance{}, errNoServer
		}
		found, err := s.identify(ctx)
		if err == nil {
			s.log.Warn("tmux socket was removed and is recovered", "socket", s.socket, "pid", found.process.PID)
		}
		if !errors.Is(err, errNoServer) {
			return found, err
		}
		select {
		case <-time.After(healPause):
		case <-ctx.Done():
			return instance{}, unknown("", ctx.Err())
		}
	}
	return instance{}, fmt.Errorf("tmux server %d is running but its socket %s cannot be restored; not starting a second one: %w",
		last.Process.PID, s.socket, ErrUnknown)
}

// settle makes the server that answers ours: with our configuration, and recorded.
func (s *Server) settle(ctx context.Context, found instance) error {
	last, err := s.recorded()
	if err != nil {
		return err
	}
	if last.Process != found.process && proc.Alive(last.Process) {
		return fmt.Errorf("tmux server %d has taken the socket %s from server %d, which hosts the sessions; end the first with kill %d: %w",
			found.process.PID, s.socket, last.Process.PID, found.process.PID, ErrUnknown)
	}
	if found.hash != s.hash {
		s.log.Info("tmux server takes our configuration", "pid", found.process.PID, "had_ours", found.hash != "")
		if err := s.configure(ctx); err != nil {
			return err
		}
	}
	if last.Process == found.process {
		s.last = last
		return nil
	}
	if ours := s.version.text; found.version != ours {
		s.log.Warn("tmux server and client differ, restart the sessions after an upgrade", "server", found.version, "client", ours)
	}
	s.log.Info("tmux server is used", "pid", found.process.PID, "socket", s.socket)
	return s.record(record{Socket: s.socket, Binary: s.binary, Version: found.version, Process: found.process})
}

// isUsed reports whether there is nothing to settle, as the record tells: then nobody has to wait for a turn.
func (s *Server) isUsed(found instance) bool {
	last, err := s.readRecord()
	return err == nil && found.hash == s.hash && found.process == last.Process
}

// configure reads the settings into the server, by its standard input: a path could have to be quoted.
func (s *Server) configure(ctx context.Context) error {
	if _, err := s.once(ctx, 2*s.patience, s.conf, do("source-file", "-")); err != nil {
		return fmt.Errorf("configure tmux: %w", err)
	}
	now, err := s.identify(ctx)
	if err != nil {
		return err
	}
	if now.hash != s.hash {
		return fmt.Errorf("tmux server %d does not take our configuration: %w", now.process.PID, loop.ErrUnavailable)
	}
	return nil
}

// prepareSocketFolder makes the folder that only we may enter. One in /tmp must not be a link that somebody laid there.
func (s *Server) prepareSocketFolder() error {
	dir := filepath.Dir(s.socket)
	if err := unixsock.PrivateFolder(dir); err != nil {
		return fmt.Errorf("tmux: %w: %w", err, loop.ErrUnavailable)
	}
	if info, err := os.Lstat(dir); dir != s.dir && (err != nil || !info.IsDir()) {
		return fmt.Errorf("tmux: %s is no folder, remove it: %w", dir, loop.ErrUnavailable)
	}
	return nil
}
