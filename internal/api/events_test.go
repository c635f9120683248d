package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
	loopv1 "github.com/loop-daemon/loop/proto/loop/v1"
)

var pad = strings.Repeat(".", 200)

// happen writes n events; the even ones are of item 15 and failures.
func happen(t *testing.T, h *house, n int) {
	t.Helper()
	w := item(t, "acme/shop#15")
	h.write(t, func(tx *journal.Tx) error {
		for i := range n {
			e := loop.LogEvent{At: born, Type: loop.LogRunStarted, Message: fmt.Sprintf("number %d", i+1), Fields: map[string]string{"pad": pad}}
			if i%2 == 1 {
				e.Type, e.Item, e.Fields = loop.LogRunFailed, w, map[string]string{"reason": "cut \xff off"}
			}
			if err := h.Log.Append(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// events returns the numbers of the events that a call answers with.
func (h *house) events(t *testing.T, req *loopv1.EventsRequest) []int64 {
	t.Helper()
	stream, err := h.daemon.Events(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.GetSeq())
	}
}

func TestEventsThatAreKept(t *testing.T) {
	t.Parallel()
	h := open(t)
	if got := h.events(t, &loopv1.EventsRequest{AfterSeq: -1}); got != nil {
		t.Errorf("the last of none = %v", got)
	}
	happen(t, h, 1201) // more than a page
	for _, c := range []struct {
		name        string
		req         *loopv1.EventsRequest
		n           int
		first, last int64
	}{
		{"all", &loopv1.EventsRequest{}, 1201, 1, 1201},
		{"after a number", &loopv1.EventsRequest{AfterSeq: 1199}, 2, 1200, 1201},
		{"the last", &loopv1.EventsRequest{AfterSeq: -1}, 100, 1102, 1201},
		{"of an item", &loopv1.EventsRequest{WorkItem: "acme/shop#15"}, 600, 2, 1200},
		{"the last of an item", &loopv1.EventsRequest{WorkItem: "acme/shop#15", AfterSeq: -1}, 100, 1002, 1200},
		{"the last of a type", &loopv1.EventsRequest{Type: "run.started", AfterSeq: -1}, 100, 1003, 1201},
	} {
		got := h.events(t, c.req)
		if len(got) != c.n || got[0] != c.first || got[len(got)-1] != c.last {
			t.Errorf("%s: %d events %v; want %d from %d to %d", c.name, len(got), got, c.n, c.first, c.last)
		}
	}
	if got := h.events(t, &loopv1.EventsRequest{Type: "session.closed", AfterSeq: -1}); got != nil {
		t.Errorf("the last of a type that never happened = %v", got)
	}
}

func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	h := open(t)
	happen(t, h, 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := h.daemon.Events(ctx, &loopv1.EventsRequest{Follow: true, WorkItem: "acme/shop#15"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"reason": "cut \uFFFD off"}, e.GetFields()); diff != "" || e.GetMessage() != "number 2" {
		t.Errorf("event %q, fields (-want +got):\n%s", e.GetMessage(), diff)
	}
	happen(t, h, 4)
	for _, want := range []int64{4, 6} {
		if e, err = stream.Recv(); err != nil || e.GetSeq() != want {
			t.Fatalf("Recv = %v, %v; want number %d", e, err, want)
		}
	}
	cancel()
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("after the caller left: %v", err)
	}
}

func TestReaderThatRetentionOvertakes(t *testing.T) {
	t.Parallel()
	h := open(t)
	happen(t, h, 10)
	if _, err := h.Log.Prune(t.Context(), born.AddDate(0, 0, 40), 35); err != nil {
		t.Fatal(err)
	}
	stream, err := h.daemon.Events(t.Context(), &loopv1.EventsRequest{Follow: true, AfterSeq: 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), " 4") {
		t.Errorf("Recv = %v, want Aborted that names the last event", err)
	}
}

// A caller that reads nothing holds up neither what happens nor the others.
func TestSlowReaderHoldsNothingUp(t *testing.T) {
	t.Parallel()
	h := open(t)
	slow, err := h.daemon.Events(t.Context(), &loopv1.EventsRequest{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	const all = 2000 // more than a connection holds
	happen(t, h, all)
	if got := h.events(t, &loopv1.EventsRequest{AfterSeq: -1}); len(got) != 100 || got[99] != all {
		t.Errorf("another reader got %d events to %v", len(got), got)
	}
	for want := range int64(all) {
		if e, err := slow.Recv(); err != nil || e.GetSeq() != want+1 {
			t.Fatalf("the slow reader got %v, %v; want number %d", e, err, want+1)
		}
	}
}

func TestStopEndsFollowers(t *testing.T) {
	t.Parallel()
	h := open(t)
	happen(t, h, 1)
	stream, err := h.daemon.Events(t.Context(), &loopv1.EventsRequest{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := h.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the stop took %v with a follower", took)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("Recv = %v, want Unavailable", err)
	}
}
