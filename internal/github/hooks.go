package github

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/loop-daemon/loop/internal/loop"
)

// HookDelivery is a delivery of a webhook as GitHub remembers it.
type HookDelivery struct {
	ID     int64           // names this try; a redelivery has another
	GUID   loop.DeliveryID // names the event
	Kind   loop.Kind
	Action string
	Status string // such as "OK" or "Connection refused"
	Code   int    // HTTP status that our side answered; 0 for none
	At     time.Time
}

// FailedDeliveries lists the events since a time of which no try reached us, each by its last try, the newest first. It
// takes the rights of who may change the webhook: without them the error is loop.ErrNotFound or loop.ErrDenied.
func (c *Client) FailedDeliveries(ctx context.Context, r loop.Repo, hook int64, from time.Time) ([]HookDelivery, error) {
	q := query{repo: r, path: fmt.Sprintf("%s/hooks/%d/deliveries", repoPath(r), hook)}
	l, err := listAll(ctx, c, q, func(raw jsontext.Value) (HookDelivery, error) {
		d, err := readDelivery(raw)
		if err == nil && d.At.Before(from) {
			err = errStop
		}
		return d, err
	})
	if err != nil {
		return nil, err
	}
	arrived, seen := map[loop.DeliveryID]bool{}, map[loop.DeliveryID]bool{}
	for _, d := range l.All {
		arrived[d.GUID] = arrived[d.GUID] || d.Code >= 200 && d.Code < 300
	}
	var failed []HookDelivery
	for _, d := range l.All {
		if !arrived[d.GUID] && !seen[d.GUID] {
			failed = append(failed, d)
		}
		seen[d.GUID] = true
	}
	return failed, nil
}

// Redeliver has GitHub send a delivery again, under the GUID that it had.
func (c *Client) Redeliver(ctx context.Context, r loop.Repo, hook, delivery int64) error {
	return c.post(ctx, r.Host, fmt.Sprintf("%s/hooks/%d/deliveries/%d/attempts", repoPath(r), hook, delivery), nil, nil)
}

func readDelivery(raw jsontext.Value) (HookDelivery, error) {
	var d struct {
		ID     number  `json:"id"`
		GUID   text    `json:"guid"`
		Event  text    `json:"event"`
		Action text    `json:"action"`
		Status text    `json:"status"`
		Code   number  `json:"status_code"`
		At     instant `json:"delivered_at"`
	}
	err := json.Unmarshal(raw, &d, lenient())
	return HookDelivery{int64(d.ID), loop.DeliveryID(d.GUID), loop.Kind(d.Event), string(d.Action), string(d.Status), int(d.Code), first(d.At)}, err
}
