package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/build"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// simulateTimeout bounds how long a sample delivery waits for the receiver's answer.
const simulateTimeout = 30 * time.Second

// apiOptions ties the services to the parts.
func (d *daemon) apiOptions() api.Options {
	return api.Options{
		Inbox: d.inbox, Sessions: d.sessions, Items: d.items, Log: d.events, Dispatcher: d.dispatch, Logger: d.log,
		Transcript: d.hosts.Transcript, Status: d.status, Reload: d.reloadNow, Poll: d.pollNow, Simulate: d.simulate,
		Attach: d.attach, Report: d.dispatch.Heard, Wait: d.dispatch.Await, Presence: d.hooks.Presence,
	}
}

// status is how loopd is, beside what the stores know.
func (d *daemon) status(ctx context.Context) api.Status {
	s := api.Status{
		Version: build.Read().String(), PID: os.Getpid(), StartedAt: d.started, Socket: d.socket, StateDir: d.folders.State, WebhookURL: d.url,
		ConfigPath: d.configPath(),
	}
	d.reload.mu.Lock()
	s.ConfigError, s.RestartNeeded = d.reload.err, d.reload.restart
	s.Warnings = append(s.Warnings, d.reload.warns...)
	d.reload.mu.Unlock()
	if d.receiver != nil {
		s.BadSignatures = d.receiver.BadSignatures()
	}
	s.Warnings = append(s.Warnings, d.attention(ctx)...)
	s.Polled = polledOf(d.poller.Reports())
	return s
}

// configPath returns the configuration file, "" while there is none and the defaults are in force.
func (d *daemon) configPath() string {
	if _, err := os.Stat(d.loaded.File); errors.Is(err, fs.ErrNotExist) && d.loaded.Missing {
		return ""
	}
	return d.loaded.File
}

// attention is what needs a person beside the configuration.
func (d *daemon) attention(ctx context.Context) []string {
	var all []string
	if err := d.available(d.live.Load().config.Routing.DefaultHarness); err != nil {
		all = append(all, loop.Plain(err))
	}
	if r := d.live.Load().config.Routing; r.Runner == string(loop.RunnerTmux) {
		if _, err := d.place(loop.WorkItem{}, r.DefaultHarness, loop.RunnerTmux); err != nil {
			all = append(all, "sessions can't be started: "+loop.Plain(err))
		}
	}
	if r := d.live.Load().config.Routing; r.SpawnWorkdir != "" {
		if _, err := os.Stat(r.SpawnWorkdir); err != nil {
			all = append(all, fmt.Sprintf("routing.spawn_workdir: %v; sessions that are to be started fail until it is there", err))
		}
	}
	if trouble := d.dispatch.Trouble(); trouble != "" {
		all = append(all, trouble)
	}
	unposted, err := d.outbox.Trouble(ctx)
	if err != nil {
		all = append(all, loop.Plain(err))
	}
	all = append(all, unposted...)
	waits := d.dispatch.Waits()
	for _, s := range d.sessions.List() {
		if !s.Open() {
			continue
		}
		if what := d.needsPerson(s, waits[s.WorkItem.Key()]); what != "" {
			all = append(all, what)
		}
		if s.Status == loop.StatusPaused && s.PauseReason == loop.PausedRunaway {
			all = append(all, fmt.Sprintf("%s had too many runs in an hour and is paused; what comes for it is dropped: "+
				"see loopctl logs %[1]s, then loopctl sessions resume %[1]s", s.WorkItem.Ref()))
		}
	}
	return all
}

// needsPerson says what an open session, whose next delivery waits for that reason, needs that only a person can give; "" where
// there is nothing.
func (d *daemon) needsPerson(s loop.Session, waits string) string {
	here, _ := d.hooks.Presence(s.WorkItem)
	switch {
	case waits == loop.WaitDialog || here.Turn == loop.TurnWaiting:
		return fmt.Sprintf("the agent of %s asks for something %s", s.WorkItem.Ref(), here.Reach(s.WorkItem))
	case s.AskedAt != nil:
		return fmt.Sprintf("the agent of %[1]s has asked something: answer at %[2]s or with loopctl send %[1]s", s.WorkItem.Ref(), s.AskedURL)
	case waits == loop.WaitDraft:
		return fmt.Sprintf("a draft in the terminal of %[1]s keeps its events back: loopctl attach %[1]s --write", s.WorkItem.Ref())
	case waits == loop.WaitOccupied:
		return fmt.Sprintf("the terminal of %[1]s holds another conversation, and its events wait: leave that (loopctl attach %[1]s --write), "+
			"or see loopctl events --work-item %[1]s for how to keep it", s.WorkItem.Ref())
	case waits == loop.WaitTerminal:
		_, err := d.terminal()
		return fmt.Sprintf("tmux does not say how the terminal of %s is, and its events wait: %s", s.WorkItem.Ref(),
			cmp.Or(loop.Plain(err), "it is asked again"))
	}
	return ""
}

