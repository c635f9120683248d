package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/outbox"
	"github.com/loop-daemon/loop/internal/poll"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/build"
	"github.com/loop-daemon/loop/internal/sys/filewatch"
	"github.com/loop-daemon/loop/internal/sys/journal"
	"github.com/loop-daemon/loop/internal/sys/unixsock"
	"github.com/loop-daemon/loop/internal/webhook"
)

// daemon is a loopd. Its fields are set in the order of open and never change after it.
type daemon struct {
	env    Env
	flags  flagValues
	loaded config.Loaded
	level  *slog.LevelVar
	format *logFormat
	log    *slog.Logger

	started time.Time
	socket  string
	folders config.Folders
	live    atomic.Pointer[live]
	next    *live // checked and not in force yet; the watcher's alone
	reload  reloadState

	reconfigured chan struct{} // holds one value when another configuration is in force; notify's

	journal   *journal.DB
	inbox     *inbox.Inbox
	items     *item.Store
	events    *eventlog.Log
	sessions  *session.Store
	hooks     *session.Live
	hookFiles map[string]string // the settings file of each harness that has hooks
	runs      *runner.Headless
	terminals *runner.Tmux // nil where there is no tmux
	noTmux    error        // why
	hosts     *runner.Hosts
	dispatch  *dispatch.Dispatcher
	hub       hub
	outbox    *outbox.Outbox
	logins    *logins
	poller    *poll.Poller
	receiver  *webhook.Receiver // nil when webhooks are off
	watcher   *config.Watcher
	url       string // of the receiver
}

// run opens everything in order, runs it until ctx ends, and closes it in the opposite order.
func (d *daemon) run(ctx context.Context, hup <-chan os.Signal) (err error) {
	d.started = time.Now()
	if err := d.places(); err != nil {
		return usageError{err}
	}
	first, err := d.newLive(d.loaded.Config)
	if err != nil {
		return usageError{err}
	}
	d.live.Store(first)
	lock, err := unixsock.Lock(filepath.Join(d.folders.State, "loopd.lock")) // it makes the state folder
	if err != nil {
		return lockError(d.folders.State, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	sock, err := d.listenSocket(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = sock.Close() }()
	web, err := d.listen(ctx)
	if err != nil {
		return err
	}
	if web != nil {
		defer func() { _ = web.Close() }()
	}
	if d.journal, err = journal.Open(ctx, d.folders.Journal, inbox.Schema(), item.Schema(), eventlog.Schema(), github.Schema(), poll.Schema(), outbox.Schema()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.journal.Close()) }()
	if err := d.connect(d.loaded.Config.GitHub); err != nil {
		return usageError{err}
	}
	defer func() { d.hub.Load().Close() }()
	if d.sessions, err = session.Open(d.folders.Registry, d.log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.sessions.Close()) }()
	if err := d.build(); err != nil {
		return err
	}
	d.report()
	return d.serve(ctx, sock, web, hup)
}

// listenSocket opens the socket. A path that no socket can have is the configuration's fault.
func (d *daemon) listenSocket(ctx context.Context) (net.Listener, error) {
	lis, err := unixsock.Listen(ctx, d.socket)
	if _, ok := errors.AsType[*unixsock.PathError](err); ok {
		return nil, usageError{err}
	}
	return lis, err
}

// places finds the folders and the socket. Nothing is made yet.
func (d *daemon) places() error {
	sockets, err := config.Sockets(d.flags.socket, d.loaded.Config, d.env.Getenv)
	if err != nil {
		return err
	}
	d.socket = sockets[0]
	d.folders, err = d.loaded.Config.Folders(d.env.Getenv)
	return err
}

func lockError(state string, err error) error {
	if held, ok := errors.AsType[*unixsock.HeldError](err); ok {
		return fmt.Errorf("another loopd (pid %d) uses the state folder %s: stop it, or set daemon.state_dir to another folder", held.PID, state)
	}
	return err
}

// listen opens the receiver's port, so that one that is taken is known before anything is done.
func (d *daemon) listen(ctx context.Context) (net.Listener, error) {
	cfg := d.loaded.Config.Webhook
	if !cfg.Enabled {
		return nil, nil
	}
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks on %s: %w: stop what uses it, or change webhook.listen", cfg.Listen, err)
	}
	d.url = "http://" + lis.Addr().String() + webhook.Path
	return lis, nil
}

