package runner_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// startLoopd starts a daemon that delivers run-1.
func (b *bench) startLoopd(t *testing.T) *exec.Cmd {
	t.Helper()
	spec, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable(), "loopd", string(spec))
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// loopd is killed as soon as a file of the run is there. The next one finds that the run never began, or its answer.
func TestKilledLoopdNeitherLosesNorRepeats(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "prompt.txt", "launch.json", "exec.log", "started.json", "stdout", "exit.json"} {
		t.Run("at "+file, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "answer")
			daemon := b.startLoopd(t)
			await(t, b.file("run-1", file))
			_ = daemon.Process.Kill()
			_ = daemon.Wait()

			next := b.open(t)
			got := next.Settle(within(t, time.Minute), b.handover("run-1"))
			want := map[loop.OutcomeKind]int{loop.RunNever: 0, loop.RunDone: 1}
			if began, ok := want[got.Kind]; !ok || b.began(t) != began {
				t.Errorf("outcome %+v, and the agent was begun %d times", got, b.began(t))
			}
			if again := next.Settle(within(t, time.Minute), b.handover("run-1")); again.Kind != got.Kind {
				t.Errorf("settled again: %+v, before: %+v", again, got)
			}
			b.wantGone(t, "run-1")
		})
	}
}

// A starter that was slow to boot comes when the run was given up already.
func TestLateStarterRunsNothing(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]func(*testing.T, *bench){
		"settled": func(t *testing.T, b *bench) {
			t.Helper()
			if got := b.open(t).Settle(within(t, time.Minute), b.handover("run-1")); got.Kind != loop.RunNever {
				t.Errorf("outcome %+v, want never", got)
			}
		},
		"stopped": func(t *testing.T, b *bench) {
			t.Helper()
			if got, err := b.open(t).Terminate(within(t, time.Minute), "run-1"); err != nil || got.Found {
				t.Errorf("%+v, %v; want nothing found", got, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "answer")
			b.Exec = "late-exec"
			h := b.open(t)
			outcome := make(chan loop.Outcome, 1)
			go func() { outcome <- h.Deliver(t.Context(), b.handover("run-1")) }()
			await(t, b.file("run-1", "exec.log"))
			giveUp(t, b)
			b.sign(t, "go")
			want := map[string]loop.OutcomeKind{"settled": loop.RunNever, "stopped": loop.RunEnded}[name]
			if got := <-outcome; got.Kind != want {
				t.Errorf("outcome %+v, want %s", got, want)
			}
			if b.began(t) != 0 {
				t.Error("the agent was begun")
			}
		})
	}
}

func TestLivingRunIsAdopted(t *testing.T) {
	t.Parallel()
	b := newBench(t, "wait=go answer")
	daemon := b.startLoopd(t)
	await(t, filepath.Join(b.scene(), "began"))
	_ = daemon.Process.Kill()
	_ = daemon.Wait()

	next := b.open(t)
	brief, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := next.Settle(brief, b.handover("run-1")); got.Kind != loop.RunDetached {
		t.Errorf("while it runs: %+v, want detached", got)
	}
	outcome := make(chan loop.Outcome, 1)
	go func() { outcome <- next.Settle(t.Context(), b.handover("run-1")) }()
	b.sign(t, "go")
	if got := <-outcome; got.Kind != loop.RunDone || b.began(t) != 1 {
		t.Errorf("outcome %+v, begun %d times; want done, once", got, b.began(t))
	}
}

// The starter needs no loopd to end a program that answered and stays, or one whose time is up.
func TestStarterKeepsHouseAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		agent   string
		timeout time.Duration
		want    loop.OutcomeKind
	}{
		"answered": {"tools stubborn answer stay", time.Minute, loop.RunDone},
		"timeout":  {"tools stubborn stay", 3 * time.Second, loop.RunTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.agent)
			b.AnswerGrace, b.Timeout = 100*time.Millisecond, tt.timeout
			daemon := b.startLoopd(t)
			b.starter(t, "run-1")
			_ = daemon.Process.Kill()
			_ = daemon.Wait()
			await(t, b.file("run-1", "exit.json"))
			b.wantGone(t, "run-1")
			if got := b.open(t).Settle(within(t, time.Minute), b.handover("run-1")); got.Kind != tt.want {
				t.Errorf("outcome %+v, want %s", got, tt.want)
			}
		})
	}
}

// The starter itself can be killed too. What it hosted is ended, and an answer that is whole counts.
func TestKilledStarter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		agent string
		want  loop.OutcomeKind
	}{
		"before the answer": {"stubborn say=hm stay", loop.RunCutOff},
		"after the answer":  {"stubborn answer stay", loop.RunDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.agent)
			h := b.open(t)
			outcome := make(chan loop.Outcome, 1)
			go func() { outcome <- h.Deliver(t.Context(), b.handover("run-1")) }()
			who := b.starter(t, "run-1")
			awaitContent(t, b.file("run-1", "stdout"))
			if err := proc.Signal(who, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if got := <-outcome; got.Kind != tt.want || !got.Killed {
				t.Errorf("outcome %+v, want %s, killed", got, tt.want)
			}
			b.wantGone(t, "run-1")
		})
	}
}

// TERM from elsewhere, such as a shutdown of the machine, is not our own wish.
func TestStarterEndedBySomebodyElse(t *testing.T) {
	t.Parallel()
	b := newBench(t, "tools stay")
	h := b.open(t)
	outcome := make(chan loop.Outcome, 1)
	go func() { outcome <- h.Deliver(t.Context(), b.handover("run-1")) }()
	who := b.starter(t, "run-1")
	await(t, filepath.Join(b.scene(), "tool-2"))
	if err := proc.Signal(who, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := <-outcome; got.Kind != loop.RunCutOff {
		t.Errorf("outcome %+v, want cut-off", got)
	}
	b.wantGone(t, "run-1")
}

// A run of before a reboot: its starter's pid may be anybody's now.
func TestRunFromBeforeARebootHarmsNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t, "answer")
	h := b.open(t)
	if got := h.Deliver(within(t, time.Minute), b.handover("run-1")); got.Kind != loop.RunDone {
		t.Fatalf("outcome %+v", got)
	}
	stranger := exec.CommandContext(t.Context(), executable(), "tool", b.scene(), "stranger")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stranger.Process.Kill()
		_ = stranger.Wait()
	})
	id, err := proc.Of(stranger.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for name, claim := range map[string]proc.Identity{
		"reboot": {PID: id.PID, Start: id.Start, Boot: "another"}, "recycled pid": {PID: id.PID, Start: id.Start - 1, Boot: id.Boot},
	} {
		text, err := json.Marshal(claim)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.file("run-1", "started.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"exit.json", "stdout"} {
			_ = os.Remove(b.file("run-1", file))
		}
		if got := h.Settle(within(t, time.Minute), b.handover("run-1")); got.Kind != loop.RunCutOff || got.Killed {
			t.Errorf("%s: outcome %+v, want cut-off", name, got)
		}
		if got, err := h.Terminate(within(t, time.Minute), "run-1"); err != nil || got.Found {
			t.Errorf("%s: terminated %+v, %v", name, got, err)
		}
		if !proc.Alive(id) {
			t.Fatalf("%s: a stranger was ended", name)
		}
	}
}

func awaitContent(t *testing.T, path string) {
	t.Helper()
	for ctx := within(t, time.Minute); ctx.Err() == nil; time.Sleep(time.Millisecond) {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		}
	}
	t.Fatalf("%s stayed empty", path)
}
