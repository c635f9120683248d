package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loop-daemon/loop/internal/loop"
)

// Target is what a reaction is put on.
type Target struct {
	Item    loop.WorkItem
	Comment int64 // 0: the item itself
	Inline  bool  // the comment is on a line of a pull request
}

// React puts a reaction, such as "eyes", on an item or a comment. One that is there already stays, and that is no error. A
// *Error of 404 says that the comment is gone: who may not write is told so by a 403.
func (c *Client) React(ctx context.Context, on Target, reaction string) error {
	path := itemPath(on.Item, "issues")
	if on.Comment != 0 {
		kind := "issues"
		if on.Inline {
			kind = "pulls"
		}
		path = fmt.Sprintf("%s/%s/comments/%d", repoPath(repoOf(on.Item, 0)), kind, on.Comment)
	}
	err := c.post(ctx, on.Item.Host, path+"/reactions", map[string]string{"content": reaction}, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound {
		return fmt.Errorf("react on %s: %w", on.Item.Ref(), &Error{Status: e.Status, Message: e.Message})
	}
	return err
}

// Post writes a comment into the conversation of an issue or a pull request and returns it. The body is written as it is:
// the marker of our own voice is the caller's to set. An error of the class loop.ErrUnavailable does not say whether the
// comment was made.
func (c *Client) Post(ctx context.Context, w loop.WorkItem, body string) (Comment, error) {
	var raw jsontext.Value
	text := map[string]string{"body": strings.ToValidUTF8(body, "\uFFFD")}
	if err := c.post(ctx, w.Host, itemPath(w, "issues")+"/comments", text, &raw); err != nil {
		return Comment{}, err
	}
	return readComment(raw)
}
