package harness

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
)

// What any agent gets of loopd's environment: who and where the user is, how to reach the network, and the sockets of the
// user's own key agents. Tokens are not among them, so that a daemon's are not handed to everybody's code; a user who
// wants an agent to have one writes it into harness.NAME.env.
var commonEnv = []string{
	"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TMPDIR", "TZ", "XDG_*",
	"SSH_AUTH_SOCK", "GNUPGHOME", "DBUS_SESSION_BUS_ADDRESS", "GH_CONFIG_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
}

const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// environ is what an agent's process gets to see, but for what belongs to the turn.
type environ struct {
	vars   map[string]string
	socket string
}

// newEnviron takes what the allow-lists name from loopd's environment and puts the configured variables over it.
func newEnviron(o Options, configured map[string]string, extra []string) environ {
	vars := map[string]string{"PATH": defaultPath}
	allowed := slices.Concat(commonEnv, extra)
	for _, kv := range o.Environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && matches(name, allowed) && !slices.Contains(o.Withhold, name) {
			vars[name] = value
		}
	}
	maps.Copy(vars, configured)
	return environ{vars: vars, socket: o.Socket}
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

// path returns the PATH that the agent gets.
func (e environ) path() string { return e.vars["PATH"] }

// of returns the environment of a turn for item, sorted. What Loop says itself stands over everything else.
func (e environ) of(item loop.WorkItem) []string {
	vars := maps.Clone(e.vars)
	vars["LOOP_WORK_ITEM"] = item.Ref()
	vars["LOOP_SESSION_KEY"] = item.Slug()
	vars["LOOP_SOCKET"] = e.socket
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}
