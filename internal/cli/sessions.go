package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// sessions is the noun.
type sessions struct {
	Register registerSession `cmd:"" help:"Link a conversation to a work item, so that its events reach it."`
	List     listSessions    `cmd:"" help:"List sessions, the oldest first."`
	Show     showSession     `cmd:"" help:"Show the session of a work item, and what is on its way to it."`
	Attach   attach          `cmd:"" help:"Look into the terminal of a session."`
	Close    closeSession    `cmd:"" help:"End the session of a work item for good."`
	Start    startSession    `cmd:"" help:"Have a work item worked on, also one that was stopped."`
	Stop     stopSession     `cmd:"" help:"Close the session of a work item, and start none for it until start."`
	Pause    pauseSession    `cmd:"" help:"End the running turn, and drop what is queued and what comes until resume."`
	Resume   resumeSession   `cmd:"" help:"Let events reach a paused session again."`
	LinkPR   linkPull        `cmd:"" name:"link-pr" help:"Declare a pull request as the work of a session."`
}

type registerSession struct {
	itemArg

	Harness          string `required:"" placeholder:"NAME" help:"The harness, such as claude."`
	HarnessSessionID string `name:"harness-session-id" required:"" placeholder:"ID" help:"The harness's own id of the conversation."`
	Cwd              string `placeholder:"DIR" help:"The folder the harness works in (default: the current one)."`
	Runner           string `placeholder:"RUNNER" help:"How the harness runs: headless or tmux (default: routing.runner of the configuration)."`
	Force            bool   `help:"Close the session that has the work item, as replaced, and take its place."`
	Quiet            bool   `help:"For hooks: print nothing on stdout, take one second at most, and end with 0 where loopd cannot be reached."`
}

// Help is shown below the flags.
func (registerSession) Help() string {
	return `
A work item has at most one session that is not closed.

Examples:

  loopctl sessions register acme/shop#15 --harness claude --harness-session-id 3f9a0c1e-6d0b-4d0a-9a53-5d4c1f6b8a11
  loopctl sessions register . --harness claude --harness-session-id "$ID" --cwd ~/shop
`
}

// quietTimeout bounds the registration by a hook: an agent waits for it.
const quietTimeout = time.Second

// Run registers the session.
func (r registerSession) Run(ctx context.Context, c *client, out *printer) error {
	if !r.Quiet {
		return r.register(ctx, c, out)
	}
	c.link.impatient()
	ctx, cancel := context.WithTimeout(ctx, quietTimeout)
	defer cancel()
	err := r.register(ctx, c, out)
	if late(err) || lost(err) && !c.link.answered.Load() {
		return nil
	}
	return err
}

func (r registerSession) register(ctx context.Context, c *client, out *printer) error {
	item, err := r.item(ctx)
	if err != nil {
		return err
	}
	if err := loop.SessionID(r.HarnessSessionID).Check(); err != nil {
		return err
	}
	cwd, err := folder(r.Cwd)
	if err != nil {
		return err
	}
	answer, err := c.Register(ctx, &loopv1.RegisterRequest{
		WorkItem: item.Ref(), Harness: r.Harness, HarnessSessionId: r.HarnessSessionID,
		Cwd: cwd, Runner: r.Runner, Force: r.Force,
	})
	if err != nil {
		return err
	}
	for _, warning := range answer.GetWarnings() {
		out.warn(warning)
	}
	s := sessionOf(answer.GetSession())
	switch {
	case r.Quiet:
		return nil
	case out.json:
		return out.printJSON(s, "  ")
	}
	return out.line("registered %s session %s for %s (%s, in %s)", s.Harness, s.HarnessSessionID, s.ref(), s.Runner, s.Cwd)
}

// folder is an existing folder as an absolute path.
func folder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the current folder: %w", err)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", fmt.Errorf("--cwd %s: there is no such folder: %w", abs, loop.ErrInvalid)
	}
	return abs, nil
}

// liveWidth is how many characters of what a live conversation does stand in a table.
const liveWidth = 32

type listSessions struct {
	Status string `enum:"open,active,paused,closed,all" default:"open" help:"Which: active, paused, closed or all; open is active and paused (default: open)."`
}

// Help is shown below the flags.
func (listSessions) Help() string {
	return `
Examples:

  loopctl sessions list
  loopctl sessions list --status all -o json
`
}

