package inbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/inbox"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

// Whatever happened before, a crash at any point leaves exactly what was acknowledged: the same deliveries are owed, in the
// same order and states, as a model in memory says.
func TestCrashAtAnyPointOwesTheSame(t *testing.T) {
	t.Parallel()
	states := []loop.State{
		loop.StateQueued, loop.StateWaiting, loop.StateRunning, loop.StateDone, loop.StateFailed, loop.StateDropped,
	}
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "journal.db")
		in, closed := openFor(rt, path)
		var order []loop.DeliveryID
		model := map[loop.DeliveryID]loop.Delivery{}
		id := rapid.Custom(func(t *rapid.T) loop.DeliveryID {
			return loop.DeliveryID(fmt.Sprint("d", rapid.IntRange(0, 5).Draw(t, "id")))
		})
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				d := loop.Delivery{ID: id.Draw(rt, "put"), Source: loop.SourceWebhook, Body: []byte("{}"), State: loop.StateReceived}
				if _, err := in.Put(t.Context(), d); err != nil {
					rt.Fatal(err)
				}
				old, known := model[d.ID]
				switch {
				case !known:
					order = append(order, d.ID)
				case old.State == loop.StateFailed, old.State == loop.StateWaiting && old.Reason == loop.WaitBackoff:
				default:
					return
				}
				model[d.ID] = loop.Delivery{State: loop.StateReceived}
			},
			"move": func(rt *rapid.T) {
				to := inbox.Transition{
					State: rapid.SampledFrom(states).Draw(rt, "to"), Attempts: rapid.IntRange(0, 3).Draw(rt, "attempts"),
					Reason: rapid.SampledFrom([]string{"", loop.WaitBackoff, loop.WaitHarness}).Draw(rt, "reason"),
				}
				which := id.Draw(rt, "move")
				err := in.DB().Write(t.Context(), func(tx *journal.Tx) error { return in.Move(tx, which, to) })
				if err == nil {
					model[which] = loop.Delivery{State: to.State, Reason: to.Reason, Attempts: to.Attempts}
				} else if !errors.Is(err, loop.ErrNotFound) && !errors.Is(err, loop.ErrConflict) {
					rt.Fatal(err)
				}
			},
			"undone": func(rt *rapid.T) {
				which, no := id.Draw(rt, "undone"), errors.New("no")
				err := in.DB().Write(t.Context(), func(tx *journal.Tx) error {
					if err := in.Move(tx, which, inbox.Transition{State: loop.StateDone}); err != nil {
						return err
					}
					return no
				})
				if err == nil {
					rt.Fatal("a write that failed was reported as done")
				}
			},
			"crash": func(rt *rapid.T) {
				path = copyAsKilled(rt, t.TempDir(), path)
				closed()
				in, closed = openFor(rt, path)
			},
			"": func(rt *rapid.T) {
				got, err := in.Unfinished(t.Context())
				if err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(owed(order, model), brief(got)); diff != "" {
					rt.Fatalf("owed (-model +inbox):\n%s", diff)
				}
			},
		})
		closed()
	})
}

func owed(order []loop.DeliveryID, model map[loop.DeliveryID]loop.Delivery) []string {
	var out []string
	for _, id := range order {
		if d := model[id]; !d.State.Final() {
			out = append(out, fmt.Sprint(id, d.State, d.Reason, d.Attempts))
		}
	}
	return out
}

func brief(all []loop.Delivery) []string {
	var out []string
	for _, d := range all {
		out = append(out, fmt.Sprint(d.ID, d.State, d.Reason, d.Attempts))
	}
	return out
}

func openFor(rt *rapid.T, path string) (*inbox.Inbox, func()) {
	db, err := journal.Open(rt.Context(), path, inbox.Schema())
	if err != nil {
		rt.Fatal(err)
	}
	return inbox.New(db), func() {
		if err := db.Close(); err != nil {
			rt.Fatal(err)
		}
	}
}

// copyAsKilled copies the files of an open journal as a kill at this moment would leave them.
func copyAsKilled(rt *rapid.T, dir, path string) string {
	to := filepath.Join(dir, "journal.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(to+end, data, 0o600); err != nil {
			rt.Fatal(err)
		}
	}
	return to
}

func FuzzBody(f *testing.F) {
	f.Add("id", []byte(`{"action":"created"}`))
	f.Add("72d3162e-cc78-11e3-81ab-4c9367dc0958", bytes.Repeat([]byte("a"), 1<<16))
	f.Add("\x00", []byte{})
	in := openAt(f, filepath.Join(f.TempDir(), "journal.db"))
	kept := map[string][]byte{}
	f.Fuzz(func(t *testing.T, id string, body []byte) {
		result, err := in.Put(t.Context(), loop.Delivery{ID: loop.DeliveryID(id), Body: body})
		if id == "" {
			if !errors.Is(err, loop.ErrInvalid) {
				t.Fatalf("Put without an id = %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if result.Verdict == inbox.Accepted {
			kept[id] = append([]byte{}, body...)
		} else if kept[id] == nil {
			return // a UUID that came before in another case
		}
		got, err := in.Body(t.Context(), loop.DeliveryID(id))
		if err != nil || !bytes.Equal(got, kept[id]) {
			t.Errorf("Body(%q) = %d bytes, %v; want the %d that were put first", id, len(got), err, len(kept[id]))
		}
	})
}

func BenchmarkPut(b *testing.B) {
	in := openAt(b, filepath.Join(b.TempDir(), "journal.db"))
	body := bytes.Repeat([]byte(`{"action":"created","number":1234567} `), 210)
	var n atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := loop.DeliveryID(fmt.Sprint(n.Add(1)))
			if _, err := in.Put(b.Context(), loop.Delivery{ID: id, Body: body}); err != nil {
				b.Error(err)
			}
		}
	})
}
