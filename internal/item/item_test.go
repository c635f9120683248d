package item_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loop-daemon/loop/internal/item"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

var (
	issue5 = ref("github:acme/shop#5")
	issue6 = ref("github:acme/shop#6")
	pull9  = ref("github:acme/shop#9")
	pull10 = ref("github:acme/shop#10")
)

func TestStopLastsUntilStart(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.write(t, func(tx *journal.Tx) error { return b.Stop(tx, issue5, at(1)) })
	b.write(t, func(tx *journal.Tx) error { return b.Stop(tx, ref("github:ACME/Shop#5"), at(2)) })
	b.write(t, func(tx *journal.Tx) error { return b.Closed(tx, issue5, at(3)) })
	b = b.reopen(t)
	b.expect(t, "stopped twice, closed, restarted", issue5, item.Facts{StoppedAt: at(1), ClosedAt: at(3)})
	b.write(t, func(tx *journal.Tx) error { return b.Start(tx, issue5) })
	b.expect(t, "started", issue5, item.Facts{ClosedAt: at(3)})
	b.expect(t, "another item", issue6, item.Facts{})
}

func TestLedgerOfSpawns(t *testing.T) {
	t.Parallel()
	b := open(t)
	spawned := func(n int) { b.write(t, func(tx *journal.Tx) error { return b.Spawned(tx, issue5, at(n)) }) }
	closed := func(n int) { b.write(t, func(tx *journal.Tx) error { return b.Closed(tx, issue5, at(n)) }) }
	b.write(t, func(tx *journal.Tx) error { return b.Labeled(tx, issue5, at(1)) })
	spawned(1)
	b.expect(t, "spawned", issue5, item.Facts{LabeledAt: at(1), SpawnedAt: at(1)})
	closed(2)
	b.expect(t, "closed", issue5, item.Facts{ClosedAt: at(2)})
	b.write(t, func(tx *journal.Tx) error { return b.Reopened(tx, issue5, at(3)) })
	spawned(3)
	closed(2)
	b.expect(t, "an old close is told again", issue5, item.Facts{ClosedAt: at(2), ReopenedAt: at(3), SpawnedAt: at(3)})
	b.write(t, func(tx *journal.Tx) error { return b.Start(tx, issue5) })
	b.expect(t, "started by hand", issue5, item.Facts{ClosedAt: at(2), ReopenedAt: at(3)})
}

func TestAClaimLastsUntilStartOrClose(t *testing.T) {
	t.Parallel()
	b := open(t)
	claim := func(comment int64, n int) {
		b.write(t, func(tx *journal.Tx) error { return b.Claim(tx, issue5, comment, at(n)) })
	}
	claim(71, 2)
	claim(70, 1)
	b = b.reopen(t)
	b.expect(t, "the later one counts", issue5, item.Facts{Claim: 71})
	b.write(t, func(tx *journal.Tx) error { return b.Closed(tx, issue5, at(1)) })
	b.expect(t, "an older close", issue5, item.Facts{Claim: 71, ClosedAt: at(1)})
	b.write(t, func(tx *journal.Tx) error { return b.Start(tx, issue5) })
	b.expect(t, "started", issue5, item.Facts{ClosedAt: at(1)})
	claim(72, 3)
	b.write(t, func(tx *journal.Tx) error { return b.Closed(tx, issue5, at(4)) })
	claim(72, 3)
	b.expect(t, "closed, and told again", issue5, item.Facts{ClosedAt: at(4)})
	b.expect(t, "another item", issue6, item.Facts{})
}

