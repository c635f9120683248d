package app

import (
	"context"
	"os"
	"sync"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/loop"
)

// reloadState is what `loopctl status` tells of the configuration.
type reloadState struct {
	mu      sync.Mutex
	err     string   // why the last edit was refused
	restart []string // keys that changed and wait for a restart
	warns   []string
}

// check refuses a configuration that cannot be made live.
func (d *daemon) check(cfg config.Config) error {
	_, err := d.newLive(cfg)
	return err
}

// reloaded takes over a configuration that was accepted, or says why one was not.
func (d *daemon) reloaded(r config.Reload) {
	ctx := context.Background()
	if r.Err != nil {
		d.log.Error("the configuration is refused, the last good one stays", "err", r.Err)
		d.events.Log(ctx, loop.LogEvent{Type: loop.LogConfigRejected, Message: r.Err.Error()})
		d.reload.set(r.Err.Error(), nil, nil)
		return
	}
	next, err := d.newLive(r.Config)
	if err != nil { // it was checked a moment ago: a secret file went away meanwhile
		d.log.Error("the configuration is refused, the last good one stays", "err", err)
		d.reload.set(err.Error(), nil, nil)
		return
	}
	d.live.Store(next)
	d.level.Set(r.Config.Daemon.Level())
	d.dispatch.Refresh()
	d.reload.set("", r.Restart, messages(r.Warnings))
	d.log.Info("the configuration is reloaded", "changed", keys(r.Changed), "restart_needed", r.Restart)
	d.events.Log(ctx, loop.LogEvent{Type: loop.LogConfigReloaded, Message: "the configuration is reloaded"})
	d.warn(ctx, r.Warnings)
}

func (s *reloadState) set(err string, restart, warns []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if err == "" {
		s.restart, s.warns = restart, warns
	}
}

// warn says what a configuration will cost.
func (d *daemon) warn(ctx context.Context, warnings []config.Warning) {
	for _, w := range warnings {
		d.log.Warn("configuration", "warning", w.String())
		d.events.Log(ctx, loop.LogEvent{Type: loop.LogConfigWarning, Message: w.String()})
	}
}

// onHUP reloads at each SIGHUP until ctx ends.
func (d *daemon) onHUP(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			d.watcher.Reload(ctx) // OnReload tells the verdict
		}
	}
}

func keys(changes []config.Change) []string {
	out := make([]string, len(changes))
	for i, c := range changes {
		out[i] = c.Key
	}
	return out
}

func messages(warnings []config.Warning) []string {
	out := make([]string, len(warnings))
	for i, w := range warnings {
		out[i] = w.String()
	}
	return out
}
