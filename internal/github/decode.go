package github

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/loop-daemon/loop/internal/loop"
)

// Decode reads a delivery's body as an event. The error is ErrInvalid where the kind is not one of loop.Kinds, and where
// the body is no JSON object; an object of any other shape than documented becomes an event with what could be read.
func Decode(d loop.Delivery) (loop.Event, error) {
	kind := loop.Kind(d.Kind)
	if !slices.Contains(loop.Kinds(), kind) {
		return loop.Event{}, fmt.Errorf("decode delivery %s: event type %q is not known: %w", d.ID, d.Kind, loop.ErrInvalid)
	}
	var body object[payload]
	if err := json.Unmarshal(d.Body, &body, lenient()); err != nil {
		return loop.Event{}, fmt.Errorf("decode delivery %s: %w: %w", d.ID, loop.ErrInvalid, err)
	}
	if !body.ok {
		return loop.Event{}, fmt.Errorf("decode delivery %s: its body is no JSON object: %w", d.ID, loop.ErrInvalid)
	}
	p := body.is
	ev := loop.Event{
		Delivery: d.ID,
		Source:   d.Source,
		Kind:     kind,
		Action:   string(p.Action),
		Repo:     p.Repository.is.repo(host(d.Host, p.Repository.is.HTMLURL)),
	}
	if kind.CI() {
		p.readCI(&ev)
	} else {
		ev.Actor = p.Sender.is.actor()
		ev.Label = string(p.Label.is.Name)
		p.readItem(&ev)
		p.readText(&ev)
		complete(&ev, d.Host)
	}
	ev.Fact = fact(ev)
	return ev, nil
}

// host returns the GitHub that a delivery speaks of: the one that the webhook's header named, else the one that serves the
// repository's page.
func host(header string, page text) string {
	if header != "" {
		return loop.URLHost(&url.URL{Scheme: "https", Host: header})
	}
	u, err := url.Parse(string(page))
	if err != nil {
		return ""
	}
	return loop.URLHost(u)
}

// readItem fills in the issue or pull request, when it last changed, and its page.
func (p payload) readItem(ev *loop.Event) {
	it := p.Issue.is
	pr := it.Pull.given
	if ev.Kind != loop.KindIssues && ev.Kind != loop.KindIssueComment {
		it, pr = p.PullRequest.is, true
		if it.Number == 0 {
			it.Number = p.Number
		}
	}
	ev.Item = it.item(ev.Repo.Host)
	ev.Item.PR = pr
	ev.URL = ev.Item.URL
	switch ev.Action {
	case "opened":
		ev.At = first(it.CreatedAt, it.UpdatedAt)
	case "closed":
		ev.At = first(it.ClosedAt, it.UpdatedAt)
	default:
		ev.At = first(it.UpdatedAt, it.CreatedAt)
	}
}

func (i issue) item(host string) loop.Item {
	return loop.Item{
		Number:    int(i.Number),
		Title:     string(i.Title),
		Body:      string(i.Body),
		Author:    i.User.is.actor(),
		Labels:    i.labels(),
		State:     strings.ToLower(string(i.State)),
		ClosedAt:  first(i.ClosedAt),
		UpdatedAt: first(i.UpdatedAt),
		URL:       string(i.HTMLURL),
		Merged:    bool(i.Merged) || !first(i.MergedAt, i.Pull.is.MergedAt).IsZero(),
		Draft:     bool(i.Draft),
		HeadRef:   string(i.Head.is.Ref),
		HeadSHA:   string(i.Head.is.SHA),
		HeadRepo:  i.Head.is.repo(host),
		BaseRef:   string(i.Base.is.Ref),
	}
}

func (i issue) labels() []string {
	var names []string
	for _, l := range i.Labels {
		if l.is.Name != "" {
			names = append(names, string(l.is.Name))
		}
	}
	return names
}

// readText fills in the comment or the review, and takes its time and page for the event's.
func (p payload) readText(ev *loop.Event) {
	switch ev.Kind {
	case loop.KindIssueComment, loop.KindPullRequestComment:
		c := p.Comment.is
		ev.Comment = c.comment()
		ev.URL = string(c.HTMLURL)
		if at := ev.Comment.UpdatedAt; ev.Action == "edited" && !at.IsZero() {
			ev.At = at
		} else if at := ev.Comment.CreatedAt; ev.Action == "created" && !at.IsZero() {
			ev.At = at
		}
	case loop.KindPullRequestReview:
		r := p.Review.is
		ev.Review = loop.Review{ID: int64(r.ID), State: strings.ToLower(string(r.State)), Body: string(r.Body), Author: r.User.is.actor()}
		ev.URL = string(r.HTMLURL)
		if at := first(r.SubmittedAt); ev.Action == "submitted" && !at.IsZero() {
			ev.At = at
		}
	}
}

func (c comment) comment() loop.Comment {
	line := c.Line
	if line == 0 {
		line = c.OriginalLine // the line that was commented on has changed since
	}
	return loop.Comment{
		ID:        int64(c.ID),
		Body:      string(c.Body),
		Author:    c.User.is.actor(),
		Path:      string(c.Path),
		Line:      int(line),
		CreatedAt: first(c.CreatedAt),
		UpdatedAt: first(c.UpdatedAt),
	}
}

// complete reads the repository and the number out of the event's pages where the objects that should say them are
// missing.
func complete(ev *loop.Event, header string) {
	for _, page := range []string{ev.Item.URL, ev.URL} {
		w, err := loop.ParseAny(page)
		if err != nil {
			continue
		}
		if ev.Repo.Owner == "" && ev.Repo.Name == "" {
			ev.Repo = loop.Repo{Host: host(header, text(page)), Owner: w.Owner, Name: w.Repo}
		}
		if ev.Item.Number == 0 && strings.EqualFold(w.Owner, ev.Repo.Owner) && strings.EqualFold(w.Repo, ev.Repo.Name) {
			ev.Item.Number = w.Number
			ev.Item.PR = ev.Item.PR || strings.Contains(page, "/pull/")
		}
	}
}
