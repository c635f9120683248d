package harness_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/harness/agenttest"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
)

// rig is an agent to be driven: a real program with an API of ours, or a stand-in.
type rig struct {
	kind
	agent harness.Agent
	dir   string              // where it works
	begun func() (int, error) // how many turns it has begun to think about
}

// kind is what differs between the agents that all pass one suite.
type kind struct {
	name     string
	program  string            // of the stand-in
	declared *harness.Declared // nil: built in
	turns    int               // that it counts for a good answer
	text     bool              // it prints text: anything is an answer, and only its end tells that it was all
	forgets  bool              // an unknown conversation is begun, so a lost one can only be known beforehand
	fails    bool              // a failed turn tells the conversation's id
	until    bool              // it says when a limit ends
	statuses map[string]string // what the API's error statuses hold it up for; "" is a failure
}

// A declared agent tells no more of its API than a line on stderr, which is read in one way.
var complaints = map[string]string{"400": "", "401": loop.HeldNotLoggedIn, "429": loop.HeldRateLimited}

var apiStatuses = map[string]string{
	"400": "", "401": loop.HeldNotLoggedIn, "429": loop.HeldRateLimited, "500": "", "503": loop.HeldOverloaded, "529": loop.HeldOverloaded,
}

// kinds are all agents that we know, and those that the documentation declares.
func kinds(t *testing.T) []kind {
	t.Helper()
	busy := maps.Clone(apiStatuses)
	busy["500"] = loop.HeldOverloaded
	all := []kind{
		{name: "claude", program: "claude", turns: 1, fails: true, until: true, statuses: apiStatuses},
		{name: "cursor", program: "cursor-agent", forgets: true, statuses: apiStatuses},
		{name: "codex", program: "codex", turns: 1, fails: true, until: true, statuses: busy},
	}
	declared := documented(t)
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		k := kind{name: name, program: name, declared: declared[name].Declared, statuses: complaints, until: true}
		k.text = k.declared.Output == harness.OutputText
		k.fails = name == "copilot" || name == "opencode"
		all = append(all, k)
	}
	return all
}

// newStandIn returns the stand-in for an agent, which remembers its conversations.
func newStandIn(t *testing.T, k kind, env map[string]string) rig {
	t.Helper()
	bin, record := t.TempDir(), filepath.Join(t.TempDir(), "runs")
	command, err := agenttest.Install(bin, k.program)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{agenttest.EnvRecord: record, agenttest.EnvState: t.TempDir(), "HOME": t.TempDir()}
	maps.Copy(all, env)
	return rig{
		kind:  k,
		agent: newAgent(t, k.name, harness.Options{}, harness.Program{Command: command, Env: all, Declared: k.declared}),
		dir:   t.TempDir(),
		begun: func() (int, error) {
			runs, err := agenttest.ReadRuns(record)
			return len(runs), err
		},
	}
}

