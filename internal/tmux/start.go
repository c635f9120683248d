package tmux

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

const recordFile = "server.json"

// record is what we keep of the server that we use.
type record struct {
	Socket  string        `json:"socket"`
	Binary  string        `json:"binary"`
	Version string        `json:"version"`
	Process proc.Identity `json:"process"`
}

// recorded reads the record, or remembers it when somebody has removed the folder; the zero record is that of no server. The caller
// has the turn.
func (s *Server) recorded() (record, error) {
	r, err := s.readRecord()
	if errors.Is(err, fs.ErrNotExist) {
		return s.last, nil
	}
	if err != nil {
		return record{}, fmt.Errorf("read which tmux server is ours: %w: %w", err, ErrUnknown)
	}
	if r.Socket != s.socket {
		return record{}, nil // of another place: it can't be asked for this one
	}
	return r, nil
}

func (s *Server) readRecord() (r record, err error) {
	text, err := os.ReadFile(filepath.Join(s.dir, recordFile))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

func (s *Server) record(r record) error {
	s.last = r
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return s.write(recordFile, append(text, '\n'))
}

func (s *Server) write(name string, text []byte) error {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("tmux folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	return atomicfile.Write(root, name, text, 0o600)
}

// start starts a server with nothing in it: what it was started with stays visible to every user for its whole life.
func (s *Server) start(ctx context.Context) (instance, error) {
	if err := s.prepareSocketFolder(); err != nil {
		return instance{}, err
	}
	if err := s.write(filepath.Base(s.confPath()), []byte(s.conf)); err != nil {
		return instance{}, err
	}
	var failures []error
	for _, cmd := range s.starters() {
		runErr := s.runStarter(ctx, cmd)
		found, err := s.identify(ctx)
		if !errors.Is(err, errNoServer) {
			return found, err
		}
		failures = append(failures, runErr)
		s.log.Warn("tmux server did not start this way", "program", cmd.Path, "err", runErr)
	}
	return instance{}, fmt.Errorf("start tmux server on %s: %w", s.socket, errors.Join(append(failures, loop.ErrUnavailable)...))
}

func (s *Server) runStarter(ctx context.Context, cmd proc.Cmd) error {
	ctx, cancel := context.WithTimeout(ctx, 2*s.patience)
	defer cancel()
	res, err := proc.Run(ctx, cmd)
	if err == nil && len(res.Stderr) > 0 {
		err = fmt.Errorf("%s", res.Stderr) // tmux exits with 0 in a folder that is not there
	}
	return err
}

// starters are the ways to start the server, best first. A process that systemd finds in our service ends with it, so the server
// asks for a scope of its own. Its name is new each time: an old scope lasts as long as anything in it.
func (s *Server) starters() []proc.Cmd {
	args := s.flags()
	plain := proc.Cmd{Path: s.binary, Args: append(args, "start-server"), Env: s.tmuxEnviron(), Dir: "/", Grace: killGrace}
	bus := pick(s.environ, "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
	systemdRun, err := proc.LookPath("systemd-run", s.environ)
	if err != nil || !userManagerAnswers(s.environ) {
		return []proc.Cmd{plain}
	}
	sum := sha256.Sum256([]byte(s.socket))
	scoped := plain
	scoped.Path = systemdRun
	scoped.Env = append(s.tmuxEnviron(), bus...)
	scoped.Args = append([]string{
		"--user", "--scope", "--quiet", "--collect", "--unit=loopd-tmux-" + hex.EncodeToString(sum[:4]) + "-" + rand.Text()[:8],
		"--", "/usr/bin/env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS", s.binary,
	}, plain.Args...)
	return []proc.Cmd{scoped, plain}
}

// userManagerAnswers says whether systemd runs services of this user: it then has its own socket in the runtime folder.
func userManagerAnswers(environ []string) bool {
	for _, entry := range pick(environ, "XDG_RUNTIME_DIR") {
		info, err := os.Stat(filepath.Join(entry[len("XDG_RUNTIME_DIR="):], "systemd", "private"))
		return err == nil && info.Mode()&fs.ModeSocket != 0
	}
	return false
}
