package config_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/sys/filewatch"
)

// Files are watched in real time: inotify and kqueue know nothing of a clock of ours. Nothing here depends on how fast.
const patience = 30 * time.Second

// watched is a folder with a configuration file that a Watcher is running on.
type watched struct {
	t       *testing.T
	dir     string
	file    string
	watcher *config.Watcher
	reloads chan config.Reload
	idle    chan struct{} // a look that found nothing new
}

// handler tells the test of the looks that come to nothing, and of a watch that is none.
type handler struct {
	slog.Handler
	w *watched
}

func (h handler) Handle(_ context.Context, r slog.Record) error {
	switch {
	case r.Message == "configuration is unchanged":
		select {
		case h.w.idle <- struct{}{}:
		default:
		}
	case strings.Contains(r.Message, "not watched"):
		h.w.t.Errorf("%s: %s", r.Level, r.Message)
	}
	return nil
}

func (h handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) WithAttrs([]slog.Attr) slog.Handler { return h }

func attempts(n int) string { return "routing.max_attempts = " + strconv.Itoa(n) + "\n" }

// watch begins with max_attempts = 1, in the folder that prepare makes ready, if any.
func watch(t *testing.T, prepare func(w *watched)) *watched {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "loop")
	w := &watched{
		t: t, dir: dir, file: filepath.Join(dir, "loop.toml"),
		reloads: make(chan config.Reload, 100), idle: make(chan struct{}, 1),
	}
	if prepare != nil {
		prepare(w)
	} else {
		w.mkdir(dir)
		w.write(w.file, attempts(1))
	}
	w.start(config.Place{File: w.file}, nil)
	return w
}

func (w *watched) start(place config.Place, check func(config.Config) error) {
	w.t.Helper()
	loaded, err := config.Load(place, env())
	if err != nil {
		w.t.Fatal(err)
	}
	w.watcher = config.NewWatcher(loaded, config.Options{
		Getenv: env(), Check: check, Log: slog.New(handler{slog.DiscardHandler, w}),
		OnReload: func(r config.Reload) { w.reloads <- r },
	})
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- filewatch.Run(ctx, place.File, slog.New(slog.DiscardHandler), w.watcher.Look) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	})
	w.nothing() // the first look: from here on the folder is watched
}

// next is the next reload.
func (w *watched) next() config.Reload {
	w.t.Helper()
	select {
	case r := <-w.reloads:
		return r
	case <-time.After(patience):
		w.t.Fatal("no reload")
		return config.Reload{}
	}
}

// sees waits for the reload that takes over n, and proves with a further edit that it was the only one.
func (w *watched) sees(n int) {
	w.t.Helper()
	w.takes(n)
	w.write(w.file, attempts(90))
	w.takes(90)
}

func (w *watched) takes(n int) {
	w.t.Helper()
	r := w.next()
	if r.Err != nil || r.Config.Routing.MaxAttempts != n {
		w.t.Fatalf("reloaded to %d (%v), want %d", r.Config.Routing.MaxAttempts, r.Err, n)
	}
	if len(r.Changed) != 1 || r.Changed[0].Key != "routing.max_attempts" {
		w.t.Errorf("changed: %v", r.Changed)
	}
}

// nothing waits for a look that finds nothing new.
func (w *watched) nothing() {
	w.t.Helper()
	select {
	case <-w.idle:
	case r := <-w.reloads:
		w.t.Fatalf("reloaded without a change: %+v", r)
	case <-time.After(patience):
		w.t.Fatal("the file was not looked at")
	}
}

func (w *watched) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) in(name string) string    { return filepath.Join(w.dir, name) }
func (w *watched) mkdir(dir string)         { w.t.Helper(); w.must(os.MkdirAll(dir, 0o700)) }
func (w *watched) write(name, text string)  { w.t.Helper(); write(w.t, name, text) }
func (w *watched) rename(from, to string)   { w.t.Helper(); w.must(os.Rename(from, to)) }
func (w *watched) link(target, name string) { w.t.Helper(); w.must(os.Symlink(target, name)) }
func (w *watched) remove(name string)       { w.t.Helper(); w.must(os.RemoveAll(name)) }
func (w *watched) replace(name, text string) {
	w.t.Helper()
	w.write(name+".new", text)
	w.rename(name+".new", name)
}

func (w *watched) swap(link, target string) {
	w.t.Helper()
	w.link(target, link+"_tmp")
	w.rename(link+"_tmp", link)
}

