package config

// absent is a setting whose room is not built in this release. It is refused by name, because a setting that is accepted
// and does nothing is worse than none. Whoever builds the room deletes the row.
type absent struct {
	key   string
	asked func(Config) bool
	msg   string
}

func absents() []absent {
	return []absent{
		{
			"workspace.strategy", func(c Config) bool { return c.Workspace.Strategy == "worktree" },
			`this release makes no checkouts: use "none" and name a folder in routing.spawn_workdir`,
		},
	}
}

func refuseAbsent(cfg Config, p *problems) {
	for _, a := range absents() {
		if a.asked(cfg) {
			p.add(a.key, "%s", a.msg)
		}
	}
}
