package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/poll"
	"github.com/loop-daemon/loop/internal/prompt"
	"github.com/loop-daemon/loop/internal/route"
)

// hub is the client of GitHub's API that is in force.
type hub struct{ atomic.Pointer[github.Client] }

// connect makes the client that a configuration asks for. The one before ends its connections when what it does is done.
func (d *daemon) connect(cfg config.GitHub) error {
	c, err := github.New(github.Options{
		Journal: d.journal, Log: d.log, APIURL: cfg.APIURL, TokenEnv: cfg.TokenEnv, Env: d.env.Environ,
	})
	if err != nil {
		return err
	}
	if old := d.hub.Swap(c); old != nil {
		old.Close()
	}
	return nil
}

// newPoller makes the poller, which asks through the client in force.
func (d *daemon) newPoller() *poll.Poller {
	return poll.New(poll.Options{
		Journal: d.journal, Inbox: d.inbox, Items: d.items, Log: d.events, Logger: d.log, Source: github.NewSource(d.hub.Load),
		Settings: func() poll.Settings { return d.live.Load().polling }, Sessions: d.sessions.List, Identify: d.sessions.Identify,
		Decode: github.Decode, Refs: d.dispatch.Refs, Summary: prompt.Summary, Command: d.commands, Step: d.env.Step,
	})
}

// commands reports whether an event is a command of somebody who may give it.
func (d *daemon) commands(ev loop.Event) bool {
	policy := d.live.Load().settings.Route
	cmd, err := route.ParseCommand(ev.Comment.Body+ev.Review.Body, policy.ControlPrefix)
	return policy.ControlEnabled && policy.Authorizes(ev) && err == nil && cmd.Verb != ""
}

// exists asks whether an item is there that only a branch name speaks of.
func (d *daemon) exists(ctx context.Context, w loop.WorkItem) route.Existence {
	_, err := d.hub.Load().Issue(ctx, w)
	switch {
	case err == nil:
		return route.Proven
	case errors.Is(err, loop.ErrNotFound):
		return route.Absent
	}
	if _, answered := errors.AsType[*github.Error](err); !answered && errors.Is(err, loop.ErrDenied) {
		return route.Unproven // there is no token to ask with
	}
	d.log.Warn("whether an item exists cannot be asked, so it is taken to", "item", w.Ref(), "err", err)
	return route.Unanswered
}

// polling puts a configuration into the words of the poller.
func polling(cfg config.Config) (poll.Settings, error) {
	s := poll.Settings{Interval: cfg.Polling.Interval, Webhook: cfg.Webhook.Enabled}
	if !cfg.Polling.Enabled {
		return s, nil
	}
	for _, source := range cfg.Polling.Sources {
		label := source.Label
		if label == "" {
			label = cfg.Routing.AutoExecuteLabel
		}
		for _, name := range source.Repos {
			w, err := loop.ParseRef(source.Provider + ":" + name + "#1")
			if err != nil {
				return s, fmt.Errorf("polling.sources: %q: %w", name, err)
			}
			s.Watches = append(s.Watches, poll.Watch{
				Repo: loop.Repo{Host: w.Host, Owner: w.Owner, Name: w.Repo}, Label: label,
				Issues: source.Issues, PullRequests: source.PullRequests,
			})
		}
	}
	return s, nil
}

// pollNow runs one cycle.
func (d *daemon) pollNow(ctx context.Context) ([]api.Polled, error) {
	all, err := d.poller.Poll(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no repository to ask about: name some in polling.sources and set polling.enabled, or register a session: %w",
			loop.ErrConflict)
	}
	return polledOf(all), nil
}

func polledOf(reports []poll.Report) []api.Polled {
	var all []api.Polled
	for _, r := range reports {
		all = append(all, api.Polled{
			Name: r.Repo, Configured: r.Watched, At: r.At, Next: r.Next, Trouble: r.Trouble,
			Items: r.Count.Items, Deliveries: r.Count.Deliveries, Closures: r.Count.Closures, Errors: r.Count.Errors,
		})
	}
	return all
}
