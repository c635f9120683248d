package github_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/loop"
	"github.com/loop-daemon/loop/internal/sys/journal"
)

const issuesPath = "/repos/acme/shop/issues"

func TestUnchangedAnswersComeFromTheJournal(t *testing.T) {
	t.Parallel()
	body := `[{"number":1},{"number":2}]`
	w := newWorld(t, map[string]http.HandlerFunc{issuesPath: tagged(&body)})
	expect := func(c *github.Client, unchanged bool, want ...int) {
		t.Helper()
		l, err := c.Issues(t.Context(), repo, epoch)
		if err != nil || l.Unchanged != unchanged || !l.Now.Equal(epoch) {
			t.Fatalf("%+v, %v, want unchanged %v", l, err, unchanged)
		}
		if diff := cmp.Diff(want, numbers(l.All)); diff != "" {
			t.Error(diff)
		}
	}
	expect(w.Client, false, 1, 2)
	expect(w.Client, true, 1, 2)
	body = `[{"number":3}]`
	expect(w.Client, false, 3)
	expect(w.Client, true, 3)

	after := newClient(t, github.Options{Journal: w.db, APIURL: w.url, Env: []string{"GITHUB_TOKEN=" + secretToken}})
	expect(after, true, 3) // a restart forgets nothing
	other := newClient(t, github.Options{Journal: w.db, APIURL: w.url, Env: []string{"GITHUB_TOKEN=other"}})
	expect(other, false, 3)

	if err := w.db.Write(t.Context(), func(tx *journal.Tx) error { return github.Forget(tx, epoch.AddDate(100, 0, 0)) }); err != nil {
		t.Fatal(err)
	}
	expect(w.Client, false, 3)
}

func TestOneAnswerIsKeptForAllTimes(t *testing.T) {
	t.Parallel()
	body := `[{"number":1}]`
	w := newWorld(t, map[string]http.HandlerFunc{issuesPath: tagged(&body)})
	for hour := range 3 {
		if l, err := w.Issues(t.Context(), repo, epoch.Add(time.Duration(hour)*time.Hour)); err != nil || l.Unchanged {
			t.Fatalf("%+v, %v", l, err)
		}
	}
	var rows int
	if err := w.db.Read().QueryRow("SELECT count(*) FROM answer").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d answers are kept, %v", rows, err)
	}
	want := "GET " + issuesPath + "?direction=asc&per_page=100&since=2026-07-02T10%3A00%3A00Z&sort=updated&state=all"
	if got := w.requests()[0]; got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
}

func TestWhatIsNoJSONIsNotKept(t *testing.T) {
	t.Parallel()
	body := `[{"number":1}`
	w := newWorld(t, map[string]http.HandlerFunc{issuesPath: tagged(&body)})
	if _, err := w.Issues(t.Context(), repo, epoch); !errors.Is(err, loop.ErrUnavailable) {
		t.Fatal(err)
	}
	body = `[{"number":1}]`
	if l, err := w.Issues(t.Context(), repo, epoch); err != nil || len(l.All) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
}

// paged answers with a page per body, each behind the address that the one before names.
func paged(w **world, pages ...http.HandlerFunc) map[string]http.HandlerFunc {
	handlers := map[string]http.HandlerFunc{}
	for i, page := range pages {
		path := issuesPath
		if i > 0 {
			path = fmt.Sprintf("/repositories/7/issues/page%d", i)
		}
		handlers[path] = func(rw http.ResponseWriter, r *http.Request) {
			if i+1 < len(pages) && r.Header.Get("If-None-Match") == "" { // not every server says it again with a 304
				rw.Header().Set("Link", fmt.Sprintf(`<%s/>; rel="prev", <%s/repositories/7/issues/page%d?after=x,y>; rel="next"`, (*w).url, (*w).url, i+1))
			}
			page(rw, r)
		}
	}
	return handlers
}

func TestPagesAreFollowedAsGiven(t *testing.T) {
	t.Parallel()
	var w *world
	one, two, three := `[{"number":1}]`, `[]`, `[{"number":3}]`
	w = newWorld(t, paged(&w, tagged(&one), tagged(&two), tagged(&three)))
	for _, unchanged := range []bool{false, true} {
		l, err := w.OpenLabeled(t.Context(), repo, "x")
		if err != nil || l.Unchanged != unchanged || len(l.All) != 0 {
			t.Fatalf("%+v, %v", l, err)
		}
		want := []string{
			"GET " + issuesPath + "?direction=asc&labels=x&per_page=100&sort=created&state=open",
			"GET /repositories/7/issues/page1?after=x,y", "GET /repositories/7/issues/page2?after=x,y",
		}
		if diff := cmp.Diff(want, w.requests()); diff != "" {
			t.Error(diff)
		}
	}
	l, err := w.Issues(t.Context(), repo, epoch)
	if diff := cmp.Diff([]int{1, 3}, numbers(l.All)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestHalfAListingIsNone(t *testing.T) {
	t.Parallel()
	stranger := newWorld(t, map[string]http.HandlerFunc{"/x": says("[]")})
	for name, broken := range map[string]http.HandlerFunc{
		"an error": refuses(500, `{}`), "no access": refuses(404, `{}`), "no list": says(`{}`), "no JSON": says(`[{"number":2},`),
		"elsewhere": refuses(200, `[]`, "Link", `<`+stranger.url+`/x>; rel="next"`),
	} {
		var w *world
		w = newWorld(t, paged(&w, says(`[{"number":1}]`), broken))
		if l, err := w.Issues(t.Context(), repo, epoch); err == nil || l.All != nil {
			t.Errorf("%s: %v, %v", name, numbers(l.All), err)
		}
	}
	if got := stranger.requests(); len(got) != 0 {
		t.Errorf("another server was sent the token: %v", got)
	}
}

func TestPagesThatTakeTooLongAreHalved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]http.HandlerFunc{issuesPath: func(rw http.ResponseWriter, r *http.Request) {
		if size := r.URL.Query().Get("per_page"); size != "25" {
			rw.WriteHeader(map[string]int{"100": http.StatusBadGateway}[size] + map[string]int{"50": http.StatusGatewayTimeout}[size])
			return
		}
		fmt.Fprint(rw, `[{"number":1}]`)
	}})
	l, err := w.Issues(t.Context(), repo, epoch)
	if err != nil || len(l.All) != 1 || len(w.requests()) != 3 {
		t.Errorf("%+v, %v", l, err)
	}
	down := newWorld(t, map[string]http.HandlerFunc{issuesPath: refuses(502, "")})
	if _, err := down.Issues(t.Context(), repo, epoch); !errors.Is(err, loop.ErrUnavailable) || len(down.requests()) != 4 {
		t.Error(err)
	}
}

