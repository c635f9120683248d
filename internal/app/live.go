package app

import (
	"fmt"
	"os"
	"time"

	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/poll"
)

// live is all that is made from a configuration and may change while loopd runs. It is built whole before it takes the
// place of the last one, and never changes.
type live struct {
	config   config.Config
	secrets  [][]byte
	agents   *harness.Set
	settings dispatch.Settings
	polling  poll.Settings
}

// newLive builds what a configuration asks for, or says what it lacks beside the file: a secret, a template, a harness that
// is known.
func (d *daemon) newLive(cfg config.Config) (*live, error) {
	l := &live{config: cfg, settings: settings(cfg)}
	var err error
	if l.settings.Templates, err = templates(cfg.Routing); err != nil {
		return nil, err
	}
	if l.polling, err = polling(cfg); err != nil {
		return nil, err
	}
	if _, err := github.New(github.Options{APIURL: cfg.GitHub.APIURL}); err != nil {
		return nil, fmt.Errorf("github.api_url: %w", err)
	}
	if cfg.Webhook.Enabled {
		secrets, err := config.Secrets(cfg, d.env.Getenv, os.ReadFile)
		if err != nil {
			return nil, err
		}
		l.secrets = secrets
	}
	agents, err := harness.New(harness.Options{
		Socket: d.socket, Environ: d.env.Environ, Withhold: secretNames(cfg), Agents: programs(cfg),
	})
	if err != nil {
		return nil, err
	}
	l.agents = agents
	return l, nil
}

// secretNames are the variables whose values are loopd's own.
func secretNames(cfg config.Config) []string {
	return []string{cfg.Webhook.SecretEnv, cfg.GitHub.TokenEnv, "GITHUB_TOKEN", "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
}

func programs(cfg config.Config) map[string]harness.Program {
	out := map[string]harness.Program{}
	for name, h := range cfg.Harness {
		p := harness.Program{Command: h.Command, Args: h.Args, Env: h.Env}
		if h.Declared() {
			p.Declared = &harness.Declared{
				Start: h.Start, Resume: h.Resume, Prompt: h.Prompt, Format: harness.Format{Output: h.Output, ID: h.ID, OK: h.OK},
			}
		}
		out[name] = p
	}
	return out
}

// settings puts a configuration into the words of dispatch.
func settings(cfg config.Config) dispatch.Settings {
	r := cfg.Routing
	return dispatch.Settings{
		Route:          policy(cfg),
		DefaultHarness: r.DefaultHarness,
		Runner:         loop.RunnerKind(r.Runner),
		SpawnWorkdir:   r.SpawnWorkdir,
		MaxConcurrent:  min(r.MaxConcurrentDispatches, r.MaxLiveSessions), // each headless run is a process that loopd hosts
		MaxRunsPerHour: r.MaxRunsPerHour,
		MaxAttempts:    r.MaxAttempts,
		Join:           r.Join,
		Timeout:        r.DispatchTimeout,
		CloseSettle:    r.CloseSettle,
		DeliverLive:    cfg.Hooks.DeliverLive,
		Voice:          voice(cfg),
	}
}

// agent returns an agent of the configuration in force.
func (d *daemon) agent(name string) (harness.Agent, error) { return d.live.Load().agents.Agent(name) }

// newSessionID makes the id of a conversation that is to be started.
func (d *daemon) newSessionID(name string) (loop.SessionID, error) {
	a, err := d.agent(name)
	if err != nil {
		return "", err
	}
	return a.MintID(), nil
}

// available says why a harness cannot be started.
func (d *daemon) available(name string) error {
	a, err := d.agent(name)
	if err != nil {
		return err
	}
	return a.Available()
}

// day is the unit of keep.
const day = 24 * time.Hour
