package github_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github"
	"github.com/loop-daemon/loop/internal/github/githubtest"
	"github.com/loop-daemon/loop/internal/loop"
)

func (h hub) shop() (*githubtest.Repository, loop.Repo) {
	shop := h.gh.Repo("acme", "shop")
	return shop, loop.Repo{Owner: "acme", Name: "shop", ID: shop.ID}
}

func TestWhatMovesIsFound(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	shop, r := h.shop()
	shop.Open("octocat", githubtest.Item{})
	moved := shop.Open("octocat", githubtest.Item{})
	there := moved.Transfer("octocat", h.gh.Repo("acme", "depot"))
	i, err := h.Issue(t.Context(), item(moved.Number))
	if err != nil || i.Repo.Name != "depot" || i.Number != there.Number {
		t.Errorf("a transferred issue: %+v, %v", i.WorkItem(), err)
	}

	shop.Rename("octocat", "store")
	l, err := h.Issues(t.Context(), r, githubtest.Epoch)
	if err != nil || !l.Moved || len(l.All) != 1 || l.All[0].Repo.Name != "store" {
		t.Errorf("a renamed repository: %+v, %v", l, err)
	}
	if _, err := h.Post(t.Context(), item(1), "hi"); !errors.Is(err, loop.ErrConflict) {
		t.Errorf("a comment under the old name: %v", err)
	}
	h.gh.RenameOwner("acme", "apex")
	now, err := h.Repository(t.Context(), r)
	if err != nil || now.Owner != "apex" || now.Name != "store" || now.ID != shop.ID {
		t.Errorf("a renamed owner: %+v, %v", now, err)
	}
	h.gh.Repo("acme", "shop")
	if l, err := h.Issues(t.Context(), r, githubtest.Epoch); err != nil || len(l.All) != 0 || l.Moved {
		t.Errorf("who has the name now is somebody else: %+v, %v", l, err)
	}
	if now, err := h.Repository(t.Context(), r); err != nil || now.Name != "store" {
		t.Errorf("the name was given away: %+v, %v", now, err)
	}
}

func TestWhatIsGoneOrForbidden(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	shop, _ := h.shop()
	issue := shop.Open("octocat", githubtest.Item{})
	ask := func() error {
		_, err := h.Issue(t.Context(), item(issue.Number))
		return err
	}
	expect := func(name string, err error, status int, class error, says string) {
		t.Helper()
		if e, ok := errors.AsType[*github.Error](err); !ok || e.Status != status || !errors.Is(err, class) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %d and %q", name, err, status, says)
		}
	}
	h.gh.AddToken(githubtest.Token, githubtest.Operator, "metadata=read")
	err := ask()
	if e, ok := errors.AsType[*github.Error](err); !ok || e.Needs == "" || !strings.Contains(err.Error(), "the token needs issues=read") {
		t.Errorf("a token without the right: %v", err)
	}
	h.gh.AddToken(githubtest.Token, githubtest.Operator)
	if err := ask(); err != nil {
		t.Error(err)
	}
	shop.Archive("octocat")
	_, err = h.Post(t.Context(), item(issue.Number), "hi")
	expect("archived", err, http.StatusForbidden, loop.ErrDenied, "archived")
	if now, err := h.Repository(t.Context(), repo); err != nil || !now.Archived {
		t.Errorf("%+v, %v", now, err)
	}
	shop.SetAccess(githubtest.Operator, false)
	expect("no access", ask(), http.StatusNotFound, loop.ErrNotFound, "the token may not see it")
	shop.SetAccess(githubtest.Operator, true)
	shop.Block(http.StatusUnavailableForLegalReasons)
	expect("blocked", ask(), http.StatusUnavailableForLegalReasons, loop.ErrDenied, "")
	shop.Block(0)
	issue.Delete("octocat")
	expect("deleted", ask(), http.StatusGone, loop.ErrNotFound, "410 gone")
}

