package githubtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

func TestMoves(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop, attic := s.Repo("acme", "shop"), s.Repo("acme", "attic")
	shop.Open("ann", githubtest.Item{})
	two := shop.Open("ann", githubtest.Item{})
	below := s.URL + "/repositories/" + itoa(shop.ID)
	shop.Rename("ann", "store")
	shop.TransferTo("ann", "other")
	s.RenameOwner("other", "newer")
	for _, old := range []string{"acme/shop", "acme/store", "other/store"} {
		got := get(t, s, "/repos/"+old+"/issues?state=all")
		if to := got.header.Get("Location"); got.status != http.StatusMovedPermanently || to != below+"/issues?state=all" {
			t.Errorf("%s answers %d %s", old, got.status, to)
		}
	}
	want(t, get(t, s, below), "full_name", "newer/store")
	want(t, get(t, s, below), "id", int(shop.ID))
	want(t, get(t, s, "/repos/newer/store/issues/1"), "repository_url", s.URL+"/repos/newer/store")
	if got := ask(t, s, http.MethodPost, "/repos/acme/shop/issues/1/comments", `{"body":"x"}`); got.status != http.StatusTemporaryRedirect {
		t.Errorf("a write to the old name answers %d", got.status)
	}
	taken := s.Repo("acme", "shop")
	want(t, get(t, s, "/repos/acme/shop"), "id", int(taken.ID))
	if taken.ID == shop.ID {
		t.Error("another repository of the same name has the same id")
	}

	there := two.Transfer("ann", attic)
	got := get(t, s, "/repos/newer/store/issues/2/comments?per_page=5")
	if to := s.URL + "/repositories/" + itoa(attic.ID) + "/issues/1/comments?per_page=5"; got.status != http.StatusMovedPermanently || got.header.Get("Location") != to {
		t.Errorf("a transferred issue answers %d %s", got.status, got.header.Get("Location"))
	}
	want(t, get(t, s, "/repos/newer/store/issues"), "number", 1)
	there.Delete("ann")
	if got := get(t, s, "/repos/acme/attic/issues/1"); got.status != http.StatusGone {
		t.Errorf("a deleted issue answers %d", got.status)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.AddToken("reader", "carol", "issues=read", "metadata=read")
	s.AddToken("old", "carol")
	s.RemoveToken("old")
	for _, name := range []string{"open", "hidden", "blocked", "disabled", "archived", "silent", "gone"} {
		s.Repo("acme", name).Open("ann", githubtest.Item{})
	}
	s.Repo("acme", "open").Thread(1).Lock("ann")
	s.Repo("acme", "hidden").SetAccess(githubtest.Operator, false)
	s.Repo("acme", "blocked").Block(http.StatusUnavailableForLegalReasons)
	s.Repo("acme", "disabled").Block(http.StatusForbidden)
	s.Repo("acme", "archived").Archive("ann")
	s.Repo("acme", "silent").DisableIssues()
	s.Repo("acme", "gone").Delete("ann")
	for _, tc := range []struct {
		name, method, path string
		headers            []string
		status             int
		says               string
	}{
		{"no such repository", "GET", "acme/none", nil, 404, "Not Found"},
		{"no such item", "GET", "acme/open/issues/7", nil, 404, "Not Found"},
		{"no access", "GET", "acme/hidden/issues/1", nil, 404, "Not Found"},
		{"a deleted repository", "GET", "acme/gone/issues/1", nil, 404, "Not Found"},
		{"taken down", "GET", "acme/blocked/issues/1", nil, 451, "access blocked"},
		{"disabled", "GET", "acme/disabled/issues", nil, 403, "access blocked"},
		{"archived, to read", "GET", "acme/archived/issues/1", nil, 200, "number"},
		{"archived, to write", "POST", "acme/archived/issues/1/comments", nil, 403, "read-only"},
		{"locked", "POST", "acme/open/issues/1/comments", nil, 403, "locked"},
		{"no issues", "GET", "acme/silent/issues", nil, 410, "disabled"},
		{"no issue", "GET", "acme/silent/issues/1", nil, 410, "disabled"},
		{"a token from before", "GET", "acme/open", []string{"Authorization", "Bearer old"}, 401, "Bad credentials"},
		{"nobody writes", "POST", "acme/open/issues/1/comments", []string{"Authorization", ""}, 403, "not accessible"},
		{"a lost scope", "POST", "acme/open/issues/1/comments", []string{"Authorization", "Bearer reader"}, 403, "not accessible"},
		{"no agent", "GET", "acme/open", []string{"User-Agent", ""}, 403, "User-Agent"},
		{"a reaction that there is not", "POST", "acme/open/issues/1/reactions", nil, 422, "content"},
	} {
		got := ask(t, s, tc.method, "/repos/"+tc.path, `{"body":"hello"}`[:16*min(1, len(tc.method)-3)], tc.headers...)
		if got.status != tc.status || !strings.Contains(string(got.body), tc.says) {
			t.Errorf("%s: %d %s, want %d and %q", tc.name, got.status, got.body, tc.status, tc.says)
		}
	}
	got := ask(t, s, http.MethodPost, "/repos/acme/open/issues/1/reactions", `{"content":"eyes"}`, "Authorization", "Bearer reader")
	if needs := got.header.Get("X-Accepted-Github-Permissions"); needs != "issues=write; pull_requests=write" {
		t.Errorf("a refusal names %q as what is missing", needs)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Repo("acme", "shop")
	s.SetLimit(2)
	get(t, s, "/repos/acme/shop")
	get(t, s, "/repos/acme/shop")
	got := get(t, s, "/repos/acme/shop")
	if got.status != http.StatusForbidden || got.header.Get("X-RateLimit-Remaining") != "0" || got.header.Get("X-RateLimit-Reset") != "1782990000" {
		t.Errorf("past the limit: %d %v", got.status, got.header)
	}
	s.Advance(time.Hour)
	if got := get(t, s, "/repos/acme/shop"); got.status != http.StatusOK || got.header.Get("X-RateLimit-Remaining") != "1" {
		t.Errorf("an hour later: %d %v", got.status, got.header)
	}
	s.Exhaust(http.StatusTooManyRequests, time.Minute)
	if got := get(t, s, "/repos/acme/shop"); got.status != http.StatusTooManyRequests || got.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("exhausted: %d %v", got.status, got.header)
	}
	s.SetLimit(0)
	if got := get(t, s, "/repos/acme/shop"); got.status != http.StatusOK || got.header.Get("X-RateLimit-Limit") != "" {
		t.Errorf("without limits: %d %v", got.status, got.header)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Repo("acme", "shop")
	const path = "/repos/acme/shop/issues"
	s.Fail("GET *issues*", githubtest.SecondaryLimit(2*time.Minute), 1)
	s.Fail("GET *issues", githubtest.SecondaryLimit(0), 1)
	s.Fail("GET *issues", githubtest.Answer(http.StatusBadGateway), 1)
	s.Fail("GET *issues", githubtest.Garbage(), 1)
	s.Fail("GET *issues", githubtest.Header("X-Poll-Interval", "60"), 1)
	if got := get(t, s, path); got.status != http.StatusForbidden || got.header.Get("Retry-After") != "120" || got.header.Get("X-RateLimit-Remaining") != "5000" {
		t.Errorf("secondary limit: %d %v", got.status, got.header)
	}
	if got := get(t, s, path); got.status != http.StatusForbidden || got.header.Get("Retry-After") != "" {
		t.Errorf("secondary limit without a time: %d %v", got.status, got.header)
	}
	if got := get(t, s, path); got.status != http.StatusBadGateway {
		t.Errorf("bad gateway: %d", got.status)
	}
	if got := get(t, s, path); got.status != http.StatusOK || !strings.HasPrefix(string(got.body), `[{"id":1,`) {
		t.Errorf("garbage: %d %s", got.status, got.body)
	}
	if got := get(t, s, path); got.status != http.StatusOK || got.header.Get("X-Poll-Interval") != "60" || string(got.body) != "[]" {
		t.Errorf("poll interval: %d %v %s", got.status, got.header, got.body)
	}
	s.Fail("GET *", githubtest.Cut(1), 1)
	if _, err := try(s, http.MethodGet, path, ""); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut body: %v", err)
	}
	s.Fail("GET *", githubtest.BigPage(50), -1)
	for n, status := range map[string]int{"100": http.StatusBadGateway, "50": http.StatusOK} {
		if got := get(t, s, path+"?per_page="+n); got.status != status {
			t.Errorf("a page of %s: %d, want %d", n, got.status, status)
		}
	}
	s.Mend()
	if got := get(t, s, path+"?per_page=100"); got.status != http.StatusOK {
		t.Errorf("mended: %d", got.status)
	}
}

// TestSlow is in a bubble, where time is faked, over the transport that needs no connection.
func TestSlow(t *testing.T) {
	t.Parallel()
	s := start(t)
	synctest.Test(t, func(t *testing.T) {
		s.Fail("GET *", githubtest.Slow(time.Minute), -1)
		client := &http.Client{Transport: s.Transport()}
		began := time.Now()
		for wait, failed := range map[time.Duration]bool{time.Second: true, time.Hour: false} {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.github.com/rate_limit", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(req)
			if (err != nil) != failed {
				t.Errorf("with %s to wait: %v", wait, err)
			}
			if err == nil {
				res.Body.Close()
			}
			cancel()
		}
		if took := time.Since(began); took != time.Minute+time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// TestEnterprise holds what an enterprise server does otherwise.
func TestEnterprise(t *testing.T) {
	t.Parallel()
	s := githubtest.NewServer("git.example.com")
	t.Cleanup(s.Close)
	s.Repo("acme", "shop").Open("ann", githubtest.Item{})
	s.Repo("acme", "shop").Open("ann", githubtest.Item{})
	got := get(t, s, "/api/v3/repos/acme/shop/issues?per_page=1")
	want(t, got, "html_url", "https://git.example.com/acme/shop/issues/2")
	want(t, got, "url", s.URL+"/api/v3/repos/acme/shop/issues/2")
	if !strings.HasPrefix(got.header.Get("Link"), "<"+s.URL+"/api/v3/repositories/") {
		t.Errorf("Link is %s", got.header.Get("Link"))
	}
	if got.header.Get("X-RateLimit-Limit") != "" || got.header.Get("X-GitHub-Enterprise-Version") == "" {
		t.Errorf("headers are %v", got.header)
	}
}
