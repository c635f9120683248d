package app

import (
	"context"
	"os"
	"strings"
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

// check makes what a configuration asks for, or refuses one that cannot be made live. The watcher calls it before reloaded.
func (d *daemon) check(cfg config.Config) (err error) {
	d.next, err = d.newLive(cfg)
	return err
}

// reloaded puts the configuration that was checked in force, or notes why one was refused. The watcher has logged it.
func (d *daemon) reloaded(r config.Reload) {
	ctx := context.Background()
	if r.Err != nil {
		d.reload.set(r.Err.Error(), nil, nil)
		d.events.Log(ctx, loop.LogEvent{Type: loop.LogConfigRejected, Message: r.Err.Error()})
		return
	}
	if old := d.live.Swap(d.next); old.config.GitHub != r.Config.GitHub {
		if err := d.connect(r.Config.GitHub); err != nil { // newLive made one like it
			d.log.Error("the client of GitHub is not renewed", "err", err)
		}
	}
	d.level.Set(r.Config.Daemon.Level())
	d.format.set(r.Config.Daemon.LogFormat)
	d.dispatch.Refresh()
	d.poller.Refresh()
	select {
	case d.reconfigured <- struct{}{}:
	default: // it is told already
	}
	d.reload.set("", r.Restart, messages(r.Warnings))
	d.events.Log(ctx, loop.LogEvent{
		Type: loop.LogConfigReloaded, Message: "the configuration is reloaded",
		Fields: map[string]string{"changed": strings.Join(keys(r.Changed), " "), "restart_needed": strings.Join(r.Restart, " ")},
	})
	d.warned(ctx, r.Warnings)
}

func (s *reloadState) set(err string, restart, warns []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if err == "" {
		s.restart, s.warns = restart, warns
	}
}

// warned notes in the event log what a configuration will cost.
func (d *daemon) warned(ctx context.Context, warnings []config.Warning) {
	for _, w := range warnings {
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