func TestWatchEdits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		prepare, edit func(w *watched) // from max_attempts = 1 to 2
	}{
		{"written in place", nil, func(w *watched) { w.write(w.file, attempts(2)) }},
		{"renamed over", nil, func(w *watched) { w.replace(w.file, attempts(2)) }},
		{"by vim", nil, func(w *watched) {
			w.rename(w.file, w.file+"~")
			w.write(w.file, attempts(2))
			w.remove(w.file + "~")
		}},
		{"removed for a while", nil, func(w *watched) {
			w.remove(w.file)
			time.Sleep(3 * 100 * time.Millisecond) // the situation itself: longer than the file takes to settle
			w.write(w.file, attempts(2))
		}},
		{"empty for a while", nil, func(w *watched) {
			w.write(w.file, "")
			time.Sleep(3 * 100 * time.Millisecond) // as above
			w.write(w.file, attempts(2))
		}},
		{"folder replaced", nil, func(w *watched) {
			w.rename(w.dir, w.dir+".old")
			w.mkdir(w.dir)
			w.write(w.file, attempts(2))
		}},
		{"swapped by a link to a folder", func(w *watched) {
			w.mkdir(w.in("..1"))
			w.write(w.in("..1/loop.toml"), attempts(1))
			w.link("..1", w.in("..data"))
			w.link("..data/loop.toml", w.file)
		}, func(w *watched) {
			w.mkdir(w.in("..2"))
			w.write(w.in("..2/loop.toml"), attempts(2))
			w.swap(w.in("..data"), "..2")
			w.remove(w.in("..1"))
		}},
		{"written behind a link", linked, func(w *watched) { w.write(w.in("../dotfiles/loop.toml"), attempts(2)) }},
		{"replaced behind a link", linked, func(w *watched) { w.replace(w.in("../dotfiles/loop.toml"), attempts(2)) }},
		{"link replaced", linked, func(w *watched) {
			w.write(w.in("../dotfiles/other.toml"), attempts(2))
			w.swap(w.file, "../dotfiles/other.toml")
		}},
		{"folder is a link that is replaced", func(w *watched) {
			w.mkdir(w.in("../a"))
			w.write(w.in("../a/loop.toml"), attempts(1))
			w.link("a", w.dir)
		}, func(w *watched) {
			w.mkdir(filepath.Dir(w.dir) + "/b")
			w.write(filepath.Dir(w.dir)+"/b/loop.toml", attempts(2))
			w.swap(w.dir, "b")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, tt.prepare)
			tt.edit(w)
			w.sees(2)
		})
	}
}

func linked(w *watched) {
	w.mkdir(w.dir)
	w.mkdir(w.in("../dotfiles"))
	w.write(w.in("../dotfiles/loop.toml"), attempts(1))
	w.link("../dotfiles/loop.toml", w.file)
}

func TestWatchIgnoresWhatChangesNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		act  func(w *watched)
	}{
		{"chmod", func(w *watched) { w.must(os.Chmod(w.file, 0o640)) }},
		{"touch", func(w *watched) { w.must(os.Chtimes(w.file, time.Now(), time.Now())) }},
		{"the same bytes", func(w *watched) { w.replace(w.file, attempts(1)) }},
		{"another file", func(w *watched) { w.write(w.in("other.toml"), "x") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, nil)
			tt.act(w)
			w.nothing()
			w.write(w.file, attempts(2))
			w.takes(2)
		})
	}
}

func TestWatchAfterTheFolderWasReplaced(t *testing.T) {
	t.Parallel()
	w := watch(t, nil)
	w.rename(w.dir, w.dir+".old")
	w.mkdir(w.dir)
	w.write(w.file, attempts(2))
	w.takes(2)
	for n := 3; n < 6; n++ {
		w.replace(w.file, attempts(n))
		w.takes(n)
	}
}

// Somebody who starts without a file, even without its folder, may make one later.
func TestWatchForAFileThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	w := watch(t, func(*watched) {})
	w.mkdir(w.dir)
	w.write(w.file, attempts(2))
	w.takes(2)
}

func TestWatchFindsWhatChangedBeforeItRan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := &watched{t: t, dir: dir, file: filepath.Join(dir, "loop.toml"), reloads: make(chan config.Reload, 1)}
	w.write(w.file, attempts(1))
	loaded, err := config.Load(config.Place{File: w.file}, env())
	w.must(err)
	w.write(w.file, attempts(2))

	ctx, cancel := context.WithCancel(t.Context())
	watcher := config.NewWatcher(loaded, config.Options{
		Getenv: env(), Log: slog.New(slog.DiscardHandler), OnReload: func(r config.Reload) { w.reloads <- r; cancel() },
	})
	w.must(filewatch.Run(ctx, w.file, slog.New(slog.DiscardHandler), watcher.Look))
	w.takes(2)
}

