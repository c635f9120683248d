package harness_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/claudetest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// claude is a Claude Code to be driven: the real one with an API of ours, or its stand-in.
type claude struct {
	agent harness.Agent
	dir   string              // where it works
	begun func() (int, error) // how many turns it has begun to think about
}

// newStandIn returns the stand-in, which remembers its conversations.
func newStandIn(t *testing.T, env map[string]string) claude {
	t.Helper()
	bin, record := t.TempDir(), filepath.Join(t.TempDir(), "runs")
	command, err := claudetest.Install(bin)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{claudetest.EnvRecord: record, claudetest.EnvState: t.TempDir()}
	maps.Copy(all, env)
	return claude{
		agent: agent(t, harness.Options{Agents: map[string]harness.Program{"claude": {Command: command, Env: all}}}),
		dir:   t.TempDir(),
		begun: func() (int, error) {
			runs, err := claudetest.ReadRuns(record)
			return len(runs), err
		},
	}
}

func (c claude) turn(id loop.SessionID, text string) harness.Turn {
	return harness.Turn{Item: item, ID: id, Cwd: c.dir, Prompt: text}
}

// start begins a conversation and returns what came of it.
func (c claude) start(t *testing.T, id loop.SessionID, text string) loop.Outcome {
	t.Helper()
	cmd, err := c.agent.Start(c.turn(id, text))
	if err != nil {
		t.Fatal(err)
	}
	return c.agent.Read(runToEnd(t, cmd))
}

// resume goes on with a conversation.
func (c claude) resume(t *testing.T, id loop.SessionID, text string) loop.Outcome {
	t.Helper()
	cmd, err := c.agent.Resume(c.turn(id, text))
	if err != nil {
		t.Fatal(err)
	}
	return c.agent.Read(runToEnd(t, cmd))
}

func runToEnd(t *testing.T, cmd harness.Command) harness.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	x, err := run(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// run hosts a command as a runner would.
func run(ctx context.Context, cmd harness.Command) (harness.Exit, error) {
	result, err := proc.Run(ctx, proc.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: strings.NewReader(cmd.Stdin), Grace: 10 * time.Second,
	})
	x := harness.Exit{Stdout: result.Stdout, Stderr: result.Stderr, Cut: result.StdoutTruncated, At: time.Now()}
	if bad, ok := errors.AsType[*proc.ExitError](err); ok {
		x.Code, x.Signal, err = bad.Code, bad.Signal, nil
	}
	return x, err
}

func wantOutcome(t *testing.T, got, want loop.Outcome) {
	t.Helper()
	got.Duration, got.CostUSD = 0, 0
	if !strings.Contains(got.Detail, want.Detail) {
		t.Errorf("detail: got %q, want %q in it", got.Detail, want.Detail)
	}
	want.Detail = got.Detail
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

// testConversations holds Claude Code to what Loop relies on. The stand-in and the real program pass the same.
func testConversations(t *testing.T, c claude) {
	t.Helper()
	t.Run("a conversation is started and resumed", func(t *testing.T) {
		t.Parallel()
		id := c.agent.MintID()
		first := c.start(t, id, "-one")
		wantOutcome(t, first, loop.Outcome{Kind: loop.RunDone, Detail: "Fake answer to turn 1: -one", SessionID: id, Turns: 1})
		second := c.resume(t, id, "--help")
		wantOutcome(t, second, loop.Outcome{Kind: loop.RunDone, Detail: "Fake answer to turn 2: --help", SessionID: id, Turns: 1})
		if second.CostUSD <= first.CostUSD {
			t.Errorf("the cost went from %v to %v; it counts over the whole conversation", first.CostUSD, second.CostUSD)
		}
	})
	t.Run("an unknown conversation is lost", func(t *testing.T) {
		t.Parallel()
		id := c.agent.MintID()
		wantOutcome(t, c.resume(t, id, "hello"), loop.Outcome{Kind: loop.RunLost, Detail: "No conversation found with session ID: " + string(id)})
	})
	t.Run("a start that failed is resumed", func(t *testing.T) {
		t.Parallel()
		id := c.agent.MintID()
		failed := c.start(t, id, "one [[claude status=400]]")
		wantOutcome(t, failed, loop.Outcome{Kind: loop.RunFailed, Detail: "API Error: 400", SessionID: id, Turns: 1})
		again := c.start(t, id, "one")
		wantOutcome(t, again, loop.Outcome{Kind: loop.RunFailed, Reason: loop.FailedIDInUse, Detail: "already in use"})
		wantOutcome(t, c.resume(t, id, "one"), loop.Outcome{Kind: loop.RunDone, Detail: ": one", SessionID: id, Turns: 1})
	})
	for status, reason := range map[string]string{
		"401": loop.HeldNotLoggedIn, "429": loop.HeldRateLimited, "529": loop.HeldOverloaded, "500": "",
	} {
		t.Run("the API answers "+status, func(t *testing.T) {
			t.Parallel()
			id := c.agent.MintID()
			want := loop.Outcome{Kind: loop.RunHeld, Reason: reason, SessionID: id, Turns: 1}
			if reason == "" {
				want.Kind = loop.RunFailed
			}
			wantOutcome(t, c.start(t, id, "hello [[claude status="+status+"]]"), want)
		})
	}
	t.Run("a refused tool is told", func(t *testing.T) {
		t.Parallel()
		id := c.agent.MintID()
		got := c.start(t, id, `go [[claude deny=Bash tool=Bash {"command":"touch made","description":"make it"}]]`)
		wantOutcome(t, got, loop.Outcome{Kind: loop.RunDone, SessionID: id, Turns: 2, Denials: []string{"Bash"}})
		if _, err := os.Stat(filepath.Join(c.dir, "made")); err == nil {
			t.Error("the command was run")
		}
	})
	// Not beside the others: it waits for one more turn than there were.
	t.Run("a turn is stopped and the conversation goes on", func(t *testing.T) { testStop(t, c) })
}

func testStop(t *testing.T, c claude) {
	t.Helper()
	id := c.agent.MintID()
	before, err := c.begun()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := c.agent.Start(c.turn(id, "think [[claude delay=60000]]"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	exits := make(chan harness.Exit, 1)
	go func() {
		x, _ := run(ctx, cmd) // the error is that ctx was cancelled
		exits <- x
	}()
	for now := before; now == before; {
		if now, err = c.begun(); err != nil || ctx.Err() != nil {
			t.Fatal("it did not begin to think:", err, ctx.Err())
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	x := <-exits
	x.End = harness.Stopped
	wantOutcome(t, c.agent.Read(x), loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request"})
	wantOutcome(t, c.resume(t, id, "and now"), loop.Outcome{Kind: loop.RunDone, Detail: ": and now", SessionID: id, Turns: 1})
}

func TestStandIn(t *testing.T) {
	t.Parallel()
	testConversations(t, newStandIn(t, nil))
}
