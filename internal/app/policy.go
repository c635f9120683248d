package app

import (
	"github.com/loop-daemon/loop/internal/config"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/route"
)

// policy puts a configuration into the words of routing.
func policy(cfg config.Config) route.Policy {
	r := cfg.Routing
	p := route.Policy{
		RoutingEnabled:   r.Enabled,
		AuthorizedUsers:  r.AuthorizedUsers,
		AutoExecuteLabel: r.AutoExecuteLabel,
		SpawnOnUnmatched: route.SpawnPolicy(r.SpawnOnUnmatched),
		Deliver:          map[loop.Kind][]string{},
		CloseLinked:      route.LinkedPolicy(r.CloseLinked),
		ControlEnabled:   r.Control.Enabled,
		ControlPrefix:    r.Control.Prefix,
	}
	for _, event := range cfg.Webhook.Events {
		p.Events = append(p.Events, loop.Kind(event))
	}
	for kind, words := range r.Deliver {
		p.Deliver[loop.Kind(kind)] = words
	}
	return p
}
