package api_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loop-daemon/loop/internal/api"
	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/inbox"
	itemstore "github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/session"
	"github.com/loop-daemon/loop/internal/sys/journal"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

// stores opens real stores in folders of the test and returns their journal.
func stores(t *testing.T, o *api.Options) *journal.DB {
	t.Helper()
	db, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), inbox.Schema(), itemstore.Schema(), eventlog.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	o.Inbox, o.Items, o.Log = inbox.New(db), itemstore.New(db), eventlog.New(db, o.Logger)
	if o.Sessions, err = session.Open(filepath.Join(t.TempDir(), "sessions"), o.Logger); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Sessions.Close() })
	return db
}

var born = time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)

// register puts a session into the registry; each is a minute younger than the one before.
func register(t *testing.T, h *house, ref string) loop.Session {
	t.Helper()
	w := item(t, ref)
	s := loop.Session{
		WorkItem: w, Harness: "claude", HarnessSessionID: loop.SessionID("id-of-" + w.Slug()), Cwd: "/home/user/shop",
		Runner: loop.RunnerHeadless, Status: loop.StatusActive,
		CreatedAt: born.Add(time.Duration(len(h.Sessions.List())) * time.Minute),
	}
	if err := h.Sessions.Register(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// set changes a session.
func set(t *testing.T, h *house, s loop.Session, change func(*loop.Session)) {
	t.Helper()
	err := h.Sessions.Update(s.WorkItem, s.CreatedAt, func(s *loop.Session) error { change(s); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

// write commits what f does.
func (h *house) write(t *testing.T, f func(tx *journal.Tx) error) {
	t.Helper()
	if err := h.db.Write(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// put stores a delivery, and moves it on unless to has no state.
func (h *house) put(t *testing.T, d loop.Delivery, to inbox.Transition) {
	t.Helper()
	if d.Source == "" {
		d.Source = loop.SourceWebhook
	}
	if d.Kind == "" {
		d.Kind = "issue_comment"
	}
	d.ReceivedAt = born
	if _, err := h.Inbox.Put(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if to.State != "" {
		h.write(t, func(tx *journal.Tx) error { return h.Inbox.Move(tx, d.ID, to) })
	}
}

func TestSessionsAreListed(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, ref := range []string{"acme/shop#3", "acme/shop#1", "acme/shop#2"} {
		s := register(t, h, ref)
		switch ref {
		case "acme/shop#1":
			set(t, h, s, func(s *loop.Session) { s.Status = loop.StatusPaused })
		case "acme/shop#2":
			set(t, h, s, func(s *loop.Session) {
				s.Status, s.ClosedAt, s.CloseReason, s.Ending = loop.StatusClosed, &born, loop.CloseManual, loop.EndingHarness
			})
		}
	}
	for _, c := range []struct {
		status string
		want   []string
	}{
		{"", []string{"github:acme/shop#3", "github:acme/shop#1"}},
		{"active", []string{"github:acme/shop#3"}},
		{"paused", []string{"github:acme/shop#1"}},
		{"closed", []string{"github:acme/shop#2"}},
		{"all", []string{"github:acme/shop#3", "github:acme/shop#1", "github:acme/shop#2"}},
	} {
		res, err := h.sessions.List(t.Context(), &loopv1.ListSessionsRequest{Status: c.status})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range res.GetSessions() {
			got = append(got, s.GetWorkItem().GetRef())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("status %q (-want +got):\n%s", c.status, diff)
		}
	}
	res, err := h.sessions.Get(t.Context(), &loopv1.GetSessionRequest{WorkItem: "acme/shop#2"})
	if s := res.GetSession(); err != nil || s.GetCloseReason() != "manual" || s.GetEnding() != "harness" || !s.GetClosedAt().AsTime().Equal(born) {
		t.Errorf("the closed one = %v, %v", s, err)
	}
}

func TestSessionWithItsQueue(t *testing.T) {
	t.Parallel()
	h := open(t)
	register(t, h, "acme/shop#15")
	w := item(t, "acme/shop#15")
	h.put(t, loop.Delivery{ID: "a"}, inbox.Transition{State: loop.StateDone, Item: w})
	h.put(t, loop.Delivery{ID: "b"}, inbox.Transition{State: loop.StateRunning, Item: w})
	h.put(t, loop.Delivery{ID: "c"}, inbox.Transition{State: loop.StateDropped, Item: w, Reason: loop.DropNotDelivered})
	h.put(t, loop.Delivery{ID: "d"}, inbox.Transition{State: loop.StateQueued, Item: w})
	h.put(t, loop.Delivery{ID: "e"}, inbox.Transition{State: loop.StateQueued, Item: item(t, "acme/shop#16")})

	res, err := h.sessions.Get(t.Context(), &loopv1.GetSessionRequest{WorkItem: "https://github.com/Acme/Shop/issues/15"})
	if err != nil {
		t.Fatal(err)
	}
	ids := func(ds []*loopv1.Delivery) (s string) {
		for _, d := range ds {
			s += d.GetId()
		}
		return s
	}
	if got := ids(res.GetQueue()) + "|" + ids(res.GetRecent()); got != "bd|ca" {
		t.Errorf("queue and recent = %s, want bd|ca", got)
	}
	_, err = h.sessions.Get(t.Context(), &loopv1.GetSessionRequest{WorkItem: "acme/shop#16"})
	if status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "github:acme/shop#16") {
		t.Errorf("an item without a session: %v", err)
	}
}

func TestDeliveriesAreListedAndShown(t *testing.T) {
	t.Parallel()
	h := open(t)
	const id = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
	w := item(t, "acme/shop#15")
	h.put(t, loop.Delivery{ID: id, Body: []byte(`{"a":1}`)}, inbox.Transition{State: loop.StateDone, Item: w, Decision: loop.Deliver, Summary: "s"})
	h.put(t, loop.Delivery{ID: "b"}, inbox.Transition{State: loop.StateFailed, Reason: loop.FailTimeout, Error: "out of time"})
	h.put(t, loop.Delivery{ID: "c"}, inbox.Transition{})

	for _, c := range []struct {
		req  *loopv1.ListDeliveriesRequest
		want []string
	}{
		{&loopv1.ListDeliveriesRequest{}, []string{"c", "b", id}},
		{&loopv1.ListDeliveriesRequest{Limit: 1}, []string{"c"}},
		{&loopv1.ListDeliveriesRequest{BeforeSeq: 2}, []string{id}},
		{&loopv1.ListDeliveriesRequest{State: "failed"}, []string{"b"}},
		{&loopv1.ListDeliveriesRequest{WorkItem: "ACME/shop#15"}, []string{id}},
	} {
		res, err := h.deliveries.List(t.Context(), c.req)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range res.GetDeliveries() {
			got = append(got, d.GetId())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.req, diff)
		}
	}

	res, err := h.deliveries.Get(t.Context(), &loopv1.GetDeliveryRequest{Id: strings.ToUpper(id), Body: true})
	if err != nil || string(res.GetBody()) != `{"a":1}` || res.GetDelivery().GetWorkItem() != w.Ref() || res.GetDelivery().GetDecision() != "deliver" {
		t.Errorf("Get = %v, %v", res, err)
	}
	if res, err := h.deliveries.Get(t.Context(), &loopv1.GetDeliveryRequest{Id: id}); err != nil || res.GetBody() != nil {
		t.Errorf("Get without the body = %v, %v", res, err)
	}
	if _, err := h.deliveries.Get(t.Context(), &loopv1.GetDeliveryRequest{Id: "d"}); status.Code(err) != codes.NotFound {
		t.Errorf("Get of what never came: %v", err)
	}
	if _, err := h.Inbox.Prune(t.Context(), time.Now().AddDate(0, 0, 10), 7, 35); err != nil {
		t.Fatal(err)
	}
	if res, err := h.deliveries.Get(t.Context(), &loopv1.GetDeliveryRequest{Id: id, Body: true}); err != nil || res.GetBody() != nil {
		t.Errorf("Get of a body that retention dropped = %v, %v; want the delivery alone", res, err)
	}
}

func TestStatusOfAll(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *api.Options) {
		o.Status = func(context.Context) api.Status {
			return api.Status{
				Version: "v1", PID: 7, StartedAt: born, ConfigPath: "/c", ConfigError: "line 3", RestartNeeded: []string{"daemon.socket"},
				Socket: "/s", StateDir: "/d", WebhookURL: "http://127.0.0.1:8787/gh-webhook", Warnings: []string{"w"}, BadSignatures: 9,
			}
		}
	})
	h.orders.holds = []dispatch.Hold{{Harness: "claude", Reason: loop.HeldUsageLimit, Detail: "resets at 3", Until: born}}
	set(t, h, register(t, h, "acme/shop#1"), func(s *loop.Session) { s.Status = loop.StatusPaused })
	set(t, h, register(t, h, "acme/shop#2"), func(s *loop.Session) { s.Status, s.ClosedAt = loop.StatusClosed, &born })
	register(t, h, "acme/shop#3")
	h.put(t, loop.Delivery{ID: "a"}, inbox.Transition{State: loop.StateDone})
	h.put(t, loop.Delivery{ID: "b"}, inbox.Transition{State: loop.StateFailed})
	h.put(t, loop.Delivery{ID: "c"}, inbox.Transition{State: loop.StateFailed})

	got, err := h.daemon.Status(t.Context(), &loopv1.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := &loopv1.StatusResponse{
		Version: "v1", Pid: 7, StartedAt: timestamppb.New(born), ConfigPath: "/c", ConfigError: "line 3", RestartNeeded: []string{"daemon.socket"},
		Socket: "/s", StateDir: "/d", WebhookUrl: "http://127.0.0.1:8787/gh-webhook", Warnings: []string{"w"}, BadSignatures: 9,
		Sessions:   map[string]int32{"active": 1, "paused": 1},
		Deliveries: map[string]int64{"done": 1, "failed": 2},
		Holds:      []*loopv1.HarnessHold{{Harness: "claude", Reason: "usage-limit", Detail: "resets at 3", Until: timestamppb.New(born)}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
}
