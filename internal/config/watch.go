package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	looks    = 20 // again at a file that is missing or empty
	lookEach = 100 * time.Millisecond
)

// Options are what a Watcher needs beside the configuration that it starts from.
type Options struct {
	Getenv Getenv
	Log    *slog.Logger

	// Check, where set, refuses a configuration for what the file alone does not tell, such as a secret that is not there.
	Check func(Config) error

	// OnReload is told of every reload, one at a time and in order, before Reload returns. It must not call Reload.
	OnReload func(Reload)
}

// Reload is what became of one change of the file.
type Reload struct {
	Config   Config // in force from now on; after an error the one that was in force before
	Changed  []Change
	Restart  []string // the keys among Changed whose running value stays until a restart
	Warnings []Warning
	Err      error // why the file was refused
}

// Watcher takes over changes of the configuration file while the daemon runs. A change that is refused leaves the running
// configuration in force, and is reported once. It looks when it is told to: by filewatch.Run, which whoever runs a Watcher
// starts, so that a program that only reads the configuration links no file notification.
type Watcher struct {
	place Place
	Options

	mu      sync.Mutex // held during a reload, so that one follows the other
	running Config     // guarded by mu
	tried   digest     // of the content read last, accepted or not; guarded by mu
	isFile  bool       // that the file is missing is news; guarded by mu
}

// NewWatcher starts from the configuration that was loaded and is running.
func NewWatcher(from Loaded, o Options) *Watcher {
	return &Watcher{
		place: from.Place, Options: o,
		running: from.Config, tried: from.tried, isFile: from.Named || !from.Missing,
	}
}

// Reload reads the file now, whether it changed or not, and answers with the verdict. SIGHUP and `loopctl reload` come here.
func (w *Watcher) Reload(ctx context.Context) Reload {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := read(ctx, w.place.File, w.isFile)
	if err := ctx.Err(); err != nil {
		return Reload{Config: w.running, Err: err}
	}
	return w.take(c)
}

// Look reads the file and takes it when it is another than last time. It is for filewatch.Run, which tells when to look.
func (w *Watcher) Look(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := read(ctx, w.place.File, w.isFile)
	if ctx.Err() != nil {
		return
	}
	if c.digest == w.tried {
		w.Log.Debug("configuration is unchanged", "file", w.place.File)
		return
	}
	w.take(c)
}

// take makes the content the running configuration, or reports why not. The caller holds mu.
func (w *Watcher) take(c content) Reload {
	w.tried = c.digest
	next, warns, err := w.decode(c)
	r := Reload{Config: w.running, Err: err}
	if err == nil {
		r.Config, r.Warnings = next, warns
		r.Changed, r.Restart = Diff(w.running, next)
		keepRunning(&r.Config, w.running)
		r.Err = w.check(r.Config)
	}
	if r.Err != nil {
		r = Reload{Config: w.running, Err: r.Err}
	} else {
		w.running, w.isFile = r.Config, w.isFile || c.err == nil
	}
	w.tell(r)
	return r
}

func (w *Watcher) decode(c content) (Config, []Warning, error) {
	switch {
	case errors.Is(c.err, fs.ErrNotExist) && w.isFile:
		return Config{}, nil, &Error{File: w.place.File, Msg: "the file is gone"}
	case c.err != nil && !errors.Is(c.err, fs.ErrNotExist):
		return Config{}, nil, fmt.Errorf("read configuration: %w", c.err)
	}
	cfg, warns, err := Decode(c.data, w.place.File, w.Getenv("HOME"))
	if err != nil {
		return Config{}, nil, err
	}
	return cfg, append(warns, exposures(w.place.File, cfg)...), nil
}

// check looks at the configuration that would run: a new value may be impossible beside an old one that stays.
func (w *Watcher) check(cfg Config) error {
	p := problems{file: w.place.File}
	if check(&cfg, &p); len(p.list) > 0 {
		return fmt.Errorf("with the values that stay until a restart: %w", p.err())
	}
	if w.Check == nil {
		return nil
	}
	return w.Check(cfg)
}

func (w *Watcher) tell(r Reload) {
	log := w.Log.With("file", w.place.File)
	switch keys := keysOf(r.Changed); {
	case r.Err != nil:
		log.Error("configuration refused, the last good one stays", "err", r.Err)
	case len(r.Restart) > 0:
		log.Warn("configuration reloaded, some of it waits for a restart", "changed", keys, "restart", r.Restart)
	default:
		log.Info("configuration reloaded", "changed", keys)
	}
	for _, warning := range r.Warnings {
		log.Warn("configuration is doubtful", "key", warning.Key, "reason", warning.Msg)
	}
	if w.OnReload != nil {
		w.OnReload(r)
	}
}

func keysOf(changes []Change) []string {
	keys := make([]string, len(changes))
	for i, c := range changes {
		keys[i] = c.Key
	}
	return keys
}

// content is what a look at the file found.
type content struct {
	data   []byte
	err    error
	digest digest // of data, or of the error
}

// read reads the file. While one that was there is missing, or is empty, it is probably being replaced: read looks again for
// a while.
func read(ctx context.Context, file string, wasThere bool) content {
	for i := 0; ; i++ {
		data, err := os.ReadFile(file)
		fleeting := errors.Is(err, fs.ErrNotExist) && wasThere || err == nil && len(data) == 0
		if !fleeting || i == looks {
			return contentOf(data, err)
		}
		select {
		case <-ctx.Done():
			return contentOf(data, err)
		case <-time.After(lookEach):
		}
	}
}

func contentOf(data []byte, err error) content {
	switch {
	case err == nil:
		return content{data: data, digest: digestOf(data)}
	case errors.Is(err, fs.ErrNotExist):
		return content{err: err}
	default:
		return content{err: err, digest: digestOf([]byte(err.Error()))}
	}
}
