package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

var shop15 = loop.WorkItem{Provider: "github", Owner: "Acme", Repo: "Shop", Number: 15}

func TestPutKeepsADelivery(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	body := []byte(`{"action":"created"}` + strings.Repeat(" ", 9000))
	want := loop.Delivery{
		Seq: 1, ID: "72d3162e-cc78-11e3-81ab-4c9367dc0958", Source: loop.SourceWebhook, Kind: "issue_comment", Host: "ghe.example.com",
		HookID: "7", ReceivedAt: time.Date(2026, 7, 2, 10, 0, 0, 123000, time.UTC), State: loop.StateReceived,
	}
	d := want
	d.Seq, d.State, d.Body = 0, "", body
	if got := put(t, in, d); got != (inbox.PutResult{Verdict: inbox.Accepted, State: loop.StateReceived}) {
		t.Errorf("Put = %+v", got)
	}
	if diff := cmp.Diff(want, delivery(t, in, d.ID)); diff != "" {
		t.Errorf("Get (-want +got):\n%s", diff)
	}
	got, err := in.Body(t.Context(), d.ID)
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("Body = %d bytes, %v; want the %d that were put", len(got), err, len(body))
	}
}

func TestPutOfADropWritesItsEnd(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	got := put(t, in, loop.Delivery{ID: "d", State: loop.StateDropped, Reason: loop.DropUnauthorized, Item: shop15, Summary: "comment by eve"})
	if want := (inbox.PutResult{Verdict: inbox.Accepted, State: loop.StateDropped, Reason: loop.DropUnauthorized}); got != want {
		t.Errorf("Put = %+v, want %+v", got, want)
	}
	d := delivery(t, in, "d")
	if d.EndedAt.IsZero() || d.Item != shop15 || d.Summary != "comment by eve" {
		t.Errorf("Get = %+v, want the item, the summary and an end", d)
	}
	if told(in) {
		t.Error("a delivery that is dropped already was announced as news")
	}
}

func TestPutRefusesWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	for _, d := range []loop.Delivery{{}, {ID: "d", State: loop.StateDone}, {ID: "d", State: "nonsense"}} {
		if _, err := in.Put(t.Context(), d); !errors.Is(err, loop.ErrInvalid) {
			t.Errorf("Put(%+v) = %v, want ErrInvalid", d, err)
		}
	}
}

func TestAnIDIsTakenOnce(t *testing.T) {
	t.Parallel()
	const first = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
	for name, again := range map[string]loop.DeliveryID{
		"same": first, "upper case": loop.DeliveryID(strings.ToUpper(first)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, path := open(t)
			put(t, in, loop.Delivery{ID: first, Source: loop.SourceWebhook, Body: []byte("first")})
			in = reopen(t, in, path)
			got := put(t, in, loop.Delivery{ID: again, Source: loop.SourceWebhook, Body: []byte("second")})
			want := inbox.PutResult{Verdict: inbox.Duplicate, State: loop.StateReceived, Reason: loop.DropDuplicate}
			if got != want {
				t.Errorf("second Put = %+v, want %+v", got, want)
			}
			if body, err := in.Body(t.Context(), first); err != nil || string(body) != "first" {
				t.Errorf("Body = %q, %v; want the first", body, err)
			}
		})
	}
}

func TestIDsThatLookAlikeAreNotTheSame(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	for _, id := range []loop.DeliveryID{
		"72d3162e-cc78-11e3-81ab-4c9367dc0958", "72d3162ecc7811e381ab4c9367dc0958", "{72d3162e-cc78-11e3-81ab-4c9367dc0958}",
		"72d3162e-cc78-41e3-81ab-4c9367dc0958", "11e3cc78-72d3-162e-81ab-4c9367dc0958", "-", "poll-1", "poll-1 ",
	} {
		if got := put(t, in, loop.Delivery{ID: id}); got.Verdict != inbox.Accepted {
			t.Errorf("Put(%q) = %+v, want it accepted", id, got)
		}
	}
}

