package github

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loop-daemon/loop/internal/loop"
)

// FailedDeliveries lists the events since a time of which no try reached us, each by its last try, the oldest first. It
// takes the rights of who may change the repository's webhooks: without them, and for a webhook of an organization or an
// app, the error is loop.ErrNotFound or loop.ErrDenied.
func (c *Client) FailedDeliveries(ctx context.Context, r loop.Repo, hook string, from time.Time) ([]loop.Undelivered, error) {
	l, err := listAll(ctx, c, query{repo: r, path: hookPath(r, hook)}, func(raw jsontext.Value) (try, error) {
		t, err := readTry(raw)
		if err == nil && t.At.Before(from) {
			err = errStop
		}
		return t, err
	})
	if err != nil {
		return nil, err
	}
	arrived, seen := map[loop.DeliveryID]bool{}, map[loop.DeliveryID]bool{}
	for _, t := range l.All {
		arrived[t.ID] = arrived[t.ID] || t.code >= 200 && t.code < 300
	}
	var failed []loop.Undelivered
	for _, t := range l.All { // the last is the first
		if !arrived[t.ID] && !seen[t.ID] {
			t.Hook = hook
			failed = append(failed, t.Undelivered)
		}
		seen[t.ID] = true
	}
	slices.Reverse(failed)
	return failed, nil
}

// Redeliver has GitHub send an event again, under the id that it had. That it does is no promise that it arrives.
func (c *Client) Redeliver(ctx context.Context, r loop.Repo, u loop.Undelivered) error {
	return c.post(ctx, r.Host, fmt.Sprintf("%s/%d/attempts", hookPath(r, u.Hook), u.Try), nil, nil)
}

func hookPath(r loop.Repo, hook string) string {
	return repoPath(r) + "/hooks/" + url.PathEscape(hook) + "/deliveries"
}

// try is one sending of an event.
type try struct {
	loop.Undelivered
	code int // HTTP status that our side answered; 0 for none
}

func readTry(raw jsontext.Value) (try, error) {
	var d struct {
		ID    number  `json:"id"`
		GUID  text    `json:"guid"`
		Event text    `json:"event"`
		Code  number  `json:"status_code"`
		At    instant `json:"delivered_at"`
	}
	err := json.Unmarshal(raw, &d, lenient())
	u := loop.Undelivered{ID: loop.DeliveryID(d.GUID), Kind: loop.Kind(d.Event), Try: int64(d.ID), At: first(d.At)}
	return try{u, int(d.Code)}, err
}
