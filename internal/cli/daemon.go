package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// status asks loopd how it is.
type status struct{}

// Help is shown below the flags.
func (status) Help() string {
	return `
The exit code is 0 while loopd answers, and 3 when it cannot be reached.

Example:

  loopctl status -o json | jq .deliveries.failed
`
}

type statusShape struct {
	Version       string           `json:"version"`
	PID           int32            `json:"pid"`
	StartedAt     *time.Time       `json:"startedAt"`
	Socket        string           `json:"socket"`
	StateDir      string           `json:"stateDir"`
	ConfigPath    *string          `json:"configPath"`
	ConfigError   *string          `json:"configError"`
	RestartNeeded []string         `json:"restartNeeded"`
	WebhookURL    *string          `json:"webhookUrl"`
	Sessions      map[string]int32 `json:"sessions"`
	Deliveries    map[string]int64 `json:"deliveries"`
	Holds         []holdShape      `json:"holds"`
	Warnings      []string         `json:"warnings"`
	BadSignatures int64            `json:"badSignatures"`
	Polled        []polledShape    `json:"polled"`
}

type holdShape struct {
	Harness string     `json:"harness"`
	Reason  string     `json:"reason"`
	Detail  *string    `json:"detail"`
	Until   *time.Time `json:"until"`
}

func statusOf(s *loopv1.StatusResponse) statusShape {
	shape := statusShape{
		Version: s.GetVersion(), PID: s.GetPid(), StartedAt: timeOf(s.GetStartedAt()), Socket: s.GetSocket(),
		StateDir: s.GetStateDir(), ConfigPath: orNull(s.GetConfigPath()), ConfigError: orNull(s.GetConfigError()),
		RestartNeeded: list(s.GetRestartNeeded()), WebhookURL: orNull(s.GetWebhookUrl()),
		Sessions: orEmpty(s.GetSessions()), Deliveries: orEmpty(s.GetDeliveries()), Holds: []holdShape{},
		Warnings: list(s.GetWarnings()), BadSignatures: s.GetBadSignatures(), Polled: polledOf(s.GetPolled()),
	}
	for _, h := range s.GetHolds() {
		shape.Holds = append(shape.Holds, holdShape{h.GetHarness(), h.GetReason(), orNull(h.GetDetail()), timeOf(h.GetUntil())})
	}
	return shape
}

// Run prints the status.
func (status) Run(ctx context.Context, c *client, out *printer) error {
	answer, err := c.Status(ctx, &loopv1.StatusRequest{})
	if err != nil {
		return err
	}
	s := statusOf(answer)
	return out.print(s, func(t *table) { showStatus(t, s) })
}

func showStatus(t *table, s statusShape) {
	t.row("loopd", fmt.Sprintf("%s, pid %d, started %s", s.Version, s.PID, ago(s.StartedAt)))
	t.row("socket", s.Socket)
	t.row("state", s.StateDir)
	t.row("configuration", orElse(s.ConfigPath, "none, these are the defaults"))
	t.field("  refused", text(s.ConfigError))
	t.field("  needs a restart", strings.Join(s.RestartNeeded, ", "))
	t.row("webhook", orElse(s.WebhookURL, "off"))
	for _, p := range s.Polled {
		t.row("polled", showPolled(p))
	}
	t.row("sessions", counts(s.Sessions, "active", "paused"))
	t.row("deliveries", counts(s.Deliveries, "received", "queued", "waiting", "running", "done", "failed", "dropped"))
	if s.BadSignatures > 0 {
		t.row("bad signatures", decimal(s.BadSignatures))
	}
	for _, h := range s.Holds {
		held := h.Harness + ": " + h.Reason
		if h.Until != nil {
			held += ", tried again " + ago(h.Until)
		}
		if h.Detail != nil {
			held += ": " + *h.Detail
		}
		t.row("held", held)
	}
	for _, w := range s.Warnings {
		t.row("warning", w)
	}
}

// reload asks loopd to read its configuration again.
type reload struct{}

// Help is shown below the flags.
func (reload) Help() string {
	return `
A configuration that is wrong is refused with all its problems and exit code 2; the last good one stays.
`
}

// Run prints the verdict.
func (reload) Run(ctx context.Context, c *client, out *printer) error {
	answer, err := c.Reload(ctx, &loopv1.ReloadRequest{})
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(struct {
			ConfigPath    *string  `json:"configPath"`
			Changed       []string `json:"changed"`
			RestartNeeded []string `json:"restartNeeded"`
			Warnings      []string `json:"warnings"`
		}{
			orNull(answer.GetConfigPath()), list(answer.GetChanged()), list(answer.GetRestartNeeded()), list(answer.GetWarnings()),
		}, "  ")
	}
	for _, w := range answer.GetWarnings() {
		out.warn(w)
	}
	changed := "nothing changed"
	if keys := answer.GetChanged(); len(keys) > 0 {
		changed = "changed: " + strings.Join(keys, ", ")
	}
	if err := out.line("read %s: %s", orElse(orNull(answer.GetConfigPath()), "no file, the defaults"), changed); err != nil {
		return err
	}
	if keys := answer.GetRestartNeeded(); len(keys) > 0 {
		return out.line("needs a restart of loopd: %s", strings.Join(keys, ", "))
	}
	return nil
}
