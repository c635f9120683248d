package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loop-daemon/loop/internal/loop"
)

// Edit is the last edit of a text.
type Edit struct {
	By loop.Actor // zero for an account that was deleted
	At time.Time  // zero: it stands as its author wrote it
}

// editsQuery asks, and changes nothing, for what the REST API does not tell.
const editsQuery = `query($ids:[ID!]!){nodes(ids:$ids){...on Comment{id lastEditedAt editor{__typename login}}}}`

// Edits asks who edited texts last: those of items, comments and reviews on one host, each by its NodeID. A text that is
// missing in the answer is not to be seen: whether somebody edited it is not known.
func (c *Client) Edits(ctx context.Context, host string, nodes []string) (map[string]Edit, error) {
	s, err := c.server(host)
	if err != nil {
		return nil, err
	}
	edits := map[string]Edit{}
	for ids := range slices.Chunk(nodes, pageSize) {
		if err := s.edits(ctx, ids, edits); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

func (s *server) edits(ctx context.Context, ids []string, into map[string]Edit) error {
	a, err := s.do(ctx, http.MethodPost, s.graphQL(), map[string]any{"query": editsQuery, "variables": map[string]any{"ids": ids}})
	if err != nil {
		return err
	}
	var got struct {
		Data struct {
			Nodes list[object[struct {
				ID     text    `json:"id"`
				At     instant `json:"lastEditedAt"`
				Editor object[struct {
					Type  text `json:"__typename"`
					Login text `json:"login"`
				}] `json:"editor"`
			}]] `json:"nodes"`
		} `json:"data"`
		Errors list[object[graphError]] `json:"errors"`
	}
	if err := a.read(&got); err != nil {
		return err
	}
	for _, e := range got.Errors {
		if !e.is.hides() {
			return fmt.Errorf("%s: %s: %w", a.request, e.is.words(), loop.ErrUnavailable)
		}
	}
	if got.Data.Nodes == nil {
		return fmt.Errorf("%s: the answer has no nodes: %w", a.request, loop.ErrUnavailable)
	}
	for _, node := range got.Data.Nodes {
		if id := string(node.is.ID); id != "" {
			editor := node.is.Editor.is
			by := loop.Actor{Login: string(editor.Login), Bot: editor.Type == "Bot"}
			if by.Bot {
				by.Login = strings.TrimSuffix(by.Login, "[bot]") + "[bot]" // as REST and webhooks call it
			}
			into[id] = Edit{By: by, At: first(node.is.At)}
		}
	}
	return nil
}

// graphError is what the other API says of what it does not answer.
type graphError struct {
	Type    text `json:"type"`
	Message text `json:"message"`
}

// hides reports whether the error says for good of one node that it is not to be seen. Any other may be over soon.
func (e graphError) hides() bool { return e.Type == "NOT_FOUND" || e.Type == "FORBIDDEN" }

func (e graphError) words() string {
	return oneLineOf(strings.TrimSpace(string(e.Type + " " + e.Message)))
}

// graphQL returns where the server's other API is, which is only read from.
func (s *server) graphQL() string {
	return strings.TrimSuffix(strings.TrimSuffix(s.api.BaseURL(), "/"), "/v3") + "/graphql"
}
