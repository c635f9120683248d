package github

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

const (
	tokenTimeout = 10 * time.Second // of gh
	tokenRest    = time.Minute      // after there was none, or one that was refused
	fromGH       = "gh auth token"
)

// tokens finds the token of one host and keeps it until the host refuses it. It is used by one goroutine at a time.
type tokens struct {
	host      string
	env       []string
	variables []string // in the order of preference
	only      bool     // somebody named the variable: nothing else is to be used

	value   string
	from    string    // where the value is from, to a person
	problem error     // why there is none
	until   time.Time // it is not looked for before
}

func newTokens(host string, env []string) *tokens {
	t := &tokens{host: host, env: env, variables: []string{"GITHUB_TOKEN", "GH_TOKEN"}}
	if host != "" && !strings.HasSuffix(host, ".ghe.com") {
		t.variables = []string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
	}
	return t
}

// get returns the token. The error is loop.ErrDenied and says how to give one.
func (t *tokens) get(ctx context.Context) (string, error) {
	if t.problem != nil && time.Now().Before(t.until) {
		return "", t.problem
	}
	if t.value != "" {
		return t.value, nil
	}
	t.problem = nil
	if t.value = t.variable(); t.value == "" && !t.only {
		t.ask(ctx)
	}
	if t.value == "" && t.problem == nil {
		return "", fmt.Errorf("no token for %s: %s is not set: %w", display(t.host), t.variables[0], loop.ErrDenied)
	}
	return t.value, t.problem
}

// renew reports whether there is another token than the one that was refused.
func (t *tokens) renew(ctx context.Context, refused string) bool {
	if t.from == fromGH {
		t.ask(ctx)
		if t.value != refused {
			return t.value != ""
		}
	}
	remedy := "give it a valid one"
	if t.from == fromGH {
		remedy = "run gh auth login; it is asked for again within a minute, and at once by loopctl poll"
	}
	t.rest(fmt.Errorf("%s refuses the token of %s: %s: %w", display(t.host), t.from, remedy, loop.ErrDenied))
	return false
}

// hurry has a token be looked for at once that is missing or was refused.
func (t *tokens) hurry() { t.until = time.Time{} }

func (t *tokens) variable() string {
	for _, name := range t.variables {
		i := slices.IndexFunc(t.env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		if i < 0 {
			continue
		}
		if value := strings.TrimSpace(t.env[i][len(name)+1:]); value != "" {
			t.from = "$" + name
			return value
		}
	}
	return ""
}

// ask has gh say the token that it keeps for the host.
func (t *tokens) ask(ctx context.Context) {
	t.value, t.from, t.problem = "", fromGH, nil
	limited, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	result, err := proc.Run(limited, proc.Cmd{
		Path: "gh",
		Args: []string{"auth", "token", "--hostname", display(t.host)},
		Env:  append(slices.Clone(t.env), "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1"),
	})
	value := strings.TrimSpace(string(result.Stdout))
	switch {
	case ctx.Err() != nil: // nobody waits for it any more: that says nothing about gh
		t.problem, t.until = context.Cause(ctx), time.Time{}
	case err == nil && value != "" && !strings.ContainsAny(value, " \r\n"):
		t.value = value
	default:
		t.rest(fmt.Errorf("no token for %s: set %s, or run gh auth login (%s): %w",
			display(t.host), t.variables[0], whyNot(err), loop.ErrDenied))
	}
}

// rest keeps everything from failing anew, at the host or in gh, for each request while there is no good token.
func (t *tokens) rest(problem error) {
	t.value, t.problem, t.until = "", problem, time.Now().Add(tokenRest)
}

func whyNot(err error) string {
	if err == nil {
		return "gh auth token prints no token"
	}
	return err.Error()
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
