package cli

import (
	"context"
	"fmt"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// summaryWidth is how much of a summary a table shows; JSON has all of it.
const summaryWidth = 60

// deliveries is the noun.
type deliveries struct {
	List      listDeliveries    `cmd:"" help:"List deliveries, the newest first."`
	Show      showDelivery      `cmd:"" help:"Show one delivery, or its body."`
	Redeliver redeliverDelivery `cmd:"" help:"Make a failed delivery due now."`
}

type listDeliveries struct {
	State    string `enum:",received,queued,waiting,running,done,failed,dropped" default:"" placeholder:"STATE" help:"Only those that are received, queued, waiting, running, done, failed or dropped."`
	WorkItem string `name:"work-item" placeholder:"REF" help:"Only those of this work item: ${ref}."`
	Limit    int32  `default:"50" placeholder:"N" help:"At most so many, 1000 at most (default: 50)."`
	Before   int64  `placeholder:"SEQ" help:"Only those that arrived before the delivery with this number, for the next page."`
}

// Help is shown below the flags.
func (listDeliveries) Help() string {
	return `
Examples:

  loopctl deliveries list --state failed
  loopctl deliveries list --work-item acme/shop#15 -o json
`
}

// Run lists the deliveries.
func (l listDeliveries) Run(ctx context.Context, c *client, out *printer) error {
	ref, err := refOrNone(ctx, l.WorkItem)
	if err != nil {
		return err
	}
	answer, err := c.DeliveriesClient.List(ctx, &loopv1.ListDeliveriesRequest{
		State: l.State, WorkItem: ref, Limit: l.Limit, BeforeSeq: l.Before,
	})
	if err != nil {
		return err
	}
	shapes := deliveriesOf(answer.GetDeliveries())
	if len(shapes) == 0 && !out.json {
		out.note("no deliveries")
		return nil
	}
	return out.print(shapes, func(t *table) { listDeliveryRows(t, shapes) })
}

func listDeliveryRows(t *table, shapes []deliveryShape) {
	t.header("SEQ", "DELIVERY", "RECEIVED", "STATE", "KIND", "WORK ITEM", "SUMMARY")
	for _, d := range shapes {
		t.row(decimal(d.Seq), d.ID, ago(d.ReceivedAt), d.state(), d.Kind, refOf(d.WorkItem), cut(text(d.Summary), summaryWidth))
	}
}

type showDelivery struct {
	ID   string `arg:"" help:"The delivery's id."`
	Body bool   `help:"Print the body as it came, and nothing else (with -o json: beside the rest)."`
}

// Help is shown below the flags.
func (showDelivery) Help() string {
	return `
Example:

  loopctl deliveries show 72d3162e-cc78-11e3-81ab-4c9367dc0958 --body > comment.json
`
}

// Run shows the delivery.
func (s showDelivery) Run(ctx context.Context, c *client, out *printer) error {
	answer, err := c.DeliveriesClient.Get(ctx, &loopv1.GetDeliveryRequest{Id: s.ID, Body: s.Body})
	if err != nil {
		return err
	}
	d := deliveryOf(answer.GetDelivery())
	switch {
	case s.Body && out.json:
		return out.printJSON(struct {
			deliveryShape
			Body *string `json:"body"`
		}{d, orNull(string(answer.GetBody()))}, "  ")
	case s.Body:
		return printBody(out, s.ID, answer.GetBody())
	}
	return out.print(d, func(t *table) { showDeliveryFields(t, d) })
}

// printBody writes the bytes as they came, but for a terminal, which they could steer.
func printBody(out *printer, id string, body []byte) error {
	if len(body) == 0 {
		return fmt.Errorf("delivery %s: its body was dropped, which happens some days after it is done (keep.body_days)", id)
	}
	if out.terminal {
		return out.write(safeText(string(body)) + "\n")
	}
	return out.write(string(body))
}

func showDeliveryFields(t *table, d deliveryShape) {
	t.field("delivery", d.ID)
	t.field("seq", decimal(d.Seq))
	t.field("source", d.Source)
	t.field("kind", d.Kind)
	t.field("summary", text(d.Summary))
	t.field("work item", refOf(d.WorkItem))
	t.field("received", clock(d.ReceivedAt))
	t.field("decision", text(d.Decision))
	t.field("fact", text(d.Fact))
	t.field("state", d.state())
	t.field("error", text(d.Error))
	if d.Attempts > 0 {
		t.field("attempts", decimal(d.Attempts))
	}
	t.field("due", clock(d.DueAt))
	t.field("run", text(d.Run))
	t.field("ended", clock(d.EndedAt))
}

type redeliverDelivery struct {
	ID    string `arg:"" help:"The delivery's id."`
	Force bool   `help:"Also one that is done or was dropped: it runs again."`
}

// Run makes the delivery due.
func (r redeliverDelivery) Run(ctx context.Context, c *client, out *printer) error {
	answer, err := c.DeliveriesClient.Redeliver(ctx, &loopv1.RedeliverRequest{Id: r.ID, Force: r.Force})
	if err != nil {
		return err
	}
	d := deliveryOf(answer.GetDelivery())
	if out.json {
		return out.printJSON(d, "  ")
	}
	return out.line("delivery %s is due now: %s", d.ID, d.state())
}

type explain struct {
	Subject string `arg:"" name:"delivery|ref" help:"A delivery's id, or a work item: ${ref}."`
}

// Help is shown below the flags.
func (explain) Help() string {
	return `
Examples:

  loopctl explain 72d3162e-cc78-11e3-81ab-4c9367dc0958
  loopctl explain acme/shop#15
`
}

// Run prints the account.
func (e explain) Run(ctx context.Context, c *client, out *printer) error {
	of, err := subject(ctx, e.Subject)
	if err != nil {
		return err
	}
	answer, err := c.DeliveriesClient.Explain(ctx, &loopv1.ExplainRequest{Subject: of})
	if err != nil {
		return err
	}
	shape := struct {
		Lines      []string        `json:"lines"`
		Deliveries []deliveryShape `json:"deliveries"`
	}{list(answer.GetLines()), deliveriesOf(answer.GetDeliveries())}
	if out.json {
		return out.printJSON(shape, "  ")
	}
	for _, line := range shape.Lines {
		if err := out.line("%s", line); err != nil {
			return err
		}
	}
	if len(shape.Deliveries) < 2 {
		return nil
	}
	t := out.table()
	t.blank()
	listDeliveryRows(t, shape.Deliveries)
	return t.flush()
}
