package webhook_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
	"github.com/loop-daemon/loop/internal/webhook"
)

func openInbox(t *testing.T, path string) (*journal.DB, *inbox.Inbox) {
	t.Helper()
	db, err := journal.Open(t.Context(), path, inbox.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, inbox.New(db)
}

func onInbox(t *testing.T, in *inbox.Inbox) *webhook.Receiver {
	t.Helper()
	o := options(&shelf{})
	o.Put = in.Put
	return receiver(t, o)
}

// said is the state and the reason of an answer.
func said(t *testing.T, h http.Handler, r *http.Request) string {
	t.Helper()
	res := serve(h, r)
	var answer struct{ State, Reason string }
	if err := json.Unmarshal(res.Body.Bytes(), &answer); err != nil || res.Code != http.StatusAccepted {
		t.Fatalf("answer = %d %s", res.Code, res.Body)
	}
	return strings.TrimSpace(answer.State + " " + answer.Reason)
}

func TestOneDeliveryIsTakenOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal.db")
	db, in := openInbox(t, path)
	h := onInbox(t, in)
	inCapitals := func(body string) *http.Request {
		r := signed(body)
		r.Header.Set("X-GitHub-Delivery", strings.ToUpper(id))
		return r
	}
	var got []string
	got = append(got, said(t, h, signed(object)), said(t, h, inCapitals(object)), said(t, h, signed(`{"another":"body"}`)))
	move := func(state loop.State) {
		err := db.Write(t.Context(), func(tx *journal.Tx) error { return in.Move(tx, id, inbox.Transition{State: state}) })
		if err != nil {
			t.Fatal(err)
		}
	}
	move(loop.StateFailed)
	got = append(got, said(t, h, signed(object)))
	move(loop.StateDone)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, in = openInbox(t, path)
	got = append(got, said(t, onInbox(t, in), signed(object)))

	want := []string{"received", "received duplicate", "received duplicate", "received due-again", "done duplicate"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if body, err := in.Body(t.Context(), id); err != nil || string(body) != object {
		t.Errorf("kept body = %s, %v; want the first as it came", body, err)
	}
}

func TestPingIsOverAtOnce(t *testing.T) {
	t.Parallel()
	_, in := openInbox(t, filepath.Join(t.TempDir(), "journal.db"))
	r := signed(object)
	r.Header.Set("X-GitHub-Event", "ping")
	if got := said(t, onInbox(t, in), r); got != "dropped ping" {
		t.Errorf("answer = %s, want dropped ping", got)
	}
	owed, err := in.Unfinished(t.Context())
	if err != nil || len(owed) != 0 {
		t.Errorf("owed after it: %v, %v", owed, err)
	}
}

func TestJournalThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	db, in := openInbox(t, filepath.Join(t.TempDir(), "journal.db"))
	h := onInbox(t, in)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if res := serve(h, signed(object)); res.Code != http.StatusServiceUnavailable || res.Header().Get("Retry-After") == "" {
		t.Errorf("status = %d, Retry-After = %q; want 503 with one", res.Code, res.Header().Get("Retry-After"))
	}
}
