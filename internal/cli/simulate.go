package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// maxSample is the most that simulate reads: more than GitHub ever sends.
const maxSample = 32 << 20

// simulate posts a sample delivery.
type simulate struct {
	File  string `arg:"" help:"The JSON body; - reads stdin."`
	Event string `required:"" placeholder:"E" help:"The event's type, such as issue_comment."`
}

// Help is shown below the flags.
func (simulate) Help() string {
	return `
loopd signs the body with its own secret and posts it to its own receiver, under a new delivery id: what follows is what a
delivery from GitHub would bring about. The exit code is 0 when the receiver took it.

Examples:

  loopctl simulate comment.json --event issue_comment
  loopctl deliveries show "$ID" --body | loopctl simulate - --event issue_comment
`
}

// Run posts the sample and prints the receiver's answer.
func (s simulate) Run(ctx context.Context, c *client, out *printer, who caller) error {
	body, err := readSample(s.File, who.stdin)
	if err != nil {
		return err
	}
	answer, err := c.Simulate(ctx, &loopv1.SimulateRequest{Event: s.Event, Body: body})
	if err != nil {
		return err
	}
	if err := reportSample(out, answer); err != nil {
		return err
	}
	if status := answer.GetHttpStatus(); status != http.StatusAccepted {
		return fmt.Errorf("the receiver refused the delivery with HTTP status %d", status)
	}
	return nil
}

func reportSample(out *printer, answer *loopv1.SimulateResponse) error {
	if out.json {
		return out.printJSON(struct {
			DeliveryID string `json:"deliveryId"`
			HTTPStatus int32  `json:"httpStatus"`
			Answer     string `json:"answer"`
		}{answer.GetDeliveryId(), answer.GetHttpStatus(), answer.GetAnswer()}, "  ")
	}
	return out.line("delivery %s: HTTP %d: %s", answer.GetDeliveryId(), answer.GetHttpStatus(), answer.GetAnswer())
}

func readSample(name string, stdin io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, loop.ErrInvalid)
		}
		defer func() { _ = f.Close() }()
		stdin = f
	}
	body, err := io.ReadAll(io.LimitReader(stdin, maxSample+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(body) > maxSample:
		return nil, fmt.Errorf("read %s: it is longer than %d MB: %w", name, maxSample>>20, loop.ErrInvalid)
	}
	return body, nil
}