// build makes the parts. None does anything before serve.
func (d *daemon) build() error {
	var err error
	d.inbox, d.items, d.events = inbox.New(d.journal), item.New(d.journal), eventlog.New(d.journal, d.log)
	if d.hooks, err = session.OpenLive(session.LiveOptions{
		Dir: filepath.Join(d.folders.Registry, "live"), Logger: d.log, Wakes: func() bool { return d.live.Load().settings.DeliverLive },
	}); err != nil {
		return err
	}
	if d.runs, err = runner.New(runner.Options{Dir: d.folders.Runs, Exec: d.env.Starter, Agents: d.agent, Logger: d.log}); err != nil {
		return err
	}
	if err := d.openTerminals(context.Background()); err != nil {
		return err
	}
	d.hosts = runner.NewHosts(runner.HostsOptions{
		Headless: d.runs, Terminals: d.terminal, Panes: d.panes(), Runs: d.folders.Runs, Live: d.hooks, Agents: d.agent, Logger: d.log,
	})
	d.logins = newLogins()
	d.outbox = outbox.New(outbox.Options{Journal: d.journal, Logger: d.log, Post: d.post, Report: d.events.Append, Step: d.env.Step})
	d.dispatch = dispatch.New(dispatch.Options{
		Outbox: d.outbox, Login: d.logins.of,
		Journal: d.journal, Inbox: d.inbox, Sessions: d.sessions, Items: d.items, Live: d.hooks, Log: d.events, Runner: d.hosts, Logger: d.log,
		Decode: github.Decode, Settings: func() dispatch.Settings { return d.live.Load().settings },
		NewSessionID: d.newSessionID, Place: d.place, Launched: d.launched, Available: d.available, Exists: d.exists,
		RetryBase: d.env.RetryBase, ProbeBase: d.env.ProbeBase, Step: d.env.Step,
	})
	d.poller = d.newPoller()
	if d.loaded.Config.Webhook.Enabled {
		d.receiver, err = webhook.New(webhook.Options{
			Secrets:       func() [][]byte { return d.live.Load().secrets },
			AllowUnsigned: func() bool { return d.live.Load().config.Webhook.AllowUnsigned },
			MaxBody:       func() int64 { return int64(d.live.Load().config.Webhook.MaxBodyBytes) },
			Put:           d.dispatch.Put, Report: d.events.Log, Logger: d.log, Step: d.env.Step,
		})
		if err != nil {
			return err
		}
	}
	d.watcher = config.NewWatcher(d.loaded, config.Options{
		Getenv: d.env.Getenv, Log: d.log, Check: d.check, OnReload: d.reloaded,
	})
	return nil
}

// serve runs the parts until ctx ends or one of them fails.
func (d *daemon) serve(ctx context.Context, sock, web net.Listener, hup <-chan os.Signal) error {
	server := api.New(d.apiOptions())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return server.Run(ctx, sock) })
	if d.receiver != nil {
		g.Go(func() error { return d.receiver.Run(ctx, web) })
	}
	g.Go(func() error { return d.dispatch.Run(ctx) })
	g.Go(func() error { return d.poller.Run(ctx) })
	g.Go(func() error { return d.outbox.Run(ctx) })
	g.Go(func() error { d.introduce(ctx); return nil })
	if d.terminals != nil {
		g.Go(func() error { return d.terminals.Run(ctx) })
	}
	g.Go(func() error { return filewatch.Run(ctx, d.loaded.File, d.log, d.watcher.Look) })
	g.Go(func() error { return d.checkJournal(ctx) })
	g.Go(func() error { d.onHUP(ctx, hup); return nil })
	g.Go(func() error { d.keep(ctx); return nil })
	g.Go(func() error { d.notify(ctx); return nil })
	d.log.Info("loopd is ready", "version", build.Read(), "socket", d.socket, "webhook", d.url, "state", d.folders.State, "pid", os.Getpid())
	err := g.Wait()
	d.log.Info("loopd stops", "cause", context.Cause(ctx))
	return err
}

// checkJournal looks for damage in a journal that is too large to be read before the start. Where there is some, loopd ends as it
// does when it finds it at the start: nothing more may be promised.
func (d *daemon) checkJournal(ctx context.Context) error {
	if err := d.journal.Check(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
