package runner_test

import (
	"fmt"
	"testing"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/runner"
	"github.com/loop-daemon/loop/internal/session"
)

func TestWhatKeepsAPromptBackIsToldWithoutItsClass(t *testing.T) {
	t.Parallel()
	hosts := runner.NewHosts(runner.HostsOptions{Panes: t.TempDir(), Live: session.NewLive(), Agents: noAgent, Terminals: func() (*runner.Tmux, error) {
		return nil, fmt.Errorf("%w; then start loopd again", fmt.Errorf("tmux is missing: apt install tmux: %w", loop.ErrUnavailable))
	}})
	s := loop.Session{Runner: loop.RunnerTmux}
	const want = "tmux is missing: apt install tmux; then start loopd again"
	if r := hosts.Ready(t.Context(), s); r.Detail != want || r.Wait != loop.WaitTerminal {
		t.Errorf("Ready: %s, %q", r.Wait, r.Detail)
	}
	if out := hosts.Deliver(t.Context(), loop.Handover{Session: s}); out.Detail != want || out.Kind != loop.RunUnreached {
		t.Errorf("Deliver: %s, %q", out.Kind, out.Detail)
	}
}

func noAgent(string) (harness.Agent, error) { return nil, loop.ErrInvalid }