// reloadNow reads the configuration for a caller who waits for the verdict.
func (d *daemon) reloadNow(ctx context.Context) (api.Reloaded, error) {
	r := d.watcher.Reload(ctx)
	if r.Err != nil {
		if ctx.Err() != nil {
			return api.Reloaded{}, r.Err
		}
		return api.Reloaded{}, fmt.Errorf("%w: %w", r.Err, loop.ErrInvalid)
	}
	return api.Reloaded{
		ConfigPath: d.configPath(), Changed: keys(r.Changed), RestartNeeded: r.Restart, Warnings: messages(r.Warnings),
	}, nil
}

// simulate signs a delivery as GitHub would and posts it to the receiver.
func (d *daemon) simulate(ctx context.Context, event string, body []byte) (api.Simulated, error) {
	if d.receiver == nil {
		return api.Simulated{}, fmt.Errorf("webhook.enabled is false, so nothing takes deliveries: %w", loop.ErrConflict)
	}
	ctx, cancel := context.WithTimeout(ctx, simulateTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(body))
	if err != nil {
		return api.Simulated{}, err
	}
	id := uuid.NewString()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", id)
	if secrets := d.live.Load().secrets; len(secrets) > 0 {
		req.Header.Set(github.SignatureHeader, github.Sign(secrets[0], body))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is our own port
	res, err := client.Do(req)
	if err != nil {
		return api.Simulated{}, fmt.Errorf("post to the receiver at %s: %w: %w", d.url, err, loop.ErrUnavailable)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return api.Simulated{}, err
	}
	return api.Simulated{Delivery: loop.DeliveryID(id), HTTPStatus: res.StatusCode, Answer: string(answer)}, nil
}

// report says at the start what a person should know of the configuration.
func (d *daemon) report() {
	ctx := context.Background()
	if d.loaded.Missing {
		d.log.Info("there is no configuration file, the defaults are used", "file", d.loaded.File)
	} else {
		d.log.Info("the configuration is read", "file", d.loaded.File)
	}
	d.reload.set("", nil, messages(d.loaded.Warnings))
	for _, w := range d.loaded.Warnings {
		d.log.Warn("configuration is doubtful", "key", w.Key, "reason", w.Msg)
	}
	d.warned(ctx, d.loaded.Warnings)
}

// forgetAfter is for how long an answer of GitHub is remembered that was not asked for again.
const forgetAfter = 7 * day

// keepEvery is how often what is finished is looked through for what is too old.
const keepEvery = 6 * time.Hour

// keep removes what is older than the configuration keeps, at the start and then every few hours, until ctx ends.
func (d *daemon) keep(ctx context.Context) {
	for {
		if err := d.prune(ctx, time.Now()); err != nil && ctx.Err() == nil {
			d.log.Warn("what is too old could not all be removed, and is tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(keepEvery):
		}
	}
}

func (d *daemon) prune(ctx context.Context, now time.Time) error {
	k := d.live.Load().config.Keep
	_, inboxErr := d.inbox.Prune(ctx, now, k.BodyDays, k.Days)
	_, eventsErr := d.events.Prune(ctx, now, k.Days)
	_, outboxErr := d.outbox.Prune(ctx, now, k.Days)
	_, pollErr := d.poller.Prune(ctx, now, k.Days)
	_, sessionsErr := d.sessions.Prune(now, k.ClosedDays)
	githubErr := d.journal.Write(ctx, func(tx *journal.Tx) error { return github.Forget(tx, now.Add(-forgetAfter)) })
	_, runsErr := d.runs.Prune(ctx, time.Duration(k.TranscriptDays)*day)
	var panesErr error
	if d.terminals != nil {
		_, panesErr = d.terminals.PruneTerminals(ctx, k.DeadPanes, time.Duration(k.TranscriptDays)*day)
	}
	return errors.Join(inboxErr, eventsErr, outboxErr, pollErr, sessionsErr, githubErr, runsErr, panesErr)
}
