package dispatch_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/loop-daemon/loop/internal/dispatch"
	"github.com/loop-daemon/loop/internal/eventlog"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
)

// said is a comment with an id that no other has.
func said(action, author, text string, it githubtest.Item) []byte {
	comments.Lock()
	defer comments.Unlock()
	comments.last++
	return githubtest.IssueComment(action, author, it, githubtest.Comment{ID: comments.last, Body: text})
}

// putNow takes a delivery at the door.
func (h *house) putNow(id loop.DeliveryID, kind string, body []byte) inbox.PutResult {
	h.t.Helper()
	res, err := h.d.Put(h.t.Context(), loop.Delivery{ID: id, Source: loop.SourceWebhook, Kind: kind, ReceivedAt: time.Now(), Body: body})
	h.must(err)
	return res
}

// record is all that is kept of a delivery, but for what no two have in common.
func (h *house) record(id loop.DeliveryID) any {
	h.t.Helper()
	d, err := h.inbox.Get(h.t.Context(), id)
	h.must(err)
	events, err := eventlog.New(h.db, slog.New(slog.DiscardHandler)).Query(h.t.Context(), eventlog.Filter{})
	h.must(err)
	var own []loop.LogEvent
	for _, ev := range events {
		if ev.Delivery == id {
			own = append(own, ev)
		}
	}
	_, err = h.inbox.Body(h.t.Context(), id)
	h.must(err)
	return []any{d, own}
}

func TestWhatIsDroppedAtTheDoorIsDroppedAsInItsTurn(t *testing.T) {
	t.Parallel()
	issue, pull := githubtest.Item{Number: 15}, githubtest.Item{Number: 16, PR: true}
	cases := []struct {
		name   string
		kind   string
		reason string // "" is one that has to wait for its turn
		body   func() []byte
	}{
		{"stranger", "issue_comment", loop.DropUnauthorized, func() []byte { return said("created", "mallory", "do as I say", issue) }},
		{"stranger's command", "issue_comment", loop.DropUnauthorized, func() []byte { return said("created", "mallory", "/loop stop", issue) }},
		{"own voice", "issue_comment", loop.DropSelfAuthored, func() []byte { return said("created", "octocat", "done\n<!-- loop -->", issue) }},
		{"edited", "issue_comment", loop.DropEdited, func() []byte { return said("edited", "octocat", "as I meant", issue) }},
		{"unknown event", "push", loop.DropEventOff, func() []byte { return []byte(`{"ref":"x"}`) }},
		{"listed", "issue_comment", "", func() []byte { return said("created", "octocat", "please", issue) }},
		{"stranger on a pull request", "issue_comment", "", func() []byte { return said("created", "mallory", "hm", pull) }},
		{"stranger's issue", "issues", "", func() []byte { return githubtest.Issues("opened", "mallory", issue) }},
		{"no payload", "issue_comment", "", func() []byte { return []byte(`[]`) }},
	}
	bubble(t, func(t *testing.T, h *house) {
		h.register(shop15)
		for _, c := range cases {
			early := loop.DeliveryID(uuid.NewString())
			res := h.putNow(early, c.kind, c.body())
			if c.reason == "" {
				if res.State != loop.StateReceived {
					t.Errorf("%s: %+v, want it to wait for its turn", c.name, res)
				}
				continue
			}
			if want := (inbox.PutResult{Verdict: inbox.Accepted, State: loop.StateDropped, Reason: c.reason}); res != want {
				t.Errorf("%s: %+v, want %+v", c.name, res, want)
			}
			late := h.arrive(c.kind, c.body())
			differs := cmp.Options{
				cmpopts.IgnoreFields(loop.Delivery{}, "ID", "Seq", "Fact", "ReceivedAt", "EndedAt"),
				cmpopts.IgnoreFields(loop.LogEvent{}, "Delivery", "Seq", "At"),
			}
			if d := cmp.Diff(h.record(late), h.record(early), differs); d != "" {
				t.Errorf("%s: dropped in its turn (-) and at the door (+):\n%s", c.name, d)
			}
		}
	})
}

func TestTheDoorDropsAFactOnlyOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		body := said("created", "mallory", "do as I say", githubtest.Item{Number: 15})
		first := loop.DeliveryID(uuid.NewString())
		h.putNow(first, "issue_comment", body)
		if res := h.putNow(first, "issue_comment", body); res.Verdict != inbox.Duplicate {
			t.Errorf("the same delivery again: %+v, want a duplicate", res)
		}
		second := loop.DeliveryID(uuid.NewString())
		h.putNow(second, "issue_comment", body)
		h.is(first, loop.StateDropped, loop.DropUnauthorized)
		h.is(second, loop.StateDropped, loop.DropDuplicate)

		h.settings.Route.AuthorizedUsers = append(h.settings.Route.AuthorizedUsers, "mallory")
		h.register(shop15)
		h.is(h.arrive("issue_comment", body), loop.StateDropped, loop.DropDuplicate) // it was decided when they were nobody
		h.idle()
	})
}

func TestTheDoorKeepsWhatItDropsWhileNothingIsLookedAt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *house) {
		body := commentBody(15, "please")
		h.register(shop15)
		id := loop.DeliveryID(uuid.NewString())
		h.putNow(id, "issue_comment", body)
		h.is(id, loop.StateDropped, loop.DropRoutingOff)

		h.settings.Route.RoutingEnabled = true
		again := loop.DeliveryID(uuid.NewString())
		h.putNow(again, "issue_comment", body)
		synctest.Wait()
		h.only().done() // nobody has acted on the fact
		h.is(again, loop.StateDone, "")
	}, func(s *dispatch.Settings) { s.Route.RoutingEnabled = false })
}
