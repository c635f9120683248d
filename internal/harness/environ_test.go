package harness_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	program(t, bin, "claude")
	a := agent(t, harness.Options{
		Socket: "/run/loopd.sock",
		Environ: []string{
			"PATH=" + bin, "HOME=/home/octo", "LC_ALL=C.UTF-8", "XDG_CONFIG_HOME=/c", "SSH_AUTH_SOCK=/s", "https_proxy=http://p",
			"ANTHROPIC_BASE_URL=http://localhost:1", "CLAUDE_CONFIG_DIR=/cc",
			// What a session leaves behind that loopd was started from, and what is a secret of its own.
			"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_OAUTH_TOKEN=t", "AI_AGENT=1", "TMUX=/t,1,0", "TMUX_PANE=%1",
			"LOOP_GH_WEBHOOK_SECRET=hush", "LOOP_RUN=1", "LOOP_WORK_ITEM=github:other/one#1", "GITHUB_TOKEN=t", "GH_TOKEN=t",
			"AWS_SECRET_ACCESS_KEY=k", "XDG_HOOK_SECRET=hush", "NOISE=1", "BROKEN",
		},
		Withhold: []string{"XDG_HOOK_SECRET"},
		Agents: map[string]harness.Program{"claude": {Env: map[string]string{
			"CLAUDE_CODE_MAX_RETRIES": "1", "GH_TOKEN": "for the agent", "HOME": "/home/agent", "LOOP_SOCKET": "/elsewhere",
		}}},
	})
	cmd, err := a.Start(harness.Turn{Item: item, ID: conversation, Cwd: bin, Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ANTHROPIC_BASE_URL=http://localhost:1", "CLAUDE_CODE_MAX_RETRIES=1", "CLAUDE_CONFIG_DIR=/cc",
		"GH_TOKEN=for the agent", "HOME=/home/agent", "LC_ALL=C.UTF-8", "LOOP_SESSION_KEY=github-acme-shop-15",
		"LOOP_SOCKET=/run/loopd.sock", "LOOP_WORK_ITEM=github:acme/shop#15", "PATH=" + bin, "SSH_AUTH_SOCK=/s",
		"XDG_CONFIG_HOME=/c", "https_proxy=http://p",
	}
	if diff := cmp.Diff(want, cmd.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestEnvironmentWithoutPath(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	a := agent(t, harness.Options{Agents: map[string]harness.Program{"claude": {Command: program(t, bin, "agent")}}})
	cmd, err := a.Start(harness.Turn{Item: item, ID: conversation, Cwd: bin, Prompt: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("PATH=/usr/local/bin:/usr/bin:/bin", cmd.Env[len(cmd.Env)-1]); diff != "" {
		t.Error(diff)
	}
}
