package cli

import (
	"context"

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
	shown := 0 // bytes
	show := func(ctx context.Context) error { return l.show(ctx, c, out, item.Ref(), &shown) }
	if l.Follow {
		return c.link.follow(ctx, out, show)
	}
	err = show(ctx)
	if err == nil && shown == 0 && !out.json {
		out.note("nothing was handed to the session of %s yet", item)
	}
	return err
}

// show prints the transcript until the daemon ends the stream. The daemon always begins at the beginning: what was shown
// already is left out, and shown moves on.
func (l logs) show(ctx context.Context, c *client, out *printer, ref string, shown *int) error {
	open := func(ctx context.Context) (grpc.ServerStreamingClient[loopv1.TranscriptResponse], error) {
		return c.Transcript(ctx, &loopv1.TranscriptRequest{WorkItem: ref, Follow: l.Follow})
	}
	skip := *shown
	return receive(ctx, c.link, l.Follow, open, func(piece *loopv1.TranscriptResponse) error {
		text := piece.GetText()
		known := min(skip, len(text))
		skip -= known
		*shown += len(text) - known
		if known > 0 && known == len(text) {
			return nil
		}
		return printPiece(out, text[known:])
	})
}

func printPiece(out *printer, text string) error {
	if out.json {
		return out.printJSON(struct {
			Text string `json:"text"`
		}{text}, "")
	}
	return out.write(safeText(text))
}
