package api

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/loop"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

func itemMessage(w loop.WorkItem) *loopv1.WorkItem {
	return &loopv1.WorkItem{
		Ref: w.Ref(), Provider: w.Provider, Host: w.Host, Owner: w.Owner, Repo: w.Repo, Number: int32(w.Number),
	}
}

func sessionMessage(s loop.Session, a dispatch.Activity) *loopv1.Session {
	m := &loopv1.Session{
		WorkItem:         itemMessage(s.WorkItem),
		Harness:          s.Harness,
		HarnessSessionId: string(s.HarnessSessionID),
		Cwd:              s.Cwd,
		Runner:           string(s.Runner),
		TmuxTarget:       s.TmuxTarget,
		Status:           string(s.Status),
		CreatedAt:        timeMessage(s.CreatedAt),
		LastEventAt:      timePointerMessage(s.LastEventAt),
		PullRequests:     s.PullRequests,
		PauseReason:      s.PauseReason,
		ClosedAt:         timePointerMessage(s.ClosedAt),
		CloseReason:      string(s.CloseReason),
		Ending:           string(s.Ending),
		Spawned:          s.Spawned,
		Queued:           int32(a.Queued),
		Activity:         a.State,
		WaitsFor:         a.Reason,
		AskedAt:          timePointerMessage(s.AskedAt),
		AskedUrl:         s.AskedURL,
	}
	for _, id := range s.RecentDeliveries {
		m.RecentDeliveries = append(m.RecentDeliveries, string(id))
	}
	for _, id := range s.PreviousSessionIDs {
		m.PreviousSessionIds = append(m.PreviousSessionIds, string(id))
	}
	return m
}

func presenceMessage(p loop.Presence) *loopv1.Presence {
	return &loopv1.Presence{
		Harness: p.Harness, HarnessSessionId: string(p.SessionID), Launch: p.Launch, Pid: int32(p.Process.PID),
		Turn: string(p.Turn), Since: timeMessage(p.Since), Detail: text(p.Detail), Where: text(p.Where), Waker: p.Waker,
	}
}

func deliveryMessage(d loop.Delivery) *loopv1.Delivery {
	return &loopv1.Delivery{
		Id:         string(d.ID),
		Seq:        d.Seq,
		Source:     string(d.Source),
		Kind:       d.Kind,
		ReceivedAt: timeMessage(d.ReceivedAt),
		State:      string(d.State),
		Reason:     d.Reason,
		Error:      text(d.Error),
		WorkItem:   d.Item.Ref(),
		Decision:   string(d.Decision),
		Fact:       d.Fact,
		Attempts:   int32(d.Attempts),
		DueAt:      timeMessage(d.DueAt),
		Run:        string(d.Run),
		Summary:    text(d.Summary),
		EndedAt:    timeMessage(d.EndedAt),
	}
}

func deliveryMessages(ds []loop.Delivery) []*loopv1.Delivery {
	out := make([]*loopv1.Delivery, len(ds))
	for i, d := range ds {
		out[i] = deliveryMessage(d)
	}
	return out
}

func eventMessage(e loop.LogEvent) *loopv1.EventsResponse {
	m := &loopv1.EventsResponse{
		Seq:        e.Seq,
		At:         timeMessage(e.At),
		Type:       string(e.Type),
		WorkItem:   e.Item.Ref(),
		DeliveryId: string(e.Delivery),
		Run:        string(e.Run),
		Message:    text(e.Message),
	}
	if len(e.Fields) > 0 {
		m.Fields = make(map[string]string, len(e.Fields))
	}
	for k, v := range e.Fields {
		m.Fields[k] = text(v)
	}
	return m
}

// timeMessage leaves a time that is not known away.
func timeMessage(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func timePointerMessage(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timeMessage(*t)
}

// text makes what a harness or a stranger wrote fit for a message, which takes valid UTF-8 only.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
