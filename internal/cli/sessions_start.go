package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

type startSession struct {
	itemArg

	Say string `placeholder:"TEXT" help:"What the session is to be told beside the item."`
}

// Help is shown below the flags.
func (startSession) Help() string {
	return `
It lifts a stop. An item without a session gets one where routing.spawn_on_unmatched lets events start one, and is refused where
it is never; a session that works already gets the words, if there are any.

Examples:

  loopctl sessions start acme/shop#15
  loopctl sessions start acme/shop#15 --say hurry
`
}

// Run has the item worked on.
func (s startSession) Run(ctx context.Context, c *client, out *printer, who caller) error {
	item, err := s.item(ctx)
	if err != nil {
		return err
	}
	answer, err := c.SessionsClient.Start(ctx, &loopv1.StartRequest{
		WorkItem: item.Ref(), Text: strings.TrimSpace(s.Say), By: cmp.Or(who.getenv("USER"), who.getenv("LOGNAME")),
	})
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(struct {
			DeliveryID *string `json:"deliveryId"`
			Lifted     bool    `json:"lifted"`
			Works      bool    `json:"works"`
		}{orNull(answer.GetDeliveryId()), answer.GetLifted(), answer.GetWorks()}, "  ")
	}
	return out.line("%s", started(item, answer))
}

func started(item loop.WorkItem, answer *loopv1.StartResponse) string {
	said := item.Ref()
	if answer.GetLifted() {
		said += ": the stop is lifted"
	}
	switch {
	case answer.GetWorks() && answer.GetDeliveryId() != "":
		return said + ": a session works on it already, and is told as delivery " + answer.GetDeliveryId()
	case answer.GetWorks():
		return said + ": a session works on it already"
	}
	return said + ": a session is started by delivery " + answer.GetDeliveryId()
}

type stopSession struct {
	itemArg
	ending
}

// Help is shown below the flags.
func (stopSession) Help() string {
	return `
The session is closed, and none is started for the item, whatever happens there, until start; also after a restart of loopd.

Example:

  loopctl sessions stop acme/shop#15
`
}

// Run has the item left alone.
func (s stopSession) Run(ctx context.Context, c *client, out *printer, who caller) error {
	item, err := s.item(ctx)
	if err != nil {
		return err
	}
	answer, err := c.SessionsClient.Stop(ctx, &loopv1.StopRequest{WorkItem: item.Ref(), NoWait: s.noWait(item, who)})
	if err != nil {
		return wentOn(err, c, "stopping", item)
	}
	if out.json {
		return out.printJSON(struct {
			Session      *sessionShape `json:"session"`
			HarnessEnded bool          `json:"harnessEnded"`
			Killed       bool          `json:"killed"`
			Dropped      int32         `json:"dropped"`
			Retained     *string       `json:"retained"`
		}{maybeSession(answer.GetSession()), answer.GetHarnessEnded(), answer.GetKilled(), answer.GetDropped(), orNull(answer.GetRetained())}, "  ")
	}
	said := "it had no session"
	if answer.GetSession() != nil {
		said = "its session is closed, " + number(answer.GetDropped(), "queued delivery", "queued deliveries") + " dropped"
		if answer.GetHarnessEnded() {
			said += ", its harness was ended"
		}
	}
	return out.line("stopped %s: %s; nothing is started for it until loopctl sessions start, "+
		"which needs a routing.spawn_on_unmatched other than \"never\"", item, said)
}

func maybeSession(s *loopv1.Session) *sessionShape {
	if s == nil {
		return nil
	}
	return new(sessionOf(s))
}

// linkPull is what a session says of a pull request that it made.
type linkPull struct {
	PullRequest string `arg:"" name:"pull-request" help:"The pull request, named like a work item."`
	WorkItem    string `required:"" placeholder:"REF" help:"The work item whose session made it: ${ref}."`
}

// Help is shown below the flags.
func (linkPull) Help() string {
	return `
What happens on the pull request then reaches the session, wherever the pull request is and whatever its text says.

Example:

  loopctl sessions link-pr acme/web#12 --work-item acme/shop#15
`
}

// Run declares the pull request.
func (l linkPull) Run(ctx context.Context, c *client, out *printer) error {
	item, err := findItem(ctx, l.WorkItem)
	if err != nil {
		return err
	}
	pull, err := findItem(ctx, l.PullRequest)
	if err != nil {
		return err
	}
	answer, err := c.LinkPullRequest(ctx, &loopv1.LinkPullRequestRequest{WorkItem: item.Ref(), PullRequest: pull.Ref()})
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(struct {
			Session      sessionShape `json:"session"`
			LinkedBefore bool         `json:"linkedBefore"`
		}{sessionOf(answer.GetSession()), answer.GetLinkedBefore()}, "  ")
	}
	if answer.GetLinkedBefore() {
		return out.line("%s was linked to %s before", pull, item)
	}
	return out.line("linked %s to %s: what happens there reaches its session", pull, item)
}
