package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// maxWords is the most that is read of what is to be said: more than loopd takes, which says so itself.
const maxWords = 1 << 20

// send says something to a session.
type send struct {
	words
}

// Help is shown below the flags.
func (send) Help() string {
	return `
The words reach the session in their turn, behind what is queued, as yours: they are not fenced like what comes from GitHub.

Examples:

  loopctl send acme/shop#15 'Leave the database alone, only the form is wrong.'
  git diff | loopctl send . -
`
}

// Run sends the words.
func (s send) Run(ctx context.Context, c *client, out *printer, who caller) error {
	item, text, err := s.read(ctx, who.stdin)
	if err != nil {
		return err
	}
	answer, err := c.Send(ctx, &loopv1.SendRequest{
		WorkItem: item.Ref(), Text: text, By: cmp.Or(who.getenv("USER"), who.getenv("LOGNAME")),
	})
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(struct {
			DeliveryID string       `json:"deliveryId"`
			Session    sessionShape `json:"session"`
		}{answer.GetDeliveryId(), sessionOf(answer.GetSession())}, "  ")
	}
	return out.line("sent to %s as delivery %s", item, answer.GetDeliveryId())
}

// words are what somebody has to say about a work item.
type words struct {
	Ref  string   `arg:"" help:"The work item: ${ref}."`
	Text []string `arg:"" help:"What to say; - reads stdin."`
}

// read finds the item, and joins the words of the command line or reads stdin where they are -.
func (w words) read(ctx context.Context, stdin io.Reader) (item loop.WorkItem, text string, err error) {
	if item, err = findItem(ctx, w.Ref); err != nil {
		return item, "", err
	}
	if text = strings.Join(w.Text, " "); text == "-" {
		read, err := io.ReadAll(io.LimitReader(stdin, maxWords))
		if err != nil {
			return item, "", fmt.Errorf("read stdin: %w", err)
		}
		text = string(read)
	}
	if strings.TrimSpace(text) == "" {
		return item, "", fmt.Errorf("there is nothing to say: %w", loop.ErrInvalid)
	}
	return item, strings.ToValidUTF8(text, "\ufffd"), nil
}
