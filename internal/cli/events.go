package cli

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// events shows the event log.
type events struct {
	Follow   bool   `short:"f" help:"Stay, and print what comes, until Ctrl-C."`
	WorkItem string `name:"work-item" placeholder:"REF" help:"Only those of this work item: ${ref}."`
	Type     string `placeholder:"TYPE" help:"Only those of this type, such as run.failed."`
	After    int64  `default:"-1" placeholder:"SEQ" help:"Those after the event with this number; 0 begins with the oldest that is kept (default: the last 100)."`
}

// Help is shown below the flags.
func (events) Help() string {
	return `
Each event is one line; with -o json, one object a line. A follow goes on over a restart of loopd.

Examples:

  loopctl events -f
  loopctl events --work-item acme/shop#15 --after 0
  loopctl events -f --type run.failed -o json | jq -r .message
`
}

// Run prints the events.
func (e events) Run(ctx context.Context, c *client, out *printer) error {
	ref, err := refOrNone(ctx, e.WorkItem)
	if err != nil {
		return err
	}
	req := &loopv1.EventsRequest{Follow: e.Follow, WorkItem: ref, Type: e.Type, AfterSeq: e.After}
	if !e.Follow {
		return show(ctx, c, out, req)
	}
	return c.link.follow(ctx, out, func(ctx context.Context) error { return show(ctx, c, out, req) })
}

// show prints events until the daemon ends the stream, and moves req behind the last one.
func show(ctx context.Context, c *client, out *printer, req *loopv1.EventsRequest) error {
	open := func(ctx context.Context) (grpc.ServerStreamingClient[loopv1.EventsResponse], error) {
		return c.Events(ctx, req)
	}
	return receive(ctx, c.link, req.GetFollow(), open, func(answer *loopv1.EventsResponse) error {
		req.AfterSeq = answer.GetSeq()
		return printEvent(out, eventOf(answer))
	})
}

func printEvent(out *printer, e eventShape) error {
	if out.json {
		return out.printJSON(e, "")
	}
	var fields strings.Builder
	for _, name := range sortedKeys(e.Fields) {
		fmt.Fprintf(&fields, " %s=%s", name, word(e.Fields[name]))
	}
	return out.line("%d  %s  %-22s %s  %s%s", e.Seq, clock(e.At), e.Type, orDash(refOf(e.WorkItem)), e.Message, fields.String())
}

// word is a value that is seen to end: quoted where it has blanks.
func word(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n\"=") {
		return fmt.Sprintf("%q", s)
	}
	return s
}
