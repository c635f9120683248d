package harness_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// harnessNamed starts a program of that name, and returns it with the pid of a shell that it has started, as for a hook.
func harnessNamed(t *testing.T, name string, args ...string) (program proc.Identity, shell int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\nsh -c 'echo $$; read line; :'\n:\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // which ends both
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if shell, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	if program, err = proc.Of(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return program, shell
}

// TestLocate holds which process is the harness, and what is no conversation of a person.
func TestLocate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		harness, program string
		run              loop.RunID
		known, nothing   bool
	}{
		{harness: "codex", program: "codex resume 3f9a", known: true},
		{harness: "codex", program: "codex.js", known: true},
		{harness: "codex", program: "codex exec hello", nothing: true},
		{harness: "codex", program: "codex exec hello", run: shownRun, known: true},
		{harness: "codex", program: "codex app-server"},
		{harness: "cursor", program: "cursor-agent", known: true},
		{harness: "cursor", program: "agent --resume 3f9a", known: true},
		{harness: "cursor", program: "cursor-agent -p hello", nothing: true},
		{harness: "cursor", program: "cursor /home/user/shop", nothing: true},
		{harness: "cursor", program: "another"},
		{harness: "gemini", program: "gemini", known: true},
		{harness: "gemini", program: "codex"},
	} {
		t.Run(fmt.Sprintf("%s in %s%s", tt.harness, tt.program, tt.run), func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(tt.program)
			program, shell := harnessNamed(t, words[0], words[1:]...)
			told := loop.Report{Event: loop.HookStop, Harness: tt.harness, Run: tt.run}
			want := told
			switch {
			case tt.nothing:
				want = loop.Report{}
			case tt.known:
				want.PID, want.Started = program.PID, program.Start
			}
			got := harness.Locate(told, shell, environment(""))
			got.Where = "" // as the test itself is started
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("located (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLocateHeedsWhatIsTold holds that a pid that the harness told is taken, and believed only while it lives.
func TestLocateHeedsWhatIsTold(t *testing.T) {
	t.Parallel()
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	const nobody = 1 << 29
	for pid, started := range map[int]uint64{self.PID: self.Start, nobody: 0} {
		got := harness.Locate(loop.Report{Event: loop.HookStop, Harness: "claude", PID: pid}, os.Getppid(), environment("STY=1.work"))
		want := loop.Report{Event: loop.HookStop, Harness: "claude", PID: pid, Started: started, Where: "screen 1.work"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("located (-want +got):\n%s", diff)
		}
	}
}

func TestWhereATerminalIs(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]string{
		"TMUX=/tmp/tmux-1000/default,4711,0 TMUX_PANE=%3 STY=1.work": "tmux %3",
		"TMUX=/run/loop/s,1,0 TMUX_PANE=%0":                          "tmux -S /run/loop/s %0",
		"ZELLIJ_SESSION_NAME=calm-fox ZELLIJ=0":                      "zellij calm-fox",
		"STY=4711.pts-0.host":                                        "screen 4711.pts-0.host",
	} {
		if got := harness.Locate(loop.Report{Event: loop.HookStop}, os.Getppid(), environment(env)).Where; got != want {
			t.Errorf("%s is in %q, want %q", env, got, want)
		}
	}
}
