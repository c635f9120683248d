package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// poll has loopd ask about every repository now.
type poll struct{}

// Help is shown below the flags.
func (poll) Help() string {
	return `
Asks about the repositories of polling.sources and those in which sessions work, and prints what is new in each. The exit code
is 1 when one of them could not be asked about.

Example:

  loopctl poll -o json | jq '.[] | select(.trouble)'
`
}

type polledShape struct {
	Repository string     `json:"repository"`
	Configured bool       `json:"configured"`
	At         *time.Time `json:"at"`
	NextAt     *time.Time `json:"nextAt"`
	Trouble    *string    `json:"trouble"`
	Items      int32      `json:"items"`
	Deliveries int32      `json:"deliveries"`
	Closures   int32      `json:"closures"`
	Errors     int32      `json:"errors"`
}

func polledOf(all []*loopv1.PolledRepository) []polledShape {
	shapes := []polledShape{}
	for _, p := range all {
		shapes = append(shapes, polledShape{
			p.GetName(), p.GetConfigured(), timeOf(p.GetAt()), timeOf(p.GetNextAt()), orNull(p.GetTrouble()),
			p.GetItems(), p.GetDeliveries(), p.GetClosures(), p.GetErrors(),
		})
	}
	return shapes
}

// Run prints what the cycle came to.
func (poll) Run(ctx context.Context, c *client, out *printer) error {
	answer, err := c.Poll(ctx, &loopv1.PollRequest{})
	if err != nil {
		return err
	}
	all := polledOf(answer.GetRepositories())
	err = out.print(all, func(t *table) {
		t.header("REPOSITORY", "ITEMS", "DELIVERIES", "CLOSURES", "ERRORS", "TROUBLE")
		for _, p := range all {
			t.row(p.Repository, count(p.Items), count(p.Deliveries), count(p.Closures), count(p.Errors), text(p.Trouble))
		}
	})
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.Trouble != nil {
			return fmt.Errorf("%s could not be polled: %s", p.Repository, *p.Trouble)
		}
	}
	return nil
}

func count(n int32) string { return strconv.Itoa(int(n)) }

// showPolled says how asking about a repository goes, on one line.
func showPolled(p polledShape) string {
	switch {
	case p.Trouble != nil:
		return fmt.Sprintf("%s: %s; asked again %s", p.Repository, *p.Trouble, ago(p.NextAt))
	case p.At == nil:
		return p.Repository + ": not asked yet"
	}
	return fmt.Sprintf("%s: asked %s, again %s", p.Repository, ago(p.At), ago(p.NextAt))
}
