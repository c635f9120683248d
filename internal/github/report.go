package github

import (
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loop-daemon/loop/internal/loop"
)

// CommentCreated returns the delivery of the webhook that tells of a comment on an item: issue_comment or, of an inline
// one, pull_request_review_comment. Its id and the time of its arrival are the caller's to set, here and below.
func CommentCreated(i Item, c Comment) (loop.Delivery, error) {
	kind := loop.KindIssueComment
	if c.Inline {
		kind = loop.KindPullRequestComment
	}
	return i.report(kind, "created", c.Author, members{"comment": c.raw})
}

// ReviewSubmitted returns the delivery of the webhook that tells of a review of a pull request.
func ReviewSubmitted(i Item, r Review) (loop.Delivery, error) {
	review, err := edit(r.raw, members{"state": r.State}) // the API shouts it
	if err != nil {
		return loop.Delivery{}, err
	}
	return i.report(loop.KindPullRequestReview, "submitted", r.Author, members{"review": review})
}

// Changed returns the delivery of the webhook that tells what was done to an item, issues or pull_request, with the item's
// state and time as they were right after it.
func Changed(i Item, c Change) (loop.Delivery, error) {
	then := members{"updated_at": stamp(c.At)}
	switch c.Action {
	case "closed":
		then["state"], then["closed_at"] = "closed", stamp(c.At)
	case "opened", "reopened":
		then["state"], then["closed_at"] = "open", nil
	}
	var err error
	if i.raw, err = edit(i.raw, then); err != nil {
		return loop.Delivery{}, err
	}
	kind, more := loop.KindIssues, members{}
	if i.PR {
		kind, more = loop.KindPullRequest, members{"number": i.Number}
	}
	if c.Label != "" {
		more["label"] = members{"name": c.Label}
	}
	return i.report(kind, c.Action, c.Actor, more)
}

// Opened returns the change that made the item.
func (i Item) Opened() Change { return Change{Action: "opened", Actor: i.Author, At: i.CreatedAt} }

// Closed returns the change that closed the item, where it is closed.
func (i Item) Closed() Change { return Change{Action: "closed", Actor: i.ClosedBy, At: i.ClosedAt} }

// Completed returns the delivery of the webhook that tells of the result of a workflow run in a repository.
func Completed(r loop.Repo, run Result) (loop.Delivery, error) {
	return delivery(loop.KindWorkflowRun, r, members{
		"action": "completed", "repository": repositoryJSON(r), "sender": nil, string(loop.KindWorkflowRun): run.raw,
	})
}

// members are the members of a JSON object.
type members map[string]any

// report writes an event about the item, done by somebody, with what else belongs to it.
func (i Item) report(kind loop.Kind, action string, by loop.Actor, more members) (loop.Delivery, error) {
	more["action"], more["sender"], more["repository"] = action, accountJSON(by), repositoryJSON(i.Repo)
	if kind != loop.KindIssues && kind != loop.KindIssueComment {
		more["pull_request"] = i.raw
		return delivery(kind, i.Repo, more)
	}
	issue, err := i.asIssue()
	if err != nil {
		return loop.Delivery{}, err
	}
	more["issue"] = issue
	return delivery(kind, i.Repo, more)
}

// asIssue returns the item as events about issues show it: a pull request is known by a member of that name, which it does
// not have where it was asked for as one.
func (i Item) asIssue() (jsontext.Value, error) {
	if !i.PR || i.HeadSHA == "" {
		return i.raw, nil
	}
	var at any
	if i.Merged {
		at = stamp(i.ClosedAt)
	}
	return edit(i.raw, members{"pull_request": members{"html_url": i.URL, "merged_at": at}})
}

func delivery(kind loop.Kind, r loop.Repo, body members) (loop.Delivery, error) {
	b, err := json.Marshal(body, lenient(), json.Deterministic(true))
	if err != nil {
		return loop.Delivery{}, fmt.Errorf("write a %s event of %s/%s: %w", kind, r.Owner, r.Name, err)
	}
	return loop.Delivery{Source: loop.SourcePoll, Kind: string(kind), Host: r.Host, Body: b}, nil
}

// edit returns a JSON object with some of its members set.
func edit(raw jsontext.Value, set members) (jsontext.Value, error) {
	all := map[string]any{}
	var old map[string]jsontext.Value
	if err := json.Unmarshal(raw, &old, lenient()); err != nil {
		return nil, fmt.Errorf("read an object of GitHub's: %w", err)
	}
	for name, value := range old {
		all[name] = value
	}
	maps.Copy(all, set)
	b, err := json.Marshal(all, lenient(), json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write an object of GitHub's: %w", err)
	}
	return b, nil
}

// accountJSON is null for an account that was deleted or is not known.
func accountJSON(a loop.Actor) any {
	if a.Login == "" {
		return nil
	}
	kind := "User"
	if a.Bot {
		kind = "Bot"
	}
	return members{"login": a.Login, "id": a.ID, "type": kind}
}

func repositoryJSON(r loop.Repo) members {
	return members{
		"id": r.ID, "name": r.Name, "full_name": r.Owner + "/" + r.Name,
		"owner": members{"login": r.Owner}, "html_url": page(r),
	}
}

func page(r loop.Repo) string { return "https://" + display(r.Host) + "/" + r.Owner + "/" + r.Name }

// stamp is a time as GitHub writes it, null for none.
func stamp(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return since(at)
}
