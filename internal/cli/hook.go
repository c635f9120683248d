package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loop-daemon/loop/internal/harness"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/proc"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

const (
	// hookPatience bounds what a hook does while its harness waits for it, so that the whole program takes a second at most.
	hookPatience = 800 * time.Millisecond

	// hookLimit is after what time a hook ends that is held up by something that cannot be told to stop.
	hookLimit = 900 * time.Millisecond

	// waitPatience is the same for a hook that waits, which nobody waits for: a busy machine must not cost the conversation its
	// waking.
	waitPatience = 5 * time.Second

	// hookAgain is how long after a daemon that is away a waiting hook asks again.
	hookAgain = time.Second

	// exitWake is the exit code by which a waiting hook wakes its conversation with what it wrote to stderr.
	exitWake = 2

	// waitEvent is the word for a hook that waits.
	waitEvent = "wait"
)

// hook is what the hooks of harnesses call.
type hook struct {
	Harness string `arg:"" help:"The harness, such as claude."`
	Event   string `arg:"" optional:"" help:"What it tells: start, prompt, stop, failure, waiting or end (default: what stdin names); or wait, to wait for something to wake the conversation with."`

	CloseOnEnd bool `help:"Close the session when the conversation ends."`
}

// Help is shown below the flags.
func (hook) Help() string {
	return `
For the hooks of harnesses, which tell what happens as JSON on stdin. It prints nothing on stdout but what the harness is to read,
and ends with 0 within a second, whatever happens: a hook never holds up or breaks the agent. The work item is that of the
conversation where it is registered, else $LOOP_WORK_ITEM, else that of the branch (issue-15-fix-login) and of the remote called
origin. With wait it stays as long as the process that called it,
also while loopd is away; when there is something for the conversation it prints that on stderr and ends with 2.

Examples:

  loopctl hook claude
  loopctl hook claude wait
  loopctl hook gemini stop
`
}

// wake is what a conversation is woken with. It is an error for the sake of the exit code alone.
type wake struct{ text string }

func (wake) Error() string { return "the conversation is woken" }

// forHook reports whether the arguments are those of a hook, or may be: the word after a flag may be its value, and a flag that is
// wrong or without its value is no reason to speak.
func forHook(args []string) bool {
	mayBeValue := false
	for _, arg := range args {
		switch {
		case arg == "hook":
			return true
		case strings.HasPrefix(arg, "--"):
			mayBeValue = !strings.Contains(arg, "=")
		case strings.HasPrefix(arg, "-"):
			mayBeValue = len(arg) == len("-o")
		case mayBeValue:
			mayBeValue = false
		default:
			return false
		}
	}
	return false
}

// hookMain carries out the call of a hook. Whatever goes wrong is silent: an exit code or a word of ours would be taken for a
// verdict on what the agent is doing. Nor is anything waited for longer than a hook may take, not even a disk; but for something
// to wake the conversation with.
func hookMain(args []string, run func() error, stdout, stderr io.Writer) int {
	ended := make(chan error, 1)
	go func() { // ends with the program at the latest
		defer func() {
			if recover() != nil {
				ended <- nil
			}
		}()
		ended <- run()
	}()
	var late <-chan time.Time
	if !slices.Contains(args, waitEvent) {
		late = time.After(hookLimit)
	}
	select {
	case err := <-ended:
		if w, ok := errors.AsType[wake](err); ok {
			_, _ = fmt.Fprintln(stderr, w.text)
			return exitWake
		}
	case <-late:
	}
	if slices.Contains(args, "cursor") { // which wants JSON for an answer; this decides nothing
		_, _ = fmt.Fprintln(stdout, "{}")
	}
	return exitDone
}

