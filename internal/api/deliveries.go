package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// How many deliveries a listing has unless the caller says so, and at most.
const (
	defaultListed = 50
	maxListed     = 1000
)

// deliveries is loop.v1.Deliveries.
type deliveries struct {
	loopv1.UnimplementedDeliveriesServer

	o Options
}

// List returns deliveries, the newest first.
func (d *deliveries) List(ctx context.Context, req *loopv1.ListDeliveriesRequest) (*loopv1.ListDeliveriesResponse, error) {
	filter, err := deliveryFilter(req)
	if err != nil {
		return nil, err
	}
	found, err := d.o.Inbox.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	return &loopv1.ListDeliveriesResponse{Deliveries: deliveryMessages(found)}, nil
}

func deliveryFilter(req *loopv1.ListDeliveriesRequest) (f inbox.Filter, err error) {
	f.State, err = oneOf("state", req.GetState(), loop.StateReceived, loop.StateQueued, loop.StateWaiting,
		loop.StateRunning, loop.StateDone, loop.StateFailed, loop.StateDropped)
	if err != nil {
		return f, err
	}
	if f.Item, err = optionalItem(req.GetWorkItem()); err != nil {
		return f, err
	}
	f.Limit, f.Before = int(req.GetLimit()), req.GetBeforeSeq()
	switch {
	case f.Limit < 0 || f.Limit > maxListed:
		return f, invalid("limit", fmt.Sprintf("%d is not between 0 and %d", f.Limit, maxListed))
	case f.Before < 0:
		return f, invalid("before_seq", fmt.Sprintf("%d is below 0", f.Before))
	case f.Limit == 0:
		f.Limit = defaultListed
	}
	return f, nil
}

// Get returns one delivery, with its body when asked.
func (d *deliveries) Get(ctx context.Context, req *loopv1.GetDeliveryRequest) (*loopv1.GetDeliveryResponse, error) {
	id, err := deliveryID("id", req.GetId())
	if err != nil {
		return nil, err
	}
	found, err := d.o.Inbox.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	res := &loopv1.GetDeliveryResponse{Delivery: deliveryMessage(found)}
	if !req.GetBody() {
		return res, nil
	}
	res.Body, err = d.o.Inbox.Body(ctx, id)
	if err != nil && !errors.Is(err, loop.ErrNotFound) { // one that is not found was dropped by retention
		return nil, err
	}
	return res, nil
}

// Redeliver makes a delivery due now.
func (d *deliveries) Redeliver(ctx context.Context, req *loopv1.RedeliverRequest) (*loopv1.RedeliverResponse, error) {
	id, err := deliveryID("id", req.GetId())
	if err != nil {
		return nil, err
	}
	due, err := d.o.Dispatcher.Redeliver(ctx, id, req.GetForce())
	if err != nil {
		return nil, err
	}
	return &loopv1.RedeliverResponse{Delivery: deliveryMessage(due)}, nil
}