// newAgent returns one agent as the options configure it.
func newAgent(t *testing.T, name string, o harness.Options, p harness.Program) harness.Agent {
	t.Helper()
	o.Agents = map[string]harness.Program{name: p}
	set, err := harness.New(o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := set.Agent(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (r rig) turn(id loop.SessionID, text string) harness.Turn {
	return harness.Turn{Item: item, ID: id, Cwd: r.dir, Prompt: text}
}

// start begins a conversation and returns what came of it.
func (r rig) start(t *testing.T, id loop.SessionID, text string) loop.Outcome {
	t.Helper()
	cmd, err := r.agent.Start(r.turn(id, text))
	if err != nil {
		t.Fatal(err)
	}
	return r.agent.Read(runToEnd(t, cmd))
}

// resume goes on with a conversation.
func (r rig) resume(t *testing.T, id loop.SessionID, text string) loop.Outcome {
	t.Helper()
	cmd, err := r.agent.Resume(r.turn(id, text))
	if errors.Is(err, loop.ErrNotFound) {
		return loop.Outcome{Kind: loop.RunLost, Detail: err.Error()}
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.agent.Read(runToEnd(t, cmd))
}

// again tries once more after a start that came to nothing, as dispatch would: it goes on with the conversation where the agent
// named it or has it already, and else starts it again.
func (r rig) again(t *testing.T, id loop.SessionID, out loop.Outcome, text string) loop.Outcome {
	t.Helper()
	if id == "" && out.SessionID != "" {
		return r.resume(t, out.SessionID, text)
	}
	second := r.start(t, id, text)
	if second.Reason == loop.FailedIDInUse {
		return r.resume(t, id, text)
	}
	return second
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
	if !strings.Contains(got.Detail, want.Detail) || got.Detail == "" {
		t.Errorf("detail: got %q, want %q in it", got.Detail, want.Detail)
	}
	want.Detail = got.Detail
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

// answered is the outcome of a turn that went well.
func (r rig) answered(id loop.SessionID, says string) loop.Outcome {
	if r.text {
		id = "" // it can't be told
	}
	return loop.Outcome{Kind: loop.RunDone, Detail: says, SessionID: id, Turns: r.turns}
}

// testConversations holds an agent to what Loop relies on. Stand-ins and real programs pass the same.
func testConversations(t *testing.T, r rig) {
	t.Helper()
	t.Run("a conversation is started and resumed", func(t *testing.T) {
		t.Parallel()
		id := r.agent.MintID()
		first := r.start(t, id, "-one")
		if id == "" {
			id = first.SessionID
		}
		wantOutcome(t, first, r.answered(id, "-one"))
		if err := id.Check(); err != nil {
			t.Fatal(err)
		}
		second := r.resume(t, id, "--help")
		wantOutcome(t, second, r.answered(id, "Fake answer to turn 2: "))
		if !strings.Contains(second.Detail, "--help") {
			t.Errorf("the prompt was taken for something else: %q", second.Detail)
		}
	})
	t.Run("an unknown conversation is lost", func(t *testing.T) {
		t.Parallel()
		out := r.resume(t, conversation, "hello")
		wantOutcome(t, out, loop.Outcome{Kind: loop.RunLost})
	})
	t.Run("a start that failed is made again", func(t *testing.T) {
		t.Parallel()
		id := r.agent.MintID()
		out := r.start(t, id, "one [[agent status=400]]")
		if out.Kind != loop.RunFailed || out.Reason != "" || id != "" && out.SessionID != "" && out.SessionID != id {
			t.Errorf("the start: got %+v, want a failure of %q", out, id)
		}
		out = r.again(t, id, out, "one")
		if out.Kind != loop.RunDone || !strings.Contains(out.Detail, ": one") {
			t.Errorf("again: got %+v", out)
		}
	})
	for status, reason := range r.statuses {
		t.Run("the API answers "+status, func(t *testing.T) {
			t.Parallel()
			out := r.start(t, r.agent.MintID(), "hello [[agent status="+status+"]]")
			want := loop.Outcome{Kind: loop.RunHeld, Reason: reason, SessionID: out.SessionID, Turns: out.Turns}
			if reason == "" {
				want.Kind = loop.RunFailed
			}
			wantOutcome(t, out, want)
			if (out.SessionID != "") != r.fails {
				t.Errorf("the failed turn was in conversation %q", out.SessionID)
			}
		})
	}
	// Not beside the others: it waits for one more turn than there were.
	t.Run("a turn is stopped and the conversation goes on", func(t *testing.T) { testStop(t, r) })
}

func testStop(t *testing.T, r rig) {
	t.Helper()
	id := r.agent.MintID()
	before, err := r.begun()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := r.agent.Start(r.turn(id, "think [[agent delay=60000]]"))
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
		if now, err = r.begun(); err != nil || ctx.Err() != nil {
			t.Fatal("it did not begin to think:", err, ctx.Err())
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	x := <-exits
	x.End = harness.Stopped
	stopped := r.agent.Read(x)
	wantOutcome(t, stopped, loop.Outcome{Kind: loop.RunEnded, Detail: "ended on request", SessionID: stopped.SessionID})
	out := r.again(t, id, stopped, "and now")
	if out.Kind != loop.RunDone || !strings.Contains(out.Detail, ": and now") {
		t.Errorf("again: got %+v", out)
	}
}

func TestStandIns(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			testConversations(t, newStandIn(t, k, nil))
		})
	}
}

// What Claude Code alone tells.
func TestClaudeTellsMore(t *testing.T) {
	t.Parallel()
	testClaude(t, newStandIn(t, kinds(t)[0], nil))
}

func testClaude(t *testing.T, c rig) {
	t.Helper()
	t.Run("a start of a conversation that there is", func(t *testing.T) {
		t.Parallel()
		id := c.agent.MintID()
		failed := c.start(t, id, "one [[claude status=400]]")
		wantOutcome(t, failed, loop.Outcome{Kind: loop.RunFailed, Detail: "API Error: 400", SessionID: id, Turns: 1})
		again := c.start(t, id, "one")
		wantOutcome(t, again, loop.Outcome{Kind: loop.RunFailed, Reason: loop.FailedIDInUse, Detail: "already in use"})
	})
	t.Run("the cost counts over the whole conversation", func(t *testing.T) {
		t.Parallel()
		id := c.agent.MintID()
		first, second := c.start(t, id, "one"), c.resume(t, id, "two")
		if second.CostUSD <= first.CostUSD {
			t.Errorf("the cost went from %v to %v", first.CostUSD, second.CostUSD)
		}
	})
	t.Run("a refused tool is told", func(t *testing.T) {
		t.Parallel()
		id := c.agent.MintID()
		got := c.start(t, id, `go [[claude deny=Bash tool=Bash {"command":"touch made","description":"make it"}]]`)
		wantOutcome(t, got, loop.Outcome{Kind: loop.RunDone, SessionID: id, Turns: 2, Denials: []string{"Bash"}})
		if _, err := os.Stat(filepath.Join(c.dir, "made")); err == nil {
			t.Error("the command was run")
		}
	})
}