// Run tells loopd what the hook was told, or waits.
func (h hook) Run(ctx context.Context, c *client, out *printer, who caller) error {
	c.link.impatient()
	if h.Event == waitEvent {
		return h.wait(ctx, c, who)
	}
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	r, err := h.read(ctx, h.Event, who)
	if err != nil || r.Event == "" {
		return err
	}
	answer, err := c.Report(ctx, reportRequest(r))
	if err != nil {
		return err
	}
	_, err = out.stdout.Write(harness.SayInHook(h.Harness, r.Event, loop.HookAnswer{
		Note: answer.GetNote(), Context: answer.GetContext(),
	}))
	return err
}

// read reads what the harness tells. A harness that does not close stdin is not waited for.
func (h hook) read(ctx context.Context, event string, who caller) (loop.Report, error) {
	type input struct {
		data []byte
		err  error
	}
	got := make(chan input, 1)
	go func() { // ends with the program at the latest
		data, err := io.ReadAll(io.LimitReader(who.stdin, harness.MaxHookInput+1))
		got <- input{data, err}
	}()
	select {
	case in := <-got:
		if in.err != nil {
			return loop.Report{}, fmt.Errorf("read stdin: %w", in.err)
		}
		return h.report(ctx, event, in.data, who)
	case <-ctx.Done():
		return loop.Report{}, ctx.Err()
	}
}

// report says what is to be told. Where neither branch nor environment names an item, loopd may know the conversation.
func (h hook) report(ctx context.Context, event string, told []byte, who caller) (loop.Report, error) {
	r, err := harness.ReadHook(h.Harness, event, told, who.getenv, time.Now())
	if err != nil || r.Event == "" {
		return r, err
	}
	if r.Item.IsZero() && r.Run == "" {
		r.Item = itemIn(ctx, r.Cwd)
	}
	r.CloseOnEnd = h.CloseOnEnd
	return harness.Locate(r, os.Getppid(), who.getenv), nil
}

func reportRequest(r loop.Report) *loopv1.ReportRequest {
	req := &loopv1.ReportRequest{
		Event: string(r.Event), WorkItem: r.Item.Ref(), Harness: r.Harness, HarnessSessionId: string(r.SessionID), Launch: r.Launch,
		Run: string(r.Run), Pid: int32(r.PID), Source: r.Source, Detail: r.Detail, Cwd: r.Cwd, At: timestamppb.New(r.At),
		StartedAt: r.Started, Where: r.Where, CloseOnEnd: r.CloseOnEnd,
	}
	for _, run := range r.Runs {
		req.Runs = append(req.Runs, string(run))
	}
	return req
}

// wait waits for something to wake the conversation with, for as long as the harness lives.
func (h hook) wait(ctx context.Context, c *client, who caller) error {
	reading, cancel := context.WithTimeout(ctx, waitPatience)
	defer cancel()
	r, err := h.read(reading, "", who)
	if err != nil || r.Event == "" || r.Run != "" {
		return err
	}
	if r.Event == loop.HookStop { // the hook beside this one tells that too, but on a busy machine its time may be up
		_, _ = c.Report(reading, reportRequest(r))
	}
	ctx, release := whileAlive(ctx, os.Getppid(), r.PID)
	defer release()
	req := &loopv1.WaitRequest{
		WorkItem: r.Item.Ref(), Harness: r.Harness, HarnessSessionId: string(r.SessionID), Launch: r.Launch, Pid: int32(r.PID),
		Cwd: r.Cwd,
	}
	for {
		answer, err := c.Wait(ctx, req)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil && answer.GetWoken():
			return wake{answer.GetText()}
		case err == nil:
			return nil
		case !lost(err) && !late(err):
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(hookAgain):
		}
	}
}

// whileAlive returns a context that ends when one of the processes does. A pid of 0 is none. Release ends it too, and waits
// until nobody watches any more.
func whileAlive(ctx context.Context, pids ...int) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	for _, pid := range pids {
		if pid == 0 {
			continue
		}
		id, err := proc.Of(pid)
		if err != nil {
			cancel()
			break
		}
		watching.Go(func() {
			_ = proc.Wait(ctx, id)
			cancel()
		})
	}
	return ctx, func() { cancel(); watching.Wait() }
}
