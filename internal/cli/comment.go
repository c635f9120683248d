package cli

import (
	"context"
	"fmt"

	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// comment posts an agent's words on its work item.
type comment struct{ words }

// Help is shown below the flags.
func (comment) Help() string {
	return `
It is posted as Markdown with the token of loopd and ends with Loop's marker, so that it is not brought back to the agent. The
answer is its page. The same words within ten minutes are posted once, so a call that failed may be made again.

Examples:

  loopctl comment . 'The form is mended; the database was fine.'
  loopctl comment acme/shop#15 - < report.md
`
}

// Run posts the comment.
func (s comment) Run(ctx context.Context, c *client, out *printer, who caller) error {
	item, text, err := s.read(ctx, who.stdin)
	if err != nil {
		return err
	}
	answer, err := c.Comment(ctx, &loopv1.CommentRequest{WorkItem: item.Ref(), Text: text})
	if err != nil {
		return unsure(err, c, item)
	}
	return out.posted(answer.GetUrl())
}

// ask posts an agent's question, and has its session wait for the answer.
type ask struct{ words }

// Help is shown below the flags.
func (ask) Help() string {
	return `
The question is posted like a comment, and the session is shown as waiting until an answer has reached it: a comment of somebody who
may steer agents, loopctl send, or what is typed in its terminal. The command itself does not wait: end your turn, and the answer
begins the next one.

Examples:

  loopctl ask . 'May I drop the column "colour"?'
  loopctl ask acme/shop#15 - < question.md
`
}

// Run posts the question.
func (s ask) Run(ctx context.Context, c *client, out *printer, who caller) error {
	item, text, err := s.read(ctx, who.stdin)
	if err != nil {
		return err
	}
	answer, err := c.Ask(ctx, &loopv1.AskRequest{WorkItem: item.Ref(), Text: text})
	if err != nil {
		return unsure(err, c, item)
	}
	return out.posted(answer.GetUrl())
}

// unsure puts it into words when an error is that the command's patience ended before GitHub had answered loopd.
func unsure(err error, c *client, item loop.WorkItem) error {
	if !late(err) || !c.link.finder.reached() {
		return err
	}
	return fmt.Errorf("GitHub had not answered within %s (--timeout waits longer), so it may be on %s or not; the same words again "+
		"within ten minutes are posted once", c.link.patience, item)
}

// posted prints the page of what was posted.
func (p *printer) posted(url string) error {
	if p.json {
		return p.printJSON(struct {
			URL string `json:"url"`
		}{url}, "  ")
	}
	return p.line("%s", url)
}