func TestFailedDeliveryIsReceivedAnewWhenGitHubSendsItAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		at     inbox.Transition
		source loop.Source
		want   inbox.Verdict
	}{
		{"failed", inbox.Transition{State: loop.StateFailed, Reason: loop.FailAttempts, Attempts: 3}, loop.SourceWebhook, inbox.DueAgain},
		{
			"in backoff",
			inbox.Transition{State: loop.StateWaiting, Reason: loop.WaitBackoff, Attempts: 1, DueAt: time.Now().Add(time.Hour)},
			loop.SourceWebhook, inbox.DueAgain,
		},
		{"failed, by the poller", inbox.Transition{State: loop.StateFailed}, loop.SourcePoll, inbox.Duplicate},
		{"held", inbox.Transition{State: loop.StateWaiting, Reason: loop.WaitHarness}, loop.SourceWebhook, inbox.Duplicate},
		{"running", inbox.Transition{State: loop.StateRunning, Attempts: 1}, loop.SourceWebhook, inbox.Duplicate},
		{"done", inbox.Transition{State: loop.StateDone, Attempts: 1}, loop.SourceWebhook, inbox.Duplicate},
		{"dropped", inbox.Transition{State: loop.StateDropped, Reason: loop.DropUnmatched}, loop.SourceWebhook, inbox.Duplicate},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in, _ := open(t)
			put(t, in, loop.Delivery{ID: "d", Source: tt.source, Body: []byte("{}")})
			tt.at.Item, tt.at.Decision, tt.at.Error = shop15, loop.Deliver, "exit status 1"
			move(t, in, "d", tt.at)
			told(in)
			before := delivery(t, in, "d")
			if got := put(t, in, loop.Delivery{ID: "d", Source: tt.source}); got.Verdict != tt.want {
				t.Errorf("Put = %+v, want %s", got, tt.want)
			}
			if news := told(in); news != (tt.want == inbox.DueAgain) {
				t.Errorf("announced as news: %v", news)
			}
			want := before
			if tt.want == inbox.DueAgain {
				want.State, want.Reason, want.Attempts, want.DueAt, want.EndedAt = loop.StateReceived, "", 0, time.Time{}, time.Time{}
			}
			if diff := cmp.Diff(want, delivery(t, in, "d")); diff != "" {
				t.Errorf("after it came again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRedeliver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		state   loop.State
		reason  string
		force   bool
		want    error
		decided bool // what was decided is kept
	}{
		{name: "failed", state: loop.StateFailed, decided: true},
		{name: "backoff", state: loop.StateWaiting, reason: loop.WaitBackoff, decided: true},
		{name: "its harness is held", state: loop.StateWaiting, reason: loop.WaitHarness, decided: true},
		{name: "done", state: loop.StateDone, want: loop.ErrConflict},
		{name: "done by force", state: loop.StateDone, force: true},
		{name: "dropped", state: loop.StateDropped, want: loop.ErrConflict},
		{name: "dropped by force", state: loop.StateDropped, force: true},
		{name: "running by force", state: loop.StateRunning, force: true, want: loop.ErrConflict},
		{name: "queued", state: loop.StateQueued, want: loop.ErrConflict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in, _ := open(t)
			put(t, in, loop.Delivery{ID: "d", Body: []byte("{}")})
			move(t, in, "d", inbox.Transition{State: tt.state, Reason: tt.reason, Attempts: 2, Decision: loop.Spawn, Item: shop15})
			told(in)
			err := in.DB().Write(t.Context(), func(tx *journal.Tx) error { return in.Redeliver(tx, "d", tt.force) })
			if !errors.Is(err, tt.want) {
				t.Fatalf("Redeliver = %v, want %v", err, tt.want)
			}
			d := delivery(t, in, "d")
			if tt.want != nil {
				if d.State != tt.state || told(in) {
					t.Errorf("a refused redelivery changed it to %+v", d)
				}
				return
			}
			if d.State != loop.StateReceived || d.Attempts != 0 || !d.EndedAt.IsZero() || (d.Decision != "") != tt.decided || !told(in) {
				t.Errorf("redelivered = %+v", d)
			}
		})
	}
}

func TestRedeliverNeedsTheBody(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	put(t, in, loop.Delivery{ID: "d", Body: []byte("{}")})
	move(t, in, "d", inbox.Transition{State: loop.StateDone})
	if _, err := in.Prune(t.Context(), time.Now().AddDate(0, 0, 8), 7, 35); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[loop.DeliveryID]error{"d": loop.ErrConflict, "unknown": loop.ErrNotFound} {
		err := in.DB().Write(t.Context(), func(tx *journal.Tx) error { return in.Redeliver(tx, id, true) })
		if !errors.Is(err, want) {
			t.Errorf("Redeliver(%s) = %v, want %v", id, err, want)
		}
	}
}

