package config

import (
	"cmp"
	"fmt"
	"path/filepath"
)

// Folders are the places of what the daemon keeps.
type Folders struct {
	State       string
	Registry    string // the session files
	Journal     string // the SQLite file
	Runs        string
	Transcripts string
	Workspaces  string
	TmuxSocket  string
}

// Folders names the places: as configured, else below daemon.state_dir, else below loop in $XDG_STATE_HOME or
// ~/.local/state. Nothing is made or looked at.
func (c Config) Folders(getenv Getenv) (Folders, error) {
	state := c.Daemon.StateDir
	if state == "" {
		base, err := baseDir(getenv, "XDG_STATE_HOME", ".local", "state")
		if err != nil {
			return Folders{}, fmt.Errorf("find state folder: %w: set daemon.state_dir", err)
		}
		state = filepath.Join(base, "loop")
	}
	in := func(name string) string { return filepath.Join(state, name) }
	return Folders{
		State:       state,
		Registry:    cmp.Or(c.Routing.RegistryDir, in("sessions")),
		Journal:     in("journal.db"),
		Runs:        in("runs"),
		Transcripts: in("transcripts"),
		Workspaces:  cmp.Or(c.Workspace.Root, in("work")),
		TmuxSocket:  cmp.Or(c.Routing.Tmux.Socket, in("tmux/s")),
	}, nil
}

// Sockets lists where the daemon's socket may be, best first: the flag's value, $LOOP_SOCKET or daemon.socket alone, where
// one is set; else loop/loopd.sock in $XDG_RUNTIME_DIR, then loopd.sock in the state folder. The daemon listens on the
// first. A client tries each, because it may run where $XDG_RUNTIME_DIR differs from the daemon's, and names those it tried.
// As with [Path], a relative name is one in the current folder.
func Sockets(flag string, cfg Config, getenv Getenv) ([]string, error) {
	if named := cmp.Or(flag, getenv("LOOP_SOCKET"), cfg.Daemon.Socket); named != "" {
		abs, err := filepath.Abs(named)
		if err != nil {
			return nil, fmt.Errorf("find socket %s: %w", named, err)
		}
		return []string{abs}, nil
	}
	folders, err := cfg.Folders(getenv)
	if err != nil {
		return nil, err
	}
	sockets := []string{filepath.Join(folders.State, "loopd.sock")}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		sockets = append([]string{filepath.Join(dir, "loop", "loopd.sock")}, sockets...)
	}
	return sockets, nil
}

// baseDir is a folder of the XDG base directory specification, which has relative values ignored.
func baseDir(getenv Getenv, variable string, below ...string) (string, error) {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return dir, nil
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("neither $%s nor $HOME holds an absolute path", variable)
	}
	return filepath.Join(append([]string{home}, below...)...), nil
}
