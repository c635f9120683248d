package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/loop-daemon/loop/hooks"
	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/sys/atomicfile"
	"github.com/loop-daemon/loop/internal/tmux"
)

// tmuxStart bounds how long tmux may take to say which version it is.
const tmuxStart = 10 * time.Second

// openTerminals makes the host of terminals. Without a tmux that fits there is none, which is told to whoever needs one.
func (d *daemon) openTerminals(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tmuxStart)
	defer cancel()
	dir := filepath.Join(d.folders.State, "tmux")
	server, err := tmux.New(ctx, tmux.Options{Dir: dir, Socket: d.loaded.Config.Routing.Tmux.Socket, Environ: d.env.Environ, Logger: d.log})
	if err != nil {
		d.noTmux = err
		d.log.Warn("sessions can't be hosted in terminals", "err", err)
		return nil
	}
	if d.hookFiles, err = d.hookSettings(); err != nil {
		return err
	}
	d.terminals, err = runner.NewTmux(runner.TmuxOptions{
		Server: server, Dir: d.panes(), Runs: d.folders.Runs, Transcripts: d.folders.Transcripts, Exec: d.env.PaneStarter,
		Agents: d.agent, Settings: d.terminalSettings, Live: d.hooks, Queued: d.queued, Log: d.events.Log, Logger: d.log,
	})
	return err
}

// panes is the folder of what is known of each terminal.
func (d *daemon) panes() string { return filepath.Join(d.folders.State, "tmux", "panes") }

// terminal answers with the host of terminals, or why there is none.
func (d *daemon) terminal() (*runner.Tmux, error) {
	if d.terminals == nil {
		return nil, fmt.Errorf("%w; then start loopd again, or set routing.runner to headless for new sessions", d.noTmux)
	}
	return d.terminals, nil
}

// terminalSettings puts the configuration in force into the words of the runner.
func (d *daemon) terminalSettings(harnessName string) runner.TerminalSettings {
	cfg := d.live.Load().config
	t := cfg.Routing.Tmux
	set := runner.TerminalSettings{
		KeepOnClose: t.KeepSessionOnClose, RemainOnExit: t.RemainOnExit, EndOnClose: t.KillHarnessOnClose, Grace: t.HarnessKillGrace,
		MaxLive: cfg.Routing.MaxLiveSessions, Trust: cfg.Harness[harnessName].Trust,
	}
	if cfg.Hooks.DeliverLive {
		set.Hooks = d.hookFiles[harnessName]
	}
	return set
}

// hookSettings writes the settings by which the agents that loopd starts tell it what they do, and returns the file of each
// harness that has such. They call loopctl, which is expected beside loopd or in the PATH.
func (d *daemon) hookSettings() (map[string]string, error) {
	files := map[string]string{}
	if d.env.Client == "" {
		d.log.Warn("loopctl is neither beside loopd nor in the PATH: agents in terminals cannot tell what they do, and prompts are typed into them")
		return files, nil
	}
	dir := filepath.Join(d.folders.State, "hooks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of hooks: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	const file = "claude.json"
	fragment, err := hooks.For("claude", d.env.Client, false)
	if err != nil {
		return nil, err
	}
	text := fragment.Text()
	if old, err := root.ReadFile(file); err != nil || !bytes.Equal(old, text) {
		if err := atomicfile.Write(root, file, text, 0o600); err != nil {
			return nil, err
		}
	}
	files["claude"] = filepath.Join(dir, file)
	return files, nil
}

// place says where a session is hosted.
func (d *daemon) place(w loop.WorkItem, name string, kind loop.RunnerKind) (target string, err error) {
	if kind != loop.RunnerTmux {
		_, err := d.agent(name)
		return "", err
	}
	t, err := d.terminal()
	if err != nil {
		return "", err
	}
	return t.Place(w, name)
}

// queued reports whether something waits for the session of an item.
func (d *daemon) queued(w loop.WorkItem) bool { return d.dispatch.Activity(w).Queued > 0 }

// launched names the launch that the terminal of an item has.
func (d *daemon) launched(w loop.WorkItem) string {
	if d.terminals == nil {
		return ""
	}
	return d.terminals.Launched(w)
}

// attach answers with the command that shows a session's terminal.
func (d *daemon) attach(ctx context.Context, s loop.Session, write bool, callerTmux string) (api.Attach, error) {
	if s.Runner != loop.RunnerTmux {
		return api.Attach{}, fmt.Errorf("the session of %s has no terminal, as it runs headless; loopctl logs %[1]s shows its runs: %w", s.WorkItem.Ref(), loop.ErrConflict)
	}
	t, err := d.terminal()
	if err != nil {
		return api.Attach{}, err
	}
	argv, note, err := t.Attach(ctx, s, tmux.Viewer{Write: write, Tmux: callerTmux})
	return api.Attach{Argv: argv, Note: note}, err
}