// In whatever order the same events are told, and however often, the same is known in the end.
func TestOrderOfTellingDoesNotMatter(t *testing.T) {
	t.Parallel()
	b := open(t)
	number := 100
	rapid.Check(t, func(rt *rapid.T) {
		type told struct{ What, At int }
		events := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) told {
			return told{rapid.IntRange(0, 3).Draw(t, "what"), rapid.IntRange(1, 6).Draw(t, "at")}
		}), 1, 6).Draw(rt, "events")
		other := rapid.Permutation(append(events, events[0])).Draw(rt, "another order")
		know := func(events []told) item.Facts {
			number++
			w := issue5.Sibling(number)
			b.write(t, func(tx *journal.Tx) error {
				var errs []error
				for _, e := range events {
					tell := []func(*journal.Tx, loop.WorkItem, time.Time) error{b.Closed, b.Reopened, b.Labeled, b.Spawned}[e.What]
					errs = append(errs, tell(tx, w, at(e.At)))
				}
				return errors.Join(errs...)
			})
			return b.get(t, w)
		}
		if diff := cmp.Diff(know(events), know(other)); diff != "" {
			rt.Fatalf("what is known (-first order +other order):\n%s", diff)
		}
	})
}

func TestLaterStateOfAPullRequestWins(t *testing.T) {
	t.Parallel()
	b := open(t)
	see := func(p item.Pull) { b.write(t, func(tx *journal.Tx) error { return b.See(tx, p) }) }
	if _, known, err := b.Pull(t.Context(), pull9); err != nil || known {
		t.Errorf("Pull = %v, %v; want nothing known", known, err)
	}
	b.write(t, func(tx *journal.Tx) error { return b.Act(tx, pull9) })
	want := item.Pull{
		Item: pull9, HeadSHA: "bbb", HeadRef: "fix", HeadRepo: loop.Repo{Host: "ghe.example.com", Owner: "fork", Name: "shop", ID: 7}, Open: true,
		SeenAt: at(2), Acted: true,
	}
	now := want
	now.Acted = false
	see(now)
	see(item.Pull{Item: pull9, HeadSHA: "aaa", Open: false, SeenAt: at(1)})
	got, known, err := b.reopen(t).Pull(t.Context(), ref("github:acme/SHOP#9"))
	if err != nil || !known {
		t.Fatalf("Pull = %v, %v", known, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Pull (-want +got):\n%s", diff)
	}
}

func TestPullRequestsAreFoundByTheirHead(t *testing.T) {
	t.Parallel()
	b := open(t)
	shop, fork := loop.Repo{Owner: "Acme", Name: "shop"}, loop.Repo{Owner: "fork", Name: "shop", ID: 7}
	for _, p := range []item.Pull{
		{Item: pull10, HeadSHA: "aaa", HeadRef: "fix", HeadRepo: fork, Open: true},
		{Item: pull9, HeadSHA: "aaa", HeadRef: "other", HeadRepo: shop},
		{Item: ref("github:acme/shop#11"), HeadSHA: "bbb", HeadRef: "fix", HeadRepo: shop, Open: true},
		{Item: ref("github:acme/shop#12"), HeadSHA: "ccc", HeadRef: "old", HeadRepo: fork},
		{Item: ref("github:acme/else#13"), HeadSHA: "aaa", HeadRef: "fix", HeadRepo: fork, Open: true},
		{Item: ref("github:acme/shop#14"), Open: true},
	} {
		b.write(t, func(tx *journal.Tx) error { return b.See(tx, p) })
	}
	for _, tt := range []struct {
		name, sha string
		head      loop.Repo
		branch    string
		want      string
	}{
		{name: "commit", sha: "aaa", want: "#9 #10"},
		{name: "commit before branch", sha: "bbb", head: fork, branch: "fix", want: "#11"},
		{name: "repository and branch", sha: "zzz", head: fork, branch: "fix", want: "#10"},
		{name: "renamed repository and branch", sha: "zzz", head: loop.Repo{Owner: "new", Name: "name", ID: 7}, branch: "fix", want: "#10"},
		{name: "a name that was taken over", sha: "zzz", head: loop.Repo{Owner: "fork", Name: "shop", ID: 8}, branch: "fix"},
		{name: "branch alone", sha: "zzz", branch: "fix"},
		{name: "branch of one that is closed", sha: "zzz", head: fork, branch: "old"},
		{name: "nothing known", head: loop.Repo{}},
		{name: "no commit", sha: "", head: fork, branch: ""},
	} {
		got, err := b.ByHead(t.Context(), shop, tt.sha, tt.head, tt.branch)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, numbers(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestLinksOutliveWhatTheyRestedOn(t *testing.T) {
	t.Parallel()
	b := open(t)
	link := func(pull, w loop.WorkItem, declared bool, when int) {
		b.write(t, func(tx *journal.Tx) error {
			return b.Link(tx, pull, item.Link{Item: w, Declared: declared, At: at(when)})
		})
	}
	link(pull9, issue5, false, 1)
	link(pull9, issue6, true, 2)
	link(pull9, ref("github:Acme/Shop#6"), false, 3)
	link(pull10, issue5, false, 3)
	b.write(t, func(tx *journal.Tx) error { return b.Closed(tx, issue5, at(4)) })
	b = b.reopen(t)
	got, err := b.Links(t.Context(), ref("github:ACME/shop#9"))
	if err != nil {
		t.Fatal(err)
	}
	want := []item.Link{{Item: issue6, Declared: true, At: at(2)}, {Item: issue5, At: at(1)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Links (-want +got):\n%s", diff)
	}

	for _, p := range []item.Pull{{Item: pull9, Open: true, SeenAt: at(5)}, {Item: pull10, Open: true, SeenAt: at(5)}} {
		b.write(t, func(tx *journal.Tx) error { return b.See(tx, p) })
	}
	pulls, err := b.OpenPulls(t.Context(), issue5)
	if diff := cmp.Diff("#9 #10", numbers(pulls)); err != nil || diff != "" {
		t.Errorf("OpenPulls: %v (-want +got):\n%s", err, diff)
	}
	b.write(t, func(tx *journal.Tx) error { return b.See(tx, item.Pull{Item: pull9, SeenAt: at(6)}) })
	pulls, err = b.OpenPulls(t.Context(), issue5)
	if diff := cmp.Diff("#10", numbers(pulls)); err != nil || diff != "" {
		t.Errorf("OpenPulls once one is closed: %v (-want +got):\n%s", err, diff)
	}
}

func TestClosedJournalIsUnavailable(t *testing.T) {
	t.Parallel()
	b := open(t)
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), issue5); err == nil || !strings.Contains(err.Error(), issue5.Ref()) {
		t.Errorf("Get = %v, want an error that names the item", err)
	}
}

// bench is a store and its journal.
type bench struct {
	*item.Store
	db   *journal.DB
	path string
}

func open(t *testing.T) bench {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "journal.db"))
}

func openAt(t *testing.T, path string) bench {
	t.Helper()
	db, err := journal.Open(t.Context(), path, item.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close journal: %v", err)
		}
	})
	return bench{item.New(db), db, path}
}

func (b bench) reopen(t *testing.T) bench {
	t.Helper()
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	return openAt(t, b.path)
}

func (b bench) write(t *testing.T, do func(*journal.Tx) error) {
	t.Helper()
	if err := b.db.Write(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

func (b bench) get(t *testing.T, w loop.WorkItem) item.Facts {
	t.Helper()
	got, err := b.Get(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (b bench) expect(t *testing.T, when string, w loop.WorkItem, want item.Facts) {
	t.Helper()
	if diff := cmp.Diff(want, b.get(t, w)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

func at(minute int) time.Time { return time.Date(2026, 7, 2, 10, minute, 0, 0, time.UTC) }

func ref(s string) loop.WorkItem {
	w, err := loop.ParseRef(s)
	if err != nil {
		panic(err)
	}
	return w
}

func numbers(pulls []item.Pull) string {
	var out []string
	for _, p := range pulls {
		out = append(out, p.Item.Ref()[strings.Index(p.Item.Ref(), "#"):])
	}
	return strings.Join(out, " ")
}