// Run lists the sessions.
func (l listSessions) Run(ctx context.Context, c *client, out *printer) error {
	status := l.Status
	if status == "open" {
		status = "" // the daemon's word for it
	}
	answer, err := c.SessionsClient.List(ctx, &loopv1.ListSessionsRequest{Status: status})
	if err != nil {
		return err
	}
	for _, problem := range answer.GetProblems() {
		out.warn(problem)
	}
	shapes := make([]sessionShape, len(answer.GetSessions()))
	for i, s := range answer.GetSessions() {
		shapes[i] = sessionOf(s)
	}
	if len(shapes) == 0 && !out.json {
		out.note("no sessions (%s)", l.Status)
		return nil
	}
	return out.print(shapes, func(t *table) {
		t.header("WORK ITEM", "HARNESS", "RUNNER", "STATUS", "ACTIVITY", "LIVE", "QUEUED", "LAST EVENT", "CWD")
		for _, s := range shapes {
			live := cut(s.Presence.state(), liveWidth)
			t.row(s.ref(), s.Harness, s.Runner, s.state(), s.doing(), live, decimal(s.Queued), ago(s.LastEventAt), s.Cwd)
		}
	})
}

type showSession struct{ itemArg }

// Run shows the session.
func (s showSession) Run(ctx context.Context, c *client, out *printer) error {
	item, err := s.item(ctx)
	if err != nil {
		return err
	}
	answer, err := c.SessionsClient.Get(ctx, &loopv1.GetSessionRequest{WorkItem: item.Ref()})
	if err != nil {
		return err
	}
	shape := struct {
		sessionShape
		Queue  []deliveryShape `json:"queue"`
		Recent []deliveryShape `json:"recent"`
	}{sessionOf(answer.GetSession()), deliveriesOf(answer.GetQueue()), deliveriesOf(answer.GetRecent())}
	return out.print(shape, func(t *table) {
		showSessionFields(t, shape.sessionShape)
		for _, part := range []struct {
			name       string
			deliveries []deliveryShape
		}{{"ON THEIR WAY", shape.Queue}, {"BEFORE", shape.Recent}} {
			if len(part.deliveries) > 0 {
				t.blank()
				t.header(part.name, "KIND", "RECEIVED", "STATE", "SUMMARY")
				for _, d := range part.deliveries {
					t.row(d.ID, d.Kind, ago(d.ReceivedAt), d.state(), cut(text(d.Summary), summaryWidth))
				}
			}
		}
	})
}

func showSessionFields(t *table, s sessionShape) {
	t.field("work item", s.ref())
	t.field("harness", s.Harness)
	t.field("session id", s.HarnessSessionID)
	t.field("had before", strings.Join(s.PreviousHarnessSessionID, ", "))
	t.field("cwd", s.Cwd)
	t.field("runner", s.Runner)
	t.field("tmux", s.TmuxTarget)
	t.field("status", s.state())
	t.field("activity", s.doing())
	t.field("live", s.Presence.place())
	t.field("turn", s.Presence.state())
	if s.Spawned {
		t.field("spawned", "by loopd")
	}
	t.field("created", clock(s.CreatedAt))
	t.field("last event", clock(s.LastEventAt))
	t.field("closed", strings.TrimSpace(clock(s.ClosedAt)+" "+text(s.CloseReason)))
	t.field("pull requests", strings.Join(s.PullRequests, ", "))
}

type closeSession struct {
	itemArg

	KeepTmux bool `xor:"tmux" help:"Leave its terminal as a record to read, whatever the configuration says."`
	KillTmux bool `xor:"tmux" help:"End its terminal too, whatever the configuration says. Of a session that is closed already, remove the terminal that stays."`

	ending
}

// ending is how long a command stays that ends a session.
type ending struct {
	NoWait bool `help:"Do not wait until the harness has ended. Taken by itself where an agent ends the session that it runs in."`
}

// noWait reports whether the command does not wait. An agent's own loopctl must not: the agent waits for loopctl.
func (e ending) noWait(item loop.WorkItem, who caller) bool {
	own, err := loop.ParseRef(who.getenv("LOOP_WORK_ITEM"))
	return e.NoWait || err == nil && own.Key() == item.Key()
}

// wentOn puts it into words when an error is that the command's patience ended before the harness did.
func wentOn(err error, c *client, doing string, item loop.WorkItem) error {
	if !late(err) {
		return err
	}
	return fmt.Errorf("%s %s goes on, but its harness had not ended within %s: see loopctl sessions show %s", doing, item, c.link.patience, item)
}

// Help is shown below the flags.
func (closeSession) Help() string {
	return `
The harness is ended if loopd started it; a running turn gets a moment to end by itself. What is queued is dropped.

Examples:

  loopctl sessions close acme/shop#15
  loopctl sessions close --work-item github:acme/shop#15
  loopctl sessions close acme/shop#15 --kill-tmux
`
}