func TestFactBelongsToTheFirstThatClaimsIt(t *testing.T) {
	t.Parallel()
	in, path := open(t)
	claim := func(id loop.DeliveryID) loop.DeliveryID {
		t.Helper()
		var owner loop.DeliveryID
		err := in.DB().Write(t.Context(), func(tx *journal.Tx) (err error) {
			owner, err = in.Claim(tx, "comment:1", id)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return owner
	}
	put(t, in, loop.Delivery{ID: "poll", Fact: "comment:1", Body: []byte("{}")})
	if owner := claim("hook"); owner != "hook" {
		t.Errorf("first claim: owner %s", owner)
	}
	if owner := claim("poll"); owner != "hook" {
		t.Errorf("second claim: owner %s", owner)
	}
	in = reopen(t, in, path)
	if owner := claim("hook"); owner != "hook" {
		t.Errorf("the same claim again: owner %s", owner)
	}
	move(t, in, "poll", inbox.Transition{State: loop.StateDropped, Reason: loop.DropDuplicate})
	err := in.DB().Write(t.Context(), func(tx *journal.Tx) error { return in.Redeliver(tx, "poll", true) })
	if err != nil {
		t.Fatal(err)
	}
	if owner := claim("poll"); owner != "poll" {
		t.Errorf("claim of a duplicate that was redelivered by force: owner %s", owner)
	}
}

func TestNewsIsToldOnce(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	for i := range 3 {
		put(t, in, loop.Delivery{ID: loop.DeliveryID(fmt.Sprint(i))})
	}
	if !told(in) || told(in) {
		t.Error("three new deliveries are to be told of once")
	}
	got, err := in.Received(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]loop.DeliveryID{"0", "1"}, ids(got)); diff != "" {
		t.Errorf("Received (-want +got):\n%s", diff)
	}
}

func TestClosedJournalMakesPutUnavailable(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	if err := in.DB().Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Put(t.Context(), loop.Delivery{ID: "d"}); !errors.Is(err, loop.ErrUnavailable) {
		t.Errorf("Put = %v, want ErrUnavailable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.Put(ctx, loop.Delivery{ID: "d"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v, want the context's error", err)
	}
}

func open(t *testing.T) (*inbox.Inbox, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.db")
	return openAt(t, path), path
}

func openAt(t testing.TB, path string) *inbox.Inbox {
	t.Helper()
	db, err := journal.Open(t.Context(), path, inbox.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close journal: %v", err)
		}
	})
	return inbox.New(db)
}

func reopen(t *testing.T, in *inbox.Inbox, path string) *inbox.Inbox {
	t.Helper()
	if err := in.DB().Close(); err != nil {
		t.Fatal(err)
	}
	return openAt(t, path)
}

func put(t *testing.T, in *inbox.Inbox, d loop.Delivery) inbox.PutResult {
	t.Helper()
	result, err := in.Put(t.Context(), d)
	if err != nil {
		t.Fatalf("Put(%s): %v", d.ID, err)
	}
	return result
}

func move(t *testing.T, in *inbox.Inbox, id loop.DeliveryID, to inbox.Transition) {
	t.Helper()
	if err := tryMove(t, in, id, to); err != nil {
		t.Fatal(err)
	}
}

func tryMove(t *testing.T, in *inbox.Inbox, id loop.DeliveryID, to inbox.Transition) error {
	t.Helper()
	return in.DB().Write(t.Context(), func(tx *journal.Tx) error { return in.Move(tx, id, to) })
}

func delivery(t *testing.T, in *inbox.Inbox, id loop.DeliveryID) loop.Delivery {
	t.Helper()
	d, err := in.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func told(in *inbox.Inbox) bool {
	select {
	case <-in.News():
		return true
	default:
		return false
	}
}

func ids(all []loop.Delivery) []loop.DeliveryID {
	var out []loop.DeliveryID
	for _, d := range all {
		out = append(out, d.ID)
	}
	return out
}

var sameMoment = cmpopts.EquateApproxTime(time.Second)

func TestHooksAreThoseThatBroughtSomething(t *testing.T) {
	t.Parallel()
	in, _ := open(t)
	start := time.Date(2026, 7, 2, 10, 0, 0, 0, time.UTC)
	other, host := shop15, shop15
	other.Repo, host.Host = "Shop-2", "ghe.example.com"
	for i, d := range []loop.Delivery{
		{HookID: "7", Item: shop15.Sibling(1)},
		{HookID: "7", Item: shop15.Sibling(2)},
		{HookID: "8", Item: shop15},
		{HookID: "", Item: shop15},
		{HookID: "9", Item: other},
		{HookID: "10", Item: host, Host: host.Host},
		{HookID: "11"},
		{HookID: "12", Item: shop15, Source: loop.SourcePoll},
	} {
		d.ID, d.Kind, d.ReceivedAt = loop.DeliveryID(fmt.Sprint(i)), "issues", start.Add(time.Duration(i)*time.Minute)
		if d.Source == "" {
			d.Source = loop.SourceWebhook
		}
		put(t, in, d)
	}
	for _, tc := range []struct {
		repo loop.Repo
		want []inbox.Hook
	}{
		{loop.Repo{Owner: "acme", Name: "SHOP"}, []inbox.Hook{{ID: "7", Since: start}, {ID: "8", Since: start.Add(2 * time.Minute)}}},
		{loop.Repo{Host: "ghe.example.com", Owner: "acme", Name: "shop"}, []inbox.Hook{{ID: "10", Since: start.Add(5 * time.Minute)}}},
		{loop.Repo{Owner: "acme", Name: "sho"}, nil},
	} {
		got, err := in.Hooks(t.Context(), tc.repo)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("Hooks of %+v (-want +got):\n%s", tc.repo, diff)
		}
	}
}
