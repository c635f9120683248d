package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// check reports the values of a decoded configuration that are of the right type and still impossible.
func check(cfg *Config, p *problems) {
	p.oneOf("daemon.log_level", cfg.Daemon.LogLevel, "debug", "info", "warn", "error")
	p.oneOf("daemon.log_format", cfg.Daemon.LogFormat, "text", "json")
	checkWebhook(cfg.Webhook, p)
	checkRouting(cfg, p)
	checkDeliver(cfg.Routing.Deliver, p)

	p.oneOf("workspace.strategy", cfg.Workspace.Strategy, "worktree", "none")
	p.oneOf("workspace.clone_protocol", cfg.Workspace.CloneProtocol, "https", "ssh")
	p.noBlanks("workspace.copy", cfg.Workspace.Copy)
	p.program("workspace.setup", cfg.Workspace.Setup)
	checkHarnesses(cfg.Harness, p)
	checkNotify(cfg.Notify, p)
	checkPolling(cfg.Polling, p)
	checkGitHub(cfg.GitHub, p)

	const century = 36500
	p.between("keep.days", cfg.Keep.Days, 35, century)
	p.between("keep.body_days", cfg.Keep.BodyDays, 1, century)
	p.between("keep.transcript_days", cfg.Keep.TranscriptDays, 1, century)
	p.between("keep.dead_panes", cfg.Keep.DeadPanes, 0, 1000)
	p.between("keep.closed_days", cfg.Keep.ClosedDays, 1, century)
}

func checkWebhook(w Webhook, p *problems) {
	if problem := addressProblem(w.Listen); problem != "" {
		p.add("webhook.listen", "%q %s", w.Listen, problem)
	} else if w.AllowUnsigned && !w.Loopback() {
		p.add("webhook.allow_unsigned", "only honoured on a loopback address, and webhook.listen is %q: anyone who reaches it "+
			"could steer your agents", w.Listen)
	}
	p.envName("webhook.secret_env", w.SecretEnv)
	for i, event := range w.Events {
		if !slices.Contains(eventTypes(), event) {
			p.add(element("webhook.events", i), "%q is no event type that Loop reads%s", event, didYouMean(event, eventTypes()))
		}
	}
	p.between("webhook.max_body_bytes", w.MaxBodyBytes, 1, 1<<30)
}

// Loopback tells whether Listen can be reached from this machine alone. Every name but localhost could mean any address,
// and so does no name at all.
func (w Webhook) Loopback() bool {
	host, _, err := net.SplitHostPort(w.Listen)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

func addressProblem(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "is no host:port (an IPv6 address needs brackets, as in [::1]:8787)"
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "must end in a port from 0 to 65535"
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !hostName.MatchString(host) {
		return "names no possible host"
	}
	return ""
}

var (
	hostName    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?$`)
	login       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*(\[bot\])?$`)
	envName     = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	anyEnvName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	harnessName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	logType     = regexp.MustCompile(`^[a-z]+\.[a-z_]+$`)
	repository  = regexp.MustCompile(`^([A-Za-z0-9.:-]+/)?[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+$`)
)

func checkRouting(cfg *Config, p *problems) {
	r := cfg.Routing
	for i, user := range r.AuthorizedUsers {
		p.login(element("routing.authorized_users", i), user)
	}
	p.notBlank("routing.auto_execute_label", r.AutoExecuteLabel)
	p.oneOf("routing.spawn_on_unmatched", r.SpawnOnUnmatched, "never", "labeled", "always")
	p.oneOf("routing.runner", r.Runner, "tmux", "headless")
	if _, known := cfg.Harness[r.DefaultHarness]; !known {
		p.add("routing.default_harness", "no harness is called %q", r.DefaultHarness)
	}
	p.between("routing.max_concurrent_dispatches", r.MaxConcurrentDispatches, 1, 1000)
	p.between("routing.max_live_sessions", r.MaxLiveSessions, 1, 1000)
	p.between("routing.max_runs_per_hour", r.MaxRunsPerHour, 1, 100_000)
	p.between("routing.max_attempts", r.MaxAttempts, 1, 100)
	if r.DispatchTimeout <= 0 {
		p.add("routing.dispatch_timeout_seconds", "must be more than 0")
	}
	p.oneOf("routing.close_linked", r.CloseLinked, "trusted", "merged", "never")
	if r.Control.Prefix == "" || strings.ContainsFunc(r.Control.Prefix, notVisible) {
		p.add("routing.control.prefix", "%q must be one word", r.Control.Prefix)
	}
	p.reaction("routing.reactions.started", r.Reactions.Started)
	p.reaction("routing.reactions.completed", r.Reactions.Completed)
	p.reaction("routing.reactions.error", r.Reactions.Error)
}

// checkDeliver refuses what can never reach an agent, so that nobody waits for it.
func checkDeliver(deliver map[string][]string, p *problems) {
	for _, event := range eventTypes() {
		key := "routing.deliver." + event
		p.noBlanks(key, deliver[event])
		closes := event == "issues" || event == "pull_request"
		if i := slices.Index(deliver[event], "closed"); closes && i >= 0 {
			p.add(element(key, i), "closing ends the session and never reaches an agent: leave closed out")
		}
	}
}

func checkNotify(n Notify, p *problems) {
	p.program("notify.command", n.Command)
	for i, typ := range n.On {
		if !logType.MatchString(typ) {
			p.add(element("notify.on", i), "%q is no event type such as run.failed", typ)
		}
	}
}

func checkPolling(polling Polling, p *problems) {
	if polling.Interval.Seconds() < 5 {
		p.add("polling.interval_seconds", "must be at least 5, not %v", polling.Interval.Seconds())
	}
	for i, s := range polling.Sources {
		key := element("polling.sources", i)
		p.oneOf(key+".provider", s.Provider, "github")
		if len(s.Repos) == 0 {
			p.add(key+".repos", "must name a repository, as in [\"OWNER/REPO\"]")
		}
		for j, repo := range s.Repos {
			if !repository.MatchString(repo) {
				p.add(element(key+".repos", j), "%q is no OWNER/REPO", repo)
			}
		}
	}
}

// checkGitHub refuses an address that would show the token to the network, or in this file.
func checkGitHub(g GitHub, p *problems) {
	const key = "github.api_url"
	if g.TokenEnv != "" {
		p.envName("github.token_env", g.TokenEnv)
	}
	if g.APIURL == "" {
		return
	}
	u, err := url.Parse(g.APIURL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		p.add(key, "must be a URL such as https://github.example.com/api/v3") // the error would repeat a password
	case u.User != nil:
		p.add(key, "must hold no user or password: name a variable in github.token_env")
	case u.RawQuery != "" || u.Fragment != "":
		p.add(key, "must have no query and no fragment")
	case u.Scheme == "http" && !Webhook{Listen: net.JoinHostPort(u.Hostname(), "0")}.Loopback():
		p.add(key, "must begin with https://, or the token would cross the network unencrypted")
	}
}