// Run closes the session and says what that ended.
func (s closeSession) Run(ctx context.Context, c *client, out *printer, who caller) error {
	item, err := s.item(ctx)
	if err != nil {
		return err
	}
	noWait := s.noWait(item, who)
	answer, err := c.SessionsClient.Close(ctx, &loopv1.CloseRequest{WorkItem: item.Ref(), NoWait: noWait, Tmux: s.fate()})
	if err != nil {
		return wentOn(err, c, "closing", item)
	}
	if err := reportClose(out, answer, item, noWait); err != nil {
		return err
	}
	if ending := answer.GetSession().GetEnding(); ending != "" && !noWait {
		return fmt.Errorf("%s is closed, but its %s is not settled yet: see loopctl sessions show %s", item, ending, item)
	}
	return nil
}

// fate says what is to become of the session's terminal.
func (s closeSession) fate() loopv1.TmuxFate {
	switch {
	case s.KeepTmux:
		return loopv1.TmuxFate_TMUX_FATE_KEEP
	case s.KillTmux:
		return loopv1.TmuxFate_TMUX_FATE_KILL
	}
	return loopv1.TmuxFate_TMUX_FATE_UNSPECIFIED
}

func reportClose(out *printer, answer *loopv1.CloseResponse, item loop.WorkItem, noWait bool) error {
	if out.json {
		return out.printJSON(struct {
			Session      sessionShape `json:"session"`
			DeliveryID   string       `json:"deliveryId"`
			HarnessEnded bool         `json:"harnessEnded"`
			Killed       bool         `json:"killed"`
			Dropped      int32        `json:"dropped"`
			Retained     *string      `json:"retained"`
			Removed      *string      `json:"removed"`
		}{
			sessionOf(answer.GetSession()), answer.GetDeliveryId(), answer.GetHarnessEnded(), answer.GetKilled(), answer.GetDropped(),
			orNull(answer.GetRetained()), orNull(answer.GetRemoved()),
		}, "  ")
	}
	if answer.GetDeliveryId() == "" {
		return out.line("%s was closed before: %s", item, terminalLeft(answer, item))
	}
	harness := "no harness was running"
	switch {
	case answer.GetKilled():
		harness = "its harness was ended with SIGKILL"
	case answer.GetHarnessEnded():
		harness = "its harness was ended"
	case noWait:
		harness = "not waiting for its harness"
	}
	switch {
	case answer.GetRetained() != "":
		harness += ", its terminal stays to be read (loopctl attach " + item.Ref() + ")"
	case answer.GetRemoved() != "":
		harness += ", its terminal was removed (loopctl logs " + item.Ref() + " has what it showed)"
	}
	return out.line("closed %s: %s, %s dropped", item, harness, number(answer.GetDropped(), "delivery", "deliveries"))
}

// terminalLeft says what became of the terminal that a closed session had left.
func terminalLeft(answer *loopv1.CloseResponse, item loop.WorkItem) string {
	switch {
	case answer.GetRemoved() != "":
		return "its terminal was removed (loopctl logs " + item.Ref() + " has what it showed)"
	case answer.GetRetained() != "":
		return "its terminal stays, as somebody opened other panes in it (loopctl attach " + item.Ref() + "): close those first"
	}
	return "it has no terminal any more"
}

type pauseSession struct{ itemArg }

// Run pauses the session.
func (s pauseSession) Run(ctx context.Context, c *client, out *printer) error {
	item, err := s.item(ctx)
	if err != nil {
		return err
	}
	answer, err := c.SessionsClient.Pause(ctx, &loopv1.PauseRequest{WorkItem: item.Ref()})
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(struct {
			Session  sessionShape `json:"session"`
			Dropped  int32        `json:"dropped"`
			RunEnded bool         `json:"runEnded"`
		}{sessionOf(answer.GetSession()), answer.GetDropped(), answer.GetRunEnded()}, "  ")
	}
	run := "no turn was running"
	if answer.GetRunEnded() {
		run = "its running turn was ended"
	}
	return out.line("paused %s: %s, %s dropped", item, run, number(answer.GetDropped(), "delivery", "deliveries"))
}

type resumeSession struct{ itemArg }

// Run resumes the session.
func (s resumeSession) Run(ctx context.Context, c *client, out *printer) error {
	item, err := s.item(ctx)
	if err != nil {
		return err
	}
	answer, err := c.SessionsClient.Resume(ctx, &loopv1.ResumeRequest{WorkItem: item.Ref()})
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(struct {
			Session sessionShape `json:"session"`
			Missed  int32        `json:"missed"`
		}{sessionOf(answer.GetSession()), answer.GetMissed()}, "  ")
	}
	return out.line("resumed %s: %s dropped while it was paused", item, number(answer.GetMissed(), "delivery was", "deliveries were"))
}

// decimal is a number for a cell.
func decimal[N int32 | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// number reads «1 delivery», «3 deliveries».
func number(n int32, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