func TestRotatedTokenMissesWhatIsRemembered(t *testing.T) {
	t.Parallel()
	g := newGH(t, githubtest.Token)
	h := newHub(t, g.env())
	shop, r := h.shop()
	shop.Open("octocat", githubtest.Item{})
	for _, step := range []struct {
		token     string
		unchanged bool
	}{{githubtest.Token, false}, {githubtest.Token, true}, {"rotated", false}, {"rotated", true}} {
		if step.token == "rotated" {
			g.prints(t, "rotated")
			h.gh.AddToken("rotated", githubtest.Operator)
			h.gh.RemoveToken(githubtest.Token)
		}
		if l, err := h.Issues(t.Context(), r, githubtest.Epoch); err != nil || l.Unchanged != step.unchanged || len(l.All) != 1 {
			t.Fatalf("%+v: %+v, %v", step, l, err)
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	h := newHub(t, func(o *github.Options) { o.HTTP = nil }) // an answer is cut with its connection
	shop, r := h.shop()
	const items = 230
	for range items {
		shop.Open("octocat", githubtest.Item{})
	}
	for name, fault := range map[string]githubtest.Fault{
		"cut": githubtest.Cut(1000), "garbage": githubtest.Garbage(), "down": githubtest.Answer(500), "no access": githubtest.Answer(404),
	} {
		h.gh.Fail("GET */issues?*page=2*", fault, 1)
		if l, err := h.Issues(t.Context(), r, githubtest.Epoch); err == nil || l.All != nil {
			t.Errorf("%s: %d items, %v", name, len(l.All), err)
		}
	}
	h.gh.Mend()
	h.gh.Fail("GET */issues?*", githubtest.BigPage(60), -1)
	l, err := h.Issues(t.Context(), r, githubtest.Epoch)
	if err != nil || len(l.All) != items {
		t.Errorf("of pages that are too big: %d items, %v", len(l.All), err)
	}
}

func TestClockOfGitHub(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	_, r := h.shop()
	h.gh.SetSkew(-5 * time.Minute)
	if l, err := h.Issues(t.Context(), r, githubtest.Epoch); err != nil || !l.Now.Equal(githubtest.Epoch.Add(-5*time.Minute)) {
		t.Errorf("%v, %v", l.Now, err)
	}
}

func TestRedelivery(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	shop, r := h.shop()
	hook := strconv.FormatInt(h.hook.ID, 10)
	h.hook.Release() // to where nobody listens
	shop.Open("octocat", githubtest.Item{})
	h.gh.Advance(time.Hour)
	shop.Open("octocat", githubtest.Item{})
	failed, err := h.FailedDeliveries(t.Context(), r, hook, githubtest.Epoch.Add(time.Minute))
	if err != nil || len(failed) != 1 || failed[0].Kind != loop.KindIssues {
		t.Fatalf("%+v, %v", failed, err)
	}
	if err := h.Redeliver(t.Context(), r, failed[0]); err != nil {
		t.Fatal(err)
	}
	again, err := h.FailedDeliveries(t.Context(), r, hook, githubtest.Epoch.Add(time.Minute))
	if err != nil || len(again) != 1 || again[0].ID != failed[0].ID || again[0].Try == failed[0].Try {
		t.Errorf("sent again, and still nobody listens: %+v, %v", again, err)
	}
}

func TestWritesReachTheItem(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	shop, _ := h.shop()
	issue := shop.Open("octocat", githubtest.Item{})
	c, err := h.Post(t.Context(), item(issue.Number), "Done")
	if err != nil || issue.Comments()[0].ID != c.ID || c.Author.Login != githubtest.Operator {
		t.Fatalf("%+v, %v", c, err)
	}
	for range 2 {
		if err := h.React(t.Context(), github.Target{Item: item(issue.Number), Comment: c.ID}, "hooray"); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"operator hooray"}, issue.Reactions(c.ID)); diff != "" {
		t.Error(diff)
	}
	if login, err := h.Login(t.Context(), ""); err != nil || login != githubtest.Operator {
		t.Error(login, err)
	}
}

// Two minutes are asked for while much is to be asked: not one request comes before they are over.
func TestNothingIsAskedBeforeItsTime(t *testing.T) {
	t.Parallel()
	db, s := openJournal(t), githubtest.NewServer("")
	t.Cleanup(s.Close)
	synctest.Test(t, func(t *testing.T) {
		s.SetClock(time.Now)
		shop := s.Repo("acme", "shop")
		r := loop.Repo{Owner: "acme", Name: "shop", ID: shop.ID}
		c := newClient(t, github.Options{
			Journal: db, Log: slog.New(slog.DiscardHandler), APIURL: s.API(), HTTP: s.Transport(), Env: []string{"GH_TOKEN=" + githubtest.Token},
		})
		s.Fail("GET *", githubtest.SecondaryLimit(2*time.Minute), 1)
		begun := time.Now()
		for {
			_, err := c.Issues(t.Context(), r, begun)
			if err == nil {
				break
			}
			if until := c.Limited(""); !errors.Is(err, loop.ErrUnavailable) || until.Sub(begun) != 2*time.Minute {
				t.Fatalf("limited until %v: %v", until, err)
			}
			time.Sleep(time.Second)
		}
		all, _ := s.Count("*")
		if took := time.Since(begun); took != 2*time.Minute || all != 2 {
			t.Errorf("%d requests in %v, want 2 in two minutes", all, took)
		}
		s.Exhaust(http.StatusForbidden, 10*time.Minute)
		if _, err := c.Issues(t.Context(), r, begun); err == nil || time.Until(c.Limited("")) < 10*time.Minute {
			t.Errorf("limited until %v, %v", c.Limited(""), err)
		}
	})
}

func TestTheTextOfARefusal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  github.Error
		want string
	}{
		{github.Error{Status: 404, Message: "Not Found"}, "404 not found: it does not exist, or the token may not see it"},
		{github.Error{Status: 404, Message: "Branch not found"}, "404 not found: Branch not found: it does not exist, or the token may not see it"},
		{github.Error{Status: 409, Message: "Conflict"}, "409 conflict"},
		{github.Error{Status: 422, Message: "Validation Failed; name is invalid"}, "422 unprocessable entity: Validation Failed; name is invalid"},
		{github.Error{Status: 599, Message: "odd"}, "599: odd"},
		{github.Error{Status: 599}, "599"},
	} {
		err := fmt.Errorf("GET /x: %w", &tc.err)
		if got := loop.Plain(err); got != "GET /x: "+tc.want || got != err.Error() {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

func TestAReactionOnWhatIsGoneLacksNoRight(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	shop, _ := h.shop()
	issue := shop.Open("octocat", githubtest.Item{})
	id := issue.Comment("octocat", "soon gone")
	issue.DeleteComment("octocat", id)
	err := h.React(t.Context(), github.Target{Item: item(issue.Number), Comment: id}, "eyes")
	if !errors.Is(err, loop.ErrNotFound) || strings.Contains(err.Error(), "the token needs") {
		t.Errorf("%v", err)
	}
}
