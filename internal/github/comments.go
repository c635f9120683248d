package github

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loop-daemon/loop/internal/loop"
)

// Comment is a comment as the API shows it.
type Comment struct {
	loop.Comment
	Number int    // of the item that it is on
	Inline bool   // on a line of a pull request; numbered apart from those in the conversation
	Review int64  // of an inline one: the review that it is a part of
	URL    string // its page
	NodeID string // for Edits

	raw jsontext.Value
}

// Review is a pull request review as the API shows it.
type Review struct {
	loop.Review
	SubmittedAt time.Time
	URL         string // its page
	NodeID      string // for Edits

	raw jsontext.Value
}

// Comments lists the conversation comments of a repository, on issues and pull requests, that were made or edited at or after a
// time, the one that changed first being the first.
func (c *Client) Comments(ctx context.Context, r loop.Repo, from time.Time) (Listing[Comment], error) {
	return c.comments(ctx, r, "issues", from)
}

// InlineComments lists the comments on lines of a repository's pull requests, as Comments does those in the conversations.
func (c *Client) InlineComments(ctx context.Context, r loop.Repo, from time.Time) (Listing[Comment], error) {
	return c.comments(ctx, r, "pulls", from)
}

func (c *Client) comments(ctx context.Context, r loop.Repo, kind string, from time.Time) (Listing[Comment], error) {
	return listAll(ctx, c, query{repo: r, path: repoPath(r) + "/" + kind + "/comments", values: url.Values{
		"sort": {"updated"}, "direction": {"asc"}, "since": {since(from)},
	}}, readComment)
}

// Reviews lists the reviews of a pull request that were submitted, the oldest first. A review that its author still writes is
// shown to the author's own token; it is left out.
func (c *Client) Reviews(ctx context.Context, w loop.WorkItem) (Listing[Review], error) {
	q := query{repo: repoOf(w, 0), path: itemPath(w, "pulls") + "/reviews"}
	l, err := listAll(ctx, c, q, func(raw jsontext.Value) (Review, error) {
		var got struct {
			review `json:",inline"`

			NodeID text `json:"node_id"`
		}
		err := json.Unmarshal(raw, &got, lenient())
		return Review{
			Review:      loop.Review{ID: int64(got.ID), State: strings.ToLower(string(got.State)), Body: string(got.Body), Author: got.User.is.actor()},
			SubmittedAt: first(got.SubmittedAt),
			URL:         string(got.HTMLURL),
			NodeID:      string(got.NodeID),
			raw:         raw.Clone(),
		}, err
	})
	l.All = slices.DeleteFunc(l.All, func(r Review) bool { return r.State == "pending" || r.SubmittedAt.IsZero() })
	return l, err
}

func readComment(raw jsontext.Value) (Comment, error) {
	var got struct {
		comment `json:",inline"`

		IssueURL text   `json:"issue_url"`
		PullURL  text   `json:"pull_request_url"`
		Review   number `json:"pull_request_review_id"`
		NodeID   text   `json:"node_id"`
	}
	if err := json.Unmarshal(raw, &got, lenient()); err != nil {
		return Comment{}, err
	}
	on := string(got.IssueURL + got.PullURL) // it has one of them
	n, _ := strconv.Atoi(on[strings.LastIndexByte(on, '/')+1:])
	return Comment{
		Comment: got.comment.comment(),
		Number:  n,
		Inline:  got.PullURL != "",
		Review:  int64(got.Review),
		URL:     string(got.HTMLURL),
		NodeID:  string(got.NodeID),
		raw:     raw.Clone(),
	}, nil
}
