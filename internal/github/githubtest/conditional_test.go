package githubtest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loop-daemon/loop/internal/github/githubtest"
)

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop := s.Repo("acme", "shop")
	one := shop.Open("ann", githubtest.Item{})
	s.AddToken("rotated", githubtest.Operator)
	const path = "/repos/acme/shop/issues"
	first := get(t, s, path)
	etag := first.header.Get("ETag")
	if !strings.HasPrefix(etag, `W/"`) {
		t.Fatalf("ETag is %q", etag)
	}
	same := get(t, s, path, "If-None-Match", etag)
	if same.status != http.StatusNotModified || len(same.body) != 0 || same.header.Get("ETag") != etag {
		t.Errorf("unchanged: %d %q %s", same.status, same.header.Get("ETag"), same.body)
	}
	if a, b := first.header.Get("X-RateLimit-Remaining"), same.header.Get("X-RateLimit-Remaining"); a != "4999" || b != a {
		t.Errorf("a 304 counts: %s requests left, then %s", a, b)
	}
	for name, headers := range map[string][]string{
		"another token":       {"Authorization", "Bearer rotated"},
		"the token as a word": {"Authorization", "token " + githubtest.Token},
		"another media type":  {"Accept", "application/vnd.github.raw+json"},
		"nobody":              {"Authorization", ""},
	} {
		if got := get(t, s, path, append(headers, "If-None-Match", etag)...); got.status != http.StatusOK {
			t.Errorf("%s with the same ETag: %d", name, got.status)
		}
	}
	nobody := get(t, s, path, "Authorization", "")
	again := get(t, s, path, "Authorization", "", "If-None-Match", nobody.header.Get("ETag"))
	if again.status != http.StatusNotModified || again.header.Get("X-RateLimit-Remaining") != "57" {
		t.Errorf("nobody's 304 does not count: %d, %s left", again.status, again.header.Get("X-RateLimit-Remaining"))
	}
	one.React("ann", 0, "eyes")
	if got := get(t, s, path, "If-None-Match", etag); got.status != http.StatusOK {
		t.Errorf("changed: %d", got.status)
	}
	single := get(t, s, path+"/1")
	if got := get(t, s, path+"/1", "If-Modified-Since", single.header.Get("Last-Modified")); got.status != http.StatusNotModified {
		t.Errorf("not modified since: %d", got.status)
	}
	s.Advance(time.Second)
	one.Comment("ann", "more")
	if got := get(t, s, path+"/1", "If-Modified-Since", single.header.Get("Last-Modified")); got.status != http.StatusOK {
		t.Errorf("modified since: %d", got.status)
	}
	if all, unchanged := s.Count("GET *"); all != 12 || unchanged != 3 {
		t.Errorf("the log has %d requests, %d of them 304", all, unchanged)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop := s.Repo("acme", "shop")
	one := shop.Open("ann", githubtest.Item{})
	for range 5 {
		one.Comment("ann", "more")
	}
	first := get(t, s, "/repos/acme/shop/issues/1/comments?per_page=2")
	base := s.URL + "/repositories/" + itoa(shop.ID) + "/issues/1/comments?page="
	link := "<" + base + `2&per_page=2>; rel="next", <` + base + `3&per_page=2>; rel="last"`
	if diff := cmp.Diff(link, first.header.Get("Link")); diff != "" {
		t.Errorf("Link of the first page (-want +got):\n%s", diff)
	}
	want(t, first, "id", 1001, 1002)
	last := get(t, s, base+"3&per_page=2")
	want(t, last, "id", 1005)
	link = "<" + base + `2&per_page=2>; rel="prev", <` + base + `1&per_page=2>; rel="first"`
	if diff := cmp.Diff(link, last.header.Get("Link")); diff != "" {
		t.Errorf("Link of the last page (-want +got):\n%s", diff)
	}
	for range 100 {
		one.Comment("ann", "more")
	}
	if got := len(field(t, get(t, s, "/repos/acme/shop/issues/comments?per_page=500"), "id")); got != 100 {
		t.Errorf("a page of 500 has %d rows", got)
	}
	want(t, get(t, s, "/repos/acme/shop/issues/comments?page=9"), "id")
	if got := get(t, s, "/repos/acme/shop/issues"); got.header.Get("Link") != "" || string(got.body[:1]) != "[" {
		t.Errorf("one page links to others: %s", got.header.Get("Link"))
	}
}

// TestMovingList is the trap of pages by number: what changes meanwhile pushes what follows off the next page.
func TestMovingList(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop := s.Repo("acme", "shop")
	for range 3 {
		shop.Open("ann", githubtest.Item{})
	}
	s.Advance(time.Minute)
	s.Fail("GET *page=2*", githubtest.Before(func() { shop.Thread(1).Comment("ann", "now") }), 1)
	want(t, get(t, s, "/repos/acme/shop/issues?sort=updated&direction=asc&per_page=1"), "number", 1)
	want(t, get(t, s, "/repos/acme/shop/issues?sort=updated&direction=asc&per_page=1&page=2"), "number", 3)
}

func TestLagAndSkew(t *testing.T) {
	t.Parallel()
	s := start(t)
	shop := s.Repo("acme", "shop")
	one := shop.Open("ann", githubtest.Item{})
	s.Advance(time.Minute)
	one.Label("ann", "loop")
	one.Comment("ann", "now")
	s.SetLag(10 * time.Second)
	s.SetSkew(-time.Hour)
	late := get(t, s, "/repos/acme/shop/issues?since=2026-07-02T10:00:30Z")
	want(t, late, "number")
	if date := late.header.Get("Date"); date != "Thu, 02 Jul 2026 09:01:00 GMT" {
		t.Errorf("Date is %s", date)
	}
	want(t, get(t, s, "/repos/acme/shop/issues?labels=loop"), "number")
	want(t, get(t, s, "/repos/acme/shop/issues"), "updated_at", "2026-07-02T10:00:00Z")
	want(t, get(t, s, "/repos/acme/shop/issues/comments"), "body")
	want(t, get(t, s, "/repos/acme/shop/issues/1"), "updated_at", "2026-07-02T10:01:00Z")
	s.Advance(10 * time.Second)
	want(t, get(t, s, "/repos/acme/shop/issues?labels=loop"), "number", 1)
	want(t, get(t, s, "/repos/acme/shop/issues/comments"), "body", "now")
}
