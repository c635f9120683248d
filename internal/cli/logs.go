package cli

import (
	"context"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// logs shows a session's transcript.
type logs struct {
	itemArg

	Follow bool `short:"f" help:"Stay, and print what comes, until Ctrl-C."`
}

// Help is shown below the flags.
func (logs) Help() string {
	return `
The runs are shown in their order: prompt, answer, stderr. With -o json, one object with the field text a line.

Examples:

  loopctl logs acme/shop#15
  loopctl logs . -f
`
}

// Run prints the transcript.
func (l logs) Run(ctx context.Context, c *client, out *printer) error {
	item, err := l.item(ctx)
	if err != nil {
		return err
	}
	if l.Follow {
		following, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		ctx = following
	}
	open := func(ctx context.Context) (grpc.ServerStreamingClient[loopv1.TranscriptResponse], error) {
		return c.Transcript(ctx, &loopv1.TranscriptRequest{WorkItem: item.Ref(), Follow: l.Follow})
	}
	pieces := 0
	err = receive(ctx, c.link, l.Follow, open, func(piece *loopv1.TranscriptResponse) error {
		pieces++
		return printPiece(out, piece.GetText())
	})
	switch {
	case l.Follow && ctx.Err() != nil:
		return nil
	case err == nil && pieces == 0 && !out.json:
		out.note("nothing was handed to the session of %s yet", item)
	}
	return err
}

func printPiece(out *printer, text string) error {
	if out.json {
		return out.printJSON(struct {
			Text string `json:"text"`
		}{text}, "")
	}
	return out.write(safeText(text))
}