func TestWatchRefusesAndRecovers(t *testing.T) {
	t.Parallel()
	w := watch(t, nil)
	w.write(w.file, attempts(2)+"colour = 1\n")
	r := w.next()
	if e, ok := errors.AsType[*config.Error](r.Err); !ok || e.Line != 2 {
		t.Errorf("got %v, want a problem in line 2", r.Err)
	}
	if r.Config.Routing.MaxAttempts != 1 {
		t.Errorf("max_attempts is %d, want that of the last good configuration", r.Config.Routing.MaxAttempts)
	}
	w.must(os.Chtimes(w.file, time.Now(), time.Now()))
	w.nothing() // said once
	w.write(w.file, attempts(3))
	w.takes(3)
}

func TestWatchMissingForGood(t *testing.T) {
	t.Parallel()
	w := watch(t, nil)
	w.remove(w.file)
	r := w.next()
	if r.Err == nil || r.Config.Routing.MaxAttempts != 1 {
		t.Errorf("got %v, max_attempts %d; want an error and the last good configuration", r.Err, r.Config.Routing.MaxAttempts)
	}
	w.write(w.file, attempts(2))
	w.takes(2)
}

func TestWatchEmptyForGood(t *testing.T) {
	t.Parallel()
	w := watch(t, nil)
	w.write(w.file, "")
	w.takes(config.Default().Routing.MaxAttempts)
}

func TestReload(t *testing.T) {
	t.Parallel()
	w := watch(t, nil)
	r := w.watcher.Reload(t.Context())
	if r.Err != nil || len(r.Changed) > 0 {
		t.Errorf("an unchanged file: %+v", r)
	}
	if diff := cmp.Diff(r, w.next()); diff != "" {
		t.Errorf("OnReload was told something else: %s", diff)
	}

	w.write(w.file, "[")
	if r := w.watcher.Reload(t.Context()); r.Err == nil || r.Config.Routing.MaxAttempts != 1 {
		t.Errorf("a broken file: %+v", r)
	}
	if r := w.next(); r.Err == nil {
		t.Error("OnReload was not told of the error")
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if r := w.watcher.Reload(ended); !errors.Is(r.Err, context.Canceled) {
		t.Errorf("with an ended context: %v", r.Err)
	}
}

// The running value of some keys stays, reload after reload, and is named each time.
func TestReloadKeepsWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	w := watch(t, nil)
	for n := 2; n < 4; n++ {
		w.write(w.file, attempts(n)+"webhook.listen = ':99'\n")
		r := w.next()
		if r.Err != nil || r.Config.Webhook.Listen != "127.0.0.1:8787" || r.Config.Routing.MaxAttempts != n {
			t.Fatalf("got %+v", r)
		}
		if diff := cmp.Diff([]string{"webhook.listen"}, r.Restart); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Two values may fit in the file and not in the daemon, where one of them waits for a restart.
func TestReloadChecksWhatWouldRun(t *testing.T) {
	t.Parallel()
	w := watch(t, func(w *watched) {
		w.mkdir(w.dir)
		w.write(w.file, "webhook.listen = ':99'\n")
	})
	w.write(w.file, "webhook.listen = '127.0.0.1:99'\nwebhook.allow_unsigned = true\n")
	if r := w.next(); r.Err == nil || r.Config.Webhook.AllowUnsigned {
		t.Errorf("unsigned deliveries are taken on %s (%v)", r.Config.Webhook.Listen, r.Err)
	}
}

func TestReloadAsksCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := &watched{t: t, dir: dir, file: filepath.Join(dir, "loop.toml"), reloads: make(chan config.Reload, 9), idle: make(chan struct{}, 1)}
	w.write(w.file, attempts(1))
	refused := errors.New("no secret")
	w.start(config.Place{File: w.file, Named: true}, func(cfg config.Config) error {
		if cfg.Routing.MaxAttempts == 2 {
			return refused
		}
		return nil
	})
	w.write(w.file, attempts(2))
	if r := w.next(); !errors.Is(r.Err, refused) || r.Config.Routing.MaxAttempts != 1 {
		t.Errorf("got %v, max_attempts %d", r.Err, r.Config.Routing.MaxAttempts)
	}
	w.write(w.file, attempts(3))
	w.takes(3)
}
