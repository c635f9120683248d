package githubtest

import (
	"strconv"
	"time"
)

// Item is an issue or a pull request. What is left out has a plain default.
type Item struct {
	Repo   Repo
	Number int    // default 15
	PR     bool   // in a comment's payload: the item is a pull request
	Title  string // default "Shop is closed"
	Body   string // "" is null, as GitHub sends it
	Author string // default "octocat"
	Labels []string
	Closed bool
	Reason string    // of a closed issue: completed or not_planned
	Locked bool      // only collaborators may comment
	At     time.Time // when it last changed; default Epoch

	Opened   time.Time // default Epoch
	ClosedAt time.Time // default At
	Replies  int       // how many conversation comments it has

	// Of a pull request.
	Head     string // branch; default "topic"
	HeadSHA  string // default forty times a
	Fork     string // owner of the fork that the branch is in; "" is the same repository
	ForkGone bool   // the branch's repository was deleted
	Merged   bool
	Draft    bool
}

// Comment is a conversation comment, or an inline one where it has a path.
type Comment struct {
	ID     int64 // default 1001
	Body   string
	Author string // default: who does the action
	Path   string // default of an inline one: main.go
	Line   int
	At     time.Time
	Edited time.Time // default At

	// Of an inline comment.
	SHA     string // the commit that it stands on
	Review  int64  // the review that it came with
	ReplyTo int64  // the inline comment that it answers
}

// Review is a pull request review.
type Review struct {
	ID     int64  // default 2001
	State  string // default "commented"
	Body   string
	Author string // default: who does the action
	SHA    string // the commit that was looked at
	At     time.Time
}

// Issues returns the payload of an issues event.
func Issues(action, sender string, it Item, options ...Option) []byte {
	body := envelope(action, sender, it.Repo)
	it.PR = false
	body["issue"] = it.issue()
	return write(body, options...)
}

// IssueComment returns the payload of an issue_comment event, which comments on pull requests have too.
func IssueComment(action, sender string, it Item, c Comment, options ...Option) []byte {
	body := envelope(action, sender, it.Repo)
	body["issue"] = it.issue()
	c.Path = ""
	body["comment"] = c.json(sender, it)
	return write(body, options...)
}

// PullRequest returns the payload of a pull_request event.
func PullRequest(action, sender string, it Item, options ...Option) []byte {
	body := envelope(action, sender, it.Repo)
	body["number"] = it.orDefault().Number
	body["pull_request"] = it.pull()
	return write(body, options...)
}

// PullRequestReview returns the payload of a pull_request_review event.
func PullRequestReview(action, sender string, it Item, r Review, options ...Option) []byte {
	body := envelope(action, sender, it.Repo)
	body["pull_request"] = it.pull()
	body["review"] = r.json(sender, it)
	return write(body, options...)
}

// PullRequestComment returns the payload of a pull_request_review_comment event.
func PullRequestComment(action, sender string, it Item, c Comment, options ...Option) []byte {
	body := envelope(action, sender, it.Repo)
	body["pull_request"] = it.pull()
	if c.Path == "" {
		c.Path = "main.go"
	}
	it.PR = true
	body["comment"] = c.json(sender, it)
	return write(body, options...)
}

func envelope(action, sender string, repo Repo) map[string]any {
	return map[string]any{"action": action, "sender": user(sender), "repository": repo.json()}
}

func (it Item) orDefault() Item {
	if it.Number == 0 {
		it.Number = 15
	}
	if it.Title == "" {
		it.Title = "Shop is closed"
	}
	if it.Author == "" {
		it.Author = "octocat"
	}
	if it.ClosedAt.IsZero() {
		it.ClosedAt = it.At
	}
	if it.Head == "" {
		it.Head = "topic"
	}
	if it.HeadSHA == "" {
		it.HeadSHA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	}
	return it
}

func (it Item) page() string {
	kind := "/issues/"
	if it.PR {
		kind = "/pull/"
	}
	return it.Repo.orDefault().page() + kind + strconv.Itoa(it.orDefault().Number)
}

func (it Item) issue() map[string]any {
	it = it.orDefault()
	labels := []any{}
	for _, name := range it.Labels {
		labels = append(labels, label(name))
	}
	out := map[string]any{
		"id": 5000 + it.Number, "number": it.Number, "title": it.Title, "body": nil, "user": user(it.Author),
		"labels": labels, "state": "open", "locked": it.Locked, "comments": it.Replies, "html_url": it.page(),
		"created_at": stamp(it.Opened), "updated_at": stamp(it.At), "closed_at": nil, "state_reason": orNull(it.Reason),
	}
	if it.Body != "" {
		out["body"] = it.Body
	}
	if it.Closed || it.Merged {
		out["state"], out["closed_at"] = "closed", stamp(it.ClosedAt)
	}
	if it.PR {
		out["pull_request"] = map[string]any{"html_url": it.page(), "merged_at": it.mergedAt()}
	}
	return out
}

func (it Item) mergedAt() any {
	if it.Merged {
		return stamp(it.orDefault().ClosedAt)
	}
	return nil
}

func (it Item) pull() map[string]any {
	it = it.orDefault()
	it.PR = true
	out := it.issue()
	delete(out, "pull_request")
	delete(out, "state_reason")
	out["id"] = 6000 + it.Number
	out["merged"], out["merged_at"], out["draft"] = it.Merged, it.mergedAt(), it.Draft
	head := it.Repo.orDefault()
	if it.Fork != "" {
		head.Owner, head.ID = it.Fork, 0
	}
	headRepo := any(head.json())
	if it.ForkGone {
		headRepo = nil
	}
	out["head"] = map[string]any{"ref": it.Head, "sha": it.HeadSHA, "label": head.Owner + ":" + it.Head, "repo": headRepo}
	out["base"] = map[string]any{"ref": "main", "sha": "0000000000000000000000000000000000000000", "repo": it.Repo.json()}
	return out
}

func (c Comment) json(sender string, it Item) map[string]any {
	if c.ID == 0 {
		c.ID = 1001
	}
	if c.Author == "" {
		c.Author = sender
	}
	if c.Edited.IsZero() {
		c.Edited = c.At
	}
	out := map[string]any{
		"id": c.ID, "body": c.Body, "user": user(c.Author), "created_at": stamp(c.At), "updated_at": stamp(c.Edited),
		"author_association": "NONE", "html_url": it.page() + "#issuecomment-" + strconv.FormatInt(c.ID, 10),
	}
	if c.Path != "" {
		out["html_url"] = it.page() + "#discussion_r" + strconv.FormatInt(c.ID, 10)
		out["path"], out["line"], out["diff_hunk"] = c.Path, any(nil), "@@ -1 +1 @@"
		out["commit_id"], out["pull_request_review_id"] = orNull(c.SHA), c.Review
		if c.ReplyTo != 0 {
			out["in_reply_to_id"] = c.ReplyTo
		}
		if c.Line != 0 {
			out["line"] = c.Line
		}
	}
	return out
}

func (r Review) json(sender string, it Item) map[string]any {
	if r.ID == 0 {
		r.ID = 2001
	}
	if r.State == "" {
		r.State = "commented"
	}
	if r.Author == "" {
		r.Author = sender
	}
	it.PR = true
	out := map[string]any{
		"id": r.ID, "state": r.State, "body": nil, "user": user(r.Author), "submitted_at": stamp(r.At),
		"commit_id": orNull(r.SHA),
		"html_url":  it.page() + "#pullrequestreview-" + strconv.FormatInt(r.ID, 10),
	}
	if r.Body != "" {
		out["body"] = r.Body
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