func TestLabelsCompareWithoutCase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]http.HandlerFunc{issuesPath: says(`[
		{"number":1,"labels":[{"name":"The-Loop, now"}]},{"number":2,"labels":[]},{"number":3,"labels":[{"name":"x"},{"name":"the-loop, NOW"}],"pull_request":{}}]`)})
	l, err := w.OpenLabeled(t.Context(), repo, "the-loop, now")
	if diff := cmp.Diff([]int{1, 3}, numbers(l.All)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if !l.All[1].PR || l.All[0].PR {
		t.Error("the second is a pull request, and the first is none")
	}
	if got := w.requests()[0]; strings.Contains(got, "labels") {
		t.Errorf("a label with a comma is asked for as two: %s", got)
	}
}

func TestRenamedRepository(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 307, 308} {
		w := newWorld(t, map[string]http.HandlerFunc{
			issuesPath:               refuses(status, "", "Location", "/repositories/7/issues?new=1"),
			"/repositories/7/issues": says(`[{"number":1,"repository_url":"https://api.github.com/repos/acme/store"}]`),
		})
		l, err := w.Issues(t.Context(), loop.Repo{Owner: "acme", Name: "shop", ID: 7}, epoch)
		if err != nil || !l.Moved || l.All[0].WorkItem().Ref() != "github:acme/store#1" || l.All[0].Repo.ID != 7 {
			t.Errorf("%d: %+v, %v", status, l, err)
		}
		if _, err := w.Issues(t.Context(), loop.Repo{Owner: "acme", Name: "shop", ID: 8}, epoch); !errors.Is(err, loop.ErrConflict) {
			t.Errorf("the name of another repository: %v", err)
		}
	}
}

func TestTransferredIssue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]http.HandlerFunc{
		issuesPath + "/5":          refuses(301, "", "Location", "/repositories/9/issues/2"),
		"/repositories/9/issues/2": says(`{"number":2,"repository_url":"https://api.github.com/repos/acme/store","closed_by":{"login":"mona"},"state":"closed"}`),
	})
	i, err := w.Issue(t.Context(), item(5))
	if err != nil || i.WorkItem().Ref() != "github:acme/store#2" || i.Repo.ID != 9 || i.ClosedBy.Login != "mona" {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	t.Parallel()
	stranger := newWorld(t, nil)
	w := newWorld(t, map[string]http.HandlerFunc{
		issuesPath:                 refuses(301, "", "Location", stranger.url+"/x"),
		issuesPath + "/5":          refuses(302, "", "Location", "/elsewhere"),
		issuesPath + "/5/comments": refuses(307, "", "Location", "/repositories/7/issues/5/comments"),
		issuesPath + "/6":          refuses(301, "", "Location", issuesPath+"/6"),
	})
	if _, err := w.Issues(t.Context(), repo, epoch); err == nil || len(stranger.requests()) != 0 {
		t.Errorf("a redirect to another server: %v", err)
	}
	w.requests()
	if _, err := w.Issue(t.Context(), item(5)); err == nil {
		t.Error("a 302 is followed")
	}
	_, err := w.Post(t.Context(), item(5), "hi")
	if e, ok := errors.AsType[*github.Error](err); !ok || e.Location != "/repositories/7/issues/5/comments" || !errors.Is(err, loop.ErrConflict) {
		t.Errorf("a write to what has moved: %v", err)
	}
	if got := len(w.requests()); got != 2 {
		t.Errorf("%d requests, want 2", got)
	}
	if _, err := w.Issue(t.Context(), item(6)); !errors.Is(err, loop.ErrUnavailable) || len(w.requests()) > 10 {
		t.Errorf("a circle of redirects: %v", err)
	}
}

func TestRepositoryIsFoundByItsNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]http.HandlerFunc{
		"/repositories/7":  says(`{"id":7,"full_name":"acme/store"}`),
		"/repos/acme/shop": says(`{"id":8,"full_name":"acme/shop"}`),
	})
	got, err := w.Repository(t.Context(), loop.Repo{Owner: "acme", Name: "shop", ID: 7})
	if err != nil || got.Name != "store" {
		t.Errorf("%+v, %v", got, err)
	}
}
