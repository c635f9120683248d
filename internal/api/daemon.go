package api

import (
	"context"

	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// daemon is loop.v1.Daemon.
type daemon struct {
	loopv1.UnimplementedDaemonServer

	o Options
}

// Status says how loopd is.
func (d *daemon) Status(ctx context.Context, _ *loopv1.StatusRequest) (*loopv1.StatusResponse, error) {
	counts, err := d.o.Inbox.CountByState(ctx)
	if err != nil {
		return nil, err
	}
	st := d.o.Status(ctx)
	res := &loopv1.StatusResponse{
		Version:       st.Version,
		Pid:           int32(st.PID),
		StartedAt:     timeMessage(st.StartedAt),
		ConfigPath:    st.ConfigPath,
		ConfigError:   st.ConfigError,
		RestartNeeded: st.RestartNeeded,
		Socket:        st.Socket,
		StateDir:      st.StateDir,
		WebhookUrl:    st.WebhookURL,
		Warnings:      append(st.Warnings, d.o.Sessions.Problems()...),
		BadSignatures: st.BadSignatures,
		Sessions:      map[string]int32{},
		Deliveries:    map[string]int64{},
	}
	for state, n := range counts {
		res.Deliveries[string(state)] = n
	}
	for _, s := range d.o.Sessions.List() {
		if s.Open() {
			res.Sessions[string(s.Status)]++
		}
	}
	for _, h := range d.o.Dispatcher.Holds() {
		res.Holds = append(res.Holds, &loopv1.HarnessHold{
			Harness: h.Harness, Reason: h.Reason, Detail: text(h.Detail), Until: timeMessage(h.Until),
		})
	}
	res.Polled = polledMessages(st.Polled)
	return res, nil
}

// Poll asks about every repository.
func (d *daemon) Poll(ctx context.Context, _ *loopv1.PollRequest) (*loopv1.PollResponse, error) {
	all, err := d.o.Poll(ctx)
	if err != nil {
		return nil, err
	}
	return &loopv1.PollResponse{Repositories: polledMessages(all)}, nil
}

func polledMessages(all []Polled) []*loopv1.PolledRepository {
	var messages []*loopv1.PolledRepository
	for _, p := range all {
		messages = append(messages, &loopv1.PolledRepository{
			Name: text(p.Name), Configured: p.Configured, At: timeMessage(p.At), NextAt: timeMessage(p.Next), Trouble: text(p.Trouble),
			Items: int32(p.Items), Deliveries: int32(p.Deliveries), Closures: int32(p.Closures), Errors: int32(p.Errors),
		})
	}
	return messages
}

// Reload reads the configuration again.
func (d *daemon) Reload(ctx context.Context, _ *loopv1.ReloadRequest) (*loopv1.ReloadResponse, error) {
	r, err := d.o.Reload(ctx)
	if err != nil {
		return nil, err
	}
	return &loopv1.ReloadResponse{
		ConfigPath: r.ConfigPath, Changed: r.Changed, RestartNeeded: r.RestartNeeded, Warnings: r.Warnings,
	}, nil
}

// Simulate posts a sample delivery to loopd's own receiver.
func (d *daemon) Simulate(ctx context.Context, req *loopv1.SimulateRequest) (*loopv1.SimulateResponse, error) {
	event, err := name("event", req.GetEvent(), "issue_comment")
	if err != nil {
		return nil, err
	}
	if len(req.GetBody()) == 0 {
		return nil, invalid("body", "is required: the JSON of a delivery")
	}
	r, err := d.o.Simulate(ctx, event, req.GetBody())
	if err != nil {
		return nil, err
	}
	return &loopv1.SimulateResponse{
		DeliveryId: string(r.Delivery), HttpStatus: int32(r.HTTPStatus), Answer: text(r.Answer),
	}, nil
}
